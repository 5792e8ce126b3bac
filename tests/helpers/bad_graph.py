"""A foreign graph that misbehaves in the way that its first argument names; a script for tests to start.

A second argument is a file to which every start adds a line.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import time
from pathlib import Path
from typing import Any

EXAMPLE = runpy.run_path(str(Path(__file__).resolve().parents[2] / "examples" / "foreign_graph" / "server.py"))
NO_JSON = {"text": "no JSON", "nan": '{"nodes": ["a"], "total": NaN}'}


def respond(message: dict[str, Any], result: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
    sys.stdout.flush()


def text(shown: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": shown if isinstance(shown, str) else json.dumps(shown)}]}


def misbehave(mode: str, message: dict[str, Any]) -> None:
    if mode == "hang":
        time.sleep(600)
    elif mode == "garbage":
        sys.stdout.write("no JSON at all\n" * 100_000)
        sys.stdout.flush()
        time.sleep(600)
    elif mode == "flood":
        block = b"x" * 1_000_000
        for _ in range(100):
            sys.stdout.buffer.write(block)
        sys.stdout.flush()
    elif mode == "die":
        os._exit(1)
    elif mode == "error":
        respond(message, {**text("broken"), "isError": True})
    elif mode in NO_JSON:
        respond(message, text(NO_JSON[mode]))
    elif mode == "shape":
        respond(message, text(["a", 5]))
    elif mode == "odd":
        node = {"title": 5, "facts": [{"topic": "A\nB", "text": "# no heading\r\n```"}, 7], "see_also": ["x", None, 5]}
        shown = {"nodes": ["odd", "../up", "", 7]} if message["params"]["name"] == "list_nodes" else node
        respond(message, text(shown))


def main() -> None:
    mode, *rest = sys.argv[1:]
    if rest:
        with Path(rest[0]).open("a") as starts:
            starts.write(f"{os.getpid()}\n")
    sys.stdout.write("a banner that is no JSON\n")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        if message["method"] == "tools/call" and mode != "ok":
            misbehave(mode, message)
        else:
            respond(message, EXAMPLE["answer"](message["method"], message.get("params") or {}, EXAMPLE["NODES"]))


main()
