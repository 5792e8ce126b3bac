"""Signing people in at the identity provider: authorization code with PKCE (RFC 6749, 7636).

What must survive the way to the provider and back is in a cookie that only this server can have made. No token is
stored here.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import urlencode

from commonplace.domain.errors import KnowledgeError, UnauthenticatedError, UnavailableError
from commonplace.faces.access.tokens import LEAST_SCOPE, TIMEOUT, TokenVerifier, provider_metadata

MAX_SECONDS = 600
"""Seconds within which a person must come back from the provider."""
DEFAULT_LIFETIME = 3_600
"""Seconds for which a token is kept whose provider does not say how long it holds."""
SCOPE = f"openid {LEAST_SCOPE}"
"""Pages only show, so the least scope is asked for."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A person who came back from the provider."""

    token: str
    lifetime: int
    """Seconds for which the token holds."""
    target: str
    """Where the person wanted to go."""


@dataclass(frozen=True, slots=True)
class CodeFlow:
    """The flow of one server with its identity provider."""

    verifier: TokenVerifier
    """Checks the tokens that the provider gives."""
    client_id: str
    client_secret: str = field(default="", repr=False)
    """"" for a public client, which PKCE alone protects."""
    seal: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    """Key by which the server's processes know their own cookies."""

    @property
    def issuer(self) -> str:
        """The provider's URL."""
        return self.verifier.issuer

    def begin(self, back: str, target: str) -> tuple[str, str]:
        """The URL of the provider to go to, and the cookie's value, which `finish` needs.

        Args:
            back: The URL of this server to which the provider sends the person.
            target: Where the person wants to go.

        Raises:
            UnavailableError: the provider does not answer.
        """
        state, secret = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
        challenge = _base64(hashlib.sha256(secret.encode()).digest())
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": back,
            "scope": SCOPE,
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "resource": self.verifier.audience,
        }
        endpoint = self._endpoint("authorization_endpoint")
        url = f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"
        kept = {"state": state, "secret": secret, "target": target, "until": int(time.time()) + MAX_SECONDS}
        return url, self._sealed(json.dumps(kept).encode())

    def finish(self, cookie: str, query: Mapping[str, str], back: str) -> SignedIn:
        """Exchange the code with which the provider sent a person back.

        Args:
            cookie: The cookie's value.
            query: The parameters with which the provider sent the person back.
            back: As for `begin`.

        Raises:
            UnauthenticatedError: the person did not begin here, took too long or was refused; the token is not valid.
            ForbiddenError: kind "scope": the token has no scope of this server.
            UnavailableError: the provider does not answer.
        """
        kept = self._read_cookie(cookie)
        given = query.get("state", "")
        if not given or not hmac.compare_digest(given.encode(), str(kept.get("state", "")).encode()):
            raise _begin_again("The answer of the identity provider belongs to no sign-in of this browser.")
        if query.get("iss", self.issuer) != self.issuer:  # RFC 9207
            raise _begin_again("The answer comes from another identity provider.")
        if "error" in query or not query.get("code"):
            said = query.get("error_description") or query.get("error") or "it gave no code"
            raise _begin_again(f"The identity provider signed nobody in: {said[:200]}")
        answer = self._exchange_code(query["code"], str(kept["secret"]), back)
        token, lifetime = answer.get("access_token"), answer.get("expires_in")
        if not isinstance(token, str):
            raise _begin_again("The identity provider gave no access token.")
        self.verifier.verify_token(token)
        seconds = lifetime if isinstance(lifetime, int) and lifetime > 0 else DEFAULT_LIFETIME
        return SignedIn(token, seconds, str(kept.get("target", "/")))

    def _exchange_code(self, code: str, secret: str, back: str) -> Mapping[str, object]:
        import httpx2  # noqa: PLC0415 - only where there is a provider

        given = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "client_id": self.client_id,
            "code_verifier": secret,
            "resource": self.verifier.audience,
        }
        auth = httpx2.BasicAuth(self.client_id, self.client_secret) if self.client_secret else None
        try:
            answer = httpx2.post(self._endpoint("token_endpoint"), data=given, auth=auth, timeout=TIMEOUT)
            body = cast("object", answer.json())
        except (httpx2.HTTPError, ValueError) as error:
            raise UnavailableError(
                "The identity provider does not answer.", kind="oauth", hint="Try again in a few seconds."
            ) from error
        if not answer.is_success or not isinstance(body, dict):
            raise _begin_again("The identity provider did not accept the code.")
        return cast("dict[str, object]", body)

    def _endpoint(self, name: str) -> str:
        return str(provider_metadata(self.issuer, name)[name])

    def _sealed(self, content: bytes) -> str:
        return f"{_base64(content)}.{_base64(self._mark(content))}"

    def _read_cookie(self, cookie: str) -> Mapping[str, object]:
        """The content of a cookie; empty if this process did not make it, or made it too long ago."""
        content, _, mark = cookie.partition(".")
        try:
            raw = base64.urlsafe_b64decode(content + "==")
            if not hmac.compare_digest(_base64(self._mark(raw)).encode(), mark.encode("utf-8", "replace")):
                return {}
            kept = cast("dict[str, object]", json.loads(raw))
        except ValueError:
            return {}
        until = kept.get("until")
        return kept if isinstance(until, int) and until > time.time() else {}

    def _mark(self, content: bytes) -> bytes:
        return hmac.digest(self.seal, content, "sha256")


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _begin_again(message: str) -> KnowledgeError:
    return UnauthenticatedError(message, kind="sign-in", hint="Begin again.")
