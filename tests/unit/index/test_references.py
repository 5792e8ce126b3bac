"""References of people: what they name, and what they were meant to name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commonplace.domain.addresses import Address
from indexed import Indexed

FILES = {
    "notes/Über uns.md": "---\nid: about\naliases: [Wir, 關於]\n---\n# About us\n",
    "notes/setup.md": "# Setup\n",
    "other/setup.md": "# Installation guide\n",
    "x/one.md": "---\nid: same\n---\n",
    "x/two.md": "---\nid: same\n---\n",
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    with Indexed(tmp_path_factory.mktemp("references"), FILES) as indexed:
        yield indexed


@pytest.mark.parametrize(
    ("reference", "path"),
    [
        ("notes/Über uns.md", "notes/Über uns.md"),
        ("notes/U\u0308ber uns", "notes/Über uns.md"),
        ("about", "notes/Über uns.md"),
        (" WIR ", "notes/Über uns.md"),
        ("關於", "notes/Über uns.md"),
        ("installation GUIDE", "other/setup.md"),
        ("same", None),
        ("none", None),
        ("", None),
        (" \t", None),
        ("../../etc/passwd", None),
        ("a\0b", None),
        ("x" * 10_000, None),
    ],
)
def test_a_reference_names_a_document_or_nothing(base: Indexed, reference: str, path: str | None) -> None:
    record = base.index.find(reference)
    assert (record.address.path if record else None) == path


def test_of_two_documents_of_one_name_the_nearer_to_the_reader_is_meant(base: Indexed) -> None:
    for folder in ("notes", "other"):
        record = base.index.find("setup", Address(f"{folder}/reader.md"))
        assert record is not None
        assert record.address.path == f"{folder}/setup.md"


@pytest.mark.parametrize(
    ("reference", "first"),
    [
        ("abuot", "about"),
        ("notes/setpu", "notes/setup"),
        ("Instalation guide", "other/setup"),
        ("notes/uber uns", "about"),
    ],
)
def test_a_misspelt_reference_is_answered_with_the_nearest_ids(base: Indexed, reference: str, first: str) -> None:
    assert base.index.nearest(reference)[0] == first


@pytest.mark.parametrize("reference", ["", "  ", "zzzzqqqq", "\0", "🍵" * 50, "x" * 10_000])
def test_what_is_like_nothing_is_answered_with_nothing(base: Indexed, reference: str) -> None:
    assert base.index.nearest(reference) == []


def test_a_limit_holds_and_new_and_deleted_names_are_followed(base: Indexed) -> None:
    assert len(base.index.nearest("setup", 1)) == 1
    assert base.index.nearest("setup", 0) == []
    base.update("fresh/quixotic.md", "# Quixotic\n")
    assert base.index.nearest("quixotik") == ["fresh/quixotic"]
    (base.folder / "fresh/quixotic.md").unlink()
    base.index.update([Address("fresh/quixotic.md")])
    assert base.index.nearest("quixotik") == []


def test_the_page_of_another_day_is_not_what_was_meant(base: Indexed) -> None:
    base.update("daily/2026-11-22.md", "# Sunday\n")
    base.update("meeting 20261122 notes.md", "# Meeting\n")
    assert base.index.nearest("daily/2026-11-22x") == ["daily/2026-11-22"]
    assert base.index.nearest("2026-11-23") == []
    assert base.index.nearest("meeting 20261123 notes") == []
    assert base.index.nearest("meeting 2026-11-22 notes")[0] == "meeting 20261122 notes"
