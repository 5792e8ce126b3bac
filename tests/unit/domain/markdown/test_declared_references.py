"""What a page declares as its replacement or its source is a link of the page, in the front matter and in headings."""

from __future__ import annotations

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document

TARGETS = {
    "superseded_by: x/new": ["x/new"],
    "superseded_by: x/new.md#part": ["x/new.md#part"],
    "status: superseded by [New](x/new.md)": ["x/new.md"],
    "superseded_by: https://example.org/new": [],
    "superseded_by: the new policy": [],
    "superseded_by: the new policy.md": ["the new policy.md"],
    "status: Superseded by ADR-0009": ["ADR-0009"],
    "sources: [src.md]": ["src.md"],
    "sources:\n- path: src.md\n  quote: A word": ["src.md"],
    "sources:\n- https://example.org/a": [],
    "title: x/new": [],
}


@pytest.mark.parametrize("fields", TARGETS)
def test_a_declared_reference_is_a_link(fields: str) -> None:
    document = read_document(Address("a.md"), f"---\n{fields}\n---\n# A\n".encode())
    assert [link.raw for link in document.links] == TARGETS[fields]


def test_a_replacement_in_a_heading_is_a_link() -> None:
    heads = ('status=superseded by="new port.md"', "superseded-by=b", 'by="a new port"', "by=https://example.org")
    text = "".join(f"## Port {{#port {head}}}\n\n" for head in heads) + "## by=other.md\n"
    assert [link.raw for link in read_document(Address("a.md"), text.encode()).links] == ["new port.md", "b"]
