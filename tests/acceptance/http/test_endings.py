"""Each face ends cleanly, whatever it does at that moment: exit code 0, and nothing on standard error but its lines."""

from __future__ import annotations

import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from commonplace.domain.json import JsonObject
from support import Amount
from wire import INITIALIZE

TIMEOUT = 120
BAD = re.compile(rb"Traceback|terminate called|Error|Exception|fatal", re.IGNORECASE)
"""What no ending may write."""
EDITOR: JsonObject = {"processId": None, "rootUri": None, "capabilities": {}}
REQUEST, GREETING = (
    json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
    for params in (EDITOR, INITIALIZE)
)
"""The first message of an editor, and of a client."""
FACES = {
    "mcp, end of input": ["mcp"],
    "mcp, SIGTERM": ["mcp"],
    "mcp over HTTP": ["mcp", "--transport", "http", "--port", "0"],
    "serve": ["serve", "--port", "0"],
    "serve --sse": ["serve", "--port", "0", "--sse"],
    "serve --workers 2": ["serve", "--port", "0", "--workers", "2"],
    "lsp, end of input": ["lsp"],
}


def started(face: str, folder: Path) -> tuple[subprocess.Popen[bytes], bytes]:
    """A process that has answered, or said where it listens; and what it has written on standard error so far."""
    command = [sys.executable, "-m", "commonplace", *FACES[face], str(folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    assert process.stderr
    if face.startswith(("mcp,", "lsp")):
        head = b"" if face.startswith("mcp") else b"Content-Length: %d\r\n\r\n" % len(REQUEST)
        process.stdin.write(head + REQUEST if head else GREETING + b"\n")
        process.stdin.flush()
        assert select.select([process.stdout], [], [], TIMEOUT)[0]
        return process, b""
    said = b""
    while not (port := re.search(rb"127\.0\.0\.1:(\d+)", said)):
        line = process.stderr.readline()
        assert line, said
        said += line
    threading.Thread(target=search, args=(int(port[1]),), daemon=True).start()
    return process, said


def search(port: int) -> None:
    """One search, during which the server may end."""
    with suppress(OSError):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/search?q=page&mode=hybrid", timeout=TIMEOUT).read()


@pytest.mark.parametrize("face", FACES)
def test_every_end_is_clean(face: str, tmp_path: Path, amount: Amount, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        (tmp_path / f"p{number}.md").write_text(f"# Page {number}\n\n[[p{number + 1}]] of this page\n")
    moments = random.Random(face)
    for number in range(amount(2, 143)):
        monkeypatch.setitem(os.environ, "XDG_CACHE_HOME", str(tmp_path / f".cache{number // 4}"))
        process, said = started(face, tmp_path)
        time.sleep(moments.choice([0, 0.05, 0.3, 1]) * moments.random())
        if not face.endswith("end of input"):
            process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=TIMEOUT)
        assert (process.returncode, BAD.findall(said + rest)) == (0, []), (said + rest).decode()
