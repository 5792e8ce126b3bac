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
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from commonplace.domain.json import JsonObject
from support import Amount
from wire import INITIALIZE

TIMEOUT = 120
AT_ONCE = 4
"""Number of processes that run at once, on one cache."""
BAD = re.compile(rb"Traceback|terminate called|Error|Exception|fatal", re.IGNORECASE)
"""What no ending may write."""
CANCELLED = re.compile(rb".*timeout graceful shutdown exceeded\n")
"""What a server says of a request that outlasts its time to end, as on a machine with much other work."""
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


def started(face: str, folder: Path, cache: Path) -> tuple[subprocess.Popen[bytes], bytes]:
    """A process that has answered, or said where it listens; and what it has written on standard error so far."""
    command = [sys.executable, "-m", "commonplace", *FACES[face], str(folder)]
    pipe, env = subprocess.PIPE, {**os.environ, "XDG_CACHE_HOME": str(cache)}
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env)
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


def ended(face: str, folder: Path, cache: Path, pause: float) -> tuple[int, bytes]:
    """The exit code of a process that ends so many seconds after its first answer, and its standard error."""
    process, said = started(face, folder, cache)
    time.sleep(pause)
    if not face.endswith("end of input"):
        process.send_signal(signal.SIGTERM)
    _, rest = process.communicate(timeout=TIMEOUT)
    return process.returncode, said + rest


@pytest.mark.timeout(3 * 3600)  # 143 processes, one after another where the machine has little to spare
@pytest.mark.parametrize("face", FACES)
@pytest.mark.sampled(4)
def test_every_end_is_clean(face: str, tmp_path: Path, amount: Amount) -> None:
    for number in range(20):
        (tmp_path / f"p{number}.md").write_text(f"# Page {number}\n\n[[p{number + 1}]] of this page\n")
    moments = random.Random(face)
    pauses = [moments.choice([0, 0.05, 0.3, 1]) * moments.random() for _ in range(amount(1, 143))]
    caches = [tmp_path / f".cache{number // AT_ONCE}" for number in range(len(pauses))]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ends = pool.map(partial(ended, face, tmp_path), caches, pauses)
        for code, said in ends:
            assert (code, BAD.findall(CANCELLED.sub(b"", said))) == (0, []), said.decode()
