"""The documents that later commits touched."""

from __future__ import annotations

from pathlib import Path

from commonplace.domain.addresses import Address
from histories import history
from support import GitRepo

A, B = Address("a.md"), Address("b.md")


def test_what_later_commits_touched_is_told(repo: GitRepo, below: str) -> None:
    past = history(repo.path / below)
    begun = past.head()
    assert past.touched_since(begun) == set()
    there, back = ({str(Path(below) / "b.md"): text, "elsewhere.md": text} for text in ("there\n", "back\n"))
    repo.commit("There", **there)
    repo.commit("And back", **back)
    assert past.touched_since(begun) == {B} | ({Address("elsewhere.md")} if not below else set())
    assert past.touched([B, Address("none.md")]) == {B: past.touched()[B]}
    amended = past.head()
    repo.git("commit", "--quiet", "--amend", "-m", "Amended")
    assert [past.touched_since(commit) for commit in (amended, "0" * 40, "")] == [None, None, None]
