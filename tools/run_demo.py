"""Implements `make run`: indexes a folder, asks three questions as an MCP client, and prints the client's entry.

The server is the product's own, started as by a client; the client is that of the official SDK. On a terminal, the
server then also runs over HTTP until Ctrl-C.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client, MCPError, StdioServerParameters
from mcp_types import TextContent

from commonplace.faces import clients

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "kb"
COMMAND = Path(sys.executable).with_name("commonplace")
QUESTIONS = (
    "How do we restore the database after an outage?",
    "What may be deleted when the disk is full?",
    "係留場所の水深",
)
"""Questions for the example; for any other folder, titles from that folder are used."""
SHOWN = 3
"""Number of questions, and number of answers shown for each."""
NAMED = 6
"""Maximum number of links named in one line."""
MODEL_COST = "downloads 80 MB, once; 8 s on a fast line"
TIMEOUT = 120.0
"""Timeout in seconds of one call; the first call waits for the index."""


@dataclass(frozen=True, slots=True)
class Base:
    """The knowledge base that is served."""

    name: str
    entries: int


class DemoError(Exception):
    """The demonstration failed; the message is for the person at the terminal."""


def main() -> int:
    """Run the demonstration on the given folder; return 0 if every question was answered, else 1 with the reason."""
    parser = argparse.ArgumentParser(description="Index a folder, question it over MCP, print the client's entry.")
    parser.add_argument("folder", type=Path, nargs="?", default=EXAMPLE, help="a folder of Markdown")
    folder: Path = parser.parse_args().folder.expanduser().resolve()
    failure = ""
    try:
        _index(folder)
        asyncio.run(_question(folder))
    except* (DemoError, MCPError) as group:  # the client wraps exceptions that are raised while it is open
        failure = _innermost(group)
    if failure:
        sys.stderr.write(f"run: {failure}\n")
        return 1
    _offer_model(folder)
    _show_entry(folder)
    return _stay(folder) if sys.stdin.isatty() and sys.stdout.isatty() else 0


def _stay(folder: Path) -> int:
    """Serve over HTTP until Ctrl-C. The server receives the same signal and shuts down cleanly."""
    print("\nServing over HTTP as well; Ctrl-C ends it.", flush=True)
    with subprocess.Popen([str(COMMAND), "serve", str(folder)]) as server:
        try:
            return server.wait()
        except KeyboardInterrupt:
            server.wait()
            return 0


def _offer_model(folder: Path) -> None:
    """Print how to add search by meaning, unless a model is installed."""
    asked = [str(COMMAND), "model", "status", "--json", "--kb", str(folder)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if '"status": "missing"' in done.stdout or '"status":"missing"' in done.stdout:
        print(f"\nThese answers were found by words. To search by meaning as well: make model ({MODEL_COST}).")


def _innermost(group: BaseExceptionGroup[DemoError | MCPError]) -> str:
    first = group.exceptions[0]
    return _innermost(first) if isinstance(first, BaseExceptionGroup) else str(first)


def _index(folder: Path) -> None:
    """Update the index in a separate process, which shows its progress on a terminal."""
    if not folder.is_dir():
        raise DemoError(f"there is no folder {folder}")
    began = time.perf_counter()
    done = subprocess.run([str(COMMAND), "index", "--kb", str(folder)], check=False)
    if done.returncode:
        raise DemoError(f"commonplace index ended with {done.returncode}")
    print(f"Indexed in {time.perf_counter() - began:.1f} s; the next start takes in changes only.")


async def _question(folder: Path) -> None:
    """Open a session with a server process and ask the questions."""
    server = StdioServerParameters(
        command=str(COMMAND), args=["mcp", str(folder), "--toolset", "kb"], env=dict(os.environ)
    )
    async with Client(server, read_timeout_seconds=TIMEOUT) as client:
        base = await _base(client)
        print(f"\n{base.name}: {base.entries:,} pages, served over MCP {client.protocol_version}.")
        questions = QUESTIONS if folder == EXAMPLE else await _own_questions(client, base)
        best = [await _search(client, number, question) for number, question in enumerate(questions, 1)]
        if found := next((entry for entry in best if entry), ""):
            await _read(client, found)
            await _backlinks(client, base, found)


async def _base(client: Client) -> Base:
    listed = (await _call(client, "kb_list"))["knowledge_bases"][0]
    return Base(listed["name"], listed["entry_count"])


async def _own_questions(client: Client, base: Base) -> list[str]:
    """Titles from the beginning, the middle and the end of the folder's list, preferably of about five words."""
    step = max(base.entries // SHOWN, 1)
    questions: list[str] = []
    for offset in range(0, min(step * SHOWN, base.entries), step):
        listed = await _call(client, "kb_list_entries", kb_name=base.name, limit=20, offset=offset)
        titles = [entry["title"] for entry in listed["entries"] if entry["title"] not in questions]
        questions += sorted(titles, key=lambda title: abs(len(title.split()) - 5))[:1]
    return questions


async def _search(client: Client, number: int, question: str) -> str:
    """Ask one question, print the best answers, and return the id of the first answer."""
    began = time.perf_counter()
    answer = await _call(client, "kb_search", query=question, limit=SHOWN)
    took = 1000 * (time.perf_counter() - began)
    print(f"\n{number}. {question}   [kb_search: {answer['total']:,} found, {took:.0f} ms]")
    for result in answer["results"]:
        print(f"   - {result['title']}  ({result['file_path']})")
        if snippet := " ".join((result.get("snippet") or "").split()):
            print(textwrap.indent(textwrap.fill(snippet, 96), "       "))
    return answer["results"][0]["id"] if answer["results"] else ""


async def _read(client: Client, entry_id: str) -> None:
    entry = (await _call(client, "kb_get", entry_id=entry_id, body_limit=400))["entry"]
    print(f"\nReading {entry_id}   [kb_get]")
    lines = [line for line in entry["body"].splitlines() if line.strip()][:5]
    print(textwrap.indent("\n".join(lines), "   | "))
    print(f"   leads to {_named(entry['outlinks'])}")


async def _backlinks(client: Client, base: Base, entry_id: str) -> None:
    answer = await _call(client, "kb_backlinks", entry_id=entry_id, kb_name=base.name)
    print(f"\nWhat leads to {entry_id}   [kb_backlinks: {answer['backlink_count']}]")
    print(f"   {_named(answer['backlinks'])}")


def _named(links: list[dict[str, Any]]) -> str:
    titles = list(dict.fromkeys(link["title"] or link["id"] for link in links))
    more = f" and {len(titles) - NAMED} more" if len(titles) > NAMED else ""
    return "; ".join(titles[:NAMED]) + more if titles else "nothing"


async def _call(client: Client, tool: str, **arguments: str | int) -> dict[str, Any]:
    """The structured answer of a tool."""
    result = await client.call_tool(tool, arguments)
    if result.is_error or result.structured_content is None:
        said = " ".join(block.text for block in result.content if isinstance(block, TextContent))
        raise DemoError(f"{tool} failed: {said}")
    return result.structured_content


def _show_entry(folder: Path) -> None:
    launch = clients.LaunchCommand(str(COMMAND), ["mcp", str(folder)])
    entry = clients.server_entry("claude-code", {clients.entry_name(folder): launch})
    print("\nThe entry for your client (.mcp.json of Claude Code; commonplace connect writes it, for others too):\n")
    print(json.dumps(entry, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    sys.exit(main())
