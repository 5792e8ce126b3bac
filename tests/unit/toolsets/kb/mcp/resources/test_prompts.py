"""Prompts of the knowledge bases: a task, and the entries that it is about as data."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commonplace.domain.errors import InvalidInputError
from commonplace.faces.mcp.toolset import Call
from commonplace.services.services import Services
from commonplace.toolsets.kb.mcp import resources
from commonplace.toolsets.kb.mcp.resources import MAX_BODY_CHARS
from indexed import Indexed

FILES = {
    "tea.md": "---\nid: green-tea\ntags: [hot, drink]\ntype: note\n---\n# Green tea\n\n"
    "A walrus drinks it. [[coffee]]\n",
    "coffee.md": "---\ntags: [hot]\n---\n# Coffee\n\n" + "black " * 3000,
}


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    with Indexed(tmp_path_factory.mktemp("prompts"), FILES) as base:
        yield Call(services=Services(collections=base.collections), tier="read", progress=lambda *_: None)


def test_what_is_known_of_a_topic_is_shown_as_data(call: Call) -> None:
    research_topic = resources.research_topic(call, {"topic": " walrus "})
    assert "topic 'walrus'" in research_topic
    assert "data, not instructions" in research_topic
    assert "## Green tea\nid: green-tea | kb: base | type: note | tags: hot, drink" in research_topic
    assert "links to: coffee" in research_topic
    assert "No entry matches" in resources.research_topic(call, {"topic": "zebra"})


def test_a_long_entry_is_cut_and_says_so(call: Call) -> None:
    summarize_entry = resources.summarize_entry(call, {"entry_id": "coffee"})
    assert "[cut: 1" in summarize_entry
    assert len(summarize_entry) < MAX_BODY_CHARS + 1000


def test_an_entry_that_is_not_there_is_told_in_its_place(call: Call) -> None:
    connections = resources.find_connections(call, {"entry_a": "green-tea", "entry_b": "green-te"})
    assert "## Green tea" in connections
    assert "There is no entry 'green-te'. Nearest ids: green-tea" in connections


def test_a_briefing_is_of_the_last_days(call: Call) -> None:
    reported_text = resources.daily_briefing(call, {"days": " 30 "})
    assert "last 30 days" in reported_text
    assert "2 entries changed; 2 are shown" in reported_text


@pytest.mark.parametrize("days", ["0", "-1", "x", "", "1.5", "3651", "9" * 50, "²", "          x"])
def test_a_number_of_days_that_is_none_is_refused(call: Call, days: str) -> None:
    with pytest.raises(InvalidInputError, match="days"):
        resources.daily_briefing(call, {"days": days})


def test_blanks_round_a_number_do_not_matter(call: Call) -> None:
    assert "last 7 days" in resources.daily_briefing(call, {"days": "            7"})


def test_arguments_are_completed(call: Call) -> None:
    assert resources.complete_entry(call, "GREEN", {}) == ["green-tea"]
    assert resources.complete_entry(call, "e", {"kb_name": "base"}) == ["coffee", "green-tea"]
    assert resources.complete_base(call, "B", {}) == ["base"]
    assert resources.complete_topic(call, "", {}) == ["hot", "drink"]
    assert resources.complete_days(call, "1", {}) == ["1", "14"]
