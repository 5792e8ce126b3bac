"""Embedding that goes wrong in every way, over the real process: words still work, and `doctor` says what is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embeddings import EmbeddingServer, embedding_server
from shell import COMMAND, Shell
from support import MODELS, eventually
from wire import Wire, wire

BATCH = 32
"""Texts that a kill may lose."""
PAGES = 150


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path, cache_dir: Path) -> Path:
    assert cache_dir.is_dir()
    made = tmp_path / "kb"
    made.mkdir()
    (made / "tea.md").write_text("# Tea\n\nA kettle and five minutes.\n")
    (made / "rope.md").write_text("# Rope\n\nHemp and nylon.\n")
    return made


def state(shell: Shell) -> str:
    """The diagnostic of `doctor` about search by meaning."""
    said = shell("doctor", "--json").json
    rows = [*said["findings"], *said["looked_at"]]
    return " ".join(f"{row['message']} {row['hint']}" for row in rows if row["check"] == "meaning")


def paths(shell: Shell, text: str, mode: str = "hybrid") -> list[str]:
    """Ids of what is found."""
    json = shell("search", text, "--mode", mode, "--json").json
    return [hit["id"] for hit in json["hits"]]


def found(server: Wire, text: str, mode: str, limit: int = 100) -> int:
    """Number of entries that a search over MCP finds; 0 if it is rejected."""
    result: dict[str, Any] | None = server.call("kb_search", query=text, mode=mode, limit=limit)
    assert result is not None
    return 0 if result.get("isError") else int(result["structuredContent"]["count"])


def test_a_kill_while_embedding_loses_one_batch_at_the_most(folder: Path, server: EmbeddingServer) -> None:
    for number in range(PAGES):
        (folder / f"{number}.md").write_text(f"# Page {number}\n\nWord{number} and others.\n")
    with wire("mcp", "--toolset", "kb", folder, env=server.environment) as killed:
        killed.initialize()
        assert found(killed, "Word7", "keyword") > 0
        eventually(lambda: len(server.texts) > 2 * BATCH, 60)
        killed.process.kill()
        killed.process.wait()
    count = len(server.texts)
    with wire("mcp", "--toolset", "kb", folder, env=server.environment) as again:
        again.initialize()
        eventually(lambda: set(server.texts) >= {f"Page {n}\nWord{n} and others." for n in range(PAGES)}, 60)
    assert count < PAGES + 2, "it was killed too late to show anything"
    assert len(server.texts) <= PAGES + 2 + BATCH


def test_an_endpoint_that_is_down_leaves_words_and_is_named(folder: Path, server: EmbeddingServer) -> None:
    environment = {**server.environment, "COMMONPLACE_EMBEDDING_URL": "http://127.0.0.1:9/v1"}
    shell = Shell(folder, environment)
    with wire("mcp", "--toolset", "kb", folder, env=environment) as running:
        running.initialize()
        assert found(running, "kettle", "hybrid") == 1
        refused = running.call("kb_search", query="kettle", mode="semantic")
        assert refused is not None
        assert refused["isError"]
    assert shell("index", "--embed").code != 0
    assert paths(shell, "kettle") == ["tea"]


def test_an_endpoint_that_answers_another_dimension_leaves_words_and_mixes_nothing(
    folder: Path, server: EmbeddingServer
) -> None:
    shell = Shell(folder, server.environment)
    shell.ok("index", "--embed")
    assert paths(shell, "hemp", "semantic")[0] == "rope"
    server.dimension = 32
    (folder / "new.md").write_text("# New\n\nA compass.\n")
    refused = shell("index", "--embed")
    assert refused.code != 0
    assert "32 dimensions, but the stored ones have 64" in refused.stderr
    assert paths(shell, "compass") == ["new"]
    server.dimension = 64
    shell.ok("index", "--embed")
    assert paths(shell, "compass", "semantic")[0] == "new"
    assert "ready" in state(shell)


def test_vectors_of_no_numbers_leave_words(folder: Path, server: EmbeddingServer) -> None:
    server.nan = True
    shell = Shell(folder, server.environment)
    shell.ok("index", "--embed")
    assert paths(shell, "kettle") == ["tea"]


def test_damaged_vectors_are_made_again(folder: Path, cache_dir: Path, server: EmbeddingServer) -> None:
    shell = Shell(folder, server.environment)
    shell.ok("index", "--embed")
    (file,) = cache_dir.rglob("vectors-*.sqlite3")
    for side in ("-wal", "-shm"):
        Path(f"{file}{side}").unlink(missing_ok=True)
    file.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    assert paths(shell, "kettle") == ["tea"]
    shell.ok("index", "--embed")
    assert paths(shell, "hemp", "semantic")[0] == "rope"
    assert "ready" in state(shell)


def test_a_damaged_model_file_is_named_and_words_work(folder: Path, tmp_path: Path) -> None:
    models = tmp_path / "models"
    shutil.copytree(MODELS, models)
    (graph,) = models.rglob("model.onnx")
    content = bytearray(graph.read_bytes())
    content[len(content) // 2] ^= 0xFF
    graph.write_bytes(content)
    shell = Shell(folder, {"COMMONPLACE_MODEL_DIR": str(models)})
    assert paths(shell, "kettle") == ["tea"]
    refused = shell("index", "--embed")
    assert refused.code != 0
    assert "model.onnx" in refused.stderr
    assert "commonplace model install" in refused.stderr
    assert "'model.onnx' is damaged" in state(shell)


def test_a_model_that_changes_embeds_all_pages_again_and_mixes_nothing(folder: Path, server: EmbeddingServer) -> None:
    first = Shell(folder, server.environment)
    first.ok("index", "--embed")
    server.texts.clear()
    other = Shell(folder, {**server.environment, "COMMONPLACE_EMBEDDING_MODEL": "letters"})
    assert "0 of 2 pages; nothing embeds the rest" in state(other)
    assert paths(other, "kettle") == ["tea"]
    other.ok("index", "--embed")
    assert len(server.texts) >= 2
    assert "ready" in state(other)
    server.texts.clear()
    first.ok("index", "--embed")
    assert server.texts == []


def test_in_a_narrow_address_space_the_model_stays_unloaded_and_no_answer_denies_by_meaning(folder: Path) -> None:
    """The libraries end the process there, so they are not loaded."""
    environment = {**os.environ, "COMMONPLACE_MODEL_DIR": str(MODELS)}

    def limited(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", "-c", 'ulimit -v 524288; exec "$0" "$@"', *COMMAND, *arguments]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    by_words = limited("search", "sea animals")
    assert (by_words.returncode, by_words.stderr.split(". ")[-1]) == (0, "None is near by spelling.\n")
    by_meaning = limited("search", "sea animals", "--mode", "semantic")
    assert by_meaning.returncode == 9
    assert "It needs 1,536 MiB of address space, and this process may have 512" in by_meaning.stderr
