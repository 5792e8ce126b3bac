"""Search by meaning over the real process: its modes, its filters, and that nobody ever waits for it."""

from __future__ import annotations

import fcntl
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from agent import Agent, agent, ids
from commonplace.faces.cli.commands.search import EMBEDDED_AT_ONCE
from embeddings import embedding_server
from serving import served
from shell import Shell
from support import MODELS, ROOT, eventually

DISK = "runbooks/free-disk-space"
IN_OTHER_WORDS = "computer was out of storage"
"""Shares no word with the page that answers it, nor with any other."""


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kb") / "harbour"
    shutil.copytree(ROOT / "examples" / "kb", folder, ignore=shutil.ignore_patterns("decisions", "organizations"))
    return folder


@pytest.fixture(scope="module")
def reader(harbour: Path) -> Iterator[Agent]:
    environment = {"COMMONPLACE_MODEL_DIR": str(MODELS)}
    with agent("mcp", "--toolset", "kb", harbour, "--tier", "write", env=environment) as connected:
        eventually(lambda: embedded(harbour, environment) >= 29, 60)
        yield connected


def embedded(folder: Path, environment: dict[str, str]) -> int:
    """Number of pages with vectors."""
    (collection,) = Shell(folder, environment).ok("model", "status", "--json").json["collections"]
    return collection["documents"]


def search(client: Agent, query: str, **arguments: Any) -> list[str]:
    return ids(client.call("kb_search", query=query, **arguments)["results"])


def test_meaning_finds_what_words_do_not(reader: Agent) -> None:
    assert search(reader, IN_OTHER_WORDS, mode="semantic")[0] == DISK
    assert search(reader, IN_OTHER_WORDS, mode="hybrid")[0] == DISK
    assert search(reader, IN_OTHER_WORDS, mode="keyword") == []


def test_hybrid_is_the_default_and_shows_what_every_search_shows(reader: Agent) -> None:
    found_value = reader.call("kb_search", query=IN_OTHER_WORDS)
    assert found_value == reader.call("kb_search", query=IN_OTHER_WORDS, mode="hybrid")
    assert all(row["snippet"] and row["title"] for row in found_value["results"])


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_a_page_whose_title_is_the_query_comes_first_in_every_mode(reader: Agent, mode: str) -> None:
    title = "Computer storage"
    reader.call("kb_create", kb_name="harbour", entry_type="note", title=title, body="Tea, biscuits and a kettle.")
    reader.call("kb_create", kb_name="harbour", entry_type="note", title="Disks", body=f"{title}. " * 9)
    assert search(reader, title, mode=mode)[0] == "computer-storage"
    for entry in ("computer-storage", "disks"):
        reader.call("kb_delete", entry_id=entry, kb_name="harbour")


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_filters_hold_in_every_mode(reader: Agent, mode: str) -> None:
    found_value = reader.call("kb_search", query="restore the database", mode=mode, entry_type="event", limit=100)
    assert found_value["results"]
    assert {row["entry_type"] for row in found_value["results"]} == {"event"}
    tagged = reader.call("kb_search", query="restore the database", mode=mode, tags=["database"], limit=100)
    assert tagged["results"]
    assert all("database" in row["tags"] for row in tagged["results"])
    dated = reader.call("kb_search", query="restore", mode=mode, date_from="2026-08-01", limit=100)
    assert dated["results"]
    assert all(row["date"] >= "2026-08-01" for row in dated["results"])


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_pages_of_an_answer_follow_each_other(reader: Agent, mode: str) -> None:
    def pages(limit: int) -> list[str]:
        offsets = range(0, 30, limit)
        parts = (search(reader, "restore the database", mode=mode, limit=limit, offset=offset) for offset in offsets)
        return [element for part in parts for element in part]

    # Pages that other tests deleted count in the weights of words until their segments are merged.
    answers = ((pages(30), pages(10), pages(30)) for _ in range(5))
    whole, parted = next((whole, parted) for whole, parted, later in answers if whole == later)
    assert parted == whole


@pytest.mark.parametrize("query", ['"off-site" copy', "database -restore"])
def test_a_phrase_and_an_exclusion_hold_in_hybrid_too(reader: Agent, query: str) -> None:
    by_words = set(search(reader, query, mode="keyword", limit=100))
    assert set(search(reader, query, mode="hybrid", limit=100)) == by_words


def test_a_written_page_is_found_by_words_at_once_and_by_meaning_soon(reader: Agent) -> None:
    body = "Flour, butter and sugar; golden after ten minutes."
    reader.call("kb_create", kb_name="harbour", entry_type="note", title="Cookies", body=body)
    assert search(reader, "cookies")[0] == "cookies"
    eventually(lambda: search(reader, "baking a dessert", mode="semantic")[0] == "cookies", 30)
    reader.call("kb_delete", entry_id="cookies", kb_name="harbour")
    assert "cookies" not in search(reader, "baking a dessert", mode="semantic", limit=100)


