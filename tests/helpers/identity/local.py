"""An identity provider in this process: a real HTTP server with a key of its own, whose answers a test can choose."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

AUDIENCE = "https://kb.example.org"


@dataclass
class LocalProvider:
    """The provider's answers, which a test may change."""

    issuer: str = ""
    documents: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Content by path; a path without one answers 404."""
    token_status: int = 200
    token_answer: bytes | None = None
    """Answer of the token endpoint instead of a token; None for a token."""
    challenge: str = ""
    """PKCE challenge from the URL at which the person signed in."""
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def token(self, key: ec.EllipticCurvePrivateKey | None = None, **claims: Any) -> str:
        """An access token for this server with the scope to read; claims that are None are left out."""
        said = {
            "iss": self.issuer,
            "aud": AUDIENCE,
            "exp": int(time.time()) + 600,
            "sub": "ada",
            "scope": "commonplace:read",
        } | claims
        return jwt.encode(
            {name: value for name, value in said.items() if value is not None},
            key or self.key,
            algorithm="ES256",
            headers={"kid": "one"},
        )

    @staticmethod
    def asked(url: str) -> dict[str, str]:
        """The parameters with which a person arrives here."""
        return {name: values[-1] for name, values in parse_qs(urlsplit(url).query).items()}

    def visited(self, url: str) -> dict[str, str]:
        """The same, of the person who signs in now."""
        requested_values = self.asked(url)
        self.challenge = requested_values["code_challenge"]
        return requested_values

    def exchanged(self, form: bytes) -> tuple[int, bytes]:
        """The answer to a code: a token for whoever began."""
        given_values = {name: values[-1] for name, values in parse_qs(form.decode()).items()}
        proof = (
            base64.urlsafe_b64encode(hashlib.sha256(given_values["code_verifier"].encode()).digest())
            .decode()
            .rstrip("=")
        )
        if proof != self.challenge:
            return 400, b'{"error": "invalid_grant"}'
        answer = json.dumps({"access_token": self.token(), "expires_in": 120}).encode()
        return self.token_status, answer if self.token_answer is None else self.token_answer


def _handler(provider: LocalProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            document = provider.documents.get(self.path)
            self._send(404 if document is None else 200, document or b"")

        def do_POST(self) -> None:
            self._send(*provider.exchanged(self.rfile.read(int(self.headers["content-length"]))))

        def _send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Nobody reads it."""

    return Handler


@contextmanager
def local_provider() -> Iterator[LocalProvider]:
    """A provider on a free port of this machine."""
    provider = LocalProvider()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(provider))
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(provider.key.public_key()))
    provider.documents = {
        "/.well-known/openid-configuration": json.dumps(
            {
                "jwks_uri": f"{provider.issuer}/keys",
                "authorization_endpoint": f"{provider.issuer}/authorize?tenant=1",
                "token_endpoint": f"{provider.issuer}/token",
            }
        ).encode(),
        "/keys": json.dumps({"keys": [{**public, "kid": "one", "use": "sig"}]}).encode(),
    }
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
