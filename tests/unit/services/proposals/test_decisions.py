"""Decisions on proposals: what is accepted, refused, left, and told."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.changes import CURRENT_CLIENT, Author, ClientProgram
from commonplace.domain.errors import ConflictError, ForbiddenError, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.revisions import revision_of
from commonplace.faces.proposal_output import accept_lines
from commonplace.services import writes
from commonplace.services.proposals import decisions, reports
from commonplace.services.proposals.acceptance import ProposalConflictError
from commonplace.services.proposals.selection import AcceptRequest
from commonplace.services.proposals.views import proposer_of
from commonplace.services.undo import undo
from proposing import AGENT, ProposedBase, text_of
from support import GitRepo

A = "# A\n\nalpha [b](b.md)\n\n## Plan\n\none\n\n## Log\n\ntwo\n"
PAGES: dict[str, str | bytes] = {"a.md": A, "b.md": "# B\n\nbeta\n", "crlf.md": b"# C\r\n\r\nline\r\n"}


def propose(base: ProposedBase, old: str, new: str, page: str = "a.md") -> None:
    with base.view() as view:
        writes.replace_once(view, Address(page), old, new)


def test_an_accepted_proposal_is_one_commit_by_the_proposer(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        before = base.served()
        propose(base, "line", "a line", "crlf.md")
        propose(base, "alpha", "ALPHA")
        assert base.served() == before
        base.repo.git("config", "user.name", "Decider")
        receipt = base.accept()
        assert base.texts()["crlf.md"] == b"# C\r\n\r\na line\r\n"
        assert base.texts()["a.md"] == A.replace("alpha", "ALPHA").encode()
        stated = base.repo.git("log", "-1", "--format=%cn, %(trailers:key=Proposal,valueonly)").strip()
        assert stated == f"Decider, {receipt.proposal.id}"
        assert base.repo.git("log", "-1", "--format=%an") != "Decider"
        assert base.repo.git("status", "--short") == ""
        assert base.open_ids() == []
        assert (receipt.proposal.state, receipt.proposal.commit) == ("accepted", receipt.commit)
        assert base.repo.git("branch", "--list", "proposals/*") == ""


def test_the_message_of_a_single_change_is_that_of_the_write(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        with base.view() as view:
            request = writes.WriteRequest(message="Tend\n\nProposal-State: accepted\nProposal: other")
            writes.replace_once(view, Address("a.md"), "alpha", "x", request)
        proposal = base.found()
        assert proposal.proposal.state == "open"
        base.accept()
        lines = base.repo.git("log", "-1", "--format=%B").splitlines()
        assert lines[0] == "Tend"
        assert f"Proposal: {proposal.proposal.id}" in lines
        assert "Proposal: other" not in lines


def test_a_page_or_a_section_is_accepted_and_the_rest_stays(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "one", "ONE")
        propose(base, "two", "TWO")
        propose(base, "beta", "BETA", "b.md")
        receipt = base.accept("", AcceptRequest(pages=("a.md",), section="Plan"))
        assert receipt.proposal.state == "open"
        assert base.texts()["a.md"] == A.replace("one", "ONE").encode()
        assert base.texts()["b.md"] == b"# B\n\nbeta\n"
        with base.view() as view:
            assert text_of(view, "a.md") == A.replace("one", "ONE").replace("two", "TWO").encode()
        writes.replace_once(base.collection, Address("a.md"), "ONE", "One")
        base.accept("", AcceptRequest(pages=("b",)))
        assert [file.address.path for file in base.found().branches.files(base.found().proposal)] == ["a.md"]
        assert base.accept().proposal.state == "accepted"
        assert base.texts()["a.md"] == A.replace("one", "One").replace("two", "TWO").encode()
        assert base.texts()["b.md"] == b"# B\n\nBETA\n"


def test_the_message_of_a_part_names_what_it_contains(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        with base.view() as view:
            writes.rename(view, Address("b.md"), Address("c.md"))
        propose(base, "one", "ONE")
        propose(base, "two", "TWO")
        renamed, first, second = (change.message for change in base.found().branches.changes(base.found().proposal))
        said: list[str] = []
        for request in (
            AcceptRequest(pages=("a.md",), section="Plan"),
            AcceptRequest(pages=("a.md",)),
            AcceptRequest(pages=("c.md",)),
        ):
            base.accept("", request)
            said.append(base.repo.git("log", "-1", "--format=%B").partition("\nProposal: ")[0].strip())
        assert (first, second) == ("Update: a", "Update: a")
        assert said == ["Update: a", f"Update: a\n\nParts of:\n- {renamed}", renamed]


def test_a_conflict_is_shown_and_ends_with_the_persons_own_text(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "two", "TWO")
        writes.replace_once(base.collection, Address("a.md"), "two", "zwei")
        before = base.served()
        with pytest.raises(ProposalConflictError, match=r"a\.md:11") as caught:
            base.accept()
        (conflict,) = caught.value.conflicts
        assert (conflict.found.base, conflict.found.proposed, conflict.found.current) == (b"two\n", b"TWO\n", b"zwei\n")
        assert "  proposed: TWO" in caught.value.changes
        assert base.served() == before
        assert base.open_ids()
        text = A.replace("two", "both")
        assert "the final text of a.md" in caught.value.hint
        assert base.accept("", AcceptRequest(pages=("a",), text=text)).proposal.state == "accepted"
        assert base.texts()["a.md"] == text.encode()


def test_a_conflict_ends_when_the_proposer_works_the_newer_text_in(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "two", "TWO")
        writes.replace_once(base.collection, Address("a.md"), "two", "zwei")
        with base.view() as view:
            writes.replace_once(view, Address("a.md"), "TWO", "zwei")
        assert base.accept().proposal.state == "accepted"


@pytest.mark.parametrize("page", ["b", "b.md", "/b.md", "B", "base:b.md"])
def test_the_final_text_decides_on_a_deleted_page_that_was_edited_since(tmp_path: Path, page: str) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        with base.view() as view:
            writes.delete(view, Address("b.md"))
        writes.append(base.collection, Address("b.md"), "More\n")
        assert base.accept("", AcceptRequest(pages=(page,), text="# B\n\nboth\n")).proposal.state == "accepted"
        assert base.texts()["b.md"] == b"# B\n\nboth\n"


@pytest.mark.parametrize("page", ["b", "sub/c", "c", "sub/c.md"])
def test_the_final_text_decides_on_a_renamed_page_that_was_edited_since(tmp_path: Path, page: str) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        with base.view() as view:
            writes.rename(view, Address("b.md"), Address("sub/c.md"))
            writes.replace_once(view, Address("sub/c.md"), "beta", "BETA")
        writes.replace_once(base.collection, Address("b.md"), "beta", "Beta")
        with pytest.raises(ProposalConflictError) as caught:
            base.accept()
        assert "the final text of sub/c.md" in caught.value.hint
        receipt = base.accept("", AcceptRequest(pages=(page,), text="# B\n\nboth\n"))
        assert receipt.proposal.state == "accepted"
        assert base.texts()["sub/c.md"] == b"# B\n\nboth\n"
        assert "b.md" not in base.texts()
        assert b"alpha [b](sub/c.md)" in base.texts()["a.md"]


def test_the_final_text_decides_on_a_move_whose_place_was_taken_since(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        with base.view() as view:
            writes.rename(view, Address("b.md"), Address("c.md"))
        writes.create(base.collection, Address("c.md"), b"# C\n")
        writes.append(base.collection, Address("b.md"), "More\n")
        base.accept("", AcceptRequest(pages=("c",), text="# B and C\n"))
        assert base.texts()["c.md"] == b"# B and C\n"
        assert "b.md" not in base.texts()


def test_the_commit_of_a_part_tells_that_part(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        for program, (old, new, page) in (
            ("Alpha", ("one", "ONE", "a.md")),
            ("Beta", ("two", "TWO", "a.md")),
            ("Beta", ("beta", "BETA", "b.md")),
            ("Gamma", ("line", "a line", "crlf.md")),
        ):
            token = CURRENT_CLIENT.set(ClientProgram(program, "co-author"))
            propose(base, old, new, page)
            CURRENT_CLIENT.reset(token)
        assert base.found().proposal.title == "Update: a and 2 more"
        base.accept("", AcceptRequest(pages=("a",), section="Plan"))
        assert "Update: b" not in base.repo.git("log", "-1", "--format=%B")
        base.accept("", AcceptRequest(pages=("b",)))
        lines = base.repo.git("log", "-1", "--format=%B").splitlines()
        assert lines[0] == "Update: b"
        assert [line for line in lines if line.startswith("Co-")] == ["Co-authored-by: Beta <beta@localhost>"]
        base.accept()
        lines = base.repo.git("log", "-1", "--format=%B").splitlines()
        assert lines[:4] == ["Update: a and 1 more", "", "- Update: a", "- Update: crlf"]
        names = base.repo.git("log", "-1", "--format=%(trailers:key=Co-authored-by,valueonly)").split("\n")
        assert [name.partition(" ")[0] for name in names if name] == ["Alpha", "Beta", "Gamma"]


def test_a_proposer_states_nothing_in_the_name_of_others(tmp_path: Path) -> None:
    message = (
        "x\n\nUndoes: abc\nCo-authored-by: adm <a@x>\nCommonplace-Request: abc\nSigned-off-by: boss\nProposal-Tip: abc"
    )
    with ProposedBase(tmp_path, PAGES) as base:
        with base.view() as view:
            writes.replace_once(view, Address("a.md"), "two", "TWO", writes.WriteRequest(message=message))
        base.accept()
        lines = base.repo.git("log", "-1", "--format=%B").splitlines()
        assert [line.partition(":")[0] for line in lines if line[:1].isalpha()] == ["x", "Proposal", "Proposal-Tip"]
        assert base.repo.git("log", "-1", "--format=%(trailers:key=Signed-off-by)%(trailers:key=Co-authored-by)") == ""


def test_git_reads_the_trailers_after_a_message_that_ends_in_lines_like_them(tmp_path: Path) -> None:
    message = "x\n\nProposal: 2026-ffffff\nCo-authored-by: Eve <e@e>"
    with ProposedBase(tmp_path, PAGES) as base:
        with base.view() as view:
            writes.replace_once(view, Address("a.md"), "two", "TWO", writes.WriteRequest(message=message))
        identifier = base.open_ids()[0]
        decisions.write_page(base.found(), Address("b.md"), b"# B\n\nBETA\n", message)
        branch = base.repo.git("log", "--format=%(trailers:key=Proposal,valueonly)%n", f"HEAD..proposals/{identifier}")
        assert branch.split() == [identifier] * 2
        commit = base.accept().commit
        undo(base.collection, [commit])
        for name, key, value in (("HEAD~1", "Proposal", identifier), ("HEAD", "Undoes", commit)):
            assert base.repo.git("log", "-1", f"--format=%(trailers:key={key},valueonly)", name).strip() == value
            assert "Eve" not in base.repo.git("log", "-1", "--format=%(trailers)", name)


def test_the_word_is_without_the_program_that_carried_it(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        for word in ("No, 90.", ""):
            propose(base, "two", "TWO")
            proposal = base.found()
            token = CURRENT_CLIENT.set(ClientProgram("Alpha", "co-author"))
            decisions.decline(proposal, word)
            CURRENT_CLIENT.reset(token)
            assert base.closed(proposal.proposal.id).word == word


def test_a_move_is_shown_against_the_old_page(tmp_path: Path) -> None:
    pages: dict[str, str | bytes] = {
        "a.md": "# A\n\n[b](b.md) and [[nowhere]]\n",
        "b.md": "# B\n\n[[gone]] and [x](gone.md) and [a](a.md)\n",
    }
    with ProposedBase(tmp_path, pages) as base:
        with base.view() as view:
            writes.rename(view, Address("b.md"), Address("sub/c.md"))
            writes.append(view, Address("sub/c.md"), "New, see [[lost]]\n")
        report = reports.report(base.services.collections, base.found())
        moved = next(file_report for file_report in report.files if file_report.file.moved_from)
        assert [file_report.file.address.path for file_report in report.files] == ["a.md", "sub/c.md"]
        assert "+New, see [[lost]]\n" in moved.diff
        assert "# B\n" not in moved.diff.replace("\n # B\n", "")
        assert [(finding.path, finding.message) for file in report.files for finding in file.new_findings] == [
            ("sub/c.md", "The link to 'lost' leads nowhere.")
        ]
        assert [finding for file in report.files for finding in file.mended] == []
        receipt = base.accept()
        assert [finding.message for finding in receipt.new_findings] == ["The link to 'lost' leads nowhere."]


def test_links_that_went_with_an_accepted_move_wait_no_longer(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "two", "TWO")
        with base.view() as view:
            writes.rename(view, Address("b.md"), Address("sub/c.md"))
        base.accept("", AcceptRequest(pages=("b",)))
        (left,) = reports.report(base.services.collections, base.found()).files
        assert [line for line in left.diff.splitlines()[2:] if line[0] in "+-"] == ["-two", "+TWO"]
        assert base.accept().proposal.state == "accepted"
        propose(base, "TWO", "two")
        with base.view() as view:
            writes.rename(view, Address("sub/c.md"), Address("b.md"))
        base.accept("", AcceptRequest(pages=("a",)))
        assert base.accept("", AcceptRequest(pages=("b",))).proposal.state == "accepted"


def test_the_branch_is_named_if_it_is_not_that_on_which_the_proposal_began(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "one", "ONE")
        propose(base, "beta", "BETA", "b.md")
        assert base.accept("", AcceptRequest(pages=("a",))).branch == ""
        base.repo.git("switch", "--quiet", "-c", "draft")
        receipt = base.accept()
        assert (receipt.branch, receipt.proposal.branch) == ("draft", "main")
        (line,) = accept_lines(receipt)
        assert " on draft; it began on main" in line


def test_an_edited_text_is_accepted_in_place_of_the_proposed_one(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "two", "TWO")
        receipt = base.accept("", AcceptRequest(pages=("a.md",), text=A.replace("two", "2")))
        assert base.texts()["a.md"] == A.replace("two", "2").encode()
        assert receipt.proposal.state == "accepted"


def test_a_move_is_made_again_on_what_is_served(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        with base.view() as view:
            writes.rename(view, Address("b.md"), Address("sub/c.md"))
        writes.create(base.collection, Address("e.md"), b"# E\n\n[b](b.md) and [[b]]\n")
        writes.append(base.collection, Address("b.md"), "More, see [a](a.md)\n")
        assert base.accept().removed == (Address("b.md"),)
        texts = base.texts()
        assert texts["sub/c.md"] == b"# B\n\nbeta\n\nMore, see [a](../a.md)\n"
        assert texts["e.md"] == b"# E\n\n[b](sub/c.md) and [[c]]\n"
        assert b"alpha [b](sub/c.md)" in texts["a.md"]
        assert [commit.message[:6] for commit in base.store.history.log(Address("sub/c.md"), limit=9)] == [
            "Rename",
            "Update",
            "Begin\n",
        ]


def test_links_that_the_proposer_moved_are_not_moved_twice(tmp_path: Path) -> None:
    """The label of a link names the page by its title, as long as the new path is not there."""
    with ProposedBase(tmp_path, {"README.md": "[[drinks/oolong|Oolong]]\n", "drinks/oolong.md": "# Oolong\n"}) as base:
        with base.view() as view:
            writes.rename(view, Address("drinks/oolong.md"), Address("teas/oolong.md"))
        base.accept()
        assert base.texts() == {"README.md": b"[[teas/oolong|Oolong]]\n", "teas/oolong.md": b"# Oolong\n"}


def test_deletions_are_accepted_and_conflict_with_changes(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        with base.view() as view:
            writes.delete(view, Address("b.md"))
        report = reports.report(base.services.collections, base.found())
        assert [(finding.rule, finding.path) for finding in report.files[0].new_findings] == [("broken_link", "a.md")]
        writes.append(base.collection, Address("b.md"), "More\n")
        with pytest.raises(ProposalConflictError, match=r"b\.md"):
            base.accept()
        writes.replace(base.collection, Address("b.md"), b"# B\n\nbeta\n")
        base.accept()
        assert "b.md" not in base.texts()


def test_what_is_there_already_is_accepted_without_a_write(tmp_path: Path) -> None:
    """As after a process that was killed between the write and the closing of the proposal."""
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "two", "TWO")
        writes.replace_once(base.collection, Address("a.md"), "two", "TWO")
        head = base.repo.git("rev-parse", "HEAD")
        receipt = base.accept()
        assert (receipt.commit, receipt.written, receipt.proposal.state) == ("", (), "accepted")
        assert base.repo.git("rev-parse", "HEAD") == head


def test_uncommitted_text_is_the_base(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES, "manual") as base:
        base.repo.write("a.md", A + "\nsaved in an editor\n")
        base.index.sync()
        before = base.served()
        propose(base, "two", "TWO")
        assert base.served() == before
        report = reports.report(base.services.collections, base.found())
        assert report.files[0].diff.count("\n+") == 2
        assert "saved" not in report.files[0].diff.replace(" saved", "", 1)
        base.accept()
        assert base.texts()["a.md"] == (A + "\nsaved in an editor\n").replace("two", "TWO").encode()
        assert base.repo.git("status", "--short") == " M a.md"


def test_a_declined_proposal_keeps_its_word_and_the_next_write_begins_another(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "two", "TWO")
        first = base.found()
        decisions.decline(first, "Keep it small\n\nProposal-State: accepted")
        closed = base.closed(first.proposal.id)
        assert (closed.state, closed.word.splitlines()[0]) == ("declined", "Keep it small")
        with pytest.raises(ConflictError, match="declined already"):
            decisions.accept(first, AcceptRequest())
        propose(base, "one", "ONE")
        assert base.open_ids() != [first.proposal.id]
        assert len(base.open_ids()) == 1
        assert [
            proposal.proposal.id for proposal in decisions.listed(base.services.collections, AGENT, closed=True)
        ] == [first.proposal.id]


def test_only_the_proposer_withdraws_amends_and_sees_it_among_proposers(tmp_path: Path) -> None:
    other = proposer_of("key:other", "session 1")
    later = proposer_of("key:agent", "session 2")
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "two", "TWO")
        proposal = base.found()
        with pytest.raises(ForbiddenError):
            decisions.withdraw(proposal, other)
        with pytest.raises(ForbiddenError):
            decisions.amend(proposal, other)
        assert decisions.listed(base.services.collections, other) == []
        with pytest.raises(NotFoundError, match="There is no proposal"):
            decisions.find(base.services.collections, proposal.proposal.id, other)
        decisions.amend(proposal, later)
        with base.view(later) as view:
            writes.replace_once(view, Address("a.md"), "one", "ONE")
        assert base.open_ids() == [proposal.proposal.id]
        decisions.withdraw(base.found(), later)
        assert base.closed(proposal.proposal.id).state == "withdrawn"


def test_two_acceptances_at_once_write_once(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "two", "TWO")
        proposal = base.found()
        results: list[object] = []

        def accept() -> None:
            try:
                results.append(decisions.accept(proposal, AcceptRequest()).commit)
            except KnowledgeError as error:
                results.append(type(error))

        threads = [threading.Thread(target=accept) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results.count(ConflictError) == 3
        assert base.repo.git("rev-list", "--count", "HEAD") == "2"


def test_only_the_state_that_was_shown_is_accepted_if_it_is_named(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "two", "TWO")
        seen = base.found().proposal.tip
        propose(base, "one", "ONE")
        with pytest.raises(ConflictError, match="amended since"):
            base.accept("", AcceptRequest(tip=seen))
        base.accept("", AcceptRequest(tip=base.found().proposal.tip[:10]))


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (AcceptRequest(pages=("b.md",)), NotFoundError),
        (AcceptRequest(pages=("../x.md",)), InvalidInputError),
        (AcceptRequest(section="Plan"), InvalidInputError),
        (AcceptRequest(pages=("a.md",), section="Nowhere"), NotFoundError),
        (AcceptRequest(pages=("new.md",), section="Plan"), InvalidInputError),
        (AcceptRequest(pages=("b",), text="x"), NotFoundError),
        (AcceptRequest(text="x"), InvalidInputError),
        (AcceptRequest(pages=("a", "new"), text="x"), InvalidInputError),
        (AcceptRequest(pages=("a",), section="Plan", text="x"), InvalidInputError),
    ],
)
def test_what_cannot_be_accepted_is_refused_and_nothing_is_written(
    tmp_path: Path, request_: AcceptRequest, error: type[KnowledgeError]
) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "two", "TWO")
        with base.view() as view:
            writes.create(view, Address("new.md"), b"# New\n")
        before = base.served()
        with pytest.raises(error):
            base.accept("", request_)
        assert base.served() == before
        assert base.open_ids()


def test_a_new_page_that_is_there_by_now_is_no_new_page(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        with base.view() as view:
            writes.create(view, Address("Same.md"), b"# Mine\n")
        writes.create(base.collection, Address("same.md"), b"# Theirs\n")
        before = base.served()
        with pytest.raises(KnowledgeError):
            base.accept()
        assert base.served() == before


def amend_with_git(base: ProposedBase, path: str, mode: str, content: str) -> None:
    """Put an entry of any mode on the branch of the open proposal, as a person may with Git."""
    branch = f"proposals/{base.open_ids()[0]}"
    place = base.repo.path.parent / "work"
    base.repo.git("worktree", "add", "-q", str(place), branch)
    work = GitRepo(place)
    raw = place.parent / "raw"
    raw.write_text(content)
    blob = work.git("hash-object", "-w", str(raw))
    work.git("update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}")
    work.git("commit", "-qm", "More")
    base.repo.git("worktree", "remove", "--force", str(place))


def test_a_proposal_with_paths_that_cannot_be_accepted_stays_open_and_names_them(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "alpha", "ALPHA")
        amend_with_git(base, "link.md", "120000", "/etc/passwd")
        identifier = base.open_ids()[0]
        assert reports.report(base.services.collections, base.found()).left_out == ["link.md"]
        amend_with_git(base, "\u202egpj.md", "100644", "# A name that looks like another one\n")
        receipt = base.accept()
        assert receipt.left_out == ("link.md", "\u202egpj.md")
        assert receipt.proposal.state == "open"
        assert "these paths cannot be accepted here: link.md,  gpj.md" in accept_lines(receipt)[0]
        assert base.texts()["a.md"] == A.replace("alpha", "ALPHA").encode()
        assert not (base.repo.path / "link.md").exists()
        assert base.open_ids() == [identifier]
        with pytest.raises(InvalidInputError, match=r"can be accepted: link\.md"):
            base.accept()
        assert decisions.decline(base.found(), "No links").state == "declined"


def test_paths_of_another_folder_of_the_repository_are_named(tmp_path: Path) -> None:
    pages: dict[str, str | bytes] = {"notes/a.md": A, "other/b.md": "# B\n"}
    with ProposedBase(tmp_path, pages, below="notes") as base:
        propose(base, "alpha", "ALPHA")
        amend_with_git(base, "other/c.md", "100644", "# C\n")
        receipt = base.accept()
        assert (receipt.left_out, receipt.proposal.state) == (("other/c.md",), "open")
        assert not (base.repo.path / "other" / "c.md").exists()


def test_the_commit_of_an_acceptance_is_found_again_after_a_kill_before_it_was_closed(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "alpha", "ALPHA")
        found_proposal = base.found()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(found_proposal.branches), "close", killed)
            with pytest.raises(KeyboardInterrupt):
                decisions.accept(found_proposal, AcceptRequest())
        head = base.repo.git("rev-parse", "HEAD").strip()
        assert base.repo.git("branch", "--list", "proposals/*")
        assert base.open_ids() == []
        proposal = base.closed(found_proposal.proposal.id)
        assert (proposal.state, proposal.commit) == ("accepted", head)
        (listed,) = decisions.listed(base.services.collections, closed=True)
        assert listed.proposal.commit == head
        propose(base, "beta", "BETA", "b.md")
        assert base.repo.git("branch", "--list", f"proposals/{found_proposal.proposal.id}") == ""
        assert base.closed(found_proposal.proposal.id).commit == head
        assert base.open_ids() != [found_proposal.proposal.id]


def test_a_part_that_was_accepted_before_a_kill_leaves_the_proposal_open(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "one", "ONE")
        propose(base, "beta", "BETA", "b.md")
        proposal = base.found()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(proposal.branches), "settle", killed)
            with pytest.raises(KeyboardInterrupt):
                decisions.accept(proposal, AcceptRequest(pages=("a",)))
        assert base.open_ids() == [proposal.proposal.id]
        assert base.accept().proposal.state == "accepted"
        assert base.texts()["b.md"] == b"# B\n\nBETA\n"


def killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_the_person_who_accepts_is_the_committer(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "alpha", "ALPHA")
        base.repo.git("config", "user.name", "Decider")
        proposal = base.found()
        decisions.accept(proposal, AcceptRequest(), Author("Ada", "ada@localhost"))
        assert base.repo.git("log", "-1", "--format=%cn %ce").strip() == "Ada ada@localhost"
        closed = f"refs/commonplace/proposals/{proposal.proposal.id}"
        assert base.repo.git("log", "-1", "--format=%an", closed).strip() == "Ada"
        writes.append(base.collection, Address("b.md"), "More\n")
        assert base.repo.git("log", "-1", "--format=%cn").strip() == "Decider"


def test_a_text_is_accepted_only_over_the_page_that_its_writer_saw(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "one", "ONE")
        seen = revision_of(base.texts()["a.md"])
        writes.replace_once(base.collection, Address("a.md"), "two", "TWO")
        now = base.served()
        for stale in (seen, ""):
            with pytest.raises(ConflictError):
                base.accept("", AcceptRequest(pages=("a.md",), text="# Mine\n", seen=stale))
            assert base.served() == now
        base.accept("", AcceptRequest(pages=("a.md",), text="# Mine\n", seen=revision_of(base.texts()["a.md"])))
        assert base.texts()["a.md"] == b"# Mine\n"


def test_a_report_waits_for_the_acceptance_that_it_meets(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "one", "ONE")
        proposal, landed, seen = base.found(), threading.Event(), []
        close = type(proposal.branches).close

        def slow(*arguments: object, **more: object) -> object:
            landed.set()
            seen.append(reader.join(0.3))
            return close(*arguments, **more)  # type: ignore[arg-type]

        def read() -> None:
            landed.wait(30)
            seen.append(reports.report(base.services.collections, proposal))

        reader = threading.Thread(target=read)
        reader.start()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(proposal.branches), "close", slow)
            decisions.accept(proposal, AcceptRequest(pages=("a",), text=A.replace("one", "1")))
        reader.join()
        (report,) = [row for row in seen if row is not None]
        assert (report.proposal.state, report.files[0].conflicts) == ("accepted", ())
