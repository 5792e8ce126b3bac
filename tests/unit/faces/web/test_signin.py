"""Where signing in leads, and what the cookie may be."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers

from commonplace.faces.web.signin import SignIn, local_target, scheme_of


@pytest.mark.parametrize(
    "target", ["https://far.example", "//far.example", "/\\far.example", "", "/sign-out", "/a\r\nb"]
)
def test_signing_in_never_leads_elsewhere(target: str) -> None:
    assert local_target(target) == "/"


def test_signing_in_leads_back() -> None:
    assert local_target("/p/notes/a?part=2") == "/p/notes/a?part=2"


@pytest.mark.parametrize(
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
