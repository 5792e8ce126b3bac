"""A door before a node that speaks TLS with a certificate of its own authority and asks for a user and a password."""

from __future__ import annotations

import base64
import datetime as dt
import http.client
import ipaddress
import socket
import ssl
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

USER, PASSWORD = "tailer", "correct-secret"
HOURS = 24


@contextmanager
def gateway(node: str, folder: Path, port: int = 0) -> Generator[tuple[str, Path]]:
    """The address of a door to a node, and the file with its authority's certificate.

    A door that is opened again in a folder has the certificates that it had.
    """
    authority, chain = folder / "authority.pem", folder / "server.pem"
    if not chain.exists():
        _make_certificates(authority, chain)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    server = _Server(("127.0.0.1", port), _handler(urlsplit(node).netloc))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}", authority
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


class _Server(ThreadingHTTPServer):
    """Also ends the connections that are kept, as a machine that is cut off does."""

    daemon_threads = True

    def __init__(self, *given_values: Any) -> None:
        self.kept: set[socket.socket] = set()
        super().__init__(*given_values)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.kept.add(request)
        super().process_request(request, client_address)

    def server_close(self) -> None:
        super().server_close()
        for other_socket in self.kept:
            with suppress(OSError):
                other_socket.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that refuses the certificate is what some tests want."""


def _handler(node: str) -> type[BaseHTTPRequestHandler]:
    known_text = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.headers.get("Authorization") != known_text:
                self._answer(401, b'{"error":{"type":"security_exception"},"status":401}', "application/json")
                return
            passed = {
                name: self.headers[name]
                for name in ("Content-Type", "Content-Encoding", "Accept")
                if name in self.headers
            }
            with closing(http.client.HTTPConnection(node, timeout=30)) as connection:
                connection.request(self.command, self.path, body or None, passed)
                with connection.getresponse() as response:
                    content = response.read()
            self._answer(response.status, content, response.headers.get("Content-Type", "application/json"))

        def _answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            del format, args

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _pass_on  # noqa: N815 - the library's names

    return Door


def _make_certificates(authority: Path, chain: Path) -> None:
    """Write the authority's certificate, and the server's with its key."""
    now = dt.datetime.now(dt.UTC)
    authority_key, server_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "An own authority")])

    def made(
        name: x509.Name, key: ec.EllipticCurvePrivateKey, extensions: list[tuple[x509.ExtensionType, bool]]
    ) -> x509.Certificate:
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(hours=HOURS))
            .not_valid_after(now + dt.timedelta(hours=HOURS))
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        return builder.sign(authority_key, hashes.SHA256())

    usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
    root = made(issuer, authority_key, [
        (x509.BasicConstraints(ca=True, path_length=None), True), (usage, True),
        (x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), False),
    ])  # fmt: skip
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    server = made(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "node")]), server_key, [
        (address, False), (x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), False),
    ])  # fmt: skip
    pem = serialization.Encoding.PEM
    key = server_key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    authority.write_bytes(root.public_bytes(pem))
    chain.write_bytes(key + server.public_bytes(pem))
