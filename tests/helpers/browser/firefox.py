"""Firefox ESR without a window, driven by WebDriver BiDi over its own WebSocket, without a further program."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

PROGRAM = "firefox-esr"
SECONDS = 60.0
"""Timeout in seconds of the browser's start, and of each answer."""
PREFERENCES = {"browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False}
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "ArrowDown": "\ue015", "Tab": "\ue004"}

needs_firefox = pytest.mark.skipif(shutil.which(PROGRAM) is None, reason="needs Debian's package firefox-esr")
"""Skips where there is no Firefox, also in `.ci/run`: a second browser is much to install for one walk."""


@dataclass(slots=True)
class Firefox:
    """One window of a running browser."""

    connection: ClientConnection
    window: str = ""
    _number: int = field(default=0)

    def call(self, method: str, **parameters: Any) -> Any:
        """One command of the protocol; its result."""
        self._number += 1
        self.connection.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.connection.recv(SECONDS))
            if answer.get("id") == self._number:
                assert answer["type"] == "success", answer
                return answer["result"]

    def open(self, url: str) -> None:
        """Open a URL and wait until it is loaded."""
        self.call("browsingContext.navigate", context=self.window, url=url, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript: a text, a number, a truth value, None, or a list of them."""
        answer = self.call("script.evaluate", expression=expression, target={"context": self.window}, awaitPromise=True)
        assert answer["type"] == "success", answer
        return _plain(answer["result"])

    def until(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + SECONDS
        while not self.evaluate(f"Boolean({expression})"):
            assert time.monotonic() < end, f"{expression} at {self.evaluate('location.href')}"

    def press(self, *keys: str) -> None:
        """Press keys one after the other: names of `KEYS`, or characters."""
        presses = [(KEYS.get(key, key), kind) for key in keys for kind in ("keyDown", "keyUp")]
        actions = [{"type": kind, "value": value} for value, kind in presses]
        source = {"type": "key", "id": "keys", "actions": actions}
        self.call("input.performActions", context=self.window, actions=[source])


def _plain(value: Any) -> Any:
    return [_plain(element) for element in value["value"]] if value["type"] == "array" else value.get("value")


@contextmanager
def firefox(profile: Path) -> Iterator[Firefox]:
    """A browser with a profile of its own, in a folder that exists and is empty."""
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items()]
    (profile / "user.js").write_text("\n".join(lines))
    command = [PROGRAM, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port=0"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            with connect(f"ws://{_address(profile, process)}/session", max_size=None) as connection:
                browser = Firefox(connection)
                browser.call("session.new", capabilities={})
                browser.window = browser.call("browsingContext.create", type="tab")["context"]
                yield browser
        finally:
            process.terminate()


def _address(profile: Path, process: subprocess.Popen[bytes]) -> str:
    """The address at which the browser listens, which it writes into its profile."""
    said, end = profile / "WebDriverBiDiServer.json", time.monotonic() + SECONDS
    while not (said.exists() and said.stat().st_size):
        assert process.poll() is None, "Firefox has ended"
        assert time.monotonic() < end, "Firefox does not listen"
    found_value = json.loads(said.read_text())
    return f"{found_value['ws_host']}:{found_value['ws_port']}"
