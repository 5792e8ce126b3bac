"""Lists of proposals that are narrowed, several decisions at once, and whom an acceptance credits."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Author
from commonplace.domain.errors import ConflictError
from commonplace.faces.proposal_output import report_lines
from commonplace.services import writes
from commonplace.services.proposals import decisions
from commonplace.services.proposals.reports import report
from commonplace.services.proposals.selection import AcceptRequest
from commonplace.services.proposals.views import proposer_of
from proposing import ProposedBase

A = "# A\n\nalpha [b](b.md)\n\n## Plan\n\none\n"
PAGES: dict[str, str | bytes] = {"a.md": A, "b.md": "# B\n"}


def propose(base: ProposedBase, old: str, new: str) -> None:
    with base.view() as view:
        writes.replace_once(view, Address("a.md"), old, new)


def test_a_text_of_whoever_decides_or_amends_is_credited_to_both(tmp_path: Path) -> None:
    ada = Author("Ada", "ada@localhost")
    with ProposedBase(tmp_path, PAGES) as base:
        for text, names in ((A.replace("one", "ONE"), []), (A.replace("one", "1"), ["Ada <ada@localhost>"])):
            propose(base, "one", "ONE")
            decisions.accept(base.found(), AcceptRequest(pages=("a",), text=text), ada)
            lines = base.repo.git("log", "-1", "--format=%(trailers:key=Co-authored-by,valueonly)").split("\n")
            assert [line for line in lines if line] == names
            writes.replace(base.collection, Address("a.md"), A.encode())
        propose(base, "one", "ONE")
        decisions.write_page(base.found(), Address("a.md"), A.replace("one", "1").encode(), "", ada)
        assert base.found().proposal.author != ada
        base.accept()
        assert "Co-authored-by: Ada <ada@localhost>" in base.repo.git("log", "-1", "--format=%B").splitlines()


def test_a_proposal_says_which_texts_were_edited_before_they_were_accepted(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        for text, edited in ((A.replace("one", "ONE"), ""), (A.replace("one", "1"), "a.md")):
            propose(base, "one", "ONE")
            receipt = decisions.accept(base.found(), AcceptRequest(pages=("a",), text=text))
            closed = decisions.find(base.services.collections, receipt.proposal.id)
            assert (closed.proposal.state, closed.proposal.edited) == ("accepted", edited)
            lines = report_lines(closed, report(base.services.collections, closed))
            note = "Edited before it was accepted: a.md. What is shown is as proposed."
            assert (note in lines) is bool(edited), lines
            writes.replace(base.collection, Address("a.md"), A.encode())
        propose(base, "one", "ONE")
        with base.view() as view:
            writes.append(view, Address("b.md"), "More\n")
        part = decisions.accept(base.found(), AcceptRequest(pages=("a",), text=A.replace("one", "2"))).proposal
        assert [row.pages for row in part.accepted] == ["a.md (edited)"]
        assert base.accept().proposal.edited == "a.md"


def test_ignored_pages_that_git_put_on_a_branch_are_named_and_the_rest_is_accepted(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES | {".commonplaceignore": "/private/\n"}) as base:
        propose(base, "one", "ONE")
        identifier = base.found().proposal.id
        base.repo.git("checkout", "--quiet", f"proposals/{identifier}")
        base.repo.write("private/bad.md", "# Bad\n")
        base.repo.git("add", "--force", "private/bad.md")
        base.repo.git("commit", "--quiet", "-m", "Add")
        base.repo.git("checkout", "--quiet", "main")
        assert report(base.services.collections, base.found()).left_out == ["private/bad.md"]
        receipt = base.accept()
        assert (receipt.left_out, receipt.proposal.state) == (("private/bad.md",), "open")
        assert "ONE" in (base.repo.path / "a.md").read_text()


def test_proposals_are_listed_by_who_where_and_what_and_several_are_declined(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES | {"inbox/c.md": "# C\n"}) as base:
        for number, (page, purpose) in enumerate((("a.md", "tidy up"), ("b.md", "Sources"), ("inbox/c.md", "sources"))):
            proposer = proposer_of("key:agent", f"session {number}", purpose, f"program {number}")
            with base.view(proposer) as view:
                request = writes.WriteRequest(author=Author(f"Agent {number}", f"{number}@x"))
                writes.append(view, Address(page), "More\n", request)

        def pages(**only: str) -> list[str]:
            rows = decisions.listed(base.services.collections, only=decisions.ProposalFilter(**only))
            return sorted(file.address.path for row in rows for file in row.branches.files(row.proposal))

        assert pages() == ["a.md", "b.md", "inbox/c.md"]
        for only, paths in (
            ({"author": "agent 1"}, ["b.md"]),
            ({"author": "2@X"}, ["inbox/c.md"]),
            ({"client": "PROGRAM 0"}, ["a.md"]),
            ({"page": "inbox"}, ["inbox/c.md"]),
            ({"page": "/inbox/c"}, ["inbox/c.md"]),
            ({"page": "in"}, []),
            ({"text": "SOURCES"}, ["b.md", "inbox/c.md"]),
            ({"text": "sources", "author": "Agent 2"}, ["inbox/c.md"]),
            ({"state": "declined"}, []),
        ):
            assert pages(**only) == paths, only
        writes.rename(base.collection, Address("b.md"), Address("teas/black.md"))
        assert [pages(page=name) for name in ("teas/black", "teas", "b", "te")] == [["b.md"], ["b.md"], ["b.md"], []]
        rows = [base.found(identifier) for identifier in base.open_ids()]
        tips = {row.proposal.id: row.proposal.tip for row in rows}
        with pytest.raises(ConflictError, match="amended since"):
            decisions.decline_all(rows, "No", tips={**tips, rows[2].proposal.id: "0" * 40})
        assert len(base.open_ids()) == 3
        closed = decisions.decline_all(rows[:2], "Not now", tips=tips)
        assert [(row.state, row.word) for row in closed] == [("declined", "Not now")] * 2
        assert base.open_ids() == [rows[2].proposal.id]