def test_without_a_model_hybrid_is_by_words_and_semantic_says_what_to_install(harbour: Path) -> None:
    with agent("mcp", "--toolset", "kb", harbour) as client:
        by_words = client.call("kb_search", query="restore database", mode="keyword")
        assert client.call("kb_search", query="restore database") == by_words
        refused = client.refusal("kb_search", query="restore database", mode="semantic")
        assert refused["error_code"] == "MODEL_MISSING"
        assert not refused["retryable"]
        assert "commonplace model install" in refused["suggestion"]


def test_no_start_no_search_and_no_write_waits_for_a_model_that_does_not_answer(tmp_path: Path) -> None:
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "a.md").write_text("# Tea\n\nA kettle.\n")
    with embedding_server() as server:
        server.blocked = True
        with agent("mcp", "--toolset", "kb", tmp_path / "kb", "--tier", "write", env=server.environment) as client:
            assert search(client, "kettle") == ["a"]
            eventually(lambda: bool(server.texts))
            client.call("kb_create", kb_name="kb", entry_type="note", title="Zwieback", body="Dry biscuits.")
            assert search(client, "biscuits") == ["zwieback"]
            assert not server.release.is_set()
            refused = client.refusal("kb_search", query="biscuits", mode="semantic")
            assert refused["error_code"] == "MODEL_MISSING"
            server.release.set()
            server.blocked = False
            eventually(lambda: embedded(tmp_path / "kb", server.environment) == 2, 30)


def test_no_embed_embeds_nothing(tmp_path: Path) -> None:
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "a.md").write_text("# Tea\n\nA kettle.\n")
    with (
        embedding_server() as server,
        agent("mcp", "--toolset", "kb", tmp_path / "kb", "--no-embed", env=server.environment) as client,
    ):
        assert search(client, "kettle") == ["a"]
        refused = client.refusal("kb_search", query="kettle", mode="semantic")
        assert refused["error_code"] == "MODEL_MISSING"
        assert "switched off" in refused["error"]
        assert server.texts == []


def test_the_command_line_embeds_on_request_and_then_searches_by_meaning(harbour: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(harbour, tmp_path / "harbour")
    for number in range(EMBEDDED_AT_ONCE):  # so many pages that a search embeds none of them
        (folder / f"mooring-{number}.md").write_text(f"# Mooring {number}\n\nA ring in the wall.\n")
    pages = len(list(folder.rglob("*.md")))
    shell = Shell(folder, {"COMMONPLACE_MODEL_DIR": str(MODELS)})
    (before,) = shell("model", "status", "--json").json["collections"]
    assert (before["status"], before["documents"], before["pending"]) == ("waiting", 0, pages)
    said = f"Search by meaning knows 0 of {pages} pages; nothing embeds the rest."
    (found_value,) = [
        finding for finding in shell("doctor", "--json").json["findings"] if finding["check"] == "meaning"
    ]
    assert (found_value["message"], found_value["command"]) == (said, "commonplace index --embed")
    by_words = shell("search", "restore", "database")
    assert "These hits are by words alone: no page has been embedded yet." in by_words.stderr
    assert "harbour: nothing embeds the rest. Run: commonplace index --embed" in by_words.stderr
    refused = shell("search", IN_OTHER_WORDS, "--mode", "semantic")
    assert "Run: commonplace index --embed" in refused.stderr
    shell("index", "--embed")
    (after,) = shell("model", "status", "--json").json["collections"]
    assert (after["status"], after["documents"], after["pending"]) == ("ready", pages, 0)
    json = shell("search", IN_OTHER_WORDS, "--mode", "semantic", "--json").json
    assert json["hits"][0]["id"] == DISK


def test_a_search_on_the_command_line_embeds_what_few_pages_have_changed(tmp_path: Path) -> None:
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "a.md").write_text("# Free disk space\n\nDelete old logs when a volume is full.\n")
    (tmp_path / "kb" / "b.md").write_text("# Tea\n\nA kettle.\n")
    shell = Shell(tmp_path / "kb", {"COMMONPLACE_MODEL_DIR": str(MODELS)})
    done = shell.ok("search", IN_OTHER_WORDS, "--mode", "semantic")
    assert b"a.md" in done.stdout
    assert "Search by meaning" not in done.stderr
    (collection,) = shell.ok("model", "status", "--json").json["collections"]
    assert (collection["status"], collection["documents"]) == ("ready", 2)


