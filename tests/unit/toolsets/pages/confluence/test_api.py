"""Requests are repeated where that is safe, and errors say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from commonplace.domain.errors import (
    InvalidInputError,
    NotFoundError,
    RateLimitedError,
    TooLargeError,
    UnauthenticatedError,
    UnavailableError,
)
from commonplace.toolsets.pages.confluence import api as api_module
from commonplace.toolsets.pages.confluence.api import ATTEMPTS, Api
from commonplace.toolsets.pages.confluence.credentials import Login
from commonplace.toolsets.pages.confluence.space_sync import connected
from confluence.server import SiteServer, serving
from confluence.site import Site

PAUSES: list[float] = []


@pytest.fixture
def server() -> Iterator[SiteServer]:
    with serving(Site()) as running:
        yield running
        assert running.violations == []


@contextmanager
def client(server: SiteServer, token: str = "secret") -> Iterator[Api]:  # noqa: S107 - of a site on loopback
    PAUSES.clear()
    with closing(Api(server.url, Login("basic", "ann@example.org", token), sleep=PAUSES.append)) as api:
        yield api


def test_reading_goes_on_after_limits_and_cut_connections(server: SiteServer) -> None:
    for fault in ("429", "503", "cut"):
        server.count = 0
        server.fault = lambda number, _method, _path, fault=fault: fault if number < 3 else None
        with client(server) as api:
            assert api.space("ENG").name == "Engineering"
        assert len(PAUSES) == 2
    server.fault = lambda *_: "429"
    with client(server) as api, pytest.raises(RateLimitedError, match="limits"):
        api.space("ENG")
    assert len(PAUSES) == ATTEMPTS - 1


def test_an_answer_has_a_limit_however_it_is_packed(server: SiteServer, monkeypatch: pytest.MonkeyPatch) -> None:
    page = server.site.add("Large", body="<p>x</p>" * 2_000)
    monkeypatch.setattr(api_module, "MAX_ANSWER", 10_000)
    for packing in ("", "gzip"):
        server.packing = packing
        with client(server) as api, pytest.raises(TooLargeError, match="An answer of the site is over"):
            api.page(page.id)
    monkeypatch.setattr(api_module, "MAX_ANSWER", 100_000)
    with client(server) as api:
        assert len(api.page(page.id).body or b"") == 16_000


def test_creating_is_not_repeated_once_it_may_have_happened(server: SiteServer) -> None:
    server.fault = lambda _number, method, _path: "cut-after" if method == "POST" else None
    with client(server) as api, pytest.raises(UnavailableError, match="mid-request"):
        api.create("9001", "New", "", b"<p>x</p>")
    assert server.site.writes == [("POST", "101")]


def test_errors_say_what_to_do(server: SiteServer) -> None:
    with client(server) as api, pytest.raises(NotFoundError, match="no space 'NO'"):
        api.space("NO")
    with client(server, "other") as api, pytest.raises(UnauthenticatedError) as rejected:
        api.space("ENG")
    assert "cn login" in rejected.value.advice
    with client(server) as api, pytest.raises(InvalidInputError, match="already exists"):
        api.create("9001", "home", "", b"")
    for fault, sentence in (("html", "instead of data"), ("deep", "instead of data"), ("odd header", "answers 503")):
        server.fault = lambda *_, fault=fault: fault
        with client(server) as api, pytest.raises(UnavailableError, match=sentence):
            api.space("ENG")
    server.fault = lambda *_: "html"
    with pytest.raises(UnavailableError, match="does not answer as Confluence does"):
        connected(server.url, Login("bearer", "", "secret"))
