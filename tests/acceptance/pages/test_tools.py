"""The two tools over stdio, with the official client, on both engines."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from agent import Agent, agent
from deployments.deployment import DEPLOYMENT
from spaces.engines import KINDS
from spaces.places import cn
from spaces.server import KEY
from spaces.tree import LABELS, SpaceFolder, Written, kept, same_text, write_space
from support import Amount, eventually

RESULT = ["id", "title", "path", "snippet", "labels", "author", "created_at", "updated_at", "url"]


class Desk:
    """An agent at a space."""

    def __init__(self, connected: Agent, space: SpaceFolder, kind: str) -> None:
        self.agent = connected
        self.space = space
        self.kind = kind

    def search(self, query: str = "", **more: Any) -> dict[str, Any]:
        return self.agent.call("search", query=query, **more)

    def refused(self, tool: str = "search", /, **arguments: Any) -> str:
        """The message of a call that ends as one with wrong parameters."""
        error = self.agent.protocol_error(tool, **arguments)
        assert error.error.code == INVALID_PARAMS, error
        return error.error.message


@pytest.fixture(scope="module", params=KINDS)
def desk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("desk")
    space = write_space(folder / "eng", search={"indexName": "desk"})
    environment = {"HOME": str(folder)}
    if request.param == "meilisearch":
        environment |= request.getfixturevalue("search_server").environment
        assert cn(space.root, "search", "index", env=environment).code == 0
    log = folder / "stderr"
    with agent("mcp", space.root, env=environment, log=log, module="commonplace.cn") as connected:
        yield Desk(connected, space, request.param)
    # A remote is served by the other program, which logs nothing at its start.
    assert len(log.read_text().splitlines()) == (4 if DEPLOYMENT == "folder" else 0)
    assert KEY not in log.read_text()


def moment(written: Any) -> str | None:
    return f"{written:%Y-%m-%dT%H:%M:%SZ}" if written else None


def metadata(page: Written) -> dict[str, Any]:
    return {
        "labels": list(page.labels),
        "author": page.email or page.name,
        "created_at": moment(page.created),
        "updated_at": moment(page.updated),
        "url": page.url,
    }


@pytest.mark.soak
def test_two_tools_that_only_read_are_offered(desk: Desk) -> None:
    tools = desk.agent.tools()
    assert list(tools) == ["search", "read_page"]
    for tool in tools.values():
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert tool.title
        assert tool.output_schema
        assert not {"oneOf", "anyOf", "allOf"} & set(tool.input_schema)
    assert tools["search"].input_schema["required"] == ["query"]
    properties = tools["search"].input_schema["properties"]
    assert (properties["limit"]["minimum"], properties["limit"]["maximum"], properties["limit"]["default"]) == (
        1,
        100,
        10,
    )
    assert properties["created_after"]["format"] == "date"
    assert "required" not in tools["read_page"].input_schema


def test_a_search_shows_every_field_of_every_hit(desk: Desk) -> None:
    shown = desk.search("gateway", limit=100)
    assert list(shown) == ["results", "total", "query"]
    assert (shown["total"], shown["query"]) == (len(shown["results"]), "gateway")
    assert shown["total"] > 10
    for row in shown["results"]:
        assert list(row) == RESULT
        page = desk.space.pages[row["id"]]
        assert {key: row[key] for key in RESULT[4:]} == metadata(page)
        assert (row["title"], row["path"]) == (page.title, page.path)
        assert 0 < len(row["snippet"]) <= 56


def test_the_fewer_hits_are_wanted_the_longer_are_their_snippets(desk: Desk) -> None:
    assert 56 < len(desk.search("gateway", limit=2)["results"][0]["snippet"]) <= 200


def test_filters_and_limits_work_together(desk: Desk) -> None:
    wanted_texts = kept(
        desk.space.pages.values(),
        lambda page: bool({"runbook", "faq"} & set(page.labels)),
        lambda page: same_text("Boris Bělák") == same_text(page.name),
    )
    shown = desk.search(labels=["RUNBOOK", "faq"], author="boris bělák", limit=100)
    assert {row["id"] for row in shown["results"]} == wanted_texts
    assert shown["total"] == len(wanted_texts) > 3
    few = desk.search(labels=["RUNBOOK", "faq"], author="boris bělák", limit=2)
    assert (len(few["results"]), few["total"]) == (2, len(wanted_texts))


def test_dates_include_the_named_day_and_durations_count_back(desk: Desk) -> None:
    page = next(page for page in desk.space.pages.values() if page.created and page.updated)
    assert page.created
    day = f"{page.created:%Y-%m-%d}"
    shown = desk.search(created_after=day, created_before=day, limit=100)
    assert page.id in {row["id"] for row in shown["results"]}
    everything = desk.search(updated_within="99y", limit=100)["total"]
    assert desk.search(stale="99y")["total"] == 0
    assert desk.search(updated_within="1y")["total"] + desk.search(stale="1y")["total"] == everything
    assert everything == len(kept(desk.space.pages.values(), lambda page: page.updated is not None))


def test_an_empty_query_with_a_sort_is_in_order(desk: Desk) -> None:
    dates = [row["updated_at"] for row in desk.search(sort="-updated_at", limit=100)["results"]]
    assert dates == sorted(dates, reverse=True)


def test_typing_errors_and_other_scripts_are_understood(desk: Desk) -> None:
    assert desk.search("certificat")["total"] > 0
    assert desk.search("accesibilty")["total"] > 0
    assert desk.search("会议")["results"][0]["path"] == "i18n/会议纪要.md"
    assert desk.search("развёртывание")["results"][0]["title"] == "Руководство по развёртыванию"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "query"),
        ({"query": ""}, "query is empty"),
        ({"query": "x", "limit": 0}, "limit"),
        ({"query": "x", "limit": 101}, "limit"),
        ({"query": "x", "limit": "10"}, "limit"),
        ({"query": "x", "sort": "title"}, "sort"),
        ({"query": "x", "created_after": "2024-02-30"}, "created_after"),
        ({"query": "x", "updated_before": "yesterday"}, "updated_before"),
        ({"query": "x", "created_within": "0d"}, "created_within"),
        ({"query": "x", "stale": "3 weeks"}, "stale"),
        ({"query": "x", "updated_within": "1d", "stale": "1d"}, "updated_within and stale"),
        ({"query": "x", "labels": "runbook"}, "labels"),
        ({"query": 7}, "query"),
        ({"query": "x", "nonsense": 1}, "nonsense"),
    ],
)
def test_wrong_parameters_are_named(desk: Desk, arguments: dict[str, Any], says: str) -> None:
    message = desk.refused(**arguments)
    assert message.startswith("Invalid params: ")
    assert says in message


def test_a_page_is_read_by_path_and_by_id(desk: Desk) -> None:
    for page in desk.space.pages.values():
        if page.path.startswith(("i18n/", "quotes", "README", "design/")):
            by_path = desk.agent.call("read_page", path=page.path)
            assert list(by_path) == ["id", "title", "path", "content", "metadata"]
            assert by_path == desk.agent.call("read_page", id=page.id)
            assert by_path["content"] == f"# {page.title}\n\n{page.body}".strip()
            assert by_path["metadata"] == metadata(page)


def test_exactly_one_of_path_and_id_is_wanted(desk: Desk) -> None:
    for arguments in ({}, {"path": "README.md", "id": "100037"}):
        assert desk.refused("read_page", **arguments) == "Invalid params: give exactly one of path and id"


def test_pages_that_are_not_there_are_named(desk: Desk) -> None:
    assert desk.refused("read_page", path="design/nothing.md") == "Page not found: design/nothing.md"
    for name in ("12345678", "../x", "/etc/passwd"):
        assert desk.refused("read_page", id=name) == f"Page not found: {name}"


OUTSIDE = "Invalid params: path must be a Markdown page in the space"


def test_nothing_but_pages_of_the_space_can_be_read(desk: Desk, tmp_path: Path) -> None:
    root = desk.space.root
    secret = tmp_path / "secret.md"
    secret.write_text("---\npage_id: 99\n---\n# Secret\n\nTOP-SECRET\n")
    links = {"out.md": secret, "folder": tmp_path, "env.md": root / ".env", "loop.md": root / "loop.md"}
    for name, target in links.items():
        (root / name).symlink_to(target)
    try:
        for path in (
            ".confluence.json", ".env", ".git/config", "../x", "../eng/README.md", f"{root}/README.md", "/README.md",
            "out.md", "folder/secret.md", "env.md", "loop.md", "%2e%2e/", "%2e%2e/README.md/..", "design/../README.md",
            ".hidden/page.md", "node_modules/x/README.md", "build/deep/page.md", "notes.md", "image.png", "design", "",
            "README.md\x00", "README.md/", "./README.md", "design\\README.md", "C:/README.md", "README.md\n",
        ):  # fmt: skip
            assert desk.refused("read_page", path=path) == OUTSIDE, path
        assert desk.refused("read_page", id="99") == "Page not found: 99"
    finally:
        for name in links:
            (root / name).unlink()


def test_no_generated_path_leads_out(desk: Desk, amount: Amount) -> None:
    chance = random.Random(3)
    (desk.space.root.parent / "outside.md").write_text("---\npage_id: 98\n---\nTOP-SECRET\n")
    parts = [
        "..", ".", "design", "README.md", "outside.md", ".confluence.json", "%2e%2e", "..%2f", "\\", "~", "",
        "\u200b..", ".\u200b.", "\uff0e\uff0e", "eng", ".git", "GIT~1", "config", str(desk.space.root), "\x00", "é",
        "e\u0301",
    ]  # fmt: skip
    paths = {page.path for page in desk.space.pages.values()}
    read = 0
    for _ in range(amount(250, 1000)):
        path = chance.choice(("/", "/", "\\", "//")).join(chance.choices(parts, k=chance.randrange(1, 6)))
        try:
            shown = desk.agent.call("read_page", path=path)
        except Exception as error:  # noqa: BLE001 - what it says is looked at
            said = str(error)
            assert "TOP-SECRET" not in said
            assert said.startswith(("Invalid params: ", "Page not found: ")), said
        else:
            assert path in paths
            assert "TOP-SECRET" not in shown["content"]
            read += 1
    assert read > 0


def test_the_map_follows_the_file_and_a_wrong_entry_leads_nowhere(desk: Desk) -> None:
    space = desk.space
    file = space.root / "fresh.md"
    file.write_text("---\npage_id: fresh-1\n---\n# Fresh\n\nJust pulled.\n")
    paths = {page.id: page.path for page in space.pages.values()}
    some = next(iter(space.pages.values()))
    try:
        space.write_map(pages={**paths, "fresh-1": "fresh.md", "evil": "../outside.md", some.id: "gone.md"})
        os.utime(space.root / ".confluence.json", (2_000_000_000, 2_000_000_000))
        assert desk.agent.call("read_page", id="fresh-1")["title"] == "Fresh"
        assert desk.refused("read_page", id="evil") == "Page not found: evil"
        assert desk.agent.call("read_page", id=some.id)["path"] == some.path
        space.write_map(pages={page_id: {"localPath": path} for page_id, path in paths.items()})
        assert desk.agent.call("read_page", id=some.id)["path"] == some.path
        (space.root / ".confluence.json").write_text("{half")
        assert desk.agent.call("read_page", id=some.id)["path"] == some.path
    finally:
        file.unlink()
        space.write_map(search={"indexName": "desk"})


def test_an_id_that_no_map_has_is_found_in_the_frontmatter(desk: Desk) -> None:
    file = desk.space.root / "unmapped.md"
    file.write_text("---\npage_id: 424242\n---\n# Unmapped\n\nHere.\n")
    try:
        found_values: list[dict[str, Any]] = []

        def read() -> bool:
            try:
                found_values.append(desk.agent.call("read_page", id="424242"))
            except Exception:  # noqa: BLE001 - the watcher has not told of it yet
                return False
            return True

        eventually(read)
        assert found_values[0]["path"] == "unmapped.md"
    finally:
        file.unlink()


def test_labels_of_all_scripts_are_found_whole(desk: Desk) -> None:
    for label in LABELS:
        expected = kept(desk.space.pages.values(), lambda page, label=label: label in page.labels)
        assert desk.search(labels=[label.upper()])["total"] == len(expected) > 10
    assert desk.search(labels=["run"])["total"] == 0


def test_a_search_that_fails_says_so(desk: Desk) -> None:
    file = desk.space.root / ".confluence.json"
    try:
        desk.space.write_map(search={"indexName": "never-built"})
        os.utime(file, (2_100_000_000, 2_100_000_000))
        if desk.kind == "embedded":  # the folder's own index has no name
            assert desk.search("gateway")["total"] > 0
            return
        error = desk.agent.protocol_error("search", query="x")
        assert error.error.code == INTERNAL_ERROR
        assert error.error.message.startswith('Search error: No search index found for space "ENG".')
    finally:
        desk.space.write_map(search={"indexName": "desk"})
