"""The wiki toolset on the real process, character for character: on a folder, and on a server of the REST API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import Agent, RefusedError, agent
from serving import served
from support import GitRepo, MakeRepo
from wiki_base import KEY, NOTES, ODD_VALUES, PLACES, STRATEGY, Site, Where, assistant, site, wiki_repo


@pytest.fixture(scope="module", params=PLACES)
def untouched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The notes of the contract's examples, for tests that only read."""
    yield from site(request.param, tmp_path_factory.mktemp("untouched"))


@pytest.fixture
def repo(git_repo: MakeRepo, cache_dir: Path) -> GitRepo:
    assert cache_dir.is_dir()
    return wiki_repo(git_repo)


def refused(client: Agent, tool: str, **arguments: object) -> str:
    with pytest.raises(RefusedError) as caught:
        client.text(tool, **arguments)
    assert caught.value.result.structured_content is None
    return caught.value.text


def test_every_text_comes_out_exactly(untouched: Site) -> None:
    wiki, repo = untouched
    head = repo.git("rev-parse", "HEAD")
    assert list(wiki.tools()) == [
        "read_note", "write_note", "edit_note", "list_notes", "search_notes", "semantic_search", "get_links",
        "get_recent_changes", "get_history", "rename_note", "delete_note", "find_orphaned_notes",
        "list_attachments", "upload_attachment", "download_attachment", "delete_attachment",
    ]  # fmt: skip
    header = (
        "# Iran Attrition Strategy\n"
        "Path: Trends/Iran Attrition Strategy\n"
        f"Revision: {head}\n"
        "{section}"
        "Category: trend | Tags: military, p2-interceptor-race, p3-infrastructure\n"
        "Confidence: high | Last updated: 2026-03-08\n"
        "Links to: Variables/Interceptor Stockpiles, Actors/Iran\n"
        "Linked from: Actors/Iran, Propositions/Iran Rationing Ballistic Missiles\n"
        "\n"
        "---\n"
    )
    assert wiki.text("read_note", path="Trends/Iran Attrition Strategy") == header.format(section="") + STRATEGY
    part = "### Second\n\nThen missiles.\n\n"
    shown = wiki.text("read_note", path="trends/iran attrition strategy", section="Second")
    assert shown == header.format(section="Section: Attrition > Phases > Second\n") + part
    assert wiki.text("read_note", path="Hub").startswith(
        f"# The hub\nPath: Hub\nRevision: {head}\n"
        "Category: Index\nLast updated: 2026-03-01\nLinks to: Actors/Iran\n\n---\n"
    )


def test_every_list_comes_out_exactly(untouched: Site) -> None:
    wiki, repo = untouched
    head = repo.git("rev-parse", "HEAD")
    minute = repo.git("log", "-1", "--date=format-local:%Y-%m-%d %H:%M", "--format=%ad")
    assert wiki.text("list_notes", category="Proposition") == (
        "Found 2 notes matching category=Proposition:\n"
        "\n"
        "- Propositions/Iran Rationing Ballistic Missiles (proposition, 487 words, updated 2026-03-08)\n"
        "- Propositions/Fertilizer Supply Chain Disruption (proposition, 312 words, updated 2026-03-07)"
    )
    assert wiki.text("find_orphaned_notes") == (
        "Found 4 orphaned notes:\n"
        "\n"
        "- Propositions/Iran Rationing Ballistic Missiles (proposition, 487 words, updated 2026-03-08)\n"
        "- Trends/Iran Attrition Strategy (trend, 30 words, updated 2026-03-08)\n"
        "- Propositions/Fertilizer Supply Chain Disruption (proposition, 312 words, updated 2026-03-07)\n"
        "- Variables/Interceptor Stockpiles (variable, 8 words, updated 2026-03-06)"
    )
    assert wiki.text("get_links", path="Variables/Interceptor Stockpiles") == (
        "Links for Variables/Interceptor Stockpiles:\n\nLinks to (0):\n  (none)\nLinked from (1):\n"
        "  - Trends/Iran Attrition Strategy"
    )
    assert wiki.text("get_links", path="Trends/Iran Attrition Strategy") == (
        "Links for Trends/Iran Attrition Strategy:\n\nLinks to (2):\n"
        "  - Variables/Interceptor Stockpiles\n  - Actors/Iran\nLinked from (2):\n"
        "  - Actors/Iran\n  - Propositions/Iran Rationing Ballistic Missiles"
    )
    assert wiki.text("get_history", path="Actors/Iran") == (
        f"History for Actors/Iran (1 revisions):\n\n- {head[:8]} | {minute} | Test Writer\n  Begin"
    )
    pages = ", ".join(sorted(path.removesuffix(".md") for path in NOTES))
    assert wiki.text("get_recent_changes") == f"1 recent changes:\n\n- {minute} | Test Writer | {pages}\n  Begin"
    shown = wiki.text("search_notes", query="interceptor inventories", limit=1)
    assert re.fullmatch(
        r'\d results for "interceptor inventories":\n\n'
        r"1\. Variables/Interceptor Stockpiles \(score: 0\.\d\d\)\n"
        r"   Tracking estimated remaining interceptor inventories of all parties\."
        r"(\n\nShowing 1 of \d; pass a higher limit or ask more narrowly\.)?",
        shown,
    ), shown
    assert wiki.text("search_notes", query="zzzzqqqq") == '0 results for "zzzzqqqq":'