@pytest.mark.soak
def test_a_wiki_answers_by_meaning_with_the_text_and_its_place(harbour: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    environment = {"COMMONPLACE_MODEL_DIR": str(MODELS)}
    with agent("mcp", harbour, "--toolset", "wiki", env=environment) as wiki:
        eventually(lambda: not wiki.raw("semantic_search", query=IN_OTHER_WORDS).is_error, 60)
        eventually(lambda: DISK in wiki.text("semantic_search", query=IN_OTHER_WORDS, n=1), 30)
        first = wiki.text("semantic_search", query=IN_OTHER_WORDS, n=3, max_chunks_per_page=1).splitlines()
        assert first[0] == f'3 results for "{IN_OTHER_WORDS}":'
        assert first[2].startswith("No page contains a word of")
        assert first[4].startswith(f"1. {DISK} (distance: 0.5")
        assert all(float(row) <= 0.7 for row in re.findall(r"distance: (\d\.\d+)", "\n".join(first)))
        # Until all notes are embedded, the answer says how many are.
        nothing = '0 results for "xqzzv wrtlpk":'
        eventually(lambda: wiki.text("semantic_search", query="xqzzv wrtlpk", n=3) == nothing, 60)


@pytest.mark.soak
def test_rest_answers_by_meaning_and_takes_a_mode(harbour: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    with served(harbour, env={"COMMONPLACE_MODEL_DIR": str(MODELS)}) as server:
        path = f"/api/v1/semantic-search?q={quote(IN_OTHER_WORDS)}&n=2"
        eventually(lambda: server.ask("GET", path).status == 200, 60)
        eventually(lambda: server.ask("GET", path).json["results"][0]["path"] == DISK, 30)
        chunk = server.ask("GET", path).json["results"][0]
        assert set(chunk) >= {
            "name",
            "snippet",
            "text",
            "distance",
            "section",
            "section_path",
            "chunk_index",
            "total_chunks",
        }
        assert 0 < chunk["distance"] < 0.7
        assert chunk["page_word_count"] > 20
        hybrid = server.ask("GET", f"/api/v1/search?q={quote(IN_OTHER_WORDS)}&mode=hybrid").json
        assert hybrid["results"][0]["path"] == DISK
        assert server.ask("GET", f"/api/v1/search?q={quote(IN_OTHER_WORDS)}").json["total"] == 0
        assert server.ask("GET", "/api/v1/search?q=tea&mode=magic").status == 422


@pytest.mark.soak
def test_every_face_says_how_many_pages_are_not_compared_by_meaning_yet(tmp_path: Path, cache_dir: Path) -> None:
    (tmp_path / "kb").mkdir()
    for name in ("tea", "kettle", "biscuit"):
        (tmp_path / "kb" / f"{name}.md").write_text(f"# The {name}\n\nAll about the {name}.\n")
    environment = {"COMMONPLACE_MODEL_DIR": str(MODELS)}
    shell = Shell(tmp_path / "kb", environment)
    shell.ok("index", "--embed")
    (tmp_path / "kb" / "spoon.md").write_text("# A spoon for tea\n\nSilver.\n")
    said = "1 of 4 pages is not compared by meaning yet."
    with ExitStack() as stack:
        for lock in cache_dir.rglob("vectors.lock"):  # held as by another process that embeds, so that the rest waits
            fcntl.flock(stack.enter_context(lock.open("w")), fcntl.LOCK_EX)
        assert said in shell.ok("search", "tea").stderr
        assert shell.ok("search", "tea", "--json").json["notice"] == said
        assert shell.ok("search", "tea", "--max-tokens", "300", "--json").json["notice"] == said
        assert "notice" not in shell.ok("search", "tea", "--mode", "keyword", "--json").json
        with agent("mcp", "--toolset", "kb", tmp_path / "kb", env=environment) as kb:
            eventually(lambda: kb.call("kb_search", query="tea").get("notice") == said, 60)
        with agent("mcp", "--toolset", "notes", tmp_path / "kb", env=environment) as notes:
            eventually(lambda: said in notes.text("search", query="tea"), 60)
        with served(tmp_path / "kb", env=environment) as server:
            eventually(lambda: server.ask("GET", "/api/v1/search?q=tea&mode=hybrid").json["notice"] == said, 60)
            assert said in server.ask("GET", "/search?q=tea").body.decode()
    shell.ok("index", "--embed")
    assert "notice" not in shell.ok("search", "tea", "--json").json


def test_a_search_before_the_model_is_loaded_says_that_it_is_by_words_alone(tmp_path: Path) -> None:
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "a.md").write_text("# Tea\n\nA kettle.\n")
    with embedding_server() as server:
        server.blocked = True
        with agent("mcp", "--toolset", "kb", tmp_path / "kb", env=server.environment) as client:
            assert client.call("kb_search", query="kettle")["notice"].startswith("These hits are by words alone: ")
            server.release.set()
            server.blocked = False
            eventually(lambda: "notice" not in client.call("kb_search", query="kettle"), 30)
