"""An edit in a browser's form changes the lines that differ, and no other byte."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.domain.addresses import Address
from commonplace.domain.browser_text import browser_text, section_span, with_browser_text
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document

PIECES = st.sampled_from(["a", "b", "## H", "", "\0", "é", " x ", "- [ ] t", "\u2028", "\x0b"])
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def raw_of(bom: bool, lines: list[tuple[str, str]], last: bytes) -> bytes:
    return (b"\xef\xbb\xbf" if bom else b"") + "".join(text + end for text, end in lines).encode() + last


RAW = st.builds(
    raw_of,
    st.booleans(),
    st.lists(st.tuples(PIECES, ENDS), max_size=12),
    st.sampled_from([b"", b"end", "ü".encode()]),
)


def document(raw: bytes) -> Document:
    return read_document(Address("a.md"), raw)


def as_sent(text: str) -> str:
    """A text as a form sends it."""
    return text.replace("\n", "\r\n")


@given(RAW)
def test_a_text_that_is_sent_back_as_shown_changes_no_byte(raw: bytes) -> None:
    page = document(raw)
    assert with_browser_text(page, browser_text(page)) == raw
    assert with_browser_text(page, as_sent(browser_text(page))) == raw


@given(RAW, st.data())
def test_what_is_sent_is_what_is_shown_afterwards(raw: bytes, data: st.DataObject) -> None:
    page = document(raw)
    lines = browser_text(page).split("\n")
    at = data.draw(st.integers(0, len(lines)))
    cut = data.draw(st.integers(at, len(lines)))
    text = "\n".join(
        [
            *lines[:at],
            *data.draw(st.lists(PIECES.map(lambda element: element.replace("\0", "\ufffd")), max_size=3)),
            *lines[cut:],
        ]
    )
    after = document(with_browser_text(page, as_sent(text)))
    assert browser_text(after) == text


def test_lines_keep_their_ends_their_nul_and_their_order_mark() -> None:
    raw = b"\xef\xbb\xbfone\r\ntwo\nth\0ree\rfour"
    page = document(raw)
    assert browser_text(page) == "one\ntwo\nth\ufffdree\nfour"
    assert with_browser_text(page, "one\nTWO\nth\ufffdree\nfour") == b"\xef\xbb\xbfone\r\nTWO\nth\0ree\rfour"
    assert with_browser_text(page, "one\ntwo\nnew\nth\ufffdree\nfour") == b"\xef\xbb\xbfone\r\ntwo\nnew\nth\0ree\rfour"


def test_a_section_is_changed_alone() -> None:
    raw = b"# A\r\n\r\nOne.\r\n\r\n## B\r\nTwo.\r\n\r\n\r\n## C\r\nThree."
    page = document(raw)
    span = section_span(page, "b")
    assert browser_text(page, span) == "## B\nTwo."
    assert with_browser_text(page, "## B\nTwo.\n\nMore.", span) == raw.replace(b"Two.", b"Two.\r\n\r\nMore.")
    assert section_span(page, "absent") is None
