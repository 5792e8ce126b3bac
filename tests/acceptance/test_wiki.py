"""The wiki toolset on the real process, character for character: on a folder, and on a server of the REST API."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, get_args

import pytest
from mcp_types import BlobResourceContents, EmbeddedResource

from agent import Agent, RefusedError, agent
from serving import served
from support import GitRepo, MakeRepo, new_repo
from wiki_base import NOTES, ODD_VALUES, STRATEGY, wiki_repo

KEY = "the-key-of-this-test"
CONFLICT = (
    "Conflict: the page was modified since last read. Read the page again to get the current version, then retry."
)


Where = Literal["local", "remote"]
PLACES: tuple[Where, ...] = get_args(Where)


@contextmanager
def assistant(where: Where, folder: Path, **environment: str) -> Iterator[Agent]:
    """An assistant on a folder, or on a server that has the folder."""
    env = {name: str(folder.parent / name) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")} | environment
    if where == "local":
        with agent("mcp", folder, "--toolset", "wiki", env=env) as client:
            yield client
        return
    with served(folder, "--toolset", "wiki", env=env | {"OTTERWIKI_API_KEY": KEY}) as server:
        there = {"OTTERWIKI_API_URL": server.url, "OTTERWIKI_API_KEY": KEY}
        with agent("mcp", "--toolset", "wiki", env=there) as client:
            yield client


Site = tuple[Agent, GitRepo]


def _site(where: Where, folder: Path) -> Iterator[Site]:
    repo = new_repo(folder / "wiki", NOTES)
    with assistant(where, repo.path) as client:
        yield client, repo


@pytest.fixture(scope="module", params=PLACES)
def untouched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The notes of the contract's examples, for tests that only read."""
    yield from _site(request.param, tmp_path_factory.mktemp("untouched"))


