"""The compared programs: their commands for indexing and serving over stdio, and their tools for searching by words."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers import installed

LIMIT = 10
"""Number of hits of each search."""
OWN = "commonplace"


@dataclass(frozen=True, slots=True)
class Program:
    """A program that indexes and serves a folder over stdio."""

    name: str
    """Name with version."""
    index: Sequence[str]
    """The command that indexes the folder from nothing."""
    serve: Sequence[str]
    """The command that serves the folder."""
    environment: Mapping[str, str]
    state: Path
    """The folder of all its state, deleted before indexing from nothing."""
    tool: str
    """Name of the search tool."""
    arguments: Callable[[str], Mapping[str, Any]]
    """Returns the tool's arguments for a question."""


def programs(folder: Path, state: Path) -> list[Program]:
    """This program, and those of the others that can be installed.

    Args:
        folder: The indexed folder.
        state: Parent of each program's state folder.
    """
    made = [_own(folder, state / "own"), _qmd(folder, state / "qmd"), _vault(folder, state / "vault")]
    return [program for program in made if program is not None]


def _own(folder: Path, state: Path) -> Program:
    states = {name: str(state) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    command = [sys.executable, "-m", "commonplace"]

    def arguments(question: str) -> Mapping[str, Any]:
        return {"query": question, "mode": "keyword", "limit": LIMIT}

    serve = [*command, "mcp", str(folder), "--toolset", "kb", "--no-embed"]
    environment = {**states, "COMMONPLACE_EMBED": "false"}
    return Program(OWN, [*command, "index", "-C", str(folder)], serve, environment, state, "kb_search", arguments)


def _qmd(folder: Path, state: Path) -> Program | None:
    command = installed.qmd()
    if command is None:
        return None
    environment = {
        "PATH": installed.environment(command)["PATH"],
        **{name: str(state) for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME")},
    }

    def arguments(question: str) -> Mapping[str, Any]:
        return {"searches": [{"type": "lex", "query": question}], "limit": LIMIT, "rerank": False}

    index = [str(command), "collection", "add", str(folder), "--name", "docs"]
    name = f"qmd {installed.version(command)}"
    return Program(name, index, [str(command), "mcp"], environment, state, "query", arguments)


def _vault(folder: Path, state: Path) -> Program | None:
    command = installed.markdown_vault_mcp()
    if command is None:
        return None
    environment = {
        "MARKDOWN_VAULT_MCP_SOURCE_DIR": str(folder),
        "MARKDOWN_VAULT_MCP_INDEX_PATH": str(state / "index.db"),
        "MARKDOWN_VAULT_MCP_STATE_PATH": str(state / "state.json"),
        "MARKDOWN_VAULT_MCP_READ_ONLY": "true",
    }

    def arguments(question: str) -> Mapping[str, Any]:
        return {"query": question, "mode": "keyword", "limit": LIMIT}

    name = f"markdown-vault-mcp {installed.VAULT}"
    return Program(name, [str(command), "index"], [str(command), "serve"], environment, state, "search", arguments)
