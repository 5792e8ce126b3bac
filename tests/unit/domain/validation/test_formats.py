"""Named formats of texts."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.validation import FORMATS, is_date


@each_case(
    "text",
    ["2026-01-31", "2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31", "2026-01-01T10:00", "2026-01-01 10:00:00Z"],
)
def test_a_day_of_the_calendar_is_a_date(text: str) -> None:
    assert is_date(text)
    assert FORMATS["date"][1](text)
    assert FORMATS["iso8601"][1](text)


@each_case(
    "text",
    [
        *("", "2026", "2026-1-1", "26-01-01", "2026-13-01", "2026-00-10", "2026-04-31", "2026-02-29", "1900-02-29"),
        *("2026-01-00", "2026-01-01x", "2026-01-01\n", " 2026-01-01", "2026-01-01T10", "2026/01/01"),
        *("２０２６-０１-０１", "٢٠٢٦-٠١-٠١"),  # noqa: RUF001 - digits that do not sort as dates do
    ],
)
def test_anything_else_is_none(text: str) -> None:
    assert not is_date(text)


@each_case(
    ("name", "text", "fits"),
    [
        ("url", "https://example.org/a?b#c", True),
        ("url", "ftp://example.org", True),
        ("url", "mailto:a@example.org", True),
        ("url", "https://größe.example/漢字", True),
        ("url", "https://", False),
        ("url", "example.org", False),
        ("url", "/a/b", False),
        ("url", "https://example.org/a b", False),
        ("url", "https://example.org/\n", False),
        ("url", "http://[::1", False),
        ("email", "a.b+c@mail.example.org", True),
        ("email", "größe@例え.jp", True),
        ("email", "a@example", False),
        ("email", "a@b@example.org", False),
        ("email", "@example.org", False),
        ("email", "a@example..org", False),
        ("email", f"{'a' * 65}@example.org", False),
        ("id", "alpha-beta", True),
        ("id", "a/b.c_d", True),
        ("id", "größe-漢字", True),
        ("id", "7", True),
        ("id", "", False),
        ("id", "-a", False),
        ("id", "a-", False),
        ("id", "a b", False),
        ("id", "a\n", False),
    ],
)
def test_a_text_fits_a_format_or_not(name: str, text: str, fits: bool) -> None:
    assert FORMATS[name][1](text) is fits


def test_every_format_says_what_a_value_must_be_under_a_name_in_lower_case() -> None:
    assert all(name == name.lower() and expected.startswith("a") for name, (expected, _) in FORMATS.items())


@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize("text", ["a" * 100_000, "a@" + "b." * 50_000, "a-" * 50_000, "\x00", "\ud800", "é" * 9999])
def test_a_long_or_odd_text_is_judged_at_once(name: str, text: str) -> None:
    assert FORMATS[name][1](text) in {True, False}
