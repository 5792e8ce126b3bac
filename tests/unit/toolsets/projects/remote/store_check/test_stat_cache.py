"""Facts of documents that are kept: whatever happens in a folder, they are those that a look at every file finds."""

from __future__ import annotations

import mmap
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from commonplace.domain.changes import FileStat
from commonplace.store.disk.folder import file_stat
from commonplace.store.disk.inotify import InotifyQueue, UnwatchableError
from commonplace.toolsets.projects.remote.store_check import MAX_AGE_SECONDS, MAX_WATCHED_FOLDERS, StatCache
from support import open_files

QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")


def asked(cache: StatCache, folder: Path, *, watchable: bool = True) -> Mapping[str, FileStat]:
    """The cached data of a folder, requested as the store does."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        return cache.documents(descriptor, lambda: watchable)
    finally:
        os.close(descriptor)


def looked(folder: Path) -> dict[str, FileStat]:
    """The current data of a folder, from the stat data of every file."""
    return {
        path.name: file_stat(path.lstat())
        for path in folder.iterdir()
        if path.suffix.lower() == ".md" and path.is_file() and not path.is_symlink() and not path.name.startswith(".")
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a few documents."""
    place = tmp_path / "knowledge"
    place.mkdir()
    for number in range(20):
        (place / f"{number}.md").write_text(f"# {number}\n")
    return place


def test_nothing_is_looked_at_again_while_nothing_happens(folder: Path) -> None:
    cache = StatCache()
    first = asked(cache, folder)
    assert first == looked(folder)
    assert asked(cache, folder) is first


