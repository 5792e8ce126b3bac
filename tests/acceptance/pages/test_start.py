"""Start and end of `cn mcp`: its lines, its exit codes, and secrets that its output never contains."""

from __future__ import annotations

import json
import shutil
import signal
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent import agent
from shell import Done
from spaces.places import Served, cn, started
from spaces.server import KEY, SearchServer
from spaces.tree import SpaceFolder, write_space

NOWHERE = "http://127.0.0.1:9"
"""Nobody listens there."""
HELP = "Start it with: docker run -d -p 7700:7700 getmeili/meilisearch:latest"
HELLO = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
)
READY = '{"jsonrpc": "2.0", "method": "notifications/initialized"}'


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> SpaceFolder:
    return write_space(tmp_path_factory.mktemp("start") / "eng", search={"indexName": "start"})


@pytest.fixture(scope="module")
def indexed(space: SpaceFolder, search_server: SearchServer) -> Mapping[str, str]:
    """The variables that name the server with the space's index."""
    done = cn(space.root, "search", "index", env=search_server.environment)
    assert (done.code, done.text) == (0, f"Indexed {len(space.pages)} pages\n"), done.stderr
    return search_server.environment


def lines(space: SpaceFolder, engine: str) -> list[str]:
    return [
        'cn mcp: serving space "Engineering" (ENG)',
        f"cn mcp: {engine}",
        f'cn mcp: index "start" ready ({len(space.pages)} documents)',
        "cn mcp: MCP server running on stdio",
    ]


def check_protocol_alone(done: Done) -> None:
    for line in done.lines:
        assert json.loads(line)["jsonrpc"] == "2.0"


@pytest.mark.parametrize("how", [None, signal.SIGINT, signal.SIGTERM])
def test_a_start_says_its_steps_and_any_end_is_clean(space: SpaceFolder, how: signal.Signals | None) -> None:
    served = Served(space.root)
    served.send(HELLO)
    assert json.loads(served.line())["id"] == 1
    done = served.end(how)
    assert done.code == 0, done
    said = lines(space, "embedded search engine")
    # A server that ends before its index is built does not say that the index is ready.
    assert done.stderr.splitlines() in (said, [line for line in said if " ready " not in line])
    check_protocol_alone(done)


def test_a_server_is_named_with_its_url_and_never_its_key(
    space: SpaceFolder, indexed: Mapping[str, str], tmp_path: Path
) -> None:
    served = Served(tmp_path, str(space.root), env=indexed)
    served.send(HELLO)
    assert json.loads(served.line())["id"] == 1
    done = served.end(None)
    assert done.code == 0
    assert done.stderr.splitlines() == lines(space, f"Meilisearch connected at {indexed['MEILI_URL']}")
    check_protocol_alone(done)


@pytest.mark.parametrize("kind", ["embedded", "meilisearch"])
@pytest.mark.soak
def test_a_signal_in_the_middle_of_calls_ends_it_cleanly(
    space: SpaceFolder, indexed: Mapping[str, str], kind: str
) -> None:
    served = Served(space.root, "--engine", kind, env=indexed)
    served.send(HELLO)
    served.line()
    served.send(READY)
    for number in range(200):
        call = {"name": "search", "arguments": {"query": f"gateway invoice {number}", "limit": 100}}
        served.send(json.dumps({"jsonrpc": "2.0", "id": 10 + number, "method": "tools/call", "params": call}))
    served.line()
    done = served.end(signal.SIGTERM)
    assert done.code == 0, done
    assert len(done.stderr.splitlines()) == 4, done.stderr
    assert KEY not in done.stderr + done.text
    assert len(done.lines) < 200


def test_a_signal_ends_a_start_that_waits_for_its_server(space: SpaceFolder) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        silent.settimeout(60)
        served = Served(space.root, "--meilisearch", f"http://127.0.0.1:{silent.getsockname()[1]}")
        connection, _ = silent.accept()
        with connection:
            connection.recv(1)
            done = served.end(signal.SIGTERM)
    assert (done.code, done.text) == (0, "")
    assert done.stderr.splitlines() == ['cn mcp: serving space "Engineering" (ENG)']


def test_a_folder_that_is_no_space_is_refused(tmp_path: Path) -> None:
    done = started(tmp_path, "mcp")
    message = "Error: Not a cn space. Run 'cn clone' first or specify a path.\n"
    assert (done.code, done.text, done.stderr) == (1, "", message)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    done = started(tmp_path, "mcp", "nowhere")
    assert (done.code, done.text, done.stderr) == (11, "", "Error: There is no folder 'nowhere'.\n")


