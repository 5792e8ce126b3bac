"""The page that shows an agent's view of a document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from asgi.browsing import Pages
from commonplace.domain.errors import NotFoundError
from commonplace.domain.tokens import tokens_of
from commonplace.faces.web.exchange import AgentAnswer
from commonplace.faces.web.views.agent import MAX_TOKENS, agent
from layers import write_cascade


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    place = tmp_path_factory.mktemp("agent")
    (place / "base").mkdir()
    (place / "base" / "a.md").write_text("# A <b>\n")
    with Pages(place, place / "base") as served:
        yield served


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({}, "within 0 for &#39;&#39;"),
        ({"budget": "200"}, "within 200 for &#39;&#39;"),
        ({"question": " why? "}, "within 1000 for &#39;why?&#39;"),
        ({"budget": "50", "question": "why?"}, "within 50 for &#39;why?&#39;"),
        ({"budget": "9" * 30}, f"within {MAX_TOKENS} for"),
        ({"budget": "-1"}, "within 0 for"),
        ({"budget": "a"}, "within 0 for"),
    ],
)
def test_an_agent_is_asked_for_what_the_form_says(pages: Pages, query: dict[str, str], told: str) -> None:
    assert f"base:a.md {told}" in pages.view(agent, "a", **query)


def test_a_question_is_cut_and_the_tokens_of_the_answer_are_counted(pages: Pages) -> None:
    counts: list[int] = []

    def long(_services: object, _found: object, _tokens: int, question: str) -> AgentAnswer:
        counts.append(len(question))
        return AgentAnswer("read", "word " * 1_000, bounded=True)

    page = agent(replace(pages.request("a", question="q" * 10_000), agent_text=long)).body.decode()

    assert counts == [500]
    text = "word " * 1_000
    counted = f"about {tokens_of(text):,} tokens as o200k counts, {tokens_of(text, 'cl100k'):,} as cl100k"
    assert f"{counted} (5,000 characters)" in page


def test_an_answer_that_no_agent_could_take_in_is_shown_in_part(pages: Pages) -> None:
    def huge(_services: object, _found: object, _tokens: int, _question: str) -> AgentAnswer:
        return AgentAnswer("read", "茶" * (2 * MAX_TOKENS), bounded=True)

    page = agent(replace(pages.request("a"), agent_text=huge)).body.decode()

    assert "(200,000 characters). Shown are the first 100,000." in page
    shown = max(re.findall("茶+", page), key=len)
    assert MAX_TOKENS - 1 <= tokens_of(shown) <= MAX_TOKENS


@pytest.mark.parametrize("path", ["none", "", "..", "@other/a"])
def test_what_is_no_page_is_not_found(pages: Pages, path: str) -> None:
    with pytest.raises(NotFoundError):
        agent(pages.request(path))


def test_a_toolset_that_shows_it_elsewhere_is_where_the_page_leads(tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("layers")
    manifest = write_cascade(place, {"mine": (2, {"a.md": "# A\n"}), "team": (1, {"a.md": "# A\n\n## B\n\nb\n"})})
    with Pages(place, manifest=manifest) as served:
        assert served.location(agent, "a").startswith("/concepts/a")
