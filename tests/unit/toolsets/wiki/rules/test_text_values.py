"""Values of frontmatter as text, whatever their type."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.json import Json
from commonplace.toolsets.wiki.rules import as_text, as_texts, name_of, note_name


@each_case(
    ("value", "text"),
    [
        (None, ""),
        (" a \n b\t", "a b"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (3.5, "3.5"),
        ([], ""),
        (["a", None, " ", ["b", 2]], "a, b, 2"),
        ({}, ""),
        ({"é": [1]}, '{"é": [1]}'),
    ],
)
def test_any_value_is_one_line(value: Json, text: str) -> None:
    assert as_text(value) == text


@pytest.mark.parametrize(
    ("value", "texts"), [(None, ()), ("a, b", ("a, b",)), (["a", "", None, 5], ("a", "5")), ({"a": 1}, ('{"a": 1}',))]
)
def test_any_value_is_a_list_without_empty_items(value: Json, texts: tuple[str, ...]) -> None:
    assert as_texts(value) == texts


def test_a_note_is_named_by_its_title_or_else_by_its_path() -> None:
    assert note_name("Actors/Über uns", {"title": " The  one "}) == "The one"
    assert note_name("Actors/Über uns", {"title": []}) == note_name("Über uns", {}) == "Über uns"
    assert (name_of(""), name_of("a/")) == ("", "")
