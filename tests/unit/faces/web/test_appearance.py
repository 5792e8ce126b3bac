"""The accent of a base is readable on both backgrounds, and its style sheet is bounded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commonplace.domain.site_file import MAX_STYLE_BYTES, SiteSettings
from commonplace.faces.web.appearance import (
    DARK_PAPER,
    MIN_CONTRAST,
    PAPER,
    accent_rules,
    contrast,
    picture_fits,
    style_sheet,
)
from indexed import Indexed


@pytest.mark.parametrize("accent", ["#ffffff", "#000000", "#ffff00", "#ff0000", "#0000ff", "#777777", "#0b5a78"])
def test_text_in_any_accent_is_readable_in_both_schemes(accent: str) -> None:
    colors = re.findall(r"--accent:#(..)(..)(..);", accent_rules(accent))
    assert len(colors) == 3
    for color, paper in zip(colors, (PAPER, DARK_PAPER, DARK_PAPER), strict=True):
        red, green, blue = (int(part, 16) for part in color)
        assert contrast((red, green, blue), paper) >= MIN_CONTRAST


def test_a_readable_accent_stays_as_it_is() -> None:
    assert "--accent:#0b5a78;" in accent_rules("#0b5a78")


def test_contrast_is_that_of_wcag() -> None:
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((119, 119, 119), (255, 255, 255)) == pytest.approx(4.48, abs=0.01)


def test_files_that_are_missing_or_too_large_and_addresses_elsewhere_count_for_nothing(tmp_path: Path) -> None:
    files = {
        "own.css": "p{}",
        "far.css": "p{background:url(//far.example/x)}",
        "large.css": " " * (MAX_STYLE_BYTES + 1),
        "logo.svg": "<svg/>",
    }
    with Indexed(tmp_path, files) as base:
        assert style_sheet(base.collection, SiteSettings(style="own.css")) == "p{}"
        assert style_sheet(base.collection, SiteSettings(style="large.css")) == ""
        assert style_sheet(base.collection, SiteSettings(style="far.css")) == "p{background:url()}"
        assert style_sheet(base.collection, SiteSettings(style="gone.css", accent="#0b5a78")).startswith(":root{")
        assert picture_fits(base.collection, "logo.svg")
        assert not picture_fits(base.collection, "gone.svg")
        assert not picture_fits(base.collection, "")
