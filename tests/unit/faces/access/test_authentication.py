"""Admission of callers, and their identity."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.errors import ConfigError, UnauthenticatedError
from commonplace.faces.access.authentication import Authenticator, KeyStore
from commonplace.faces.access.tokens import TokenVerifier
from commonplace.settings import Tier


def test_without_any_key_everybody_is_let_in(tmp_path: Path) -> None:
    caller = Authenticator(KeyStore(tmp_path), always_closed=False).authenticate(None)
    assert (caller.tier, caller.is_default, caller.collections) == ("write", True, None)
    assert Authenticator(KeyStore(tmp_path), always_closed=False, tier="read").authenticate("Bearer x").tier == "read"


def test_the_first_key_closes_the_gate_and_a_revoked_last_one_leaves_it_closed(tmp_path: Path) -> None:
    keys = KeyStore(tmp_path)
    gate = Authenticator(keys, always_closed=True)
    with pytest.raises(UnauthenticatedError):
        gate.authenticate(None)
    token, key = KeyStore(tmp_path).create("a", "admin", ["notes"])
    caller = gate.authenticate(f"bearer {token}")
    assert (caller.id, caller.tier, caller.collections) == (f"key:{key.id}", "admin", frozenset({"notes"}))
    KeyStore(tmp_path).revoke("a")
    with pytest.raises(UnauthenticatedError):
        gate.authenticate(f"Bearer {token}")


@pytest.mark.parametrize(
    ("key", "server", "given"), [("admin", "write", "write"), ("read", "admin", "read"), ("write", None, "write")]
)
def test_nobody_gets_more_than_the_server_gives(tmp_path: Path, key: Tier, server: Tier | None, given: Tier) -> None:
    token, _ = KeyStore(tmp_path).create("a", key)
    assert (
        Authenticator(KeyStore(tmp_path), always_closed=True, tier=server).authenticate(f"Bearer {token}").tier == given
    )


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Basic k", "k", "Bearer  K", "Bearer k ü", "Bearer a.b.c"]
)
def test_whatever_is_no_key_is_refused(tmp_path: Path, header: str | None) -> None:
    with pytest.raises(UnauthenticatedError) as caught:
        Authenticator(KeyStore(tmp_path), always_closed=True, own_key="k").authenticate(header)
    assert caught.value.hint


def test_a_damaged_file_of_keys_lets_nobody_in(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text('{"keys": [{"id": 1}]}')
    with pytest.raises(ConfigError, match=r"keys\.json, is damaged"):
        Authenticator(KeyStore(tmp_path), always_closed=False).authenticate(None)


def test_only_what_may_be_a_token_of_an_identity_provider_is_checked_in_a_thread(tmp_path: Path) -> None:
    without = Authenticator(KeyStore(tmp_path), always_closed=True)
    assert without.is_local("Bearer a.b.c")
    with_provider = Authenticator(
        KeyStore(tmp_path), always_closed=True, tokens=TokenVerifier("https://id.example.org", "https://kb.example.org")
    )
    assert with_provider.is_local(None)
    assert with_provider.is_local("Bearer cpk_x.y.z")
    assert not with_provider.is_local("Bearer a.b.c")
    assert not with_provider.is_local("Bearer a.b.c cpk_")
