"""Where appended text goes: above the footnotes that end a document."""

from __future__ import annotations

from commonplace.domain.addresses import Address
from commonplace.domain.appends import append_text
from commonplace.domain.document_reader import read_document


def test_text_goes_above_the_definitions_at_the_end_and_definitions_go_below() -> None:
    raw = b"# A\n\nSaid.[^1]\n\n[^1]: Source.\n"
    document = read_document(Address("a.md"), raw)
    assert append_text(document, None, "More.") == b"# A\n\nSaid.[^1]\n\nMore.\n\n[^1]: Source.\n"
    assert append_text(document, None, "[^2]: Other.").endswith(b"[^1]: Source.\n\n[^2]: Other.\n")
