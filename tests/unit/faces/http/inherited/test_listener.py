"""Sockets to listen on."""

from __future__ import annotations

import socket

import pytest

from commonplace.domain.errors import ConfigError
from commonplace.faces.http.inherited import BindAddress, listening


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_a_socket_listens_before_anything_else_begins(host: str) -> None:
    with listening(BindAddress(host, 0)) as made:
        address, port = made.getsockname()[:2]
        assert port > 0
        with socket.create_connection((address, port), timeout=20):
            pass


def test_a_port_that_is_taken_is_named_with_the_way_out() -> None:
    with listening(BindAddress("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"Cannot listen on 127.0.0.1, port {port}: ") as caught:
            listening(BindAddress("127.0.0.1", port))
    assert "--port 0" in caught.value.hint


@pytest.mark.parametrize(
    ("host", "port"), [("203.0.113.7", 0), ("no.such.host.invalid", 0), ("127.0.0.1", 65_536), ("127.0.0.1", -1)]
)
def test_an_address_that_this_machine_does_not_have_is_refused(host: str, port: int) -> None:
    with pytest.raises(ConfigError, match=f"Cannot listen on {host}, port {port}: .*[.]$"):
        listening(BindAddress(host, port))


@pytest.mark.parametrize("host", ["a\0b", "ü" * 80, "\udcff", "."])
def test_what_is_no_host_is_refused_and_not_a_crash(host: str) -> None:
    with pytest.raises(ConfigError, match="Cannot listen on"):
        listening(BindAddress(host, 0))
