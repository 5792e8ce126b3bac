"""Answers of `cn search` as JSON, as XML and for people."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

from commonplace.domain.addresses import parse_document_address
from commonplace.toolsets.pages.cli.space_search import answer_json, answer_text, answer_xml, as_json, status_xml
from commonplace.toolsets.pages.rules.page import Page
from commonplace.toolsets.pages.rules.queries import PageAnswer, PageHit

ODD = 'a < b & "c"\x1b[31m'
PAGE = Page(
    address=parse_document_address("a/b.md"),
    id="7",
    title=ODD,
    labels=("one", "two"),
    url="https://example.org/7",
    created=0,
    updated=None,
)
ANSWER = PageAnswer((PageHit(PAGE, "so\u2028it is"),), 3)


def test_as_json_the_filters_are_there_or_null_and_dates_are_seconds() -> None:
    value = json.loads(answer_json(ODD, {}, ANSWER, 12))
    assert (value["query"], value["totalHits"], value["processingTimeMs"], value["filters"]) == (ODD, 3, 12, None)
    assert value["results"] == [
        {
            "rank": 1,
            "title": ODD,
            "path": "a/b.md",
            "page_id": "7",
            "labels": ["one", "two"],
            "snippet": "so\u2028it is",
            "url": "https://example.org/7",
            "created_at": 0,
            "updated_at": None,
        }
    ]
    assert json.loads(answer_json("", {"labels": ["x"]}, PageAnswer((), 0), 0))["filters"] == {"labels": ["x"]}
    assert as_json({"title": "日本"}) == '{"title": "日本"}'


def test_as_xml_every_text_can_be_read_back_and_what_xml_forbids_is_replaced() -> None:
    root = ET.fromstring(answer_xml(ODD, {"labels": ["<x>"], "stale": True, "author": ""}, ANSWER))  # noqa: S314 - our own
    assert root.attrib == {"query": ODD.replace("\x1b", "\ufffd"), "count": "3"}
    assert [element.text for element in root.findall("filters/labels/label")] == ["<x>"]
    assert root.findtext("filters/stale") == "true"
    assert root.find("filters/author") is None
    result = root.find("result")
    assert result is not None
    assert result.attrib == {"rank": "1"}
    assert result.findtext("title") == ODD.replace("\x1b", "\ufffd")
    assert (result.findtext("created_at"), result.find("updated_at")) == ("0", None)


def test_a_person_sees_lines_that_no_page_can_break() -> None:
    lines = answer_text(ODD, ANSWER).splitlines()
    assert lines[0].startswith("Found 3 result(s) for ")
    assert lines[2].startswith("1. a < b")
    assert lines[3:] == ["   a/b.md", "   so it is", "   labels: one, two", "   https://example.org/7"]
    assert not any("\x1b" in line for line in lines)
    assert answer_text("x", PageAnswer((), 0)) == 'No results found for "x"'


def test_the_status_names_what_is_wrong() -> None:
    values = {
        "connected": False,
        "meilisearchUrl": None,
        "indexName": "i",
        "documentCount": None,
        "space": {"key": "K", "name": "A & B"},
        "error": "gone",
    }
    root = ET.fromstring(status_xml(values, ["two pages"]))  # noqa: S314 - our own
    assert root.attrib == {"connected": "false"}
    assert root.find("meilisearch") is None
    assert [element.attrib for element in root.findall("index")] == [{"name": "i", "documents": "0"}]
    assert [element.attrib for element in root.findall("space")] == [{"key": "K", "name": "A & B"}]
    assert [element.text for element in root.findall("warning")] == ["gone", "two pages"]
