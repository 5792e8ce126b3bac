"""The path for a name without a folder and suffix, for a new page and for a moved one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError
from commonplace.services.collections import record_of
from commonplace.services.writes.new_paths import daily_address, has_folder, moved_address, new_page_address
from indexed import Indexed

FILES: dict[str, str | bytes] = {
    "home/Compost.md": "# Heap\n",
    "home/Restic.markdown": "# Backups\n",
    "notes/a.md": "---\nid: first\n---\n# A\n",
    "top.md": "# Top\n",
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    with Indexed(tmp_path_factory.mktemp("paths"), FILES) as indexed:
        yield indexed


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("new", "new.md"),
        ("top", "top.md"),
        ("Compost.md", "Compost.md"),
        ("/Compost", "Compost.md"),
        ("home/Compost", "home/Compost.md"),
        ("other/Compost", "other/Compost.md"),
        ("notes.md", "notes.md"),
        ("notes/b", "notes/b.md"),
    ],
)
def test_a_path_says_where_a_page_goes(base: Indexed, given: str, path: str) -> None:
    assert new_page_address(base.collection, given) == Address(path)


@pytest.mark.parametrize(
    ("given", "there"),
    [("Compost", "home/Compost.md"), ("compost", "home/Compost.md"), ("Heap", "home/Compost.md"),
     ("first", "notes/a.md"), ("Restic", "home/Restic.markdown")],
)  # fmt: skip
def test_a_name_that_another_page_has_is_refused_with_its_path(base: Indexed, given: str, there: str) -> None:
    with pytest.raises(AlreadyExistsError, match="There is a page of this name") as caught:
        new_page_address(base.collection, given)
    assert caught.value.context["nearest"] == [there]
    assert f"{given}.md" in caught.value.hint


def test_a_name_that_a_folder_has_is_refused_with_both_ways_on(base: Indexed) -> None:
    with pytest.raises(InvalidInputError, match="'notes' is a folder") as caught:
        new_page_address(base.collection, "notes")
    assert "'notes/NAME'" in caught.value.hint
    assert "'notes.md'" in caught.value.hint


@pytest.mark.parametrize(
    ("old", "to", "path"),
    [
        ("home/Compost.md", "Heap", "home/Heap.md"),
        ("home/Compost.md", "Heap.md", "Heap.md"),
        ("home/Compost.md", "/Heap", "Heap.md"),
        ("home/Compost.md", "./Heap", "Heap.md"),
        ("home/Compost.md", "notes/", "notes/Compost.md"),
        ("home/Compost.md", "notes/Heap", "notes/Heap.md"),
        ("home/Restic.markdown", "Borg", "home/Borg.markdown"),
        ("home/Restic.markdown", "notes/Borg", "notes/Borg.markdown"),
        ("home/Restic.markdown", "notes/", "notes/Restic.markdown"),
        ("top.md", "Bottom", "Bottom.md"),
    ],
)
def test_a_mere_name_keeps_the_folder_of_the_page_that_moves(base: Indexed, old: str, to: str, path: str) -> None:
    assert moved_address(base.collection, Address(old), to) == Address(path)


@pytest.mark.parametrize(("old", "to"), [("top.md", "notes"), ("home/Compost.md", "notes"), ("top.md", "/notes")])
def test_a_move_onto_the_name_of_a_folder_is_refused_with_both_ways_on(base: Indexed, old: str, to: str) -> None:
    with pytest.raises(InvalidInputError, match="'notes' is a folder") as caught:
        moved_address(base.collection, Address(old), to)
    assert "'notes/'" in caught.value.hint


def test_a_folder_is_one_with_pages(base: Indexed) -> None:
    assert has_folder(base.collection, "notes/")
    assert not has_folder(base.collection, "none")


def test_a_file_that_is_no_page_is_not_taken_for_a_page_of_its_name(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a/p.png": b"\x89PNG", "a/p.png.md": "# P\n", "v1.2.md": "# V\n"}) as base:
        with pytest.raises(InvalidInputError, match=r"a/p\.png is a file and no page") as caught:
            new_page_address(base.collection, "a/p.png")
        assert "'a/p.png.md'" in caught.value.hint
        assert record_of(base.index, "a/p.png") is None
        assert [record_of(base.index, reference) is not None for reference in ("a/p.png.md", "v1.2", "v1.2.md")] == [
            True
        ] * 3


def test_in_a_graph_of_logseq_a_name_gets_the_file_that_logseq_gives_it(tmp_path: Path) -> None:
    files = {"logseq/config.edn": "{:file/name-format :triple-lowbar}", "pages/a___b.md": "- x\n", "c.md": "- y\n"}
    with Indexed(tmp_path, files) as base:
        collection, old = base.collection, Address("pages/a___b.md")
        assert new_page_address(collection, "term/new").path == "pages/term___new.md"
        assert new_page_address(collection, "Nov 29th, 2026").path == "journals/2026_11_29.md"
        assert new_page_address(collection, "pages/d").path == "pages/d.md"
        assert moved_address(collection, old, "term/dot?").path == "pages/term___dot%3F.md"
        assert moved_address(collection, old, "pages/x___y.md").path == "pages/x___y.md"
        assert daily_address(collection, date(2026, 11, 29)).path == "journals/2026_11_29.md"
