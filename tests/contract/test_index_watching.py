"""Changes from outside: found by the next search, without a restart."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.query import Filter
from commonplace.index.ingestion import MAX_SMALL_UPDATE
from indexed import Indexed, eventually
from support import GitRepo, new_repo

FILES = {f"docs/n{number}.md": f"# N{number}\n\nthe text w{number}x [[n1]]\n" for number in range(8)}


class Seen:
    """Records the reports of the index."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._paths: list[str] = []

    def __call__(self, addresses: Sequence[Address]) -> None:
        with self._lock:
            self._paths += [address.path for address in addresses]

    @property
    def paths(self) -> list[str]:
        with self._lock:
            return list(self._paths)


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def base(tmp_path: Path, seen: Seen) -> Iterator[Indexed]:
    with ExitStack() as stack:
        made = stack.enter_context(Indexed(tmp_path, FILES))
        stack.enter_context(made.index.watch(seen))
        yield made


def finds(base: Indexed, word: str, *paths: str) -> bool:
    return eventually(lambda: sorted(base.found(f"{word} ", prefix=False)) == sorted(paths))


def test_an_edit_is_found(base: Indexed, seen: Seen) -> None:
    base.write("docs/n3.md", "# N3\n\nkangaroo\n")
    assert finds(base, "kangaroo", "docs/n3.md")
    assert eventually(lambda: seen.paths == ["docs/n3.md"])


def test_it_says_from_when_on_changes_are_noticed(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        assert not base.index.wait_watched(0)
        with base.index.watch():
            assert base.index.wait_watched(0)


def test_a_file_that_is_no_document_is_not_taken_in_with_those_that_are(base: Indexed) -> None:
    base.write("docs/plan.txt", "kangaroo\n")
    base.write("docs/n3.md", "# N3\n\nkangaroo\n")
    base.index.update([Address("docs/n3.md"), Address("docs/plan.txt")])
    assert base.found("kangaroo ", prefix=False) == ["docs/n3.md"]
    assert base.index.counts().documents == len(FILES)


def test_a_save_by_writing_beside_and_renaming_is_found(base: Indexed) -> None:
    base.write("docs/.n3.md.swp", "# N3\n\nkangaroo\n")
    (base.folder / "docs" / ".n3.md.swp").rename(base.folder / "docs" / "n3.md")
    assert finds(base, "kangaroo", "docs/n3.md")


def test_new_and_deleted_files_are_seen(base: Indexed) -> None:
    base.write("docs/new.md", "# New\n\nkangaroo\n")
    assert finds(base, "kangaroo", "docs/new.md")
    (base.folder / "docs" / "new.md").unlink()
    assert finds(base, "kangaroo")


def test_a_new_folder_with_files_in_it_is_seen(base: Indexed) -> None:
    base.write("fresh/deep/a.md", "# A\n\nkangaroo\n")
    base.write("fresh/b.md", "# B\n\nkangaroo\n")
    assert finds(base, "kangaroo", "fresh/b.md", "fresh/deep/a.md")


def test_a_renamed_folder_moves_its_documents(base: Indexed) -> None:
    (base.folder / "docs").rename(base.folder / "texts")
    assert finds(base, "w3x", "texts/n3.md")
    assert eventually(lambda: base.listed() == sorted(path.replace("docs/", "texts/") for path in FILES))


def test_a_folder_moved_in_and_out_is_seen(base: Indexed, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "o.md").write_text("# O\n\nkangaroo\n")
    (tmp_path / "outside").rename(base.folder / "inside")
    assert finds(base, "kangaroo", "inside/o.md")
    (base.folder / "inside").rename(tmp_path / "outside")
    assert finds(base, "kangaroo")


def test_very_many_changes_are_seen(base: Indexed) -> None:
    for number in range(700):
        base.write(f"many/m{number:03}.md", f"# M\n\nwallaby m{number}x\n")
    assert eventually(lambda: base.index.counts().documents == 708)
    shutil.rmtree(base.folder / "many")
    assert eventually(lambda: base.index.counts().documents == 8)


def test_hidden_and_skipped_places_are_not_looked_at(base: Indexed, seen: Seen) -> None:
    for path in (".obsidian/x.md", ".git/y.md", "node_modules/z.md", "docs/.hidden.md"):
        base.write(path, "kangaroo")
    base.write("docs/n1.md", "# N1\n\nwallaby\n")
    assert finds(base, "wallaby", "docs/n1.md")
    assert base.found("kangaroo ", prefix=False) == []
    assert set(seen.paths) <= {"docs/n1.md"}


def test_links_to_other_files_follow_what_happens_to_them(base: Indexed) -> None:
    base.write("docs/n1.md", "# N1\n\n![p](pic.png)\n")
    assert eventually(lambda: [link.link.target for link in base.index.broken()] == ["pic.png"])
    base.write("docs/pic.png", b"png")
    assert eventually(lambda: len(base.index.links_to(Address("docs/pic.png"))) == 1)
    (base.folder / "docs" / "pic.png").unlink()
    assert eventually(lambda: [link.link.target for link in base.index.broken()] == ["pic.png"])


def test_own_writes_are_not_reported_and_not_indexed_again(base: Indexed, seen: Seen) -> None:
    base.update("docs/n2.md", "# N2\n\nkangaroo\n")
    generation = base.index.generation
    base.write("docs/n3.md", "# N3\n\nwallaby\n")
    assert finds(base, "wallaby", "docs/n3.md")
    assert eventually(lambda: seen.paths == ["docs/n3.md"])
    assert base.index.generation <= generation + 2


def test_another_process_write_is_reported(base: Indexed, seen: Seen) -> None:
    other = base.another()
    other.update([base.write("docs/n4.md", "# N4\n\nkangaroo\n")])
    assert base.found("kangaroo ") == ["docs/n4.md"]
    assert eventually(lambda: seen.paths == ["docs/n4.md"])
    other.close()


def test_a_folder_that_is_deleted_and_made_again_is_watched_again(base: Indexed) -> None:
    shutil.rmtree(base.folder)
    base.folder.mkdir()
    base.write("back.md", "# Back\n\nkangaroo\n")
    assert finds(base, "kangaroo", "back.md")
    base.write("later.md", "# Later\n\nwallaby\n")
    assert finds(base, "wallaby", "later.md")
    assert base.listed() == ["back.md", "later.md"]


def test_a_branch_switch_and_a_reset_are_seen(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "base")
    repo.path.mkdir()
    repo.git("init", "--quiet", "--initial-branch=main")
    repo.git("config", "user.name", "T")
    repo.git("config", "user.email", "t@example.org")
    repo.commit("one", **{f"n{number}.md": f"main{number}x" for number in range(90)})
    repo.git("switch", "--quiet", "--create", "side")
    repo.commit("two", **{f"n{number}.md": f"side{number}x" for number in range(0, 90, 2)}, **{"s.md": "only"})
    with Indexed(tmp_path) as base, base.index.watch():
        repo.git("switch", "--quiet", "main")
        assert finds(base, "main4x", "n4.md")
        assert eventually(lambda: base.index.counts().documents == 90)
        repo.git("merge", "--quiet", "side")
        assert finds(base, "side4x", "n4.md")
        assert finds(base, "only", "s.md")


def test_a_commit_that_changes_no_file_dates_its_pages(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"old.md": "# Old"})
    with Indexed(tmp_path, {"old.md": "# Old", "new.md": "# New"}) as made, made.index.watch():
        repo.git("add", "--all")
        repo.git("commit", "--quiet", "--message", "new", "--date=2020-05-09T12:00:00+0000")
        day = Filter(updated_from="2020-05-09", updated_to="2020-05-09")
        assert eventually(lambda: made.listed(day) == ["new.md"])


