"""`cn search`: options, forms, and how the index stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.errors import InvalidInputError
from commonplace.toolsets.pages.cli.space_search import FormatOptions, SearchOptions
from spaces.places import cn
from spaces.tree import SpaceFolder, write_space


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> SpaceFolder:
    return write_space(tmp_path_factory.mktemp("space") / "eng")


@pytest.fixture(scope="module")
def space(written: SpaceFolder) -> Path:
    return written.root


def test_options_become_a_query_and_wrong_ones_are_refused() -> None:
    query = SearchOptions(labels=["a", "b"], author="x", sort="-updated_at", limit=3).query("tea")
    assert (query.text, query.filter.labels, query.filter.author, query.sort, query.limit) == (
        "tea", ("a", "b"), "x", "-updated_at", 3,
    )  # fmt: skip
    assert SearchOptions(labels=["a"], stale="30d").active() == {"labels": ["a"], "stale": "30d"}
    for wrong in (SearchOptions(sort="size"), SearchOptions(stale="30"), SearchOptions(created_after="May")):
        with pytest.raises(InvalidInputError):
            wrong.query("tea")
    with pytest.raises(InvalidInputError, match="exclude each other"):
        FormatOptions(as_json=True, as_xml=True).check()


def test_an_answer_has_the_asked_form(space: Path) -> None:
    done = cn(space, "search", "rollback", "canary", "--limit", "2", "--json")
    assert (done.code, done.json["query"], len(done.json["results"])) == (0, "rollback canary", 2)
    assert cn(space, "search", "rollback", "--xml").text.startswith('<search-results query="rollback"')
    assert cn(space, "search", "rollback").text.startswith("Found ")
    assert cn(space, "search", "zzqqxx").text == 'No results found for "zzqqxx"\n'
    both = cn(space, "search", "x", "--json", "--xml")
    assert (both.code, both.text) == (6, "")


def test_the_status_counts_the_pages(written: SpaceFolder, space: Path) -> None:
    count = len(written.pages)
    status = cn(space, "search", "status", "--json").json
    assert (status["connected"], status["meilisearchUrl"], status["documentCount"], status["error"]) == (
        True, None, count, None,
    )  # fmt: skip
    assert f"Documents: {count}" in cn(space, "search", "status").lines
    assert cn(space, "search", "index", "--dry-run").text == f"Would index {count} pages\n"
    assert cn(space, "search", "index", "--force").text == f"Indexed {count} pages\n"


def test_a_page_that_cannot_be_read_whole_is_named(tmp_path: Path) -> None:
    made = write_space(tmp_path / "eng")
    root, page = made.root, made.root / next(iter(made.pages.values())).path
    page.write_text("---\ntitle: [\n---\nText.\n")
    done = cn(root, "search", "index")
    assert done.code == 1
    assert page.name in done.stderr
    assert cn(root, "search", "status", "--json").json["unreadablePages"] == 1


def test_a_server_that_is_away_has_its_own_exit_code(space: Path) -> None:
    away = ("--engine", "meilisearch", "--meilisearch", "http://127.0.0.1:9")
    assert cn(space, "search", "x", *away).code == 9
    status = cn(space, "search", "status", "--json", *away)
    assert (status.code, status.json["connected"], status.json["documentCount"]) == (9, False, None)
