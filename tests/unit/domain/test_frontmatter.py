"""The position of frontmatter, and the readable values of a broken one."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Severity
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.frontmatter import (
    MAX_SALVAGED_KEYS,
    block_end,
    read_any_frontmatter,
    read_frontmatter,
    set_fields,
    text_items,
)
from commonplace.domain.json import Json


@each_case(
    ("raw", "block"),
    [
        (b"---\na: 1\n---\nx", b"---\na: 1\n---\n"),
        (b"---\na: 1\n...\nx", b"---\na: 1\n...\n"),
        (b"---\r\na: 1\r\n---\r\nx", b"---\r\na: 1\r\n---\r\n"),
        (b"---  \na: 1\n---\t\nx", b"---  \na: 1\n---\t\n"),
        (b"---\na: 1\n---", b"---\na: 1\n---"),
        (b"---\na: |\n  ---\n---\nx", b"---\na: |\n  ---\n---\n"),
        (b"---\n\na: 1\n\n---\nx", b"---\n\na: 1\n\n---\n"),
    ],
)
def test_a_block_is_found_with_both_fences(raw: bytes, block: bytes) -> None:
    frontmatter = read_frontmatter(raw)
    assert frontmatter.present
    assert raw[frontmatter.span.start : frontmatter.span.end] == block
    assert frontmatter.values["a"] in {1, "---\n"}
    assert frontmatter.findings == ()


@pytest.mark.parametrize("raw", [b"---\n---\n", b"---\n# only a comment\n---\n", b"---\n\n---\n", b"---\n~\n---\n"])
def test_an_empty_block_is_present(raw: bytes) -> None:
    frontmatter = read_frontmatter(raw)
    assert frontmatter.present
    assert frontmatter.values == {}
    assert frontmatter.findings == ()


@each_case(
    "raw", [b"", b"x", b"----\na: 1\n----\n", b" ---\na: 1\n---\n", b"\n---\na: 1\n---\n", b"---", b"--- a: 1\n---\n"]
)
def test_no_block(raw: bytes) -> None:
    frontmatter = read_frontmatter(raw)
    assert not frontmatter.present
    assert (frontmatter.span.start, frontmatter.span.end) == (0, 0)
    assert frontmatter.findings == ()


def test_text_between_two_rules_is_no_block() -> None:
    assert not read_frontmatter(b"---\n\nA first paragraph: with a colon: twice.\n\n---\n\nMore.\n").present


def test_a_block_that_does_not_end_is_text_and_told() -> None:
    frontmatter = read_frontmatter(b"---\ntitle: x\n\nText\n")
    assert not frontmatter.present
    assert [(f.rule, f.line, f.severity) for f in frontmatter.findings] == [
        ("unterminated_frontmatter", 1, Severity.WARNING)
    ]
    assert read_frontmatter(b"---\n\nA rule, then text.\n").findings == ()


def test_broken_yaml_is_told_with_line_and_column_and_its_other_keys_are_read() -> None:
    frontmatter = read_frontmatter(
        b"---\ntitle: Foo: bar\ntags: [a, b]\nlist:\n  - x\nopen: [1\nbad: @x\nok: yes\nmore:\n  k: {\n---\n"
    )
    assert frontmatter.present
    assert frontmatter.values == {"title": "Foo: bar", "tags": ["a", "b"], "list": ["x"], "ok": "yes"}
    (finding,) = frontmatter.findings
    assert (finding.rule, finding.severity, finding.line) == ("bad_yaml", Severity.ERROR, 2)
    assert "line 2, column 11" in finding.message
    assert "needs quotes" in finding.message


@pytest.mark.parametrize("raw", [b"---\n- a\n- b\n---\n", b"---\njust text\n---\n", b"---\n[1, 2]\n---\n"])
def test_a_block_that_is_no_mapping_is_told(raw: bytes) -> None:
    frontmatter = read_frontmatter(raw)
    assert frontmatter.values == {}
    assert [finding.rule for finding in frontmatter.findings] == ["bad_yaml"]


def test_findings_count_lines_of_the_file() -> None:
    frontmatter = read_frontmatter("\ufeff---\na: 1\na: 2\nb: *x\n---\n".encode(), 3)
    assert [(f.rule, f.field, f.line) for f in frontmatter.findings] == [
        ("duplicate_key", "a", 3),
        ("yaml_alias", "b", 4),
    ]
    assert frontmatter.span.start == 3


def test_a_huge_block_is_told_and_its_first_keys_are_read() -> None:
    raw = b"---\ntitle: T\n" + b"".join(b"key%d: value\n" % n for n in range(100_000)) + b"---\nbody"
    frontmatter = read_frontmatter(raw)
    assert frontmatter.values["title"] == "T"
    assert len(frontmatter.values) == MAX_SALVAGED_KEYS
    assert frontmatter.findings[0].rule == "bad_yaml"
    assert raw[frontmatter.span.end :] == b"body"


def test_a_control_character_spoils_its_own_key_only() -> None:
    frontmatter = read_frontmatter(b"---\na: x\x00y\nb: 1\n---\n")
    assert frontmatter.values == {"b": 1}


@each_case(
    ("value", "items"),
    [
        (["a", " b ", "", 3, 1.5, None, True, ["x"], {"y": 1}], ("a", "b", "3", "1.5")),
        ("a, b c,, d", ("a", "b c", "d")),
        ("a b\tc", ("a", "b", "c")),
        (7, ("7",)),
        (True, ()),
        (None, ()),
        ({"a": 1}, ()),
    ],
)
def test_items_of_lists_and_texts(value: Json, items: tuple[str, ...]) -> None:
    assert text_items(value) == items


TOML = b"""+++
title = "Tea"
date = 2026-01-02T03:04:05Z
weight = 1.5
[[menu.main]]
name = "tea"
[taxonomies]
tags = ["a"]
+++
Text [[cup]].
"""


@pytest.mark.parametrize("raw", [TOML, TOML.replace(b"\n", b"\r\n")])
def test_a_block_of_toml_is_read_and_no_link_is_found_in_it(raw: bytes) -> None:
    document = read_document(Address("tea.md"), raw)
    assert document.frontmatter.values == {
        "title": "Tea",
        "date": "2026-01-02T03:04:05+00:00",
        "weight": 1.5,
        "menu": {"main": [{"name": "tea"}]},
        "taxonomies": {"tags": ["a"]},
    }
    assert (document.title, document.body.strip()) == ("Tea", "Text [[cup]].")
    assert [link.target for link in document.links] == ["cup"]
    assert raw[block_end(raw) :].strip() == b"Text [[cup]]."


def test_broken_toml_is_told_and_stays_out_of_the_text() -> None:
    document = read_document(Address("tea.md"), b"+++\ntitle = Tea\n+++\ntext\n")
    assert [(finding.rule, finding.severity) for finding in document.findings] == [("bad_toml", Severity.ERROR)]
    assert (document.title, document.body) == ("tea", "text\n")


def test_a_number_that_json_has_not_makes_the_block_a_finding() -> None:
    (finding,) = read_any_frontmatter(b"+++\nweight = nan\n+++\n").findings
    assert "number is not finite" in finding.message


def test_no_key_of_a_block_of_toml_is_changed() -> None:
    with pytest.raises(InvalidInputError, match="TOML") as refused:
        set_fields(TOML, {"title": "Coffee"})
    assert "between two lines '---'" in refused.value.hint


@pytest.mark.parametrize("raw", [b"+++\ntitle = 1\n", b"text\n+++\na = 1\n+++\n", b"+++ a\n+++\n"])
def test_plus_signs_elsewhere_are_text(raw: bytes) -> None:
    assert not read_any_frontmatter(raw).present


PAGE = "title:: My page\nalias:: [[One]], two\ntags:: #a, [[b c]]\npublic:: true\n\n- text\n"


def test_properties_are_the_fields_of_a_page() -> None:
    document = read_document(Address("pages/x.md"), PAGE.encode())
    assert document.title == "My page"
    assert document.tags == ("a", "b c")
    assert document.frontmatter.values["alias"] == ["One", "two"]
    assert document.frontmatter.values["public"] is True
    assert document.body == "- text\n"
    assert [link.target for link in document.links] == ["One", "b c"]


def test_code_in_a_property_is_no_link() -> None:
    uuid = "((6238ae90-238e-4748-9b19-27088f9c3771))"
    text = f"a:: e.g. `{uuid}` or `[[x]]`, ü [[y]]\nb:: `ü` {uuid} ``[[z]]``\n\n- text\n"
    links = read_document(Address("pages/x.md"), text.encode()).links
    assert sorted(link.raw for link in links) == [uuid, "y"]


@pytest.mark.parametrize(
    "text", ["std::vector is\n\ntext\n", "Note:: this\nand more prose\n", "- a:: b\n", "a ::b\n\nx\n", "```\na:: b\n"]
)
def test_other_text_with_two_colons_is_none(text: str) -> None:
    assert not read_document(Address("x.md"), text.encode()).frontmatter.present


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        (PAGE, {"public": False}, PAGE.replace("true", "false")),
        (PAGE, {"rating": 5}, PAGE.replace("true\n", "true\nrating:: 5\n")),
        (PAGE, {"alias": ["One", "two", "three"]}, PAGE.replace("two\n", "two, three\n")),
        (PAGE, {"alias": None, "title": None}, PAGE.partition("\n")[2].partition("\n")[2]),
        ("a:: b\r\n\r\n- x\r\n", {"c": "d e"}, "a:: b\r\nc:: d e\r\n\r\n- x\r\n"),
        ("a:: b", {"c": 1}, "a:: b\nc:: 1\n"),
        ("alias:: [[x]]\n", {"alias": ["x", "y"]}, "alias:: [[x]], [[y]]\n"),
    ],
)
def test_a_change_names_its_line_alone(before: str, changes: dict[str, Json], after: str) -> None:
    assert set_fields(before.encode(), changes).decode() == after


def test_a_page_of_a_graph_without_properties_gets_them_above_a_blank_line() -> None:
    document = read_document(Address("pages/x.md"), b"- text\n").with_properties()
    assert set_fields(document, {"status": "draft"}) == b"status:: draft\n\n- text\n"


@pytest.mark.parametrize("value", ["two\nlines", {"a": 1}, ["a, b"], [{"a": 1}]])
def test_a_value_of_more_than_a_line_is_refused(value: Json) -> None:
    with pytest.raises(InvalidInputError, match="cannot have this value"):
        set_fields(PAGE.encode(), {"key": value})
