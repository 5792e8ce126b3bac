"""A watched folder: every change is reported, whatever becomes of the folder."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from commonplace.domain.errors import StorageError
from commonplace.index.watcher import FileChanges, Watcher
from indexed import eventually
from support import new_repo


@contextmanager
def watched(folder: Path, failing: int = 0) -> Generator[list[FileChanges]]:
    reported: list[FileChanges] = []

    def report(changes: FileChanges) -> None:
        reported.append(changes)
        if len(reported) <= failing:
            raise StorageError("Not now.")

    watcher = Watcher(folder, report)
    watcher.start()
    try:
        yield reported
    finally:
        watcher.stop()


def documents(reported: list[FileChanges]) -> set[str]:
    return {address.path for changes in reported for address in changes.documents}


def others(reported: list[FileChanges]) -> set[str]:
    return {address.path for changes in reported for address in changes.other_files}


def test_documents_and_other_files_are_told_apart_and_hidden_ones_are_not_told(tmp_path: Path) -> None:
    folder = tmp_path / "base"
    (folder / ".hidden").mkdir(parents=True)
    (folder / "node_modules").mkdir()
    with watched(folder) as reported:
        for name in (".hidden/x.md", "node_modules/y.md", "p.png", "Über 文.md"):
            (folder / name).write_text("x")
        assert eventually(lambda: documents(reported) == {"Über 文.md"} and others(reported) == {"p.png"})
        (folder / "p.png").unlink()
        (folder / "Über 文.md").unlink()
        assert eventually(lambda: len([changes for changes in reported if changes.other_files]) > 1)


def test_a_new_folder_or_ignore_file_asks_for_a_scan(tmp_path: Path) -> None:
    folder = tmp_path / "base"
    folder.mkdir()
    for name in ("new", ".gitignore"):
        with watched(folder) as reported:
            (folder / name).mkdir() if name == "new" else (folder / name).write_text("x\n")
            assert eventually(lambda: any(changes.scan for changes in reported))


def test_a_commit_is_told_as_history(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"a.md": "# A\n"})
    with watched(repo.path) as reported:
        repo.git("commit", "--quiet", "--allow-empty", "--message", "More")
        assert eventually(lambda: any(changes.history for changes in reported))
    assert documents(reported) == set()


def test_a_report_that_fails_stops_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "base"
    folder.mkdir()
    with watched(folder, failing=1) as reported:
        (folder / "a.md").write_text("x")
        assert eventually(lambda: len(reported) == 1)
        (folder / "b.md").write_text("x")
        assert eventually(lambda: "b.md" in documents(reported))


def test_a_folder_that_is_deleted_and_made_anew_is_watched_again(tmp_path: Path) -> None:
    folder = tmp_path / "base"
    folder.mkdir()
    with watched(folder) as reported:
        shutil.rmtree(folder)
        folder.mkdir()
        assert eventually(lambda: any(changes.scan for changes in reported))

        def is_noticed() -> bool:
            (folder / "a.md").write_text("x")  # again, because the scan may be reported before the folder is watched
            return "a.md" in documents(reported)

        assert eventually(is_noticed)
