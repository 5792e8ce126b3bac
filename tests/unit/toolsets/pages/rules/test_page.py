"""Files that are pages."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.toolsets.pages.rules.page import (
    NestedSpaces,
    Page,
    PageText,
    UnusablePage,
    content_of,
    fold_label,
    page_addresses,
    pages_by_id,
    read_page,
)
from indexed import Indexed

PLACE = Address("a/b.md")


def page(front: str, body: str = "# Title\n\ntext\n") -> Page:
    unusable_page = read_page(PLACE, f"---\npage_id: 1\n{front}\n---\n\n{body}".encode())
    assert isinstance(unusable_page, PageText)
    return unusable_page.page


@pytest.mark.parametrize(
    ("written", "read"), [("1", "1"), ("'007'", "007"), ("a-B_9", "a-B_9"), ("12345678901", "12345678901")]
)
def test_an_id_may_be_a_number_or_a_text(written: str, read: str) -> None:
    unusable_page = read_page(PLACE, f"---\npage_id: {written}\n---\n".encode())
    assert isinstance(unusable_page, PageText)
    assert unusable_page.page.id == read


@each_case("written", ["a/b", "'a b'", "1.5", "true", "[1]", "{a: 1}", "é", "x" * 512, "'../x'", "'1\\n'"])
def test_an_id_of_other_characters_is_no_page(written: str) -> None:
    assert isinstance(read_page(PLACE, f"---\npage_id: {written}\n---\n".encode()), UnusablePage)


@each_case("raw", [b"", b"# Title\n", b"---\ntitle: x\n---\n", b"---\npage_id:\n---\n", b"---\ntitle: [x\n"])
def test_a_file_without_an_id_is_none(raw: bytes) -> None:
    assert read_page(PLACE, raw) is None


@each_case("path", ["build/a.md", "x/dist/a.md", "coverage/a.md", "node_modules/a.md", "__pycache__/a.md", "a.txt"])
def test_a_file_in_a_folder_of_products_is_none(path: str) -> None:
    assert read_page(Address(path), b"---\npage_id: 1\n---\n") is None
    assert read_page(Address("build.md"), b"---\npage_id: 1\n---\n") is not None


@each_case(
    ("written", "moment"),
    [
        ("2024-05-31", "2024-05-31T00:00:00"),
        ('"2024-05-31"', "2024-05-31T00:00:00"),
        ("2024-05-31T10:20:30Z", "2024-05-31T10:20:30"),
        ('"2024-05-31T10:20:30.999Z"', "2024-05-31T10:20:30"),
        ('"2024-05-31T10:20:30.123+0200"', "2024-05-31T08:20:30"),
        ("2024-05-31 10:20:30 -03:00", "2024-05-31T13:20:30"),
        ("2024-5-1", "2024-05-01T00:00:00"),
        ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59"),
    ],
)
def test_dates_are_read_however_they_are_written(written: str, moment: str) -> None:
    expected = int(datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp())
    assert page(f"created_at: {written}").created == expected


@each_case("written", ["", "soon", "2024-02-30", "12", "[2024-01-01]", "20240531", "0000-00-00"])
def test_what_is_no_date_is_unknown(written: str) -> None:
    assert page(f"updated_at: {written}").updated is None


@each_case(
    ("written", "labels"),
    [("[a, B c, 5]", ("a", "B c", "5")), ("a, b", ("a", "b")), ("a", ("a",)), ("", ()), ("[a, a, '', {x: 1}]", ("a",))],
)
def test_labels_are_a_list_or_a_text(written: str, labels: tuple[str, ...]) -> None:
    assert page(f"labels: {written}").labels == labels


def test_the_author_is_the_address_or_else_the_name() -> None:
    assert page("author_email: a@example.org\nauthor_name: Ann").author == "a@example.org"
    assert page("author_name: Ann").author == "Ann"
    assert page("author_email: null").author == ""


def test_the_title_is_that_of_the_frontmatter_or_the_heading_or_the_file() -> None:
    assert page("title: 'One:  two'").title == "One: two"
    assert page("", "# Heading\n").title == "Heading"
    assert page("", "text\n").title == "b"


def test_bytes_that_are_no_text_are_shown_as_far_as_they_are() -> None:
    raw = b"\xef\xbb\xbf---\npage_id: 1\n---\n\n# T\xff\n\nbody\n"
    unusable_page = read_page(PLACE, raw)
    assert isinstance(unusable_page, PageText)
    assert unusable_page.content == content_of(raw) == "# Tÿ\n\nbody"


def test_of_pages_with_one_id_the_mapped_one_counts_else_the_first() -> None:
    other_page, two = (Page(address=Address(path), id="1", title="") for path in ("a.md", "b.md"))
    for paths, winner in (({}, other_page), ({"1": "b.md"}, two), ({"1": "gone.md"}, other_page)):
        pages, others = pages_by_id([two, other_page], paths)
        assert pages == {"1": winner}
        assert [other.address for other in others] == [({other_page.address, two.address} - {winner.address}).pop()]


def test_labels_are_compared_without_case_and_width() -> None:
    assert fold_label(" Über-Uns ") == fold_label("ÜBER-UNS")
    assert fold_label("\uff32\uff26\uff23") == fold_label("rfc")
    assert fold_label("e") != fold_label("é")


@each_case(
    ("raw", "identifier", "title", "content"),
    [
        (b"---\npage_id: 1\ntitle: Open\n\n# Heading\n\nText\n", "1", "Open", "# Heading\n\nText"),
        (b"---\npage_id: 1\n# Heading\n\nText\n---\n\nMore\n", "1", "Heading", "# Heading\n\nText\n---\n\nMore"),
        (b"---\r\npage_id: 1\r\n\r\nText\r\n", "1", "here", "Text"),
        (b"---\npage_id: 1", "1", "here", ""),
        (b"---\ntitle: 'Lost\n---\n# Heading\n", "mapped", "Heading", "# Heading"),
        (b"---\npage_id: [9\n---\n# Heading\n", "mapped", "Heading", "# Heading"),
    ],
)
def test_a_page_whose_frontmatter_breaks_has_what_can_be_read(
    raw: bytes, identifier: str, title: str, content: str
) -> None:
    unusable_page = read_page(Address("here.md"), raw, {"here.md": "mapped"})
    assert isinstance(unusable_page, PageText)
    assert (unusable_page.page.id, unusable_page.page.title, unusable_page.content) == (identifier, title, content)
    assert unusable_page.page.flaw.startswith("the front matter ")


FILES: dict[str, str | bytes] = {
    "a.md": "# A\n",
    "in/b.md": "# B\n",
    "in/space/.confluence.json": "{}",
    "in/space/c.md": "# C\n",
    "in/space/deep/d.md": "# D\n",
    "in/spaceship/e.md": "# E\n",
    "build/f.md": "# F\n",
}


def test_pages_below_another_space_file_are_left_out(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        base.write(".confluence.json", "{}")
        paths = sorted(address.path for address in page_addresses(base.store))
    assert paths == ["a.md", "in/b.md", "in/spaceship/e.md"]


def test_the_space_file_of_the_folder_itself_makes_no_nested_space(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        nested = NestedSpaces(base.store)
        held = [path for path in FILES if path.endswith(".md") and nested.hold(Address(path))]
    assert held == ["in/space/c.md", "in/space/deep/d.md"]
