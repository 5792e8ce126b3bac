"""Tasks of a document: which list items are some, and the bytes that ticking one changes."""

from __future__ import annotations

import pytest

from commonplace.domain.addresses import parse_address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.tasks import tasks_of, with_task

PAGE = (
    b"---\ntags: [a]\n---\n# Trip\r\n\r\n- [ ] Pack  the *tent*  \r\n  more text\r\n1. [X] Book\n> * [x] Quoted\n\n"
    b"```\n- [ ] code\n```\n\n`- [ ] span`\n\n- [y] no box\n- [ ]\n"
)


def document(raw: bytes) -> Document:
    return read_document(parse_address("trip.md"), raw)


def test_list_items_with_a_box_are_tasks_and_code_is_none() -> None:
    tasks = tasks_of(document(PAGE))
    assert [(task.text, task.done) for task in tasks] == [("Pack the *tent*", False), ("Book", True), ("Quoted", True)]


def test_only_the_mark_changes_and_only_if_it_differs() -> None:
    page = document(PAGE)
    first, second, _ = tasks_of(page)
    assert with_task(page, first, done=True) == PAGE.replace(b"- [ ] Pack", b"- [x] Pack")
    assert with_task(page, second, done=False) == PAGE.replace(b"1. [X]", b"1. [ ]")
    assert with_task(page, second, done=True) is page.raw


def test_a_page_that_is_not_utf_8_has_no_tasks_to_change() -> None:
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        tasks_of(document(b"- [ ] caf\xe9\n"))
