"""An error about a page that is gone names the commit that took it away."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.errors import NotFoundError
from commonplace.services.collections import Collections, find_document
from commonplace.services.deletions import deletion_of
from indexed import Indexed
from support import new_repo


def test_a_deletion_and_a_move_are_told_and_what_never_was_is_not(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"in/gone.md": "# Gone\n\nIt was here.\n", "old.md": "# Old\n\nMoved on.\n"})
    repo.git("rm", "--quiet", "in/gone.md")
    repo.git("commit", "--quiet", "-m", "Remove")
    head = repo.git("rev-parse", "HEAD")
    repo.git("mv", "old.md", "new.md")
    repo.git("commit", "--quiet", "-m", "Rename")
    with Indexed(tmp_path) as base:
        store = base.collection.store
        for reference in ("in/gone.md", "in/gone", "Gone", "in/gone#Part"):
            deletion = deletion_of([store], reference)
            assert deletion
            assert (deletion.address.path, deletion.commit.id, deletion.moved_to) == ("in/gone.md", head, None)
        moved = deletion_of([store], "old")
        assert moved
        assert str(moved.moved_to) == "new.md"
        assert moved.hint == "Give new.md."
        (repo.path / "new.md").unlink()
        loose = deletion_of([store], "new")
        assert loose
        assert not loose.is_committed
        assert loose.sentence.startswith("It was deleted, and that is not committed; commit ")
        repo.git("checkout", "--quiet", "new.md")
        for reference in ("never", "new", "", "#x"):
            assert deletion_of([store], reference) is None
        with pytest.raises(NotFoundError, match=f"'gone'. It was deleted on .* in commit {head[:10]}") as caught:
            find_document(Collections(lambda: [base.collection]), "gone")
        assert caught.value.hint == f"Bring it back with restore, or read it as it was before {head[:10]}."
