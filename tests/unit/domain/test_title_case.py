"""Names in title case."""

from __future__ import annotations

from commonplace.domain.title_case import shown_title, title_case

SHOWN = {
    "actors/iran": "Actors/Iran",
    "lang/c#": "Lang/C#",
    "it's so": "It's So",
    "'tis": "'tis",
    "straße und ßx": "Straße Und ßx",
    "o'neil's 2nd page": "O'neil's 2Nd Page",
    "my-page_two": "My-Page_Two",
    "ﬁnd": "Find",
    "ǆ x": "ǅ X",
    "actors/API design": "Actors/API design",
    "3d 日本 page": "3D 日本 Page",
}
"""What `otterwiki.helper.get_pagename(…, full=True)` of Otterwiki 2.26.1 returned."""


def test_the_rule_is_that_of_otterwiki() -> None:
    assert {path: title_case(path) for path in SHOWN} == SHOWN


def test_a_title_is_shown_in_title_case_if_it_is_the_name_of_the_file() -> None:
    assert shown_title("iran", "actors/iran.md") == "Iran"
    assert shown_title("south egypt", "middle east/south egypt.markdown") == "South Egypt"
    assert shown_title("IRAN", "actors/iran.md") == "IRAN"
    assert shown_title("the old land", "egypt.md") == "the old land"
