"""Signing a person in at an identity provider, there and back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from commonplace.domain.errors import UnauthenticatedError, UnavailableError
from commonplace.faces.access.tokens import DEFAULT_LIFETIME, CodeFlow, TokenVerifier
from commonplace.faces.access.used_once import UsedOnce
from identity.local import AUDIENCE, LocalProvider, local_provider

BACK = "https://kb.example.org/sign-in/return"


Begun = tuple[CodeFlow, str, str]
"""A flow, and the state and cookie of a sign-in that began."""


@pytest.fixture(scope="module")
def provider() -> Iterator[LocalProvider]:
    with local_provider() as known_provider:
        yield known_provider


@pytest.fixture(scope="module")
def begun(provider: LocalProvider) -> Begun:
    flow = CodeFlow(TokenVerifier(provider.issuer, AUDIENCE), "pages", "hidden")
    url, cookie = flow.begin(BACK, "/p/notes/潮?part=2")
    return flow, provider.visited(url)["state"], cookie


def test_a_person_is_sent_to_the_provider_with_what_it_needs_to_know(provider: LocalProvider) -> None:
    flow = CodeFlow(TokenVerifier(provider.issuer, AUDIENCE), "pages & more")
    (first, sealed), (second, other) = flow.begin(BACK, "/"), flow.begin(BACK, "/")
    assert urlsplit(first).query.startswith("tenant=1&")
    request, again = provider.asked(first), provider.asked(second)
    assert (request["client_id"], request["redirect_uri"], request["resource"]) == ("pages & more", BACK, AUDIENCE)
    assert (request["code_challenge_method"], request["scope"]) == ("S256", "openid commonplace:read")
    assert request["code_challenge"] != again["code_challenge"]
    assert request["state"] != again["state"]
    assert sealed != other


def test_a_person_comes_back_to_the_page_that_was_wanted(begun: Begun) -> None:
    flow, state, cookie = begun
    done = flow.finish(cookie, {"state": state, "code": "c"}, BACK)
    assert (done.target, done.lifetime) == ("/p/notes/潮?part=2", 120)
    assert flow.verifier.verify_token(done.token).id == "oauth:ada"


@pytest.mark.parametrize("end", ["", ".", ".\u00e9", ".e30", ".\udcff"])
@pytest.mark.parametrize("beginning", ["", "e30", "\u00e9", "whole"])
def test_a_cookie_that_this_process_did_not_make_begins_nothing(begun: Begun, beginning: str, end: str) -> None:
    flow, state, cookie = begun
    content = cookie.partition(".")[0] if beginning == "whole" else beginning
    with pytest.raises(UnauthenticatedError, match="belongs to no sign-in of this browser") as caught:
        flow.finish(content + end, {"state": state, "code": "c"}, BACK)
    assert caught.value.hint == "Begin again."


def test_a_cookie_of_another_server_begins_nothing(begun: Begun) -> None:
    flow, state, cookie = begun
    with pytest.raises(UnauthenticatedError, match="belongs to no sign-in"):
        CodeFlow(flow.verifier, "pages").finish(cookie, {"state": state, "code": "c"}, BACK)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"state": ""}, "belongs to no sign-in"),
        ({"state": "\u00fc"}, "belongs to no sign-in"),
        ({"iss": "https://evil.example"}, "another identity provider"),
        ({"error": "access_denied", "error_description": "Not today."}, "Not today."),
        ({"error": "access_denied"}, "access_denied"),
        ({"code": ""}, "it gave no code"),
    ],
)
def test_an_answer_that_signs_nobody_in_says_why(begun: Begun, answer: dict[str, str], said: str) -> None:
    flow, state, cookie = begun
    with pytest.raises(UnauthenticatedError, match=said):
        flow.finish(cookie, {"state": state, "code": "c"} | answer, BACK)


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (400, b"{}", UnauthenticatedError),
        (200, b'{"access_token": 5}', UnauthenticatedError),
        (200, b'{"access_token": "a.b.c"}', UnauthenticatedError),
        (200, b"<html>", UnavailableError),
    ],
)
def test_a_code_that_brings_no_valid_token_signs_nobody_in(
    provider: LocalProvider, begun: Begun, status: int, body: bytes, error: type[Exception]
) -> None:
    flow, state, cookie = begun
    provider.token_status, provider.token_answer = status, body
    try:
        with pytest.raises(error):
            flow.finish(cookie, {"state": state, "code": "c"}, BACK)
    finally:
        provider.token_status, provider.token_answer = 200, None


@pytest.mark.parametrize("lifetime", [None, -5, "120"])
def test_a_token_without_a_usable_lifetime_holds_for_the_usual_one(
    provider: LocalProvider, begun: Begun, lifetime: object
) -> None:
    flow, state, cookie = begun
    provider.token_answer = json.dumps({"access_token": provider.token(), "expires_in": lifetime}).encode()
    try:
        assert flow.finish(cookie, {"state": state, "code": "c"}, BACK).lifetime == DEFAULT_LIFETIME
    finally:
        provider.token_answer = None


def test_the_secrets_of_a_flow_are_not_in_its_text(begun: Begun) -> None:
    assert "hidden" not in repr(begun[0])


def test_a_sign_in_is_finished_once(provider: LocalProvider, tmp_path: Path) -> None:
    verifier = TokenVerifier(provider.issuer, AUDIENCE)
    flow = CodeFlow(verifier, "pages", "hidden", used=UsedOnce(tmp_path))
    url, cookie = flow.begin(BACK, "/p/a")
    answer = {"state": provider.visited(url)["state"], "code": "c"}
    assert flow.finish(cookie, answer, BACK).target == "/p/a"
    with pytest.raises(UnauthenticatedError, match="was finished before"):
        flow.finish(cookie, answer, BACK)


def test_a_provider_that_announces_its_name_in_answers_must_name_itself(provider: LocalProvider) -> None:
    before = dict(provider.documents)
    for path, content in before.items():
        if path.startswith("/.well-known"):
            said = json.loads(content) | {"authorization_response_iss_parameter_supported": True}
            provider.documents[path] = json.dumps(said).encode()
    try:
        flow = CodeFlow(TokenVerifier(provider.issuer, AUDIENCE), "pages", "hidden")
        url, cookie = flow.begin(BACK, "/p/a")
        answer = {"state": provider.visited(url)["state"], "code": "c"}
        with pytest.raises(UnauthenticatedError, match="another identity provider"):
            flow.finish(cookie, answer, BACK)
        assert flow.finish(cookie, answer | {"iss": provider.issuer}, BACK).token
    finally:
        provider.documents.update(before)


def test_the_providers_metadata_is_fetched_once_and_its_silence_is_remembered(provider: LocalProvider) -> None:
    verifier = TokenVerifier(provider.issuer, AUDIENCE)
    flow = CodeFlow(verifier, "pages")
    flow.begin(BACK, "/")
    before = dict(provider.documents)
    provider.documents.clear()
    try:
        assert flow.begin(BACK, "/")
        silent = CodeFlow(TokenVerifier(provider.issuer, AUDIENCE), "pages")
        with pytest.raises(UnavailableError):
            silent.begin(BACK, "/")
        provider.documents.update(before)
        with pytest.raises(UnavailableError):
            silent.begin(BACK, "/")
    finally:
        provider.documents.update(before)
