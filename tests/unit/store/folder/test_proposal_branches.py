"""Branches of proposals: their facts are in Git alone, whatever else is done to the repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import GitError, NotFoundError, UnavailableError
from commonplace.services import writes
from commonplace.services.proposals.selection import AcceptRequest
from commonplace.store.folder import branch_commits
from commonplace.store.folder.proposal_branches import GitProposals
from commonplace.store.git.repository import GitRepository
from proposing import AGENT, ProposedBase, text_of

PAGES: dict[str, str | bytes] = {"a.md": "# A\n\none\n\ntwo\n", "b.md": "# B\n"}


def propose(base: ProposedBase, old: str, new: str) -> str:
    with base.view() as view:
        writes.replace_once(view, Address("a.md"), old, new)
    return base.open_ids()[0]


def branches(base: ProposedBase) -> GitProposals:
    return GitProposals(GitRepository(base.repo.path / ".git", base.repo.path), "")


def test_another_program_lists_the_same_from_git_alone(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        identifier = propose(base, "one", "ONE")
        (listed,) = branches(base).listed()
        assert listed == base.found().proposal
        assert (listed.id, listed.proposer, listed.state) == (identifier, AGENT, "open")
        base.repo.git("pack-refs", "--all")
        base.repo.git("gc", "--quiet", "--prune=now")
        assert branches(base).listed() == [listed]
        base.accept()
        assert branches(base).listed() == []
        assert base.repo.git("for-each-ref", "refs/heads/proposals") == ""


def test_a_rewritten_base_changes_no_proposal(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        propose(base, "one", "ONE")
        base.repo.git("commit", "--quiet", "--amend", "--message", "Rewritten")
        base.repo.git("reflog", "expire", "--expire=now", "--all")
        base.repo.git("gc", "--quiet", "--prune=now")
        propose(base, "two", "TWO")
        base.accept()
        assert base.texts()["a.md"] == b"# A\n\nONE\n\nTWO\n"


def test_a_branch_that_people_amended_with_git_is_accepted_as_it_is(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        identifier = propose(base, "one", "ONE")
        writes.append(base.collection, Address("b.md"), "served\n")
        base.repo.git("switch", "--quiet", f"proposals/{identifier}")
        base.repo.commit("By hand", **{"a.md": "# A\n\nuno\n\ntwo\n", "c.md": "# C\n"})
        base.repo.git("rebase", "--quiet", "main")
        base.repo.git("switch", "--quiet", "main")
        base.index.sync()
        assert [file.address.path for file in base.found().branches.files(base.found().proposal)] == ["a.md", "c.md"]
        with base.view() as view:
            assert text_of(view, "a.md") == b"# A\n\nuno\n\ntwo\n"
            assert text_of(view, "b.md") == b"# B\n\nserved\n"
            assert view.index.record(Address("c.md")) is not None
        base.accept()
        assert base.texts() == {"a.md": b"# A\n\nuno\n\ntwo\n", "b.md": b"# B\n\nserved\n", "c.md": b"# C\n"}


@pytest.mark.parametrize("name", ["Upper", "-x", "a/b", "by-hand", "x" * 65, "ünï"])
def test_a_branch_that_this_program_did_not_make_is_no_proposal(tmp_path: Path, name: str) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        base.repo.git("update-ref", f"refs/heads/proposals/{name}", "HEAD")
        base.repo.git("update-ref", f"refs/commonplace/proposals/{name}", "HEAD")
        assert base.open_ids() == []
        assert branches(base).closed() == []
        with pytest.raises(NotFoundError):
            base.found(name)
        propose(base, "one", "ONE")
        assert len(base.open_ids()) == 1
        base.accept()
        assert base.repo.git("rev-parse", f"refs/heads/proposals/{name}") == base.repo.git("rev-parse", "HEAD~1")


def test_hostile_entries_of_a_branch_are_not_files_of_the_proposal(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        identifier = propose(base, "one", "ONE")
        base.repo.git("switch", "--quiet", f"proposals/{identifier}")
        (base.repo.path / "link.md").symlink_to("/etc/passwd")
        base.repo.commit("Hostile", **{".hidden/x.md": "x", "node.txt": "other"})
        base.repo.git("switch", "--quiet", "main")
        paths = [file.address.path for file in base.found().branches.files(base.found().proposal)]
        assert "link.md" not in paths
        base.accept("", AcceptRequest(pages=("a.md",)))
        assert sorted(path.name for path in base.repo.path.iterdir() if path.name != ".git") == ["a.md", "b.md"]


def test_a_branch_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        base.repo.git("branch", "proposals")
        with pytest.raises(GitError, match="branch named proposals") as caught:
            propose(base, "one", "ONE")
        assert "git branch -m" in caught.value.hint


def test_a_killed_closing_is_finished_by_the_next_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends after the closed ref is written, and before the branch goes."""
    with ProposedBase(tmp_path, PAGES) as base:
        identifier = propose(base, "one", "ONE")
        with monkeypatch.context() as patch:
            patch.setattr(GitProposals, "_remove", lambda *_: None)
            base.accept()
        assert base.repo.git("branch", "--list", "proposals/*") != ""
        assert base.open_ids() == []
        assert base.closed(identifier).state == "accepted"
        assert propose(base, "two", "TWO") != identifier


def test_another_git_program_that_moves_the_branch_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        identifier = propose(base, "one", "ONE")
        publish = branch_commits.BranchCommits.publish

        def moved(self: object, expected: str, tip: str) -> None:
            base.repo.git("update-ref", f"refs/heads/proposals/{identifier}", "HEAD")
            publish(self, expected, tip)  # pyright: ignore[reportArgumentType] - a new branch

        monkeypatch.setattr(branch_commits.BranchCommits, "publish", moved)
        with pytest.raises(UnavailableError, match="changed the proposal"):
            propose(base, "two", "TWO")
        assert base.repo.git("rev-parse", f"proposals/{identifier}") == base.repo.git("rev-parse", "HEAD")


def test_many_open_proposals_are_listed(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        own = branches(base)
        identifier = propose(base, "one", "ONE")
        tip = base.found().proposal.tip
        message = base.repo.git("log", "-1", "--format=%B", tip)
        ids = [f"many-{number:04}" for number in range(1_000)]
        parent = base.repo.git("rev-parse", f"{tip}^")
        blob = base.repo.git("rev-parse", f"{tip}:a.md")
        every = "".join(
            f"commit refs/heads/proposals/{other_id}\ncommitter A <a@b> 1700000000 +0000\n"
            f"data {len(message.replace(identifier, other_id).encode())}\n{message.replace(identifier, other_id)}\n"
            f"from {parent}\nM 100644 {blob} a.md\n\n"
            for other_id in ids
        )
        subprocess.run(["git", "fast-import", "--quiet"], cwd=base.repo.path, input=every.encode(), check=True)
        assert len(own.listed()) == 1_001
        assert base.open_ids()[0] == identifier
        propose(base, "two", "TWO")
        base.accept(identifier)
        assert len(base.open_ids()) == 1_000
