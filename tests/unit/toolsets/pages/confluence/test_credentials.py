"""Credentials are kept for their owner alone, and go over https alone."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import ClassVar

import keyring
import pytest
from keyring.backend import KeyringBackend

from commonplace.domain.errors import InvalidInputError, UnauthenticatedError
from commonplace.toolsets.pages.confluence.credentials import (
    Login,
    OAuthApp,
    known_site,
    login_for,
    only_site,
    save_login,
    site_url,
)


class Ring(KeyringBackend):
    """A keyring in memory."""

    priority = 1
    secrets: ClassVar[dict[tuple[str, str], str]] = {}

    def set_password(self, service: str, username: str, password: str) -> None:
        self.secrets[service, username] = password

    def get_password(self, service: str, username: str) -> str | None:
        return self.secrets.get((service, username))

    def delete_password(self, service: str, username: str) -> None:
        del self.secrets[service, username]


def test_a_login_is_kept_in_a_file_of_its_owner(tmp_path: Path) -> None:
    with pytest.raises(UnauthenticatedError, match="No login"):
        login_for("https://a.example", tmp_path, {})
    login = Login("basic", "ann@a.example", "s3cret")
    place = Path(save_login("https://a.example", login, tmp_path))
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert login_for("https://a.example", tmp_path, {}) == login
    assert only_site(tmp_path) == "https://a.example"
    save_login("https://b.example/wiki", Login("bearer", "", "t", app=OAuthApp("c", "hush", "r", "u")), tmp_path)
    assert known_site("https://b.example", tmp_path) == "https://b.example/wiki"
    assert known_site("https://c.example", tmp_path) == "https://c.example"
    saved = login_for("https://b.example/wiki", tmp_path, {})
    assert (saved.app, "hush" in repr(saved.app)) == (OAuthApp("c", "hush", "r", "u"), False)
    with pytest.raises(InvalidInputError, match=r"for https:.*b.example"):
        only_site(tmp_path)
    assert login_for("https://b.example", tmp_path, {"CN_TOKEN": "x"}).header == "Bearer x"
    assert "s3cret" not in repr(login)


def test_the_keyring_is_used_where_there_is_one(tmp_path: Path) -> None:
    keyring.set_keyring(Ring())
    login = Login("basic", "ann@a.example", "s3cret", app=OAuthApp("c", "s3cret", "s3cret", "u"))
    assert "keyring" in save_login("https://a.example", login, tmp_path)
    assert "s3cret" not in (tmp_path / ".cn" / "credentials.json").read_text()
    assert login_for("https://a.example", tmp_path, {}) == login


def test_only_sites_are_sites() -> None:
    assert site_url("Acme.atlassian.net/wiki/x") == "https://acme.atlassian.net"
    assert site_url("http://127.0.0.1:80") == "http://127.0.0.1:80"
    for path in ("", "/", "/display/ENG/Home", "/spaces/ENG", "/wiki/spaces/ENG", "/login.action?os_destination=/x"):
        assert site_url(f"https://docs.acme.example{path}") == "https://docs.acme.example"
    assert site_url("https://acme.example/Confluence/display/ENG") == "https://acme.example/Confluence"
    for text in ("http://acme.example", "ftp://x", "", "https://u:p@x"):
        with pytest.raises(InvalidInputError):
            site_url(text)