@pytest.mark.parametrize(
    ("arguments", "header"),
    [
        ({}, "Found 6 notes:"),
        ({"tag": "MILITARY"}, "Found 3 notes matching tag=MILITARY:"),
        ({"updated_since": "2026-03-07"}, "Found 4 notes updated since 2026-03-07:"),
        (
            {"category": "actor", "tag": "military", "prefix": "Act", "updated_since": "2026-03-07T00:00:00Z"},
            "Found 1 notes matching category=actor, tag=military, prefix=Act updated since 2026-03-07T00:00:00Z:",
        ),
        ({"category": "act"}, "Found 0 notes matching category=act:"),
        ({"tag": "p2"}, "Found 0 notes matching tag=p2:"),
    ],
)
def test_lists_say_what_they_were_asked(untouched: Site, arguments: dict[str, str], header: str) -> None:
    shown = untouched[0].text("list_notes", **arguments)
    assert shown.partition("\n")[0] == header
    assert shown.count("\n- ") == int(header.split()[1])


def test_a_cut_list_says_how_to_go_on(untouched: Site) -> None:
    wiki, _ = untouched
    whole = wiki.text("list_notes").split("\n")
    first = wiki.text("list_notes", limit=4).split("\n")
    assert first[:6] == whole[:6]
    assert first[6:] == ["", "Showing 4 of 6; pass offset=4 for more."]
    rest = wiki.text("list_notes", limit=4, offset=4).split("\n")
    assert rest == [*whole[:2], *whole[6:]]


@pytest.mark.parametrize("where", PLACES)
def test_every_frontmatter_value_of_the_wrong_type_is_served_and_git_is_not_needed(
    where: Where, tmp_path: Path
) -> None:
    keys = ("category", "tags", "last_updated", "confidence", "title", "type", "id", "aliases", "date")
    files: dict[str, str | bytes] = {
        f"odd {number}.md": "---\n" + "".join(f"{key}: {value}\n" for key in keys) + f"---\nfindme {number}\n"
        for number, value in enumerate(ODD_VALUES)
    }
    files["not utf8.md"] = b"---\ntitle: \xff\n---\nfindme\n"
    files["bad yaml.md"] = "---\ntitle: [\n---\nfindme\n"
    files["surrogate.md"] = '---\ntitle: "\\ud800"\n---\nfindme\n'
    folder = GitRepo(tmp_path / "plain")
    for path, content in files.items():
        folder.write(path, content)
    with assistant(where, folder.path) as client:
        shown = client.text("list_notes")
        assert shown.startswith(f"Found {len(files)} notes:")
        found_text = client.text("search_notes", query="findme", limit=50)
        assert found_text.startswith(f'{len(files)} results for "findme":')
        for name in files:
            assert "\nPath: " in client.text("read_note", path=name.removesuffix(".md"))
        client.text("find_orphaned_notes")
        _write_without_git(client, folder)


def _write_without_git(client: Agent, folder: GitRepo) -> None:
    client.text("write_note", path="a", content="One.\n")
    blob = re.search(r"^Revision: ([0-9a-f]{40})$", client.text("read_note", path="A"), re.MULTILINE)
    assert blob
    edited = client.text("edit_note", path="a", revision=blob[1][:7], old_string="One", new_string="Two")
    assert edited.startswith("Edited a (revision: ")
    assert client.text("get_history", path="a") == "History for a (0 revisions):"
    assert client.text("get_recent_changes") == "0 recent changes:"
    assert (folder.path / "a.md").read_text() == "Two.\n"


def test_without_a_server_the_answer_says_so(cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    env = {"OTTERWIKI_API_URL": "http://127.0.0.1:9", "OTTERWIKI_API_KEY": "k"}
    with agent("mcp", "--toolset", "wiki", env=env) as client:
        said = refused(client, "list_notes")
    assert said == "The wiki API is not responding. It may be restarting. Try again in a few seconds."


def test_a_wrong_key_is_told(repo: GitRepo) -> None:
    with served(repo.path, env={"OTTERWIKI_API_KEY": KEY}) as server:
        env = {"OTTERWIKI_API_URL": server.url, "OTTERWIKI_API_KEY": "wrong"}
        with agent("mcp", "--toolset", "wiki", env=env) as client:
            said = refused(client, "list_notes")
    assert said == "Authentication failed. The API key may be misconfigured."


def test_a_folder_that_is_named_wins_over_a_server(repo: GitRepo) -> None:
    with agent("mcp", repo.path, "--toolset", "wiki", env={"OTTERWIKI_API_URL": "http://127.0.0.1:9"}) as client:
        assert client.text("list_notes").startswith("Found 6 notes:")
