"""Every kind of `edit` on any page: the bytes that it does not name stay, and what it names reads back."""

from __future__ import annotations

import codecs
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import find_section, read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import KnowledgeError
from commonplace.toolsets.notes.rules.page_edits import PageChange, apply_changes

WORDS = st.text(st.sampled_from("abc äß中 .\t"), min_size=1, max_size=12).map(str.strip).filter(bool)
LINES = st.one_of(
    WORDS,
    st.sampled_from(["", "", "- item", "- [ ] task one", "* [x] task two", "| a | b |", "> quote", "```", "    code"]),
    st.builds("{} ^blk-{}".format, WORDS, st.integers(0, 3)),
    st.builds("{} {}".format, st.sampled_from(["#", "##", "###"]), st.sampled_from(["One", "Two", "Three"])),
)
FRONT = st.sampled_from(["", "---\ntitle: T # note\ntags: [a, b]\n---\n", "---\nlist:\n- x\n- y\n---\n", "\ufeff"])
ENDS = st.sampled_from(["\n", "\r\n"])


@st.composite
def pages(draw: st.DrawFn, *needed: str) -> Document:
    newline = draw(ENDS)
    lines = [*draw(st.lists(LINES, max_size=12)), *needed, *draw(st.lists(LINES, max_size=12))]
    text = draw(FRONT) + "\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n"]))
    return read_document(Address("page.md"), text.replace("\n", newline).encode())


def made(document: Document, **change: Any) -> bytes:
    """The page after a change; a change that is refused is no case."""
    try:
        return apply_changes(document, [PageChange(**change)])
    except KnowledgeError:
        assume(False)
        raise


def kept(document: Document, after: bytes, start: int, end: int) -> None:
    """The bytes outside of a range are as they were, but for blank lines and line ends at its borders."""
    head, tail = document.raw[:start].rstrip(), document.raw[end:].lstrip()
    assert after.startswith(head)
    assert after.endswith(tail)
    assert len(after) >= len(head) + len(tail)


@given(pages("# One", "## Two"), st.sampled_from(["One", "Two", "Three", "One > Two"]), WORDS)
def test_a_replaced_section_leaves_the_rest(document: Document, heading: str, text: str) -> None:
    after = made(document, kind="section", section=heading, text=text)
    section = find_section(document, heading.split(" > "))
    kept(document, after, section.content, section.tree_end)
    assert after.startswith(document.raw[: section.content].rstrip(b"\r\n"))
    assert text.encode() in after[section.content :]


@given(pages("## One"), st.sampled_from(["", "One", "Two"]), st.sampled_from(["Text.", "- [ ] more", "| c | d |"]))
def test_appended_text_is_added_and_nothing_goes(document: Document, heading: str, text: str) -> None:
    after = made(document, kind="append", section=heading, text=text)
    at = find_section(document, [heading]).end if heading else len(document.raw)
    kept(document, after, at, at)
    assert _without(after, text.encode()) == document.raw.removeprefix(codecs.BOM_UTF8).split()


@given(pages("## One", "### Two"), st.sampled_from(["One", "Two"]), WORDS)
def test_a_section_inserted_behind_another_is_added_and_nothing_goes(
    document: Document, heading: str, text: str
) -> None:
    after = made(document, kind="insert", section=heading, text=f"## New\n\n{text}")
    at = find_section(document, [heading]).tree_end
    kept(document, after, at, at)
    assert _without(after, f"## New {text}".encode()) == document.raw.removeprefix(codecs.BOM_UTF8).split()


@given(pages("Some words."), st.data(), WORDS)
def test_one_occurrence_is_replaced_and_the_rest_is_byte_exact(
    document: Document, data: st.DataObject, new: str
) -> None:
    lines = [line for line in document.text.splitlines() if line.strip()]
    assume(lines)
    old = data.draw(st.sampled_from(lines))
    after = made(document, kind="replace", old=old, text=new)
    at = document.raw.find(old.encode())
    assert after == document.raw[:at] + new.encode() + document.raw[at + len(old.encode()) :]


@given(pages(), st.dictionaries(st.sampled_from(["title", "tags", "status"]), st.one_of(WORDS, st.none()), min_size=1))
def test_fields_change_the_front_matter_alone(document: Document, fields: dict[str, str | None]) -> None:
    after = made(document, kind="fields", fields=fields)
    again = read_document(document.address, after)
    assert after[again.body_start :] == document.raw[document.body_start :]
    expected = {**document.frontmatter.values, **fields}
    assert dict(again.frontmatter.values) == {key: value for key, value in expected.items() if value is not None}


@given(pages("A block. ^blk-0", "", "Another ^blk-1"), st.integers(0, 3), st.sampled_from(["New text.", "- point"]))
def test_a_block_is_replaced_and_keeps_its_id(document: Document, number: int, text: str) -> None:
    after = made(document, kind="block", block=f"^blk-{number}", text=text)
    mark = f"^blk-{number}".encode()
    assert after.count(mark) >= 1
    assert text.encode() in after
    at = document.raw.index(mark)
    assert after.endswith(document.raw[at + len(mark) :])


@given(pages("", "- [ ] task one", "- [x] task two"), st.sampled_from(["task one", "task two"]), st.booleans())
def test_a_task_changes_one_byte(document: Document, task: str, done: bool) -> None:
    after = made(document, kind="task", task=task, done=done)
    assert len(after) == len(document.raw)
    different = [at for at, (element, two) in enumerate(zip(document.raw, after, strict=True)) if element != two]
    assert len(different) <= 1
    assert all(document.raw[at - 1 : at + 2] in {b"[ ]", b"[x]"} for at in different)


def _without(after: bytes, text: bytes) -> list[bytes]:
    """The words of a page without those of one text, taken out once where it stands."""
    words, taken = after.removeprefix(codecs.BOM_UTF8).split(), text.split()
    at = next(at for at in reversed(range(len(words))) if words[at : at + len(taken)] == taken)
    return words[:at] + words[at + len(taken) :]