def test_a_server_that_is_not_there_ends_the_start(space: SpaceFolder) -> None:
    for environment, options in (({"MEILI_URL": NOWHERE, "MEILI_API_KEY": KEY}, ()), ({}, ("--meilisearch", NOWHERE))):
        done = started(space.root, "mcp", *options, env=environment)
        assert (done.code, done.text) == (9, "")
        assert done.stderr.splitlines() == [
            'cn mcp: serving space "Engineering" (ENG)',
            f"Error: Meilisearch not available at {NOWHERE}. {HELP}",
        ]


def test_a_server_without_an_index_ends_the_start(tmp_path: Path, search_server: SearchServer) -> None:
    space = write_space(tmp_path / "eng", search={"indexName": "never-built"})
    done = started(space.root, "mcp", env=search_server.environment)
    assert (done.code, done.text) == (10, "")
    assert done.stderr.splitlines() == [
        'cn mcp: serving space "Engineering" (ENG)',
        f"cn mcp: Meilisearch connected at {search_server.url}",
        "Error: No search index found for space \"ENG\". Run 'cn search index' first.",
    ]


def test_another_key_is_asked_for_without_a_word_of_the_wrong_one(
    space: SpaceFolder, search_server: SearchServer
) -> None:
    done = started(space.root, "mcp", env={"MEILI_URL": search_server.url, "MEILI_API_KEY": "wrong-key-77"})
    assert (done.code, done.text) == (3, "")
    assert "refused the API key" in done.stderr
    assert "wrong-key-77" not in done.stderr


def configured(tmp_path: Path, home: Mapping[str, Any] | str | None, **more: Any) -> tuple[SpaceFolder, dict[str, str]]:
    """A space whose file says more, and a home whose configuration says something."""
    space = write_space(tmp_path / "eng", **more)
    if home is not None:
        (tmp_path / ".cn").mkdir()
        text = home if isinstance(home, str) else json.dumps(home)
        (tmp_path / ".cn" / "config.json").write_text(text)
    return space, {"HOME": str(tmp_path)}


def test_the_spaces_own_file_names_the_server_before_the_users(tmp_path: Path) -> None:
    elsewhere = {"search": {"meilisearchUrl": "http://127.0.0.1:10"}}
    space, environment = configured(tmp_path, elsewhere, search={"meilisearchUrl": NOWHERE})
    status = cn(space.root, "search", "status", "--json", env=environment)
    assert status.json["meilisearchUrl"] == NOWHERE
    space.write_map()
    status = cn(space.root, "search", "status", "--json", env=environment)
    assert status.json["meilisearchUrl"] == "http://127.0.0.1:10"
    decided = cn(space.root, "search", "status", "--json", "--engine", "embedded", env=environment)
    assert (decided.json["meilisearchUrl"], decided.json["connected"]) == (None, True)


def test_a_key_goes_to_the_server_that_it_was_given_with_and_to_no_other(
    tmp_path: Path, search_server: SearchServer
) -> None:
    space, environment = configured(tmp_path, None, search={"meilisearchUrl": search_server.url, "indexName": "keys"})
    done = cn(space.root, "search", "index", env={**environment, "MEILI_API_KEY": KEY})
    assert done.code == 3, done  # the file names the server, so the environment's key is not for it
    space.write_map(search={"meilisearchUrl": search_server.url, "apiKey": KEY, "indexName": "keys"})
    for options in ((), ("--meilisearch", search_server.url)):
        assert cn(space.root, "search", "index", *options, env=environment).code == 0


def test_files_that_are_no_json_objects_are_named(tmp_path: Path) -> None:
    space, environment = configured(tmp_path, "[]")
    done = started(space.root, "mcp", env=environment)
    assert (done.code, "~/.cn/config.json is not a JSON object" in done.stderr) == (2, True)
    shutil.rmtree(tmp_path / ".cn")
    for text in ("", "[]", "{", '"x"', "[" * 100_000):
        (space.root / ".confluence.json").write_text(text)
        done = cn(space.root, "search", "x", env=environment)
        assert (done.code, ".confluence.json is not a JSON object" in done.stderr) == (2, True)


def test_the_other_program_serves_a_space_as_pages_by_itself(space: SpaceFolder) -> None:
    home = {"HOME": str(space.root)}
    with agent("mcp", space.root, env=home) as connected:
        assert list(connected.tools()) == ["search", "read_page"]
        assert connected.call("search", query="gateway")["total"] > 0
    with agent("mcp", space.root, "--toolset", "kb", env=home) as connected:
        assert "kb_search" in connected.tools()
