"""Parts of a document that pages withhold, and access to its file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from asgi.browsing import Pages
from cases import each_case
from commonplace.domain.documents import Document
from commonplace.faces.web.exchange import PageRequest, ToolsetPages
from commonplace.faces.web.shown import (
    gives_file,
    overlaps,
    spans_of,
    visible,
    visible_description,
    withheld_spans,
    withholds,
)
from commonplace.services.collections import Collection, FoundDocument
from commonplace.services.site.documents import document_at_path, parsed_document

TEXT = "---\ndescription: Über alles.\n---\n# A\n\nsecret ü\r\nline\n\nrest\n"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    place = tmp_path_factory.mktemp("withheld")
    (place / "base").mkdir()
    (place / "base" / "a.md").write_bytes(TEXT.encode())
    (place / "base" / "latin.md").write_bytes(b"# L\n\n\xe9\xe9 secret\n\nrest\n")
    with Pages(place, place / "base") as served:
        yield served


def holding(pages: Pages, *words: str, **query: str) -> PageRequest:
    """A request whose toolset withholds each of these words, up to the end of its paragraph."""

    def withheld(_: PageRequest, __: Collection, document: Document) -> list[tuple[int, int]]:
        source = document.source
        starts = [source.find(word.encode()) for word in words]
        return [(start, source.find(b"\n\n", start)) for start in starts if start >= 0]

    return replace(pages.request(**query), toolsets=[ToolsetPages(), ToolsetPages(withheld=withheld)])


def found(pages: Pages, path: str = "a") -> tuple[FoundDocument, Document]:
    (collection,) = pages.services.collections
    document = document_at_path(collection, path)
    assert document is not None
    return document, parsed_document(collection, document.record.address)


def test_without_a_toolset_that_withholds_everything_is_shown(pages: Pages) -> None:
    found_document, document = found(pages)
    request = pages.request()

    assert not withholds(request)
    assert spans_of(request, found_document) == []
    assert visible(request, found_document.collection, document) is document
    assert visible_description(request, found_document.collection, found_document.record) == "Über alles."
    assert gives_file(request, found_document)


@pytest.mark.parametrize("path", ["a", "latin"])
def test_what_is_withheld_is_blank_and_all_else_stays_where_it_was(pages: Pages, path: str) -> None:
    found_document, document = found(pages, path)
    shown = visible(holding(pages, "secret"), found_document.collection, document)

    assert len(shown.source) == len(document.source)
    assert "secret" not in shown.text
    assert b"secret" not in shown.raw
    assert shown.text.endswith("rest\n")
    assert shown.source.count(b"\n") == document.source.count(b"\n")
    start = document.source.find(b"rest")
    assert shown.source[start:] == document.source[start:]


def test_runs_of_several_toolsets_come_in_order(pages: Pages) -> None:
    found_document, document = found(pages)
    request = holding(pages, "rest", "secret")
    both = replace(request, toolsets=[*request.toolsets, *holding(pages, "line").toolsets])

    spans = withheld_spans(both, found_document.collection, document)
    assert spans == sorted(spans)
    assert [document.source[start:][:4] for start, _ in spans] == [b"secr", b"line"] or len(spans) == 3


def test_a_description_is_withheld_with_the_front_matter_alone(pages: Pages) -> None:
    document, _ = found(pages)
    for word, shown in (("---", ""), ("secret", "Über alles.")):
        assert visible_description(holding(pages, word), document.collection, document.record) == shown
    empty = replace(document.record, description="")
    assert visible_description(holding(pages, "---"), document.collection, empty) == ""


def test_a_file_is_given_whole_only_where_its_collection_is_asked_for(pages: Pages) -> None:
    document, _ = found(pages)

    assert not gives_file(holding(pages, "secret"), document)
    assert not gives_file(holding(pages, "secret", layer="other"), document)
    assert gives_file(holding(pages, "secret", layer="base"), document)
    assert gives_file(holding(pages, "no such word"), document)


def test_nothing_is_withheld_of_a_document_that_is_gone(pages: Pages) -> None:
    document, _ = found(pages)
    gone = replace(document, record=replace(document.record, address=replace(document.record.address, path="gone.md")))
    assert spans_of(holding(pages, "secret"), gone) == []


@each_case(
    ("start", "end", "expected"),
    [(0, 2, False), (0, 3, True), (3, 4, True), (4, 5, True), (5, 9, False), (9, 20, True), (0, 0, False)],
)
def test_runs_overlap_where_they_share_a_byte(start: int, end: int, expected: bool) -> None:
    assert overlaps([(2, 5), (10, 11)], start, end) is expected
    assert overlaps([], start, end) is False
