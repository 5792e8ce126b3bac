"""A document as a whole, from whatever bytes; and finding a section in it."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import Fragments, find_fragment, find_section, hidden_headings, read_document
from commonplace.domain.documents import Severity
from commonplace.domain.errors import InvalidInputError, NotFoundError
from pages import page


def test_a_whole_document() -> None:
    raw = b"---\ntitle: The  Title\ntags: [a]\n---\n# H\n\nWords here, #b and [[c]].\n"
    document = read_document(Address("notes/x.md"), raw)
    assert document.raw == raw
    assert document.text == raw.decode()
    assert document.title == "The Title"
    assert document.tags == ("a", "b")
    assert [link.target for link in document.links] == ["c"]
    assert document.frontmatter.values == {"title": "The  Title", "tags": ["a"]}
    assert document.decodable
    assert document.words == 7
    assert document.findings == ()
    assert document.body_start == raw.index(b"# H")


@each_case(
    ("text", "title"),
    [
        ("---\ntitle: T\n---\n# H\n", "T"),
        ("---\ntitle: 42\n---\n", "42"),
        ("---\ntitle: 2026-01-02\n---\n", "2026-01-02"),
        ("---\ntitle:\n---\n# H\n", "H"),
        ("---\ntitle: [x]\n---\n# H\n", "H"),
        ("---\ntitle: ' '\n---\nH\n=\n", "H"),
        ("## Second\n# First\n", "First"),
        ("## Only second\n", "page"),
        ("# \n# H\n", "H"),
        ("", "page"),
    ],
)
def test_the_title(text: str, title: str) -> None:
    assert page(text).title == title


@each_case(
    ("raw", "newline"),
    [
        (b"", "\n"), (b"a", "\n"), (b"a\nb", "\n"), (b"a\r\nb", "\r\n"), (b"a\r\nb\n", "\n"),
        (b"a\r\nb\r\nc\n", "\r\n"), (b"a\rb\r", "\n"),
    ],
)  # fmt: skip
def test_the_commoner_line_end_is_the_documents_own(raw: bytes, newline: str) -> None:
    assert page(raw).newline == newline


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    document = page("\ufeff# Ä\n")
    assert document.text == "# Ä\n"
    assert document.raw.startswith(b"\xef\xbb\xbf")
    assert document.title == "Ä"
    assert document.sections[0].start == 3
    assert document.raw[document.sections[1].start :] == "# Ä\n".encode()


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_bytes_that_are_no_utf8_are_read_as_an_older_encoding_or_with_replacements(bom: bytes) -> None:
    document = page(bom + b"---\ntitle: Caf\xe9\n---\n# One\n\n[[\x81]] #t\xe4g\n")
    assert not document.decodable
    assert document.title == "Café"
    source = document.text.encode()
    assert [source[s.start : s.end].decode() for s in document.sections[1:]] == ["# One\n\n[[\ufffd]] #täg\n"]
    assert source[document.links[0].target_span.start :].startswith("\ufffd]]".encode())
    (finding,) = document.findings
    assert (finding.rule, finding.severity, finding.line) == ("not_utf8", Severity.ERROR, 2)


@each_case(
    "raw",
    [
        "hällo".encode("utf-16"),
        b"\x00" * 100,
        bytes(range(256)) * 10,
        b"\xff\xfe",
        b"---\n\xff: \xfe\n---\n",
        b"\xef\xbb",
        b"# \xf0\x9f\n",
        b"<Tabs>\n  import X from 'y'\n  {/* mdx */}\n  <T.Item value={`x`}>\n\n# H\n\n</T.Item>\n",
        b"::: note {.x}\n# a\n:::\n",
        b"$$\n# x\n$$\n%%\n[[hidden]]\n%%\n",
    ],
)
def test_odd_bytes_are_read_all_the_same(raw: bytes) -> None:
    document = page(raw)
    assert document.raw == raw
    assert document.sections


def test_findings_of_the_front_matter_are_the_documents() -> None:
    assert [finding.rule for finding in page("---\na: 1\na: b: c\n---\n").findings] == ["bad_yaml"]


OUTLINE = page(
    "# Guide\n## Setup\n### Linux\n### Mac OS\n## Usage\n### Linux\n# Größe {#size}\n## `Code` & more\n# a > b\n"
    "# Notes\n# Notes\n# Deep\n## X\n### Y\n#### Z\n"
)


@each_case(
    ("path", "ordinal"),
    [
        (["Guide"], 1),
        (["guide"], 1),
        (["## Setup"], 2),
        (["Setup", "Linux"], 3),
        (["Guide", "Usage", "Linux"], 6),
        (["Guide", "Mac OS"], 4),
        (["Mac  OS"], 4),
        (["GRO\u0308ßE"], 7),
        (["#size"], 7),
        (["size"], 7),
        (["Code & more"], 8),
        (["#linux-1"], 6),
        (["#Linux-1"], 6),
        (["a", "b"], 9),
        (["Deep", "Z"], 15),
        (["X", "Y", "Z"], 15),
        ([], 0),
        ([""], 0),
    ],
)
def test_a_section_is_found_by_headings_or_anchor(path: list[str], ordinal: int) -> None:
    assert find_section(OUTLINE, path).ordinal == ordinal


def test_a_whole_path_is_nearer_than_the_end_of_one() -> None:
    document = page("# A\n## B\n# C\n## A\n### B\n")
    assert find_section(document, ["A", "B"]).ordinal == 2
    assert find_section(document, ["A"]).ordinal == 1


def test_a_heading_that_is_not_there_is_told_with_the_nearest() -> None:
    with pytest.raises(NotFoundError) as caught:
        find_section(OUTLINE, ["Guide", "Usages"])
    assert caught.value.kind == "section"
    assert caught.value.context["nearest"] == ["Usage"]
    with pytest.raises(NotFoundError) as caught:
        find_section(OUTLINE, ["#nowhere-at-all"])
    assert caught.value.context["nearest"] == []


@pytest.mark.parametrize("path", [["Linux"], ["Notes"], ["Guide", "Linux"]])
def test_a_heading_that_is_there_twice_is_told_with_its_anchors(path: list[str]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        find_section(OUTLINE, path)
    nearest = caught.value.context["nearest"]
    assert isinstance(nearest, list)
    assert len({find_section(OUTLINE, [anchor]).ordinal for anchor in nearest}) == 2


BLOCKS = b"""---
title: T ^not-here
---
# Trip ^no
First line
of a paragraph. ^para

