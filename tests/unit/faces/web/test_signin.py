"""Redirects after signing in, and valid values of the cookie."""

from __future__ import annotations

import anyio
import pytest
from starlette.datastructures import Headers
from starlette.types import Message

from cases import each_case
from commonplace.faces.access.callers import Caller
from commonplace.faces.web.exchange import AgentAnswer, PageRequest, PageResponse
from commonplace.faces.web.signin import (
    COOKIE,
    SignIn,
    _cookie,  # pyright: ignore[reportPrivateUsage]
    _session,  # pyright: ignore[reportPrivateUsage]
    cookie_in,
    credential_of,
    local_target,
    scheme_of,
)
from commonplace.faces.web.urls import Urls
from commonplace.services.collections import Collections
from commonplace.services.services import Services


@each_case("target", ["https://far.example", "//far.example", "/\\far.example", "", "/sign-out", "/a\r\nb"])
def test_signing_in_never_leads_elsewhere(target: str) -> None:
    assert local_target(target) == "/"


def test_signing_in_leads_back() -> None:
    assert local_target("/p/notes/a?part=2") == "/p/notes/a?part=2"


@each_case(
    ("told", "connection", "scheme"),
    [
        ("https", "http", "https"),
        ("HTTPS", "http", "https"),
        ("", "https", "https"),
        ("ftp", "http", "http"),
        ("http", "https", "http"),
    ],
)
def test_a_proxy_says_how_the_browser_came(told: str, connection: str, scheme: str) -> None:
    headers = Headers({"x-forwarded-proto": told} if told else {})
    assert scheme_of({"scheme": connection}, headers) == scheme


def test_a_server_without_a_provider_names_none() -> None:
    assert SignIn().provider == ""


@pytest.mark.parametrize(
    ("body", "leads_to"),
    [
        (b"key=a+key&next=/p/a", "/p/a"),
        (b"key=k&next=//far.example", "/"),
        (b"key=k&" + b"&".join(b"x%d=1" % number for number in range(50)), "/"),
        (b"next=/p/a&key=\xff%ff", "/p/a"),
    ],
)
def test_a_key_is_kept_whatever_else_the_form_holds(body: bytes, leads_to: str) -> None:
    assert _sent(body).headers["location"] == leads_to


@each_case("body", [b"", b"key=", b"key=+++", b"nothing", b"\xff\xfe", b"&" * 1_000])
def test_a_form_without_a_key_is_shown_again(body: bytes) -> None:
    answer = _sent(body)
    assert answer.status == 401
    assert "set-cookie" not in answer.headers


def _sent(body: bytes) -> PageResponse:
    """The response to the form."""
    request = PageRequest(
        services=Services(collections=Collections(list)),
        caller=Caller("", "read"),
        urls=Urls(""),
        origin="http://localhost",
        path="",
        query={},
        agent_text=lambda *_: AgentAnswer("read", "", bounded=True),
    )
    scope = {"type": "http", "method": "POST", "path": "/sign-in", "scheme": "http", "headers": []}

    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    return anyio.run(SignIn().answer, scope, receive, request)


def test_over_tls_the_cookie_is_that_of_this_host_alone() -> None:
    scope = {"type": "http", "method": "POST", "path": "/sign-in", "scheme": "http"}
    for reported_content, name in ((b"https", "__Host-commonplace_key"), (b"http", "commonplace_key")):
        headers = [(b"x-forwarded-proto", reported_content)]
        cookie = _cookie(scope | {"headers": headers}, COOKIE, "k", 60)
        assert cookie.startswith(f"{name}=k; Path=/; ")
        assert ("; Secure" in cookie) == (reported_content == b"https")
        sent = Headers({"x-forwarded-proto": reported_content.decode(), "cookie": f"{name}=k"})
        assert cookie_in(sent, COOKIE) == "k"
    tossed = Headers({"x-forwarded-proto": "https", "cookie": "commonplace_key=of another host"})
    assert cookie_in(tossed, COOKIE) == ""


@pytest.mark.parametrize("credential", ["cpk_x", "a.b.c", "with ~ in it", "a~bc"])
def test_a_session_has_a_number_beside_its_credential(credential: str) -> None:
    first, second = _session(credential), _session(credential)
    assert first != second
    assert [credential_of(cookie) for cookie in (first, second, credential)] == [credential] * 3
