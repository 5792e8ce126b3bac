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
