"""The cost of a start: CPU seconds of a new process until it has answered `initialize`, against the SDK's hello-world.

Every process is spawned anew and killed as soon as its answer is read; the kernel then reports its usage. Rounds
alternate between the servers, so that noise of the machine affects all. A first round, which does not count, lets
Python compile, because installed packages are compiled, too.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from benchmarks.measuring import Row, Work

PART = "start"
ROUNDS = 11
HELLO = "SDK hello-world, low level: initialize"
SERVER = "commonplace mcp: initialize"
IMPORT = "import commonplace"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "0"},
    },
}

LOW_LEVEL = """
import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server.stdio import stdio_server

async def list_tools(context, params):
    return types.ListToolsResult(tools=[types.Tool(name="hello", input_schema={"type": "object"})])

async def call_tool(context, params):
    return types.CallToolResult(content=[types.TextContent(text="Hello, world")])

async def main():
    server = Server("hello", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""

HIGH_LEVEL = """
from mcp.server import MCPServer

server = MCPServer("hello")

@server.tool()
def hello() -> str:
    return "Hello, world"

server.run("stdio")
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one start."""

    cpu: float
    """Seconds of user and system time in all threads, until the answer was read."""
    wall: float
    """Seconds from the spawn to the answer."""


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part, on a small folder that was served before."""
    (work.folder / "notes").mkdir()
    (work.folder / "notes" / "tea.md").write_text("# Tea\n", encoding="utf-8")
    costs = measure(work.folder / "notes")
    low = costs[HELLO].cpu
    reaches = {SERVER: f"≤ 1.0, and hello-world + 0.15 = {low + 0.15:.2f}", IMPORT: "< 0.06 above python"}
    for name, cost in costs.items():
        yield Row(PART, name, cost.cpu, "CPU s", reaches.get(name, ""), f"{cost.wall:.2f} s wall")


def measure(folder: Path, rounds: int = ROUNDS) -> dict[str, Cost]:
    """Median costs of the SDK's hello-worlds, of this server's start, and of the shortest command.

    Args:
        folder: The served folder.
        rounds: Number of starts of each.
    """
    servers: dict[str, list[str]] = {
        HELLO: ["-c", LOW_LEVEL],
        "SDK hello-world, high level: initialize": ["-c", HIGH_LEVEL],
        SERVER: ["-m", "commonplace", "mcp", str(folder)],
    }
    commands: dict[str, list[str]] = {
        "commonplace --version": ["-m", "commonplace", "--version"],
        IMPORT: ["-c", "import commonplace"],
        "python, nothing": ["-c", ""],
    }
    costs: dict[str, list[Cost]] = {name: [] for name in [*servers, *commands]}
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(rounds + 1):
            for name, arguments in servers.items():
                costs[name].append(until_initialized(arguments, environment))
            for name, arguments in commands.items():
                costs[name].append(until_ended(arguments, environment))
    return {
        name: Cost(statistics.median(cost.cpu for cost in all_[1:]), statistics.median(cost.wall for cost in all_[1:]))
        for name, all_ in costs.items()
    }


def until_initialized(arguments: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Start a server, send `initialize`, and kill the server as soon as it has answered."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    with process:
        stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        stdin.flush()
        answer = stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        wall = time.perf_counter() - began
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if b'"serverInfo"' not in answer:
        raise SystemExit(f"{' '.join(arguments)} did not answer initialize")
    return Cost(used.ru_utime + used.ru_stime, wall)


def until_ended(arguments: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Run a command to its end."""
    began = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, time.perf_counter() - began)
