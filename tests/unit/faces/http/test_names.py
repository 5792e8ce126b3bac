"""By which names a server may be called."""

from __future__ import annotations

import pytest

from commonplace.faces.http.names import names_of

EVERYWHERE = ".".join("0000")


@pytest.mark.parametrize(
    ("bound", "public", "host", "allowed"),
    [
        ("127.0.0.1", None, "127.0.0.1:8090", True),
        ("127.0.0.1", None, "localhost", True),
        ("127.0.0.1", None, "[::1]:8090", True),
        ("127.0.0.1", None, "192.168.0.2", False),
        ("127.0.0.1", None, "localhost.evil.example", False),
        ("127.0.0.1", None, "evil.example", False),
        ("127.0.0.1", None, "localhost:99999", False),
        ("127.0.0.1", None, "localhost:80@evil", False),
        ("127.0.0.1", None, "", False),
        (EVERYWHERE, None, "192.168.0.2:8090", True),
        (EVERYWHERE, None, "evil.example", False),
        ("wiki.lan", None, "wiki.lan:8090", True),
        (EVERYWHERE, "https://notes.example.org", "notes.example.org", True),
        (EVERYWHERE, "https://notes.example.org", "Notes.Example.org", True),
        (EVERYWHERE, "https://notes.example.org", "other.example.org", False),
    ],
)
def test_a_host_is_the_servers_own_name_or_an_address(bound: str, public: str | None, host: str, allowed: bool) -> None:
    assert names_of(bound, public).allows_host(host) is allowed


def test_an_origin_is_a_page_of_the_server_or_of_this_machine() -> None:
    names = names_of("127.0.0.1", "https://notes.example.org")
    assert names.allows_origin("https://notes.example.org")
    assert names.allows_origin("http://localhost:3000")
    for origin in ("http://notes.example.org.evil", "null", "", "https://", "file://localhost", "https://evil.example"):
        assert not names.allows_origin(origin), origin
