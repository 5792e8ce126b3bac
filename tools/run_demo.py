"""Implements `make run`: indexes a folder, asks one question as an MCP client, and prints the client's entry.

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
from pathlib import Path

from mcp import Client, MCPError, StdioServerParameters
from mcp_types import TextContent

from commonplace.faces import clients

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "kb"
COMMAND = Path(sys.executable).with_name("commonplace")
QUESTION = "How do we restore the database after an outage?"
"""The question for the example; for any other folder, a title of that folder."""
MODEL_COST = "downloads 80 MB, once; 8 s on a fast line"
TIMEOUT = 120.0
"""Timeout in seconds of one call; the first call waits for the index."""


class DemoError(Exception):
    """The demonstration failed; the message is for the person at the terminal."""


def main() -> int:
    """Run the demonstration on the given folder; return 0 if the question was answered, else 1 with the reason."""
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
    print("\nServing over HTTP as well; Ctrl-C ends it. Open the address below in a browser.", flush=True)
    with subprocess.Popen([str(COMMAND), "serve", str(folder)]) as server:
        try:
            return server.wait()
        except KeyboardInterrupt:
            server.wait()
            return 0


def _offer_model(folder: Path) -> None:
    """Print how to add search by meaning, unless a model is installed."""
    requested_texts = [str(COMMAND), "model", "status", "--json", "--kb", str(folder)]
    done = subprocess.run(requested_texts, capture_output=True, text=True, check=False)
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
    """Open a session with a server process, and ask one question as an agent does."""
    arguments = ["mcp", str(folder), "--toolset", "notes"]
    server = StdioServerParameters(command=str(COMMAND), args=arguments, env=dict(os.environ))
    async with Client(server, read_timeout_seconds=TIMEOUT) as client:
        question = QUESTION if folder == EXAMPLE else _title(folder)
        began = time.perf_counter()
        result = await client.call_tool("search", {"query": question, "max_tokens": 300})
        took = 1000 * (time.perf_counter() - began)
        answer = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
        if result.is_error:
            raise DemoError(f"search failed: {answer}")
        call = json.dumps({"query": question}, ensure_ascii=False)
        print(f"\nAn agent calls search {call} over MCP {client.protocol_version}. The answer, after {took:.0f} ms:\n")
        print(textwrap.indent(answer, "   | ", lambda _: True))


def _title(folder: Path) -> str:
    """The title of the page that the folder lists first."""
    listing = subprocess.run(
        [str(COMMAND), "list", "--json", "--limit", "1", "-C", str(folder)], capture_output=True, text=True, check=False
    )
    if listing.returncode:
        raise DemoError(f"commonplace list ended with {listing.returncode}")
    pages = json.loads(listing.stdout)["documents"]
    if not pages:
        raise DemoError(f"there is no page in {folder}")
    return str(pages[0]["title"])


def _show_entry(folder: Path) -> None:
    launch = clients.LaunchCommand(str(COMMAND), ["mcp", str(folder)])
    entry = clients.server_entry("claude-code", {clients.entry_name(folder): launch})
    print("\nThe entry for your client (.mcp.json of Claude Code; commonplace connect writes it, for others too):\n")
    print(json.dumps(entry, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    sys.exit(main())
