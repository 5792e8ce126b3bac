"""Named changes of a page: what each puts where, and what it says where it cannot."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError
from commonplace.toolsets.notes.rules.page_edits import PageChange, apply_changes, is_appended

PAGE = """\
---
title: Tea # a comment
tags: [green]
---
# Tea

Intro.

## Log

- first
- second

### Old

Old text.

## Tasks

- [ ] buy a pot
- [x] buy tea

```
- [ ] in code
```

| a | b |
|---|---|
| 1 | 2 |

A block. ^sum
"""


def changed(*changes: PageChange, page: str = PAGE) -> str:
    return apply_changes(read_document(Address("tea.md"), page.encode()), changes).decode()


@each_case(
    ("change", "old", "new"),
    [
        (
            PageChange(kind="section", section="Log", text="Gone."),
            "- first\n- second\n\n### Old\n\nOld text.\n",
            "Gone.\n",
        ),
        (PageChange(kind="append", section="Log", text="- third"), "- second\n", "- second\n- third\n"),
        (PageChange(kind="append", section="Log", text="A paragraph."), "- second\n", "- second\n\nA paragraph.\n"),
        (PageChange(kind="append", text="End."), "^sum\n", "^sum\n\nEnd.\n"),
        (
            PageChange(kind="insert", section="Log", text="## New\n\nText."),
            "Old text.\n\n",
            "Old text.\n\n## New\n\nText.\n\n",
        ),
        (PageChange(kind="replace", old="Intro.", text="Words."), "Intro.", "Words."),
        (PageChange(kind="replace", section="Log > Old", old="text", text="words"), "Old text.", "Old words."),
        (PageChange(kind="fields", fields={"tags": ["black"]}), "[green]", "[black]"),
        (PageChange(kind="fields", fields={"tags": None}), "tags: [green]\n", ""),
        (PageChange(kind="block", block="^sum", text="Another."), "A block. ^sum", "Another. ^sum"),
        (PageChange(kind="block", block="sum", text="Another. ^sum"), "A block. ^sum", "Another. ^sum"),
        (PageChange(kind="task", task="buy a pot"), "- [ ] buy a pot", "- [x] buy a pot"),
        (PageChange(kind="task", task="tea", done=False), "- [x] buy tea", "- [ ] buy tea"),
    ],
)
def test_a_change_replaces_what_it_names_and_nothing_else(change: PageChange, old: str, new: str) -> None:
    assert PAGE.count(old) == 1
    assert changed(change) == PAGE.replace(old, new)


def test_a_row_is_appended_to_the_table_that_ends_a_section() -> None:
    page = "## T\n\n| a |\n|---|\n| 1 |\n\n## Next\n"
    assert changed(PageChange(kind="append", section="T", text="| 2 |"), page=page) == page.replace(
        "| 1 |\n", "| 1 |\n| 2 |\n"
    )


def test_line_ends_of_the_page_are_taken_on() -> None:
    page = PAGE.replace("\n", "\r\n")
    made = changed(PageChange(kind="append", section="Log", text="- third"), page=page)
    assert made == page.replace("- second\r\n", "- second\r\n- third\r\n")


def test_changes_are_applied_to_the_result_of_those_before_them() -> None:
    made = changed(
        PageChange(kind="insert", section="Log", text="## New"),
        PageChange(kind="append", section="New", text="Text."),
        PageChange(kind="replace", old="Text.", text="Words."),
    )
    assert "## New\n\nWords.\n" in made


def test_a_change_that_fails_is_named() -> None:
    with pytest.raises(InvalidInputError, match=r"^Change 2 of 2 \(replace\): The text does not occur"):
        changed(PageChange(kind="append", text="x"), PageChange(kind="replace", old="nowhere", text="y"))


@each_case(
    ("change", "kind", "nearest"),
    [
        (PageChange(kind="section", section="Logs", text="x"), "section", "Log"),
        (PageChange(kind="block", block="^sun", text="x"), "block", "^sum"),
        (PageChange(kind="task", task="buy a pod"), "task", "buy a pot"),
        (PageChange(kind="task", task="buy"), "task", "buy a pot"),
        (PageChange(kind="task", task="in code"), "task", ""),
    ],
)
def test_an_error_names_what_is_nearest(change: PageChange, kind: str, nearest: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        changed(change)
    assert caught.value.kind == kind
    found_nearest = caught.value.context.get("nearest")
    assert isinstance(found_nearest, list)
    assert found_nearest[:1] == ([nearest] if nearest else [])


def test_a_page_that_is_no_utf8_is_never_changed() -> None:
    document = read_document(Address("a.md"), b"# A\n\n- [ ] x\xff\n")
    for change in (
        PageChange(kind="append", text="x"),
        PageChange(kind="task", task="x"),
        PageChange(kind="fields", fields={"a": 1}),
    ):
        with pytest.raises(KnowledgeError, match="UTF-8"):
            apply_changes(document, [change])


def test_a_text_that_ends_its_section_is_known_as_appended() -> None:
    document = read_document(Address("tea.md"), PAGE.encode())
    assert is_appended(document, PageChange(kind="append", section="Log", text="- second"))
    assert not is_appended(document, PageChange(kind="append", section="Log", text="- first"))
    assert not is_appended(document, PageChange(kind="append", text="- second"))


NOTES = "[^1]: [Leaves](leaves.md)\n    more of it\n[^2]: <https://a.example>\nand so on\n"
NOTED = f"# Tea\n\nGreen.[^1]\n\n## Log\n\n- first[^2]\n\n{NOTES}"


def test_an_appended_text_goes_above_the_definitions_that_end_the_page() -> None:
    for change, page, result in (
        (PageChange(kind="append", section="Log", text="- second"), NOTED, "- first[^2]\n- second\n\n" + NOTES),
        (PageChange(kind="append", text="End."), NOTED, "- first[^2]\n\nEnd.\n\n" + NOTES),
        (PageChange(kind="append", section="Tea", text="Black."), NOTED, "Green.[^1]\n\nBlack.\n\n## Log"),
        (PageChange(kind="insert", section="Log", text="## New"), NOTED, "- first[^2]\n\n## New\n\n" + NOTES),
        (PageChange(kind="insert", text="## New"), NOTED, "- first[^2]\n\n## New\n\n" + NOTES),
        (PageChange(kind="append", text="[^3]: c"), NOTED, NOTES + "\n[^3]: c\n"),
        (
            PageChange(kind="append", section="Log", text="- second", sources=("pot.md",)),
            NOTED,
            "- first[^2]\n- second[^3]\n\n" + NOTES + "\n[^3]: [pot](pot.md)\n",
        ),
        (PageChange(kind="append", text="End."), "A.\n[^1]: b", "A.\n\nEnd.\n\n[^1]: b"),
        (PageChange(kind="append", text="End."), "A [b].\r\n\r\n[b]: c.md\r\n", "A [b].\r\n\r\nEnd.\r\n\r\n[b]: c.md"),
        (PageChange(kind="append", text="End."), "[^1]: b\n\nLast.\n", "Last.\n\nEnd.\n"),
        (PageChange(kind="append", text="End."), "A\n[b]: c.md\n", "[b]: c.md\n\nEnd.\n"),
        (PageChange(kind="append", text="End."), "```\n[^1]: b\n```\n", "```\n\nEnd.\n"),
        (PageChange(kind="append", text="- d"), "a:: b\n\n- c\n[^1]: b\n", "- c\n[^1]: b\n\n- d\n"),
    ):
        document = read_document(Address("tea.md"), page.encode())
        raw = apply_changes(document, [change])
        assert result in raw.decode()
        added = change.text.encode()
        assert change.sources or raw.replace(added, b"").split() == page.encode().split()
        assert change.kind == "insert" or is_appended(read_document(document.address, raw), change)
    tiddler = read_document(Address("tea.tid"), b"title: tea\n\nA\n\n[^1]: b\n")
    assert apply_changes(tiddler, [PageChange(kind="append", text="End.")]).endswith(b"[^1]: b\n\nEnd.\n")


TWICE = "# A\n\n- [ ] buy tea\n- [x] buy tea\n- [ ] buy tea\n\n# B\n\n- [ ] buy tea\n"


def test_equal_tasks_are_told_apart_by_their_section_and_ticked_one_after_the_other() -> None:
    with pytest.raises(NotFoundError, match="4 tasks have the text 'buy tea'") as caught:
        changed(PageChange(kind="task", task="buy tea"), page=TWICE)
    assert caught.value.hint == "Give section, one of: A, B."
    in_a = PageChange(kind="task", task="buy tea", section="A")
    assert changed(in_a, page=TWICE) == TWICE.replace("[ ]", "[x]", 1)
    assert changed(in_a, in_a, in_a, page=TWICE) == TWICE.replace("[ ]", "[x]", 2)
    in_b = PageChange(kind="task", task="tea", section="B")
    assert changed(in_b, page=TWICE).endswith("# B\n\n- [x] buy tea\n")
    with pytest.raises(NotFoundError, match="No task holds"):
        changed(PageChange(kind="task", task="pot", section="B"), page=TWICE)


def test_an_append_to_a_missing_section_says_how_one_is_made() -> None:
    document = read_document(Address("log.md"), b"# Log\n\n## November\n\nx\n")
    change = PageChange(kind="append", section="December", text="y")
    for attempt in (lambda: is_appended(document, change), lambda: apply_changes(document, [change])):
        with pytest.raises(NotFoundError) as refusal:
            attempt()
        assert "append without section, its heading first in text" in refusal.value.hint
