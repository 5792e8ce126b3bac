"""The history that is stored for the next process: damaged files, other branches, and the limit of its size."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.ports import History
from commonplace.store import open_store
from commonplace.store.git.past import document_spans
from commonplace.store.git.past.document_spans import HISTORY_FILE, CommitChanges
from support import GitRepo, MakeRepo

PAGE = Address("notes/page-3.md")


def opened(repo: GitRepo, place: Path) -> History:
    return open_store(repo.path, commit="manual", state_dir=place / "state", cache_dir=place / "cache").history


def test_a_stored_history_that_is_damaged_or_of_another_branch_is_not_used(
    git_repo: MakeRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_spans, "STORED_EVERY", 1)
    repo = git_repo(files={"a.md": "one\n"})
    begun = opened(repo, tmp_path).touched()
    (file,) = (tmp_path / "cache").rglob(HISTORY_FILE)
    stored = file.read_bytes()
    for damaged in (b"", stored[:-1], stored[:40], stored[:60] + b"\xff" + stored[61:], stored + b"x"):
        file.write_bytes(damaged)
        assert opened(repo, tmp_path).touched() == begun
        assert file.read_bytes() == stored
    tree = repo.git("rev-parse", "HEAD^{tree}").strip()
    loose = repo.path / ".git/objects" / tree[:2] / tree[2:]
    content = loose.read_bytes()
    loose.unlink()  # a walk needs it
    assert opened(repo, tmp_path).touched() == begun
    loose.write_bytes(content)
    last = repo.commit("More", **{"a.md": "two\n"})
    grown = opened(repo, tmp_path)
    assert grown.address_at(Address("a.md"), last) == Address("a.md")
    assert grown.touched()[Address("a.md")].last.id == last
    assert grown.touched()[Address("a.md")].first == begun[Address("a.md")].first
    repo.git("checkout", "-q", "--orphan", "other")
    other = repo.commit("Other", **{"b.md": "other\n"})
    assert {span.first.id for span in opened(repo, tmp_path).touched().values()} == {other}


def test_changes_beyond_the_limit_are_not_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_spans, "MAX_CACHED_CHANGES", 3)
    changes = CommitChanges()
    for place in range(3):
        changes.add(PAGE, place, b"")
    assert changes.complete
    assert list(changes.of(PAGE, newest_first=True)) == [(2, b""), (1, b""), (0, b"")]
    changes.add(PAGE, 3, b"b" * 20)
    assert not changes.complete
    assert list(changes.of(PAGE)) == []
