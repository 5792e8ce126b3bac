"""A login by OAuth: consent in a browser, and tokens that are renewed in mid-run."""

from __future__ import annotations

import json
import socket
import stat
import threading
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from commonplace.toolsets.pages.confluence import oauth
from confluence.clones import small_site
from confluence.consent import SECRET, ConsentHandler
from confluence.server import SiteServer, serving
from shell import Done
from spaces.places import cn


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@pytest.fixture
def server() -> Iterator[SiteServer]:
    with serving(small_site(), ConsentHandler) as running:
        yield running


def visit(*addresses: str) -> None:
    for address in addresses:
        httpx2.get(address, follow_redirects=True)


class Browser(webbrowser.BaseBrowser):
    """A browser in which somebody consents at once, after a stranger tried."""

    opened: ClassVar[list[str]] = []

    def open(self, url: str, *_: object) -> bool:
        self.opened.append(url)
        callback = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        threading.Thread(target=visit, args=(f"{callback}?code=stolen&state=guessed", url)).start()
        return True


@pytest.fixture
def opened(server: SiteServer, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that a browser opened."""
    monkeypatch.setattr(oauth, "AUTHORITY", server.url)
    monkeypatch.setattr(oauth, "GATEWAY", server.url)
    webbrowser.register("of these tests", None, Browser(), preferred=True)
    Browser.opened.clear()
    return Browser.opened


def signed_in(folder: Path, server: SiteServer, client: str, secret: str) -> Done:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    return cn(folder, "login", server.url, "--oauth", client, "--port", str(port), "--token-stdin", stdin=f"{secret}\n")


def test_consent_gives_a_login(tmp_path: Path, server: SiteServer, opened: list[str]) -> None:
    refused = signed_in(tmp_path, server, "other", SECRET)
    assert (refused.code, "not finished: access_denied" in refused.stderr) == (3, True)
    wrong = signed_in(tmp_path, server, "app", "guess")
    assert (wrong.code, "refused: Unknown or invalid" in wrong.stderr) == (3, True)
    signed = signed_in(tmp_path, server, "app", SECRET)
    assert (signed.code, f"Sign in here: {opened[-1]}\n" in signed.stderr) == (0, True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        busy = cn(tmp_path, "login", server.url, "--oauth", "app", "--port", port, "--token-stdin", stdin="x\n")
    assert (busy.code, "--port" in busy.stderr) == (6, True)


def test_tokens_are_renewed_in_mid_run_and_not_for_ever(tmp_path: Path, server: SiteServer, opened: list[str]) -> None:
    assert signed_in(tmp_path, server, "app", SECRET).code == 0
    assert len(opened) == 1
    home, kept, before = {"HOME": str(tmp_path)}, tmp_path / ".cn/credentials.json", server.count
    # the first token ends in the middle of a clone, with eight requests at once
    server.fault = lambda number, _method, _path: server.tokens.clear() if number == before + 5 else None
    cloned = cn(tmp_path, "clone", "ENG", env=home)
    assert (cloned.code, cloned.text, server.granted) == (0, "eng: 6 new\n", 2)
    assert (tmp_path / "eng/attachments/runbooks/deploy/a b.png").read_bytes() == b"PNG"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    server.fault = lambda *_: None
    assert cn(tmp_path / "eng", "pull", env=home).text == "Nothing changed\n"
    assert server.granted == 2
    logins = json.loads(kept.read_text())
    for refresh, fault, sentence in (
        ("refresh 1", None, "cn login --oauth"),
        ("refresh 2", "401", "rejects the login"),
    ):
        logins[server.url]["app"]["refresh"] = refresh
        kept.write_text(json.dumps(logins))
        server.tokens = set()
        server.fault = lambda *_, fault=fault: fault
        ended = cn(tmp_path / "eng", "pull", env=home)
        assert (ended.code, sentence in ended.stderr) == (3, True), ended
    assert server.granted == 3
    secrets = [path for path in tmp_path.rglob("*") if path.is_file() and b"access-" in path.read_bytes()]
    assert secrets == [kept]
