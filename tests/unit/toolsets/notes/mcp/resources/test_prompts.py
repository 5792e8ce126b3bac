"""Prompts of `notes`: a task, and the present state as data."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commonplace.faces.mcp.toolset import Call
from commonplace.services.services import Services
from commonplace.toolsets.notes.mcp import resources
from commonplace.toolsets.notes.mcp.resources import DATA
from indexed import Indexed

FILES = {
    "tea/green.md": "# Green tea\n\nA walrus drinks it. [gone](gone.md)\n",
    **{f"many/{number:02}.md": f"# M{number}\n\n[x](gone{number}.md)\n" for number in range(70)},
}


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    with Indexed(tmp_path_factory.mktemp("prompts"), FILES) as base:
        yield Call(services=Services(collections=base.collections), tier="read", progress=lambda *_: None)


def test_findings_are_of_the_folder_alone_and_not_endless(call: Call) -> None:
    tidy_folder = resources.tidy_folder(call, {"folder": "tea/"})
    assert tidy_folder.startswith("Tidy tea/: ")
    assert DATA in tidy_folder
    assert "tea/green.md:3 " in tidy_folder
    assert "many/" not in tidy_folder
    every = resources.tidy_folder(call, {})
    assert every.startswith("Tidy these pages: ")
    assert every.splitlines()[-1].startswith("… and ")
    assert "Nothing was found." in resources.tidy_folder(call, {"folder": "nothing/"})


def test_a_question_comes_with_the_sections_that_answer_it(call: Call) -> None:
    answer = resources.answer_with_sources(call, {"question": " Who drinks it? walrus "})
    assert answer.startswith("Answer from the pages: Who drinks it? walrus\n")
    assert "A walrus drinks it." in answer.partition(DATA)[2]
    assert resources.answer_with_sources(call, {"question": "  "}).endswith(f"{DATA}\n\n")


def test_completion_offers_folders_that_have_pages(call: Call) -> None:
    assert resources.complete_path_folder(call, "", {}) == ["many/", "tea/"]
    assert resources.complete_path_folder(call, "TE", {}) == ["tea/"]
    assert resources.complete_folder(call, "ba", {}) == ["base"]
    assert resources.complete_folder(call, "x", {}) == []
