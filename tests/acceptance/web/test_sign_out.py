"""Signing out ends the session on the server: its cookie signs nobody in any more, and the key goes on."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from serving import create_key, served


def test_a_cookie_that_was_copied_before_signing_out_signs_nobody_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    key = create_key("laptop", "--tier", "read")
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb/hub.md").write_text("# Hub\n")
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_STATE_HOME": str(tmp_path / "state")}
    with served(tmp_path / "kb", env=env) as server:
        assert server.ask("GET", "/api/v1/search?q=hub", key=key).status == 200  # waits for the index
        client, two = (httpx2.Client(base_url=server.url, timeout=60) for _ in range(2))
        for browser in (client, two):
            assert browser.post("/sign-in", data={"key": key}).status_code == 303
            assert browser.get("/p/hub").status_code == 200
        copied = client.cookies["commonplace_key"]
        assert client.post("/sign-out").status_code == 303
        assert httpx2.get(f"{server.url}/p/hub", cookies={"commonplace_key": copied}).status_code == 401
        assert two.get("/p/hub").status_code == 200, "another session of the same key"
        assert client.post("/sign-in", data={"key": key}).status_code == 303
        assert client.get("/p/hub").status_code == 200
        client.close()
        two.close()