def rewrite(folder: Path) -> None:
    """Overwrite a file in place with as many bytes, and reset its time."""
    before = (folder / "3.md").stat()
    with (folder / "3.md").open("r+") as file:
        file.write("# X\n")
    os.utime(folder / "3.md", ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(folder: Path) -> None:
    """Replace a file as editors do: write beside it, then rename."""
    (folder / ".3.md.swp").write_text("# three\n")
    (folder / ".3.md.swp").rename(folder / "3.md")


def link_in_place(folder: Path) -> None:
    """A link where a document was."""
    (folder / "3.md").unlink()
    (folder / "3.md").symlink_to("4.md")


def folder_in_place(folder: Path) -> None:
    """A folder where a document was."""
    (folder / "3.md").unlink()
    (folder / "3.md").mkdir()


def another_folder(folder: Path) -> None:
    """The whole folder moved away, and another one made."""
    folder.rename(folder.with_name("old"))
    folder.mkdir()
    (folder / "new.md").write_text("new")


def the_same_anew(folder: Path) -> None:
    """The whole folder deleted and made again, with files of the same names and sizes."""
    names = [path.name for path in folder.iterdir()]
    shutil.rmtree(folder)
    folder.mkdir()
    for name in names:
        (folder / name).write_text("# Z\n")


CHANGES: list[Callable[[Path], object]] = [
    rewrite,
    replace,
    link_in_place,
    folder_in_place,
    another_folder,
    the_same_anew,
    lambda folder: (folder / "3.md").unlink(),
    lambda folder: (folder / "NEW.MD").write_text("new"),
    lambda folder: (folder / "3.md").rename(folder / "3.txt"),
    lambda folder: (folder / "3.md").rename(folder / "Ünïcode 中文.md"),
    lambda folder: (folder / "3.md").chmod(0o600),
    lambda folder: os.truncate(folder / "3.md", 1),
    lambda folder: folder.rename(folder.with_name("away")).rename(folder),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_known_at_once(folder: Path, change: Callable[[Path], object]) -> None:
    cache = StatCache()
    asked(cache, folder)
    change(folder)
    assert asked(cache, folder) == looked(folder)


def test_any_sequence_of_changes_is_known_at_once(folder: Path) -> None:
    cache, chance = StatCache(), random.Random(5)
    for _ in range(300):
        file = folder / f"{chance.randrange(30)}.md"
        other = folder / f"{chance.randrange(30)}.md"
        for _ in range(chance.randrange(3)):
            match chance.randrange(5):
                case 0:
                    file.unlink(missing_ok=True)
                case 1 if file.exists():
                    file.rename(other)
                case 2 if file.exists() and not other.exists():
                    os.link(file, other)
                case 3 if file.exists():
                    os.truncate(file, chance.randrange(9))
                case _:
                    file.write_text("x" * chance.randrange(9))
        assert asked(cache, folder) == looked(folder)


def test_a_change_by_another_process_is_known_at_once(folder: Path) -> None:
    cache = StatCache()
    asked(cache, folder)
    code = "import sys; open(sys.argv[1], 'r+').write('# other')"
    subprocess.run([sys.executable, "-I", "-S", "-c", code, str(folder / "7.md")], check=True)
    assert asked(cache, folder) == looked(folder)


def test_a_change_through_a_second_name_elsewhere_is_known_at_once(folder: Path) -> None:
    os.link(folder / "3.md", folder.parent / "elsewhere")
    cache = StatCache()
    asked(cache, folder)
    (folder.parent / "elsewhere").write_text("changed through its other name")
    assert asked(cache, folder) == looked(folder)


def test_more_changes_than_the_system_keeps_are_known_at_once(folder: Path) -> None:
    most = int(QUEUE.read_text())
    if most > 50_000:
        pytest.skip(f"{most} events are kept here")
    cache = StatCache()
    asked(cache, folder)
    for number in range(most // 2 + 10):  # alike in a row are one event
        os.utime(folder / "1.md", ns=(number, number))
        os.utime(folder / "2.md", ns=(number, number))
    (folder / "3.md").write_text("the last of them")
    assert asked(cache, folder) == looked(folder)
    (folder / "4.md").write_text("and after them")
    assert asked(cache, folder) == looked(folder)


def test_a_write_that_no_system_tells_of_is_known_after_a_while(folder: Path) -> None:
    now = [0.0]
    cache = StatCache(lambda: now[0])
    with (folder / "3.md").open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), 4)
    os.utime(folder / "3.md", ns=(0, 0))
    asked(cache, folder)
    with mapped:
        mapped[2:3] = b"X"
        mapped.flush()
    now[0] += MAX_AGE_SECONDS
    assert asked(cache, folder) == looked(folder)
    assert looked(folder)["3.md"].mtime_ns


def test_more_folders_than_are_watched_are_answered_for(tmp_path: Path) -> None:
    cache = StatCache()
    places = [tmp_path / str(number) for number in range(MAX_WATCHED_FOLDERS + 5)]
    for place in places:
        place.mkdir()
        asked(cache, place)
        (place / "one.md").write_text("1")
    assert all(asked(cache, place) == looked(place) for place in places)


@pytest.mark.parametrize("change", CHANGES)
def test_a_folder_that_cannot_be_watched_is_looked_at_each_time(folder: Path, change: Callable[[Path], object]) -> None:
    cache = StatCache()
    asked(cache, folder, watchable=False)
    change(folder)
    assert asked(cache, folder, watchable=False) == looked(folder)


def test_a_forked_process_takes_no_notice_away(folder: Path) -> None:
    cache = StatCache()
    asked(cache, folder)
    (folder / "3.md").write_text("before the fork")
    child = os.fork()
    if child == 0:
        right = asked(cache, folder) == looked(folder)
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert asked(cache, folder) == looked(folder)


def test_what_is_no_folder_cannot_be_watched(folder: Path) -> None:
    notices = InotifyQueue()
    with (folder / "3.md").open() as file, pytest.raises(UnwatchableError):
        notices.watch(file.fileno())


def test_what_watches_is_given_back(folder: Path) -> None:
    before = open_files("anon_inode:")
    for _ in range(20):
        asked(StatCache(), folder)
    assert open_files("anon_inode:") == before
