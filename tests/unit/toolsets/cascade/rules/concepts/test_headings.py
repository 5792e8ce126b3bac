"""Headings of documents, with keys and attributes in braces."""

from __future__ import annotations

from cases import each_case
from commonplace.toolsets.cascade.rules.concepts import (
    heading_attributes,
    heading_key,
    scan_lines,
    shown_heading,
    with_key,
)


def headings(text: str) -> list[str]:
    return [line.heading for line in scan_lines(text) if line.heading is not None]


@each_case(
    ("text", "found"),
    [
        ("", []),
        ("# A\ntext\n###### B ##", ["A", "B"]),
        ("####### seven\n#none\n    # code\n   # three", ["three"]),
        ("#\n# \n#\tTab", ["", "", "Tab"]),
        ("# C#\n# C #\n# a #b#", ["C#", "C", "a #b#"]),
        ("```\n# in\n```\n# out", ["out"]),
        ("~~~~\n# in\n~~~\n# in\n~~~~~\n# out", ["out"]),
        ("``` a`b\n# out", ["out"]),
        ("- ```\n  # in\n  ```\n# out", ["out"]),
        ("- ```\n  # in\n# out: the item has ended", ["out: the item has ended"]),
        ("```\n# never closed", []),
    ],
)
def test_headings_are_found_outside_of_fences(text: str, found: list[str]) -> None:
    assert headings(text) == found


def test_lines_come_back_as_they_are_with_the_fence_that_is_open() -> None:
    text = "a\n```python\n# b\n```\n\n- ~~~\n  c"
    lines = list(scan_lines(text))
    assert "\n".join(line.text for line in lines) == text
    assert [line.fence is not None for line in lines] == [False, True, True, False, False, True, True]
    fence = lines[-1].fence
    assert fence is not None
    assert fence.closing() == "  ~~~"
    assert fence.after(fence.closing()) == (None, True)


@each_case(
    ("heading", "key"),
    [
        ("Some  Title", "some title"),
        ("Title {#My-Key}", "my-key"),
        ('Title {#"two  Words" updated=2026}', "two words"),
        ("{#key} Title", "key"),
        ("Use {x} here {#k}", "k"),
        ("Use {x} here", "use {x} here"),
        ("Title {updated=2026-01-01}", "title"),
        ("Title {.class}", "title"),
        ("{}", "{}"),
        ("ÜBER {#Ä}", "ä"),
    ],
)
def test_a_heading_has_a_key(heading: str, key: str) -> None:
    assert heading_key(heading) == key


@each_case(
    ("heading", "updated", "override"),
    [
        ("T", None, None),
        ("T {#k updated=2026-01-02 override=none}", "2026-01-02", "none"),
        ("T {override = 'none' updated=\"1 May 2026\"}", "1 May 2026", "none"),
        ("T {OVERRIDE=none} gone", None, "none"),
        ("T {updated=}", None, None),
        ("T {updated=1 updated=2}", "1", None),
        ("T {x} and {override=none} and {y}", None, "none"),
    ],
)
def test_attributes_are_read_in_any_order(heading: str, updated: str | None, override: str | None) -> None:
    attributes = heading_attributes(heading)
    assert (attributes.updated, attributes.override) == (updated, override)


@each_case(
    ("line", "level", "text"),
    [
        ("## Title {#k updated=2026}", 2, "Title"),
        ("### Plain ###", 3, "Plain"),
        ("## {#k}", 2, "{#k}"),
        ("## Use {x} here {#k}", 2, "Use {x} here"),
        ("## Title {override=none} and more", 2, "Title and more"),
        ("no heading ", 0, "no heading"),
        ("#", 1, ""),
    ],
)
def test_a_heading_is_shown_without_its_markers_and_attributes_alone(line: str, level: int, text: str) -> None:
    assert shown_heading(line) == (level, text)


@each_case("line", ["## T", "## T {#old updated=2026}", "# T {.c} ##", "## Use {x} here {#k}"])
@each_case("key", ["new", "two words", "ä-1"])
def test_a_key_that_is_given_is_the_one_that_is_read(line: str, key: str) -> None:
    made = with_key(line, key)
    (heading,) = headings(made)
    assert heading_key(heading) == key
    assert heading_attributes(heading) == heading_attributes(headings(line)[0])
    assert shown_heading(made)[0] == shown_heading(line)[0]
