"""Lists of commits: in parts and at once, before and after the history has been read, none read twice."""

from __future__ import annotations

import os

import pygit2

from commonplace.domain.addresses import Address
from commonplace.store.git.past.commit_listing import CommitListing
from commonplace.store.git.past.document_spans import DocumentSpans
from commonplace.store.git.past.revision_walk import RenameFinder
from commonplace.store.git.repository import GitRepository
from histories import history
from support import GitRepo


class Counting(GitRepository):
    """A repository that counts how often a commit is looked up by its name."""

    def __init__(self, folder: os.PathLike[str]) -> None:
        super().__init__(folder / ".git", folder)
        self.names: list[str] = []

    def commit(self, identifier: str) -> pygit2.Commit:
        self.names.append(identifier)
        return super().commit(identifier)


def test_a_list_in_parts_is_the_whole_one_and_walks_the_commits_once(repo: GitRepo, below: str) -> None:
    prefix = f"{below}/" if below else ""
    repo.git("checkout", "-q", "-b", "aside", "HEAD~2")
    repo.commit("Aside", **{f"{prefix}aside.md": "x\n"})
    repo.git("checkout", "-q", "-")
    repo.git("merge", "-q", "--no-edit", "aside")
    begun = history(repo.path / below).log(None, limit=50)
    repo.commit("Last", **{f"{prefix}a.md": "last\n", f"{prefix}Z.md": "z\n"})
    repo.commit("Other file", **{f"{prefix}q.png": "x"})
    past = history(repo.path / below)
    whole = past.log(None, limit=50)
    assert [commit.message for commit in whole[:2]] == ["Other file\n", "Last\n"]
    assert whole[2:] == begun
    assert past.log(None, limit=50, after=whole[2].id) == whole[:2]

    repository = Counting(repo.path)
    hidden = {Address("aside.md")}
    spans = DocumentSpans(repository, below, RenameFinder(repository, below, hidden.__contains__))
    listing = CommitListing(repository, below, spans, hidden.__contains__)
    head = repository.head
    for _ in range(2):  # before the history has been read, and then
        parts = [listing.part(head, offset, 2, None, None) for offset in range(0, len(whole), 2)]
        listed = [commit for part in parts for commit in part]
        assert [commit.id for commit in listed] == [commit.id for commit in whole]
        assert {commit.message for commit in listed if not commit.is_shown} == {"Aside\n"}
        assert [c for c in listed if c.addresses] == [c for c in whole if {*c.addresses} - hidden]
        ending = [commit for commit in listing.part(head, 0, 50, None, "a.") if commit.is_shown]
        assert [commit.addresses for commit in ending] == [(Address("a.md"),)] * len(ending)
        assert [commit.id for commit in ending] == [c.id for c in whole if Address("a.md") in c.addresses]
        spans.current()
    assert repository.names.count(head) == 1 + 4 + 1, "one walk, two lists that begin there in each pass, the dates"
