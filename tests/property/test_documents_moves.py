"""After any rename every link leads where it led before, and nothing but paths of links has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from commonplace.domain import edits
from commonplace.domain.addresses import Address
from commonplace.domain.documents import Document, Link, LinkKind, Span
from commonplace.domain.links import NamedDocument, resolve
from linked import Collection
from pages import WHOLE, page

PLACES = [
    "page.md", "notes/page.md", "notes/a.md", "a.md", "notes/a b.md", "q.md", "notes/q.md", "Über uns.md", "b.md",
    "notes/y z.md", "guide/index.md", "notes/deep/page.md", "deep/er/id.md", "i.markdown", "notes/n.md",
]  # fmt: skip
NEW = [
    "new.md",
    "notes/new name.md",
    "deep/page.md",
    "x/y/Größe (1).md",
    "guide/README.md",
    "notes/a,b.md",
    "x/index.md",
]
LINKS = [
    "[[page]]", "[[notes/page]]", "[[./a]]", "[[../a.md#h|x]]", "[[/q]]", "[[guide]]", "[[guide/]]", "[[deep/page]]",
    "[[id]]", "[t](page.md)", "[t](./page)", "[t](../page.md)", "[t](/notes/page.md)", "[t](../guide/)",
    "[t](<a b.md>)", "[t](q.html)", "[t](notes/page.md#f)", "[t](../notes/../notes/a.md)", "[t](deep/page.md)",
    "![[i]]", "[x](#h)", "[r]\n\n[r]: a.md\n\n", "[[n]]", "| [[page\\|x]] |\n|---|\n", "[[Page]]",
    "[t](../NOTES/page.md)", "[[own:page]]", "[self](src.md)", "[[src]]",
]  # fmt: skip
texts = st.lists(st.sampled_from(LINKS) | st.sampled_from(WHOLE), max_size=12).map(" ".join)


def collection(places: list[str]) -> Collection:
    return Collection(*(NamedDocument(Address(place), Address(place).id, "", ()) for place in places))


def leads(document: Document, base: Collection) -> list[Address | None]:
    return [resolve(link, document.address, base) for link in document.links]


def leading(source: Address, base: Collection) -> Callable[[str, LinkKind], Address | None]:
    return lambda path, kind: resolve(Link(kind, path, path), source, base)


def without_paths(document: Document) -> bytes:
    """The document's bytes with the path of every link taken out."""
    raw, at, parts = document.raw, 0, list[bytes]()
    for span in sorted({(link.target_span.start, link.target_span.end) for link in document.links}):
        parts.append(raw[at : span[0]])
        at = span[1]
    return b"".join([*parts, raw[at:]])


def same_but_for_paths(before: Document, after: Document) -> None:
    assert without_paths(after) == without_paths(before)
    assert [_but_path(link) for link in after.links] == [_but_path(link) for link in before.links]


def _but_path(link: Link) -> tuple[object, ...]:
    return link.kind, link.fragment, link.label, link.collection, link.target_span != Span(0, 0)


def moved(leads_before: list[Address | None], old: Address, new: Address) -> list[Address | None]:
    return [new if address == old else address for address in leads_before]


def targets(there: list[Address | None]) -> Mapping[int, Address]:
    return {position: address for position, address in enumerate(there) if address}


@given(texts, st.sampled_from(PLACES), st.sampled_from(NEW), st.sampled_from(["notes/src.md", "src.md"]))
@settings(max_examples=150)
@example("[[page]]", "page.md", "deep/page.md", "notes/src.md")
@example("[t](../guide/)", "guide/index.md", "x/index.md", "notes/src.md")
@example("[t](notes/page.md#f)", "notes/page.md", "deep/page.md", "notes/src.md")
def test_links_follow_a_renamed_document(text: str, old: str, new: str, source: str) -> None:
    before = page(text, source)
    base = collection([*PLACES, source])
    there = leads(before, base)
    after_base = collection([*(place for place in PLACES if place != old), new, source])
    addresses = moved(there, Address(old), Address(new))
    result = edits.rewrite_links(
        before,
        {position: address for position, address in targets(addresses).items() if there[position] == Address(old)},
        old=Address(old),
        leads=leading(Address(source), after_base),
    )
    after = page(result, source)
    same_but_for_paths(before, after)
    for link, address, want in zip(after.links, leads(after, after_base), addresses, strict=True):
        assert address == want or want is None or want != Address(new), link


@given(texts, st.sampled_from(["notes/src.md", "src.md"]), st.sampled_from(NEW))
@settings(max_examples=150)
@example("[t](deep/page.md)", "notes/src.md", "deep/page.md")
def test_links_of_a_moved_document_still_lead_where_they_did(text: str, source: str, new: str) -> None:
    before = page(text, source)
    there = leads(before, collection([*PLACES, source]))
    after_base = collection([*PLACES, new])
    addresses = moved(there, Address(source), Address(new))
    assume(new not in PLACES)
    result = edits.rewrite_links(
        before,
        targets(addresses),
        moved_to=Address(new),
        leads=leading(Address(new), after_base),
    )
    after = page(result, new)
    same_but_for_paths(before, after)
    for link, address, want in zip(after.links, leads(after, after_base), addresses, strict=True):
        assert address == want or want is None, link
