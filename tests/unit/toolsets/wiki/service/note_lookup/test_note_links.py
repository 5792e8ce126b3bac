"""Links of notes, those to notes that are not there yet included."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commonplace.domain.addresses import Address
from commonplace.toolsets.wiki.service import note_lookup
from indexed import Indexed

FILES = {
    "a.md": "# A\n\n[[b]] [[New page]] [[b|again]] [[a]] [text](gone.md) [[other:x]] ![p](p.png) "
    "[[new page]] [[in/c]]\n",
    "b.md": "# B\n\n[[NEW PAGE]] [[a]]\n",
    "in/c.md": "# C\n\n[a](../a.md) [a](../a.md#A)\n",
    "p.png": b"x",
}
A, B = Address("a.md"), Address("b.md")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    with Indexed(tmp_path_factory.mktemp("links"), FILES) as made:
        yield made


def test_a_note_leads_to_notes_in_order_each_once_and_not_to_itself(base: Indexed) -> None:
    found_texts = note_lookup.outgoing(A, base.index.links_from(A))
    assert found_texts == ("b", "New page", "new page", "in/c")


def test_a_note_is_linked_from_others_each_once_sorted(base: Indexed) -> None:
    assert note_lookup.incoming(base.collection, A) == ("b", "in/c")
    assert note_lookup.incoming(base.collection, B) == ("a",)


def test_a_note_that_does_not_exist_has_those_who_want_it_whatever_the_case(base: Indexed) -> None:
    links = note_lookup.wanted(base.collection, "new PAGE")
    assert links is not None
    assert (links.path, links.links_to, links.linked_from) == ("New page", (), ("a", "b"))
    assert note_lookup.wanted(base.collection, "gone") is None, "only a wikilink wants a note"
    assert note_lookup.wanted(base.collection, "nobody's") is None
