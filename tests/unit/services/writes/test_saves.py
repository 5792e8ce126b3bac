"""What a person saves or ticks: on the version that was opened, and no later change is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConflictError, NotFoundError, TooLargeError
from commonplace.domain.revisions import revision_of
from commonplace.services.writes import UNCONDITIONAL
from commonplace.services.writes.saves import MAX_EDITED_BYTES, OpenedText, StaleTextError, save, tick
from indexed import Indexed

PAGE = Address("a.md")
TEXT = b"# A\r\n\r\n- [ ] one\r\n- [ ] two\r\n\r\n## B\r\n\r\nlast"
AT = TEXT.index(b" ] one")


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    with Indexed(tmp_path, {"a.md": TEXT}) as made:
        yield made


def opened(section: str = "", content: bytes | None = None) -> OpenedText:
    return OpenedText(revision=revision_of(TEXT), section=section, content=content)


def form(raw: bytes) -> str:
    """A text as a browser sends it: with line feeds alone."""
    return raw.decode().replace("\r\n", "\n")


def test_lines_that_were_not_edited_keep_their_bytes(base: Indexed) -> None:
    save(base.collection, PAGE, opened(), form(TEXT).replace("last", "next"), UNCONDITIONAL)
    assert base.store.read(PAGE) == TEXT.replace(b"last", b"next")


def test_a_section_is_saved_alone(base: Indexed) -> None:
    save(base.collection, PAGE, opened("b"), "## B\n\nnext", UNCONDITIONAL)
    assert base.store.read(PAGE) == TEXT.replace(b"last", b"next")


def test_a_page_that_changed_is_not_overwritten_and_the_three_texts_are_told(base: Indexed) -> None:
    theirs = TEXT.replace(b"one", b"ONE")
    base.write("a.md", theirs)
    with pytest.raises(StaleTextError) as caught:
        save(base.collection, PAGE, opened(content=TEXT), form(TEXT).replace("last", "next"), UNCONDITIONAL)
    error = caught.value
    assert (error.base, error.mine, error.theirs) == (TEXT, TEXT.replace(b"last", b"next"), theirs)
    assert base.store.read(PAGE) == theirs


def test_what_is_said_to_have_been_opened_is_believed_by_its_revision_alone(base: Indexed) -> None:
    base.write("a.md", b"# Other\n")
    with pytest.raises(StaleTextError) as caught:
        save(base.collection, PAGE, opened(content=b"# Forged\n"), "# Mine\n", UNCONDITIONAL)
    assert caught.value.base is None


def test_a_page_that_was_deleted_meanwhile_is_told(base: Indexed) -> None:
    (base.folder / "a.md").unlink()
    with pytest.raises(StaleTextError, match="was deleted") as caught:
        save(base.collection, PAGE, opened(content=TEXT), "# Mine\n", UNCONDITIONAL)
    assert caught.value.theirs is None


def test_a_page_has_the_limit_of_rest(base: Indexed) -> None:
    with pytest.raises(TooLargeError, match="limit is 4,000,000"):
        save(base.collection, PAGE, opened(), "a" * (MAX_EDITED_BYTES + 1), UNCONDITIONAL)


def test_a_tick_lands_on_what_the_page_says_now(base: Indexed) -> None:
    base.write("a.md", b"Before.\r\n" + TEXT)
    tick(base.collection, PAGE, opened(content=TEXT), AT, UNCONDITIONAL, done=True)
    assert base.store.read(PAGE) == b"Before.\r\n" + TEXT.replace(b"[ ] one", b"[x] one")


def test_a_tick_of_a_line_that_changed_or_is_no_task_is_refused(base: Indexed) -> None:
    with pytest.raises(NotFoundError, match="no task"):
        tick(base.collection, PAGE, opened(), AT + 1, UNCONDITIONAL, done=True)
    changed = TEXT.replace(b"[ ] one", b"[ ] 1")
    base.write("a.md", changed)
    with pytest.raises(StaleTextError):
        tick(base.collection, PAGE, opened(content=TEXT), AT, UNCONDITIONAL, done=True)
    with pytest.raises(ConflictError, match="has changed since it was shown"):
        tick(base.collection, PAGE, opened(), AT, UNCONDITIONAL, done=True)
    assert base.store.read(PAGE) == changed