@pytest.fixture(scope="module", params=PLACES)
def used(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The same for tests that write, each to notes of its own."""
    yield from _site(request.param, tmp_path_factory.mktemp("used"))


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


def test_notes_are_written_edited_renamed_and_deleted_one_commit_each(used: Site) -> None:
    wiki, repo = used
    before = int(repo.git("rev-list", "--count", "HEAD"))
    linking = {"Old/A.md": "A.\n", "Linking.md": "[[Old/A]]\n", "Also/Linking.md": "See [it](../Old/A.md).\n"}
    repo.commit("Linked", **linking)

    def said(text: str) -> str:
        return text.replace(repo.git("rev-parse", "HEAD")[:8], "HEAD8")

    assert said(wiki.text("write_note", path="New/Thing", content="One [[Hub]].\n")) == (
        "Created New/Thing (revision: HEAD8)"
    )
    assert repo.git("log", "-1", "--format=%s") == "[mcp] Create: New/Thing"
    updated = wiki.text("write_note", path="New/Thing", content="Two.\n", commit_message="Say two")
    assert said(updated) == "Updated New/Thing (revision: HEAD8)"
    assert repo.git("log", "-1", "--format=%s") == "[mcp] Say two"
    revision = repo.git("rev-parse", "HEAD")
    edited = wiki.text("edit_note", path="New/Thing", revision=revision[:7], old_string="Two", new_string="Three")
    assert said(edited) == "Edited New/Thing (revision: HEAD8)"
    assert repo.git("log", "-1", "--format=%s") == "[mcp] Edit: New/Thing"
    renamed = wiki.text("rename_note", path="Old/A", new_path="States/One")
    assert said(renamed) == (
        "Renamed Old/A -> States/One (revision: HEAD8)\nUpdated 2 backreferences:\n- Also/Linking\n- Linking"
    )
    assert repo.git("log", "-1", "--format=%s") == "[mcp] Rename: Old/A -> States/One"
    assert (repo.path / "Linking.md").read_text() == "[[States/One]]\n"
    assert (repo.path / "Also" / "Linking.md").read_text() == "See [it](../States/One.md).\n"
    renamed = wiki.text("rename_note", path="New/Thing", new_path="New/Other")
    assert said(renamed) == "Renamed New/Thing -> New/Other (revision: HEAD8)\nNo backreferences needed updating."
    assert wiki.text("delete_note", path="New/Other") == "Deleted New/Other"
    assert repo.git("log", "-1", "--format=%s") == "[mcp] Delete: New/Other"
    assert repo.git("status", "--porcelain") == ""
    assert int(repo.git("rev-list", "--count", "HEAD")) == before + 7


def test_attachments_come_and_go(used: Site) -> None:
    wiki, repo = used
    content = bytes(range(256))
    encoded = base64.b64encode(content).decode()
    note = {"path": "Actors/Iran"}
    assert wiki.text("list_attachments", **note) == "0 attachments of Actors/Iran:"
    uploaded = wiki.text("upload_attachment", **note, filename="map 1.png", content=encoded)
    assert uploaded == "Uploaded map 1.png to Actors/Iran"
    assert (repo.path / "Actors" / "Iran" / "map 1.png").read_bytes() == content
    assert wiki.text("list_attachments", **note) == (
        "1 attachments of Actors/Iran:\n\n- map 1.png (image/png, 256 bytes)"
    )
    (block,) = wiki.raw("download_attachment", **note, filename="map 1.png").content
    assert isinstance(block, EmbeddedResource)
    assert isinstance(block.resource, BlobResourceContents)
    assert (block.resource.mime_type, block.resource.blob) == ("image/png", encoded)
    again = refused(wiki, "upload_attachment", **note, filename="map 1.png", content=encoded)
    assert again.startswith("There already is an attachment map 1.png of Actors/Iran.")
    assert wiki.text("delete_attachment", **note, filename="map 1.png") == "Deleted map 1.png from Actors/Iran"
    assert repo.git("status", "--porcelain") == ""
    for filename in ("../x.png", "a/b.png", ".git", ".hidden", "x.md", "a\nb", "a\\b"):
        said = refused(wiki, "upload_attachment", **note, filename=filename, content=encoded)
        assert said.startswith("Invalid request: "), said
    said = refused(wiki, "upload_attachment", **note, filename="a.png", content="no base64!")
    assert said == "Invalid request: Invalid content: it is no base64."
    assert refused(wiki, "download_attachment", **note, filename="no.png").startswith("Attachment not found: no.png")


def test_errors_say_what_to_do(used: Site) -> None:
    wiki, repo = used
    begin = repo.commit("Begin", **{"Actors/Iraq.md": "Begun.\n"})
    unknown = "Page not found: Actors/Irna. Use write_note to create it, or list_notes to see available pages."
    for tool in ("read_note", "get_links", "get_history", "delete_note", "list_attachments"):
        said = refused(wiki, tool, path="Actors/Irna")
        assert said.startswith(f"{unknown}\nDid you mean: Actors/Ira"), said
    said = refused(wiki, "read_note", path="Actors/Iraq", section="Nowhere")
    assert "has no section 'Nowhere'" in said
    assert "Revision not found: 1234567" in refused(wiki, "read_note", path="Actors/Iraq", revision="1234567")
    never_read = refused(wiki, "write_note", path="Actors/Iraq", content="x")
    assert never_read == f"{CONFLICT}\nCurrent revision: {begin}"
    wiki.text("read_note", path="Actors/Iraq")
    now = repo.commit("Elsewhere", **{"Actors/Iraq.md": "Changed here.\n"})
    wiki.text("list_notes")
    for stale in ({}, {"revision": begin}):
        said = refused(wiki, "write_note", path="Actors/Iraq", content="x", **stale)
        assert said.partition("\n")[0] == CONFLICT, said
    edit = {"path": "Actors/Iraq", "old_string": "Changed", "new_string": "Mine"}
    assert refused(wiki, "edit_note", revision=begin, **edit) == f"{CONFLICT}\nCurrent revision: {now}"
    for old, new in (("absent", "x"), ("e", "x"), ("Changed", "Changed"), ("", "x")):
        said = refused(wiki, "edit_note", path="Actors/Iraq", revision=now, old_string=old, new_string=new)
        assert said.startswith("Invalid request: "), said
    assert refused(wiki, "edit_note", revision="--output=x", **edit).startswith("Invalid request: Invalid revision")
    said = refused(wiki, "list_notes", updated_since="last week")
    assert said.startswith("Invalid request: Invalid updated_since 'last week'")
    for tool, wrong in (
        ("read_note", {}),
        ("read_note", {"path": 5}),
        ("list_notes", {"limit": "5"}),
        ("search_notes", {"query": "x", "limit": 101}),
        ("semantic_search", {"query": "x", "n": 51}),
        ("get_recent_changes", {"limit": 0}),
        ("search_notes", {"query": "  "}),
    ):
        assert refused(wiki, tool, **wrong).startswith("Invalid request: "), (tool, wrong)
    said = refused(wiki, "semantic_search", query="anything")
    assert said == ("Semantic search is not set up on this server. Use search_notes instead: it searches by keywords.")
    assert repo.git("rev-parse", "HEAD") == now
    assert repo.git("status", "--porcelain") == ""


NAMES = (
    "Lang/C#",
    "Why is it?",
    "A%2FB",
    "Wait... what",
    "notes/history",
    "history",
    "x/attachments/y",
    "日" * 80,
    "A&B=1+2",
)


def test_odd_names_are_names_like_others(used: Site) -> None:
    wiki, repo = used
    neighbours = {"Lang/C.md": "c\n", "A/B.md": "ab\n", "notes.md": "n\n", "Why is it.md": "w\n", "x.md": "x\n"}
    repo.commit("Neighbours", **neighbours)
    for name in NAMES:
        assert wiki.text("write_note", path=name, content=f"Body of {name}\n").startswith(f"Created {name} (")
        assert wiki.text("read_note", path=name).endswith(f"---\nBody of {name}\n")
        assert wiki.text("get_links", path=name).startswith(f"Links for {name}:")
        assert wiki.text("get_history", path=name).startswith(f"History for {name} (1 revisions):")
        moved = wiki.text("rename_note", path=name, new_path=f"moved/{name}")
        assert moved.startswith(f"Renamed {name} -> moved/{name} (")
        assert wiki.text("delete_note", path=f"moved/{name}") == f"Deleted moved/{name}"
    for path, content in neighbours.items():
        assert (repo.path / path).read_text() == content
    said = refused(wiki, "write_note", path="日" * 90, content="x")
    assert said.startswith("Invalid request: ")
    assert "a part is longer than 255 bytes" in said
    assert repo.git("status", "--porcelain") == ""


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
        found = client.text("search_notes", query="findme", limit=50)
        assert found.startswith(f'{len(files)} results for "findme":')
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


def test_uncommitted_bytes_have_a_revision_of_their_own(used: Site) -> None:
    wiki, repo = used
    repo.commit("Another", **{"Another.md": "Committed.\n"})
    repo.write("Another.md", "Not committed.\n")
    blob = repo.git("hash-object", "Another.md")
    begin = repo.git("rev-parse", "HEAD")
    wiki.text("list_notes")
    assert f"\nRevision: {blob}\n" in wiki.text("read_note", path="Another")
    refused(wiki, "edit_note", path="Another", revision=begin, old_string="Not", new_string="Now")
    wiki.text("edit_note", path="Another", revision=blob[:9], old_string="Not", new_string="Now")
    head = repo.git("rev-parse", "HEAD")
    assert f"\nRevision: {head}\n" in wiki.text("read_note", path="Another")
    assert wiki.text("read_note", path="Another", revision=begin[:7]).endswith("---\nCommitted.\n")


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
