"""Attachments of a page: where they are stored, under which name, and how the page links to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError
from commonplace.services.writes import UNCONDITIONAL
from commonplace.services.writes.attachments import attach
from indexed import Indexed

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
FILES = {"guide/a.md": "# A\n", "b.md": "# B\n\n![](pics/x.png)\n", "pics/x.png": PNG}


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    with Indexed(tmp_path, FILES) as made:
        yield made


def stored(base: Indexed, page: str, name: str, content: bytes = PNG) -> tuple[str, str, bool]:
    done = attach(base.collection, Address(page), name, content, UNCONDITIONAL)
    return done.address.path, done.markdown, done.created


def test_a_file_lies_where_the_files_of_the_page_lie(base: Indexed) -> None:
    assert stored(base, "guide/a.md", "tea pot.PNG") == (
        "guide/attachments/tea pot.png",
        "![tea pot](attachments/tea%20pot.png)",
        True,
    )
    assert stored(base, "b.md", "y.png")[:2] == ("pics/y.png", "![y](pics/y.png)")


def test_nothing_is_overwritten_and_the_same_bytes_are_one_file(base: Indexed) -> None:
    other = PNG + b"1"
    assert stored(base, "b.md", "x.png", other) == ("pics/x-2.png", "![x-2](pics/x-2.png)".replace("x-2]", "x]"), True)
    assert stored(base, "b.md", "x.png", other)[::2] == ("pics/x-2.png", False)
    assert base.store.read(Address("pics/x.png")) == PNG


def test_nothing_is_stored_where_ignore_files_exclude_it(base: Indexed) -> None:
    base.write(".commonplaceignore", "/pics/*.png\n")
    with pytest.raises(InvalidInputError, match=r"pics/y.png is ignored by an ignore file, so it would not be shown"):
        stored(base, "b.md", "y.png")
    assert not (base.folder / "pics" / "y.png").exists()


def test_a_name_leads_to_no_other_folder(base: Indexed) -> None:
    assert stored(base, "b.md", "../../etc/p.png")[0] == "pics/p.png"
    assert stored(base, "b.md", "C:\\secret\\q.png")[0] == "pics/q.png"


def test_what_is_not_what_its_name_says_is_refused(base: Indexed) -> None:
    for name, content in (("a.png", b"<script>"), ("a.exe", b"MZ"), ("", PNG)):
        with pytest.raises(InvalidInputError):
            stored(base, "b.md", name, content)
    assert not (base.folder / "a.png").exists()