def test_watching_ends_with_its_block(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        before = threading.active_count()
        with base.index.watch():
            pass
        assert eventually(lambda: threading.active_count() <= before)


class Told:
    """Records a listener's notifications: the documents, and whether documents may have been added or removed."""

    def __init__(self) -> None:
        self.changes: list[tuple[list[str], bool]] = []

    def __call__(self, addresses: Sequence[Address], listing: bool) -> None:
        self.changes.append((sorted(address.path for address in addresses), listing))


def test_a_listener_is_told_once_of_every_change_whoever_made_it(base: Indexed, seen: Seen) -> None:
    reported_told = Told()
    base.index.listen(reported_told)
    base.update("docs/n2.md", "# N2\n\nkangaroo\n")
    base.update("docs/own.md", "# Own\n")
    base.write("docs/n3.md", "# N3\n\nwallaby\n")
    assert eventually(lambda: len(reported_told.changes) == 3)
    (base.folder / "docs" / "n4.md").unlink()
    assert eventually(lambda: len(reported_told.changes) == 4)
    assert reported_told.changes == [
        (["docs/n2.md"], False),
        (["docs/own.md"], True),
        (["docs/n3.md"], False),
        (["docs/n4.md"], True),
    ]
    assert eventually(lambda: sorted(seen.paths) == ["docs/n3.md", "docs/n4.md"])


def test_a_listener_is_told_of_what_another_process_took_in(base: Indexed) -> None:
    reported_told, other = Told(), base.another()
    base.index.listen(reported_told)
    other.update([base.write("docs/n4.md", "# N4\n\nkangaroo\n")])
    assert eventually(lambda: reported_told.changes == [(["docs/n4.md"], False)])
    other.update([base.write("docs/new.md", "# New\n")])
    assert eventually(lambda: reported_told.changes[1:] == [(["docs/new.md"], True)])
    other.close()


def test_a_writer_tells_its_listener_even_if_another_process_took_its_write_in(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        reported_told, other = Told(), base.another()
        base.index.listen(reported_told)
        written = base.write("docs/n4.md", "# N4\n\nkangaroo\n")
        other.update([written])
        base.index.update([written])
        base.index.update([written])
        assert reported_told.changes == [(["docs/n4.md"], False)]
        other.close()


def test_many_edits_are_not_told_as_documents_that_come_or_go(tmp_path: Path) -> None:
    many = {f"n{number}.md": "# N\n" for number in range(MAX_SMALL_UPDATE + 1)}
    with Indexed(tmp_path, many) as base:
        reported_told = Told()
        base.index.listen(reported_told)
        for path in many:
            base.write(path, "# N\n\nkangaroo\n")
        base.index.sync()
        base.write("new.md", "# N\n")
        base.index.sync()
        assert reported_told.changes == [(sorted(many), False), (["new.md"], True)]


def test_a_sync_by_request_tells_what_it_found_and_the_first_one_nothing(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        again, reported_told = base.another(), Told()
        again.listen(reported_told)
        base.write("docs/n9.md", "# N9\n")
        again.sync()
        assert reported_told.changes == []
        base.write("docs/n8.md", "# N8\n")
        again.sync()
        assert reported_told.changes == [(["docs/n8.md"], True)]
        again.close()