## Day 1

- one ^item
- two
  > quoted ^37066d

### Evening

| a | b |
|---|---|
| 1 | 2 |

^table

## Day 2

### Evening

Late.
"""


@each_case(
    ("fragment", "text"),
    [
        ("Day 1#Evening", "### Evening\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n^table\n\n"),
        ("Day 2#Evening", "### Evening\n\nLate.\n"),
        ("day-2", "## Day 2\n\n### Evening\n\nLate.\n"),
        ("^para", "First line\nof a paragraph. ^para\n"),
        ("^item", "- one ^item\n"),
        ("^table", "| a | b |\n|---|---|\n| 1 | 2 |\n\n^table\n"),
    ],
)
def test_the_part_behind_the_mark_of_a_link_is_found(fragment: str, text: str) -> None:
    document = read_document(Address("trip.md"), BLOCKS)
    start, end, section = find_fragment(document, fragment)
    assert BLOCKS[start:end].decode() == text
    assert (section is None) == fragment.startswith("^")


@pytest.mark.parametrize("fragment", ["^gone", "^tabl", "^not-here"])
def test_a_block_that_is_not_there_is_told_with_the_nearest(fragment: str) -> None:
    with pytest.raises(NotFoundError) as exception_info:
        find_fragment(read_document(Address("trip.md"), BLOCKS), fragment)
    assert exception_info.value.kind == "block"
    assert fragment != "^tabl" or exception_info.value.context["nearest"] == ["^table"]


@each_case(
    ("fragment", "is_there"),
    [
        ("Day 1#Evening", True),
        ("Evening", True),  # two are called so: a link leads to the first
        ("day-2", True),
        ("", True),
        ("^table", True),
        ("Day 3", False),
        ("Day 2#Trip", False),
        ("^tabl", False),
        ("^not-here", False),
        ("^no", True),  # of a heading: the section
    ],
)
def test_whether_a_link_s_fragment_is_there_is_told_as_it_is_found(fragment: str, is_there: bool) -> None:
    document = read_document(Address("trip.md"), BLOCKS)
    assert (fragment in Fragments(document)) == is_there
    try:
        find_fragment(document, fragment)
    except NotFoundError:
        assert not is_there
    except InvalidInputError:
        assert is_there
    else:
        assert is_there


ELEMENTS = b"""# Page

