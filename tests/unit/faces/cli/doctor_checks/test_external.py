"""Diagnostics of `doctor` about the port."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from cases import each_case
from commonplace.domain.documents import Severity
from commonplace.faces.cli.doctor_checks import port
from commonplace.settings import Settings, default_settings


def chosen(number: int, host: str = "127.0.0.1") -> Settings:
    return replace(default_settings(), host=host, port=number)


@contextmanager
def answering(body: bytes) -> Iterator[int]:
    """A program on a port that answers one request with this body."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(10_000)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(20)


def test_a_free_port_is_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        number = listener.getsockname()[1]
    assert "free" in port(chosen(number)).message
    assert port(chosen(0)).message == "Any free port is taken."


def test_a_server_of_ours_is_recognised() -> None:
    with answering(b'{"status": "ok"}') as number:
        diagnostic = port(chosen(number))
    assert (diagnostic.severity, diagnostic.message) == (None, "A server of commonplace is running there.")


@each_case("body", [b"", b"<html>", b'{"status": "other"}', b"[" * 1_000, b"\xff", b"null"])
def test_another_program_on_the_port_is_named_with_a_port_to_take(body: bytes) -> None:
    with answering(body) as number:
        diagnostic = port(chosen(number))
    assert diagnostic.severity is Severity.WARNING
    assert "cannot listen there" in diagnostic.message
    assert diagnostic.command == f"commonplace serve --port {number + 1 if number >= 1024 else 8090}"


def test_an_address_that_is_none_says_which_setting_to_correct() -> None:
    diagnostic = port(chosen(8090, "no.such.host.invalid"))
    assert diagnostic.severity is Severity.WARNING
    assert "host" in diagnostic.hint
