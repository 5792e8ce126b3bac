"""Tokens of an identity provider: who comes with one, and which are refused."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from commonplace.domain.errors import ForbiddenError, UnauthenticatedError, UnavailableError
from commonplace.faces.access.tokens import DISCOVERY, TokenVerifier, provider_metadata
from identity.local import AUDIENCE, LocalProvider, local_provider


@pytest.fixture(scope="module")
def provider() -> Iterator[LocalProvider]:
    with local_provider() as known_provider:
        yield known_provider


@pytest.fixture(scope="module")
def verifier(provider: LocalProvider) -> TokenVerifier:
    return TokenVerifier(provider.issuer, AUDIENCE)


@pytest.fixture
def documents(provider: LocalProvider) -> Iterator[dict[str, bytes]]:
    """The documents that the provider serves; a test may change them."""
    usual = dict(provider.documents)
    yield provider.documents
    provider.documents.clear()
    provider.documents.update(usual)


@pytest.mark.parametrize(
    ("claims", "tier"),
    [
        ({}, "read"),
        ({"scope": "openid commonplace:write commonplace:read"}, "write"),
        ({"scope": ["commonplace:admin", "mail"]}, "admin"),
        ({"scope": None, "scp": "commonplace:write"}, "write"),
        ({"aud": ["other", AUDIENCE]}, "read"),
    ],
)
def test_the_scopes_of_a_token_give_the_tier(
    provider: LocalProvider, verifier: TokenVerifier, claims: dict[str, Any], tier: str
) -> None:
    caller = verifier.verify_token(provider.token(**claims))
    assert (caller.id, caller.tier, caller.collections) == ("oauth:ada", tier, None)


def test_clocks_may_differ_a_little(provider: LocalProvider, verifier: TokenVerifier) -> None:
    assert verifier.verify_token(provider.token(exp=int(time.time()) - 1)).tier == "read"


def test_a_machine_without_a_subject_is_named_by_its_client(provider: LocalProvider, verifier: TokenVerifier) -> None:
    assert verifier.verify_token(provider.token(sub=None, client_id="job")).id == "oauth:job"
    assert verifier.verify_token(provider.token(sub="", azp="app")).id == "oauth:app"


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": 1},
        {"exp": None},
        {"iss": "https://other.example"},
        {"aud": "https://other.example"},
        {"aud": None},
        {"scope": {"commonplace:admin": True}},
        {"scope": ["commonplace:admin", 1]},
    ],
)
def test_a_token_that_was_not_made_for_this_server_now_is_refused(
    provider: LocalProvider, verifier: TokenVerifier, claims: dict[str, Any]
) -> None:
    with pytest.raises(UnauthenticatedError, match="not valid here"):
        verifier.verify_token(provider.token(**claims))


def test_a_token_of_another_key_and_one_without_a_signature_are_refused(
    provider: LocalProvider, verifier: TokenVerifier
) -> None:
    forged = provider.token(ec.generate_private_key(ec.SECP256R1()))
    head, body, _ = provider.token().split(".")
    for token in (forged, f"{head}.{body}.", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", "", "\u00fc.b.c"):
        with pytest.raises(UnauthenticatedError):
            verifier.verify_token(token)


@pytest.mark.parametrize("scope", ["", "openid", "commonplace:", "commonplace:ADMIN", "xcommonplace:read", []])
def test_a_token_without_a_scope_of_this_server_is_told_which_there_are(
    provider: LocalProvider, verifier: TokenVerifier, scope: object
) -> None:
    with pytest.raises(ForbiddenError) as caught:
        verifier.verify_token(provider.token(scope=scope))
    assert caught.value.kind == "scope"
    assert "commonplace:read, commonplace:propose, commonplace:write, commonplace:admin" in caught.value.hint


@pytest.mark.parametrize("keys", [b"<html>down</html>", b"\xff\xfe", None])
def test_keys_that_cannot_be_read_mean_that_the_provider_does_not_answer(
    provider: LocalProvider, documents: dict[str, bytes], keys: bytes | None
) -> None:
    documents.pop("/keys")
    documents |= {} if keys is None else {"/keys": keys}
    with pytest.raises(UnavailableError, match="identity provider does not answer"):
        TokenVerifier(provider.issuer, AUDIENCE).verify_token(provider.token())


def test_what_a_provider_says_of_itself_is_read_from_either_place(
    provider: LocalProvider, documents: dict[str, bytes]
) -> None:
    documents[DISCOVERY[1]] = documents.pop(DISCOVERY[0])
    assert provider_metadata(f"{provider.issuer}/", "jwks_uri")["jwks_uri"] == f"{provider.issuer}/keys"


@pytest.mark.parametrize("said", [b"[]", b'{"jwks_uri": 5}', b"\xff"])
def test_a_provider_that_does_not_say_what_is_needed_does_not_answer(
    provider: LocalProvider, documents: dict[str, bytes], said: bytes
) -> None:
    documents |= dict.fromkeys(DISCOVERY, said)
    with pytest.raises(UnavailableError):
        provider_metadata(provider.issuer, "jwks_uri")
