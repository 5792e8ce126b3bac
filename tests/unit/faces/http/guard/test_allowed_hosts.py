"""Host names by which a server may be called."""

from __future__ import annotations

from cases import each_case
from commonplace.faces.http.guard import allowed_hosts_of

EVERYWHERE = ".".join("0000")


@each_case(
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
    assert allowed_hosts_of(bound, public).allows_host(host) is allowed


@each_case(
    ("origin", "host", "allowed"),
    [
        ("http://localhost:8090", "localhost:8090", True),
        ("http://LOCALHOST:8090", "localhost:8090", True),
        ("http://localhost:8090", "127.0.0.1:8090", True),
        ("http://localhost", "localhost:80", True),
        ("http://192.168.0.2:8090", "192.168.0.2:8090", True),
        ("https://notes.example.org", "notes.example.org", True),
        ("https://notes.example.org", "localhost:8090", True),
        ("http://localhost:3000", "localhost:8090", False),
        ("http://localhost", "localhost:8090", False),
        ("https://localhost:8090", "localhost:8090", False),
        ("http://203.0.113.7", "192.168.0.2:8090", False),
        ("http://203.0.113.7:8090", "192.168.0.2:8090", False),
        ("http://192.168.0.2:8090", "localhost:8090", False),
        ("http://notes.example.org", "notes.example.org", False),
        ("http://notes.example.org.evil", "notes.example.org", False),
        ("http://localhost:8090@evil.example", "localhost:8090", False),
        ("http://localhost:8090/", "localhost:8090", False),
        ("null", "localhost:8090", False),
        ("", "localhost:8090", False),
        ("http://", "localhost:8090", False),
        ("file://localhost", "localhost", False),
        ("https://evil.example", "notes.example.org", False),
    ],
)
def test_an_origin_is_the_servers_own(origin: str, host: str, allowed: bool) -> None:
    assert allowed_hosts_of(EVERYWHERE, "https://notes.example.org").allows_origin(origin, host) is allowed


def test_an_origin_may_be_allowed_and_only_such_a_one_is_shared_with() -> None:
    names = allowed_hosts_of("127.0.0.1", None, ["http://localhost:3000"])
    assert names.allows_origin("http://localhost:3000", "localhost:8090")
    assert names.shares_with("http://LocalHost:3000")
    for other in ("http://localhost:3001", "https://localhost:3000", "http://localhost:8090", ""):
        assert not names.shares_with(other), other
