"""Lines `key:: value` at the top of a page, as Logseq writes them."""

from __future__ import annotations

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.frontmatter import set_fields
from commonplace.domain.json import Json

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
