"""What an answer denies: nothing that stands in a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.query import Filter, SearchQuery
from commonplace.services import denials
from commonplace.services.collections import Collection
from commonplace.services.denials import SEARCHED
from commonplace.services.searches import FoundHits, search
from indexed import Indexed

FILES = {
    "herons.md": "# Herons\n\nEaten by <u>two</u> herons at noon.\n",
    "weirs.md": "# Weirs\n\nSee [the weir](maps/lower-weir.md) in spring, and a line\nthat wraps <b>here\ntoo</b>.\n",
    "law.md": "# Recht\n\nDie Straßenverkehrsordnung gilt überall.\n",
    "author.md": "---\nauthor: Zorabel Quux\n---\n\n# Tides\n\nThe tide turns.\n",
    "schooling.md": "# Schooling\n\nEducation matters.\n",
    "nfd.md": "# Decomposed\n\nVor der Rückkehr steht <i>O\u0308lfass</i>.\n",
    "soup.md": "# Soup\n\nBoil water, add lentils and wait.\n",
}


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Indexed(tmp_path_factory.mktemp("denials"), FILES) as base:
        yield base.collection


def answer(collection: Collection, text: str, **query: object) -> tuple[list[str], FoundHits]:
    hits = search([collection], SearchQuery(text=text, **query))  # type: ignore[arg-type]
    return [hit.hit.record.address.path for hit in hits.hits], hits


@each_case(
    ("text", "page"),
    [
        ('"by <u>two</u>"', "herons.md"),
        ('"<u>two"', "herons.md"),
        ('"BY <U>two"', "herons.md"),
        ('"weir](maps/lo"', "weirs.md"),
        ('"[the weir](maps"', "weirs.md"),
        ('"wraps <b>here too"', "weirs.md"),
        ('"verkehrsordn"', "law.md"),
        ('"zorabel quux"', "author.md"),
        ('"duca"', "schooling.md"),
        ('"<i>\u00d6lfass"', "nfd.md"),
        ('"<u>two" "at noon"', "herons.md"),
    ],
)
def test_a_quotation_that_stands_in_a_file_is_not_denied(collection: Collection, text: str, page: str) -> None:
    pages, hits = answer(collection, text)
    assert f"as words in its {SEARCHED}, but the text stands in {page}." in hits.notice
    assert "contains" not in hits.notice
    assert set(pages) <= {page}, "a page without the text is no hit if one has it"


@each_case("text", ['"add <b>lentils"', '"no such thing"', '"<u>two" "lentils <b>"'])
def test_a_quotation_that_stands_in_no_file_is_denied(collection: Collection, text: str) -> None:
    _, hits = answer(collection, text)
    assert hits.notice.startswith("No page contains ")


@each_case(
    ("text", "first"),
    [
        ("verkehrsordnung AND recht", "law.md"),
        ('"<u>two" AND herons', "herons.md"),
        ("(zorabel AND tides) OR nowhere", "author.md"),
        ("ducation NOT lentils", "schooling.md"),
    ],
)
def test_operators_that_a_file_meets_are_not_denied(collection: Collection, text: str, first: str) -> None:
    pages, hits = answer(collection, text)
    assert f"by its words, but matching text stands in {first}." in hits.notice
    assert set(pages) <= {first}


@each_case("text", ["verkehrsordnung AND lentils", "duca AND education", "herons AND zzyzx"])
def test_operators_that_no_file_meets_are_denied(collection: Collection, text: str) -> None:
    pages, hits = answer(collection, text)
    assert hits.notice.startswith("No page matches the query with its operators. ")
    assert pages


@each_case(("text", "first"), [("verkehrsordnung", "law.md"), ("ducation", "schooling.md")])
def test_a_part_of_a_longer_word_finds_its_pages(collection: Collection, text: str, first: str) -> None:
    pages, hits = answer(collection, text)
    assert pages == [first]
    assert f"by itself in its {SEARCHED}, but {text!r} stands in {first}." in hits.notice


def test_a_part_beside_other_words_finds_both(collection: Collection) -> None:
    pages, hits = answer(collection, "verkehrsordnung soup")
    assert set(pages) == {"law.md", "soup.md"}
    assert "'verkehrsordnung' stands in law.md." in hits.notice


def test_front_matter_that_is_not_searched_is_named(collection: Collection) -> None:
    pages, hits = answer(collection, "zorabel")
    assert pages == []
    assert hits.notice.endswith("but 'zorabel' stands in author.md.")


def test_a_short_word_is_not_looked_for_in_longer_ones_and_not_denied_as_text(collection: Collection) -> None:
    pages, hits = answer(collection, "duca")
    assert pages == []
    assert hits.notice.startswith("No page has a word of 'duca' by itself in its")
    assert "schooling" not in hits.notice


def test_only_the_filtered_pages_are_read(collection: Collection) -> None:
    _, hits = answer(collection, '"<u>two"', filter=Filter(prefix="weirs"))
    assert hits.notice.startswith("No page contains the quoted phrase")


def test_pages_that_could_not_be_read_in_time_are_not_spoken_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(denials, "MAX_SECONDS", -1.0)
    with Indexed(tmp_path, FILES) as base:
        for text in ('"<u>two"', "verkehrsordnung", "verkehrsordnung soup"):
            _, hits = answer(base.collection, text)
            assert f"in its {SEARCHED}; 0 of {len(FILES)} pages could be read in time" in hits.notice, text
            assert "contains" not in hits.notice
        _, found_hits = answer(base.collection, "verkehrsordnung AND recht")
    assert found_hits.notice.startswith(
        f"No page matches the query with its operators by its words; 0 of {len(FILES)} pages"
    )


def test_paths_carry_the_names_of_their_collections(collection: Collection) -> None:
    other = replace(collection, name="other")
    hits = search([collection, other], SearchQuery(text='"<u>two"'))
    assert f"the text stands in {collection.name}:herons.md, other:herons.md." in hits.notice


def test_many_pages_are_counted(tmp_path: Path) -> None:
    files = {f"page-{number}.md": "# Page\n\nA <u>tag</u> here.\n" for number in range(7)}
    with Indexed(tmp_path / "many", files) as base:
        hits = search([base.collection], SearchQuery(text='"<u>tag"'))
    assert "stands in page-0.md, page-1.md, page-2.md and 4 more." in hits.notice
    assert hits.total == 7


def test_files_are_looked_through_again_when_the_index_has_changed(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        for _ in range(2):
            assert "No page contains a word of 'zugvogel'" in answer(base.collection, "zugvogel")[1].notice
            base.write("birds.md", "# Birds\n\nDer Bergzugvogelflug.\n")
        base.index.update([Address("birds.md")])
        assert "stands in birds.md" in answer(base.collection, "zugvogel")[1].notice
        quiet = search([base.collection], SearchQuery(text="lentil brunswick"), explained=False)
        assert (len(quiet.hits), quiet.notice) == (1, "")
