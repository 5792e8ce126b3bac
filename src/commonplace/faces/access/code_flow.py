"""Sign-in at the identity provider: authorization code with PKCE (RFC 6749, 7636).

State that must survive the redirect is in a cookie that this server seals with an HMAC. No token is stored here.
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
from commonplace.faces.access.tokens import LEAST_SCOPE, TIMEOUT, TokenVerifier
from commonplace.faces.access.used_once import UsedOnce

MAX_SECONDS = 600
"""Maximum age of a sign-in in seconds, from the redirect to the provider until the return."""
DEFAULT_LIFETIME = 3_600
"""Lifetime of a token in seconds if the provider does not state one."""
SCOPE = f"openid {LEAST_SCOPE}"
"""The requested scope. Web pages only read, so the lowest scope suffices."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The result of a successful sign-in."""

    token: str
    lifetime: int
    """Lifetime of the token in seconds."""
    target: str
    """The URL that the person requested before signing in."""


@dataclass(frozen=True, slots=True)
class CodeFlow:
    """The authorization code flow between this server and its identity provider."""

    verifier: TokenVerifier
    """Verifies the tokens that the provider issues."""
    client_id: str
    client_secret: str = field(default="", repr=False)
    """"" for a public client, which PKCE alone protects."""
    seal: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    """HMAC key of the cookies; shared by the processes of one server."""
    used: UsedOnce | None = None
    """The sign-ins that were finished; None if a sign-in may be finished again."""

    @property
    def issuer(self) -> str:
        """The provider's URL."""
        return self.verifier.issuer

    def begin(self, back: str, target: str) -> tuple[str, str]:
        """The provider's URL to redirect to, and the value of the cookie for `finish`.

        Args:
            back: The URL of this server to which the provider redirects the person.
            target: The URL that the person requested.

        Raises:
            UnavailableError: the provider does not respond.
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
        """Exchange the authorization code for a token.

        Args:
            cookie: The cookie's value.
            query: The query parameters of the provider's redirect.
            back: Same as in `begin`.

        Raises:
            UnauthenticatedError: the sign-in did not start in this browser, expired or was refused, or the token is
                invalid.
            ForbiddenError: kind "scope": the token has no scope of this server.
            UnavailableError: the provider does not respond.
        """
        kept = self._read_cookie(cookie)
        given = query.get("state", "")
        if not given or not hmac.compare_digest(given.encode(), str(kept.get("state", "")).encode()):
            raise _begin_again("The answer of the identity provider belongs to no sign-in of this browser.")
        announced = self.verifier.metadata("token_endpoint").get("authorization_response_iss_parameter_supported")
        if query.get("iss", "" if announced is True else self.issuer) != self.issuer:  # RFC 9207
            raise _begin_again("The answer comes from another identity provider.")
        if "error" in query or not query.get("code"):
            said = query.get("error_description") or query.get("error") or "it gave no code"
            raise _begin_again(f"The identity provider signed nobody in: {said[:200]}")
        if self.used is not None and not self.used.take("sign-in", given, time.time() + MAX_SECONDS):
            raise _begin_again("This sign-in was finished before.")
        answer = self._exchange_code(query["code"], str(kept["secret"]), back)
        token, lifetime = answer.get("access_token"), answer.get("expires_in")
        if not isinstance(token, str):
            raise _begin_again("The identity provider gave no access token.")
        self.verifier.verify_token(token)
        seconds = lifetime if isinstance(lifetime, int) and lifetime > 0 else DEFAULT_LIFETIME
        return SignedIn(token, seconds, str(kept.get("target", "/")))

    def _exchange_code(self, code: str, secret: str, back: str) -> Mapping[str, object]:
        import httpx2  # noqa: PLC0415 - only needed with a provider

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
        return str(self.verifier.metadata(name)[name])

    def _sealed(self, content: bytes) -> str:
        return f"{_base64(content)}.{_base64(self._mark(content))}"

    def _read_cookie(self, cookie: str) -> Mapping[str, object]:
        """The content of a cookie; empty if its seal is not valid or it has expired."""
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
