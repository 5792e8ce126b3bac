"""An error about a page that is gone names the commit that took it away."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent import RefusedError, agent
from commonplace.domain.errors import NotFoundError
from commonplace.services import deletions
from commonplace.services.collections import Collections, find_document
from commonplace.services.deletions import deletion_of
from indexed import Indexed
from serving import served
from support import eventually, new_repo


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
        (repo.path / "new.md").rename(repo.path / "newest.md")
        moved = deletion_of([store], "new")
        assert moved
        assert (str(moved.moved_to), moved.hint) == ("newest.md", "Give newest.md.")
        assert moved.sentence.startswith("It was moved to newest.md, and that is not committed; commit ")
        (repo.path / "newest.md").rename(repo.path / "new.md")
        for reference in ("never", "new", "", "#x"):
            assert deletion_of([store], reference) is None
        with pytest.raises(NotFoundError, match=f"'gone'. It was deleted on .* in commit {head[:10]}") as caught:
            find_document(Collections(lambda: [base.collection]), "gone")
        assert caught.value.hint == f"Bring it back with restore, or read it as it was before {head[:10]}."


def test_a_page_that_was_moved_and_is_gone_since_is_told_by_its_last_path(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"a.md": "# A\n\nThe only page that moves.\n", "x/b.md": "# Other\n"})
    repo.git("mv", "a.md", "b.md")
    repo.git("commit", "--quiet", "-m", "Rename")
    repo.git("mv", "b.md", "c.md")
    repo.git("commit", "--quiet", "-m", "Again")
    with Indexed(tmp_path) as base:
        again = deletion_of([base.collection.store], "a")
        assert again
        assert again.hint == "Give c.md."
    repo.git("rm", "--quiet", "c.md", "x/b.md")
    repo.git("commit", "--quiet", "-m", "Remove")
    with Indexed(tmp_path) as base:
        gone = deletion_of([base.collection.store], "a")
        assert gone
        assert gone.sentence.startswith("It was moved to c.md, which was deleted on ")
        assert gone.hint.startswith(f"Bring c.md back with restore, or read it as it was before {gone.commit.id[:10]}")


def test_a_page_that_went_long_ago_is_told_now_and_in_the_past_once_the_history_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletions, "MAX_RECENT", 0)
    repo = new_repo(tmp_path / "base", {"a.md": "# A\n\nThe page that moves.\n", "b.md": "# Other\n"})
    repo.git("mv", "a.md", "c.md")
    repo.git("commit", "--quiet", "-m", "Rename")
    moved = repo.git("rev-parse", "HEAD")
    repo.git("checkout", "--quiet", "-b", "side", "HEAD~1")
    repo.git("rm", "--quiet", "b.md")
    repo.git("commit", "--quiet", "-m", "Remove")
    removed = repo.git("rev-parse", "HEAD")
    repo.git("checkout", "--quiet", "-")
    repo.git("merge", "--quiet", "-m", "Merge", "side")
    merge = repo.git("rev-parse", "HEAD")
    repo.git("rm", "--quiet", "c.md")
    repo.git("commit", "--quiet", "-m", "Remove the moved one")
    with Indexed(tmp_path) as base:
        base.collection.store.history.touched()
        commits = base.collection.store.past
        assert commits

        def told(name: str, at: str = "") -> tuple[str, str | None, str] | None:
            gone = deletion_of([commits.store(at) if at else base.collection.store], name)
            return gone and (gone.address.path, gone.moved_to and gone.moved_to.path, gone.commit.id)

        last = repo.git("rev-parse", "HEAD")
        # Nothing is told while another thread reads the history.
        eventually(lambda: told("a", moved) == told("a", merge) == ("a.md", "c.md", moved))
        eventually(lambda: told("b") == told("b", merge) == ("b.md", None, removed))
        assert told("b", moved) is told("c", merge) is told("never") is None
        eventually(lambda: told("a") == told("c") == ("c.md", None, last))


def test_a_file_that_is_there_and_not_served_was_not_deleted(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"tea.md": "# Tea\n", "target.md": "# Target\n"})
    (repo.path / "link.md").symlink_to("/etc/passwd")
    repo.git("add", "link.md")
    repo.git("commit", "--quiet", "-m", "A link")
    said = "link.md is there, but not served: a link that leads to no servable file inside the folder."
    with Indexed(tmp_path) as base:
        assert deletion_of([base.collection.store], "link") is None
        with pytest.raises(NotFoundError, match=re.escape(said)):
            find_document(Collections(lambda: [base.collection]), "link")
    with agent("mcp", repo.path, "--no-embed") as notes:
        for page in ("link", "link.md"):
            with pytest.raises(RefusedError, match=re.escape(said)):
                notes.text("read", page=page)
        assert "link.md" not in notes.text("changes", deleted=True)
    with served(repo.path) as server:
        body = server.ask("GET", "/p/link", headers={"Accept": "text/html"}).body.decode()
        assert "This page was removed" not in body
