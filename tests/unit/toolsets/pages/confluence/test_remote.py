"""What a site answers is outside text: what cannot be an id, a number or a kind is no part of a path or a count."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.errors import UnavailableError
from commonplace.toolsets.pages.confluence.remote import identifier_of, page_of, text_of, version_of


@each_case("identity", ["", "../x", "1/2", "a b", "1\n2", None, ["1"], "x" * 1_000])
def test_what_cannot_be_an_id_is_refused(identity: object) -> None:
    with pytest.raises(UnavailableError, match="an id that cannot be one"):
        identifier_of({"id": identity})  # type: ignore[dict-item]


def test_text_stands_on_one_line_without_control_characters() -> None:
    assert text_of({"title": "A\x1b[31m\nB\u2028C\ud800"}, "title") == "A [31m B C?"
    assert text_of({"title": {"of": 1}}, "title") == ""


@each_case("number", ["x", -1, "", None, "9" * 100, "٣"])
def test_a_version_that_is_no_number_is_the_first(number: object) -> None:
    assert version_of({"version": {"number": number}}) == 1  # type: ignore[dict-item]


def test_a_page_has_what_its_row_says_and_no_kind_that_nobody_knows() -> None:
    row = {"id": 7, "title": "T", "version": {"number": 3}, "parentId": "8", "parentType": "spaceship"}
    page = page_of(row)  # type: ignore[arg-type]
    assert (page.id, page.version, page.parent, page.parent_type, page.body) == ("7", 3, "8", "page", None)
