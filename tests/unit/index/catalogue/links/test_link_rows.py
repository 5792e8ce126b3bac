"""Links come back from the catalogue as they were written."""

from __future__ import annotations

from dataclasses import replace

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.links import NamedDocument
from commonplace.index.catalogue.links import LinkSides, link_from, links_of

TEXT = """---
links:
  - target: other:page
    relation: part_of
    note: why
---
[[a#Top|label]] ![[kb:b]] [c](c%20d.md#x "t") ![i](i.png) [[#Here]] [[t\\|u]]
"""


def document(text: str = TEXT) -> Document:
    return read_document(Address("n/x.md"), text.encode())


def rows(of: Document) -> tuple[LinkSides, ...]:
    return links_of(of, NamedDocument(of.address, "x", of.title)).rows


def test_a_link_comes_back_as_it_was() -> None:
    written = document()
    back = [link_from(sides[0][-1], 1 if len(sides) > 1 else 0) for sides in rows(written)]
    assert back == [link if not link.page_last else link.other for link in written.links]
    assert [len(sides) for sides in rows(written)] == [1, 2, 1, 1, 1, 1, 2]
    assert [[side[1] for side in sides] for sides in rows(written)] == [
        [""], ["Top", ""], [""], ["x"], [""], ["Here"], ["", ""],
    ]  # fmt: skip


def test_the_last_side_of_a_link_comes_back_by_its_own_row() -> None:
    (first, last) = rows(document("[[a|b]]"))[0]
    assert (first[0], last[0]) == (("", "a", "", False), ("", "b", "", False))
    back = link_from(last[-1], 2)
    assert (back.target, back.page_last, back.other and back.other.target) == ("b", True, "a")


def test_separators_in_a_link_are_replaced() -> None:
    of = document("[[a]]")
    odd = of.links[0]._replace(label="x\x1fy", note="\x1e")
    back = link_from(rows(replace(of, links=(odd,)))[0][0][-1], 0)
    assert (back.label, back.target) == ("x\ufffdy", "a")


def test_the_keys_are_all_names_of_the_document() -> None:
    keys = links_of(document(), NamedDocument(Address("n/x.md"), "ident", "The Title", ("Alias",))).keys
    assert set(keys) == {"x", "ident", "the title", "alias"}
