"""Answers within a number of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.json import Json
from commonplace.domain.query import SearchQuery
from commonplace.domain.tokens import QUARTERS
from commonplace.services.collections import FoundDocument
from commonplace.toolsets.kb.mcp.entries import entry_within, search_within, sections_within, size_of, text_once
from commonplace.toolsets.kb.mcp.parameters import KbSearch
from indexed import Indexed

LONG = "# Boats\n\n" + "".join(f"## Part {n}\n\nA boat called walrus number {n}.\n\n" for n in range(40))
ENTRY: dict[str, Json] = {
    "id": "boats",
    "kb_name": "base",
    "entry_type": "note",
    "title": "Boats",
    "revision": "a" * 40,
    "file_path": "boats.md",
    "body": "größe " * 500,
    "links": [{"target_id": f"t{n}"} for n in range(100)],
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    with Indexed(tmp_path_factory.mktemp("budget"), {"boats.md": LONG, "tea.md": "# Tea\n\nNo walrus.\n"}) as made:
        yield made


def size_of_both(entry: dict[str, Json], fields: Sequence[str] = ()) -> int:
    """Quarters of a token of the structured content and the text block."""
    answer = text_once(entry, fields)
    structured, reported_value = cast("tuple[Any, Any]", (answer.content, answer.text))
    assert "body" not in structured["entry"], "the text is sent once"
    assert {*reported_value["entry"]} >= {"id", "title", "revision", *fields} & entry.keys()
    return size_of(structured) + size_of(reported_value)


@pytest.mark.parametrize("tokens", [200, 400, 5000])
def test_the_best_sections_fit_and_it_is_told_whether_there_are_more(base: Indexed, tokens: int) -> None:
    arguments = KbSearch(query="walrus boat", mode="keyword", max_tokens=tokens)
    answer: Any = search_within([base.collection], SearchQuery(text="walrus boat"), arguments, tokens)
    found_content = answer.content
    assert size_of(found_content) + size_of(answer.text) <= QUARTERS * tokens
    assert len(answer.text["results"]) == found_content["count"] == len(found_content["results"]) > 0
    assert found_content["has_more"] is (found_content["count"] < found_content["total"])
    assert found_content["results"][0]["section"].startswith("Boats > Part")


def test_an_entry_has_its_best_sections_for_a_question(base: Indexed) -> None:
    record = base.index.record(Address("boats.md"))
    assert record is not None
    found_section = sections_within(FoundDocument(base.collection, record), "walrus number 7", ENTRY, 200)
    structured, reported_value = cast("tuple[Any, Any]", (found_section.content, found_section.text))
    (section,) = structured["entry"]["sections"]
    assert section == {"section": "Boats > Part 7", "anchor": "part-7"}, "the text block has the text"
    (shown,) = reported_value["entry"]["sections"]
    assert shown["text"].startswith("A boat called walrus number 7.")
    assert structured["entry"]["file_path"] == "boats.md"
    assert size_of(structured) + size_of(reported_value) <= QUARTERS * 200


@pytest.mark.parametrize("tokens", [150, 200, 500, 1000])
def test_an_entry_is_cut_to_fit_and_says_where_its_body_goes_on(tokens: int) -> None:
    entry: Any = entry_within(ENTRY, tokens)
    assert size_of_both(entry) <= QUARTERS * tokens
    assert entry["body_truncated"] is True
    assert (entry["body_length"], entry["body_offset"]) == (len(str(ENTRY["body"])), 0)
    assert entry["body"] == str(ENTRY["body"])[: entry["body_chunk_size"]]
    assert entry["id"] == "boats"


def test_an_entry_that_fits_is_left_as_it_is() -> None:
    assert entry_within(ENTRY, 10_000) is ENTRY


def test_links_go_before_the_body_does() -> None:
    entry: Any = entry_within({**ENTRY, "body": "short", "body_offset": 10, "body_length": 99}, 400)
    assert entry["links_truncated"] is True
    assert 0 < len(entry["links"]) < 100
    assert (entry["body"], entry["body_offset"], entry["body_length"]) == ("short", 10, 99)
