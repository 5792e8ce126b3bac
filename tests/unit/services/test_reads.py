"""Documents as they are read: whole, by section, by fragment, by lines, and as they were."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.revisions import revision_of
from commonplace.services import reads
from commonplace.services.collections import Collection
from indexed import Indexed
from support import new_repo

PAGE = "---\nid: known\naliases: [Spitzname]\n---\nBefore.\r\n\r\n"
PAGE += "# Größe\r\n\r\nText. ^blk\r\n\r\n## 下\n\nDeep.\n\n# Last\n"
ODD = "one\u2028still one\x85\x0b\ntwo\rthree\r\nfour"


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    place = tmp_path_factory.mktemp("reads")
    repo = new_repo(place / "base", {"page.md": "# Old\n"})
    repo.commit(**{"page.md": PAGE, "odd.md": ODD, "bytes.md": b"# Caf\xe9\n\nLatin.\n", "empty.md": ""})
    with Indexed(place) as base:
        yield base.collection


def test_a_whole_document_has_the_bytes_and_the_revision_of_its_file(collection: Collection) -> None:
    passage = reads.whole(collection, Address("page.md"))
    assert (passage.text, passage.revision, passage.first_line) == (PAGE, revision_of(PAGE.encode()), 1)
    assert reads.whole(collection, Address("empty.md")).text == ""


@pytest.mark.parametrize("at", ["commit", "blob", "short"])
def test_an_old_version_is_named_by_its_commit_or_its_own_revision(collection: Collection, at: str) -> None:
    old = revision_of(b"# Old\n")
    first = collection.store.history.log(Address("page.md"), limit=9)[-1].id
    revision = {"commit": first, "blob": old, "short": old[:7]}[at]
    assert reads.whole(collection, Address("page.md"), at=revision).text == "# Old\n"
    assert reads.section(collection, Address("page.md"), "Old", at=revision).text == "# Old\n"


@pytest.mark.parametrize(
    ("heading", "text", "line"),
    [
        ("Größe", "# Größe\r\n\r\nText. ^blk\r\n\r\n## 下\n\nDeep.\n\n", 7),
        ("größe", "# Größe\r\n\r\nText. ^blk\r\n\r\n## 下\n\nDeep.\n\n", 7),
        ("Größe > 下", "## 下\n\nDeep.\n\n", 11),
        ("Last", "# Last\n", 15),
    ],
)
def test_a_section_comes_with_what_is_below_it_and_the_line_where_it_begins(
    collection: Collection, heading: str, text: str, line: int
) -> None:
    passage = reads.section(collection, Address("page.md"), heading)
    assert (passage.text, passage.first_line) == (text, line)


def test_a_missing_section_names_the_ones_nearest_to_it(collection: Collection) -> None:
    with pytest.raises(NotFoundError) as error:
        reads.section(collection, Address("page.md"), "Lst")
    assert "Last" in str(error.value.context["nearest"])


def test_a_fragment_is_a_heading_an_anchor_or_a_block(collection: Collection) -> None:
    assert reads.fragment(collection, Address("page.md"), "^blk").text.strip() == "Text. ^blk"
    assert reads.fragment(collection, Address("page.md"), "Größe#下").text == "## 下\n\nDeep.\n\n"
    with pytest.raises(NotFoundError):
        reads.fragment(collection, Address("page.md"), "^none")


def test_an_outline_leaves_out_the_text_before_the_first_heading(collection: Collection) -> None:
    assert [section.heading for section in reads.outline(collection, Address("page.md"))] == ["Größe", "下", "Last"]
    assert reads.outline(collection, Address("empty.md")) == ()


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        (1, 1, "one\u2028still one\x85\x0b\n"),
        (2, 3, "two\rthree\r\n"),
        (4, 4, "four"),
        (3, 10**12, "three\r\nfour"),
    ],
)
def test_lines_are_those_that_an_editor_counts(collection: Collection, first: int, last: int, text: str) -> None:
    passage = reads.lines(collection, Address("odd.md"), first, last)
    assert (passage.text, passage.first_line) == (text, first)


@pytest.mark.parametrize(
    ("path", "first", "last"), [("odd.md", 0, 1), ("odd.md", 2, 1), ("odd.md", 5, 9), ("empty.md", 1, 1)]
)
def test_lines_that_are_not_there_are_refused_with_their_number(
    collection: Collection, path: str, first: int, last: int
) -> None:
    with pytest.raises(InvalidInputError, match=r"the document has \d, counted from 1"):
        reads.lines(collection, Address(path), first, last)


def test_bytes_that_are_no_text_are_read_all_the_same(collection: Collection) -> None:
    assert reads.lines(collection, Address("bytes.md"), 1, 1).text == "# Café\n"
    assert reads.section(collection, Address("bytes.md"), "Café").text == "# Café\n\nLatin.\n"


@pytest.mark.parametrize(
    ("reference", "path"),
    [
        ("page", "page.md"),
        ("known", "page.md"),
        ("spitzname", "page.md"),
        ("page.md", "page.md"),
        ("new/one", "new/one.md"),
    ],
)
def test_a_reference_means_an_existing_document_or_else_a_path(
    collection: Collection, reference: str, path: str
) -> None:
    assert reads.address_of(collection, reference).path == path


def test_a_reference_that_leads_out_is_refused(collection: Collection) -> None:
    for reference in ("../x", "a/../../x", "a\0b"):
        with pytest.raises(InvalidInputError):
            reads.address_of(collection, reference)