Text <a id="top"></a>.

## Install

<a id="winget" ></a> <span class=x id='quality-nov'>Q</span>

<h3
  name=plain>

## Use

`see` <a title="id=no" href="#x">x</a>
"""


@each_case(
    ("fragment", "heading"),
    [("winget", "Install"), ("quality-nov", "Install"), ("plain", "Install"), ("top", "Page"), ("install", "Install")],
)
def test_an_element_of_html_is_found_by_its_id_or_name(fragment: str, heading: str) -> None:
    document = read_document(Address("a.md"), ELEMENTS)
    assert fragment in Fragments(document)
    _, _, section = find_fragment(document, fragment)
    assert section is not None
    assert section.heading == heading


@each_case("fragment", ["wing", "no", "x", "Winget", "a\\b(", ""])
def test_no_other_attribute_and_no_part_of_a_name_is_an_anchor(fragment: str) -> None:
    document = read_document(Address("a.md"), ELEMENTS)
    assert not fragment or fragment not in Fragments(document)
    if fragment:
        with pytest.raises(NotFoundError):
            find_fragment(document, fragment)


def test_a_section_to_change_is_not_named_by_an_element_in_it() -> None:
    with pytest.raises(NotFoundError):
        find_section(read_document(Address("a.md"), ELEMENTS), ["#winget"])


WORDS = " ".join(f"w{number}," for number in range(10_000))
ODD = page(
    f"# \n\n# a\n\n# {WORDS}\n\n# שלום: World (Привет)\n\n# Use\n\n# Use\n\n# use-1\n\n# !!!\n\n# C++\n\n# x_y 'z'\n\n"
    "# A\n\n## In: it\n\n# B\n\n## In it!\n"
)


@each_case(
    ("fragment", "ordinals"),
    [
        ("A", [11]),  # "a" differs in case: the exact text goes first
        (WORDS.replace(",", ""), [3]),
        ("שלום World Привет", [4]),
        ("use", [5, 6]),
        ("use-1", [7]),  # the text goes before the slug
        ("#use-1", [6]),  # of an element: the slug
        ("!!!", [8]),
        ("???", []),  # nothing is left to compare
        ("C", [9]),
        ("x y z", []),
        ("X_Y 'Z'", [10]),
        ("IN, IT", [12, 14]),
        ("B#IN, IT", [14]),
        ("b!#in...it", [14]),
        ("Use#In it", []),
    ],
)
def test_odd_headings_are_compared_as_obsidian_does(fragment: str, ordinals: list[int]) -> None:
    assert [section.ordinal for section in Fragments(ODD).linked_sections(fragment)] == ordinals


@pytest.mark.parametrize(
    ("text", "line", "name", "hidden"),
    [
        ("# A\n\n<!-- open\n\n## B\n\n```\nx\n```\n", 3, "comment", ["B"]),
        ("# A\n\n<!-- open\n\n```\n\n## B\n\nx\n", 3, "comment", ["B"]),
        ("# A\n\n<!-- open\n\n```\nx\n", 3, "comment", []),
        ("# A\n\n<!-- a -->\n<!-- open\n\nmore <!-- open\n\n## B\n", 4, "comment", ["B"]),
        ("# A\n\n<!-- a -->\n\n```\n## B\n", 5, "code fence", ["B"]),
    ],
)
def test_the_block_that_is_not_closed_is_the_first_of_all_that_hide_something(
    text: str, line: int, name: str, hidden: list[str]
) -> None:
    document = page(text)
    (finding,) = [other_finding for other_finding in document.findings if other_finding.rule == "unclosed_block"]
    assert (finding.line, name in finding.message) == (line, True)
    assert [heading for _, heading in hidden_headings(document)] == hidden


def test_a_comment_that_is_closed_behind_fences_is_no_finding() -> None:
    for text in ("<!-- a\n\n```\nx\n```\n-->\n", "<!-- a\n```\n-->\n\nb\n", "a <!-- b\n\n```\nx\n```\n"):
        assert not [finding for finding in page(text).findings if finding.rule == "unclosed_block"]
