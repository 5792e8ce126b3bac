"""OAuth 2.1: sign-in at the identity provider, and the access tokens that it issues."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, cast
from urllib.parse import urlencode

from commonplace.domain.errors import ForbiddenError, KnowledgeError, UnauthenticatedError, UnavailableError
from commonplace.faces.access.callers import TIERS, Caller
from commonplace.faces.access.used_once import UsedOnce
from commonplace.settings import Tier

if TYPE_CHECKING:
    from jwt import PyJWKClient


# OAuth 2.1 access tokens of an identity provider: JWTs, verified as a resource server does.


ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Asymmetric algorithms only. With a shared secret, this server could sign tokens itself."""
TIMEOUT = 10.0
"""Timeout in seconds of requests to the provider."""
METADATA_SECONDS, FAILURE_SECONDS = 600.0, 2.0
"""Times in seconds for which the provider's metadata, and its failure to respond, are cached."""
LEEWAY = 30.0
"""Tolerated clock difference in seconds."""
SCOPE_PREFIX = "commonplace:"
LEAST_SCOPE = f"{SCOPE_PREFIX}read"
DISCOVERY = ("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server")


@dataclass(frozen=True)
class TokenVerifier:
    """Verifies the tokens that one provider issues for one resource."""

    issuer: str
    """The provider's URL, as in the `iss` claim of its tokens."""
    audience: str
    """Required `aud` claim: this server's URL, or the provider's name for this server."""
    _metadata: dict[str, tuple[float, dict[str, object] | None]] = field(
        default_factory=dict[str, "tuple[float, dict[str, object] | None]"], repr=False, compare=False
    )
    """Time of expiry and metadata by their required key; None if the provider did not respond."""
    _fetching: Lock = field(default_factory=Lock, repr=False, compare=False)

    def metadata(self, needed: str) -> dict[str, object]:
        """The provider's metadata, as of `provider_metadata`, cached. Concurrent callers share a fetch.

        Raises:
            UnavailableError: the provider does not respond, or did not a moment ago.
        """
        with self._fetching:
            expires, metadata = self._metadata.get(needed, (0.0, None))
            if expires < time.monotonic():
                self._metadata[needed] = (time.monotonic() + FAILURE_SECONDS, None)
                metadata = provider_metadata(self.issuer, needed)
                self._metadata[needed] = (time.monotonic() + METADATA_SECONDS, metadata)
            if metadata is None:
                raise _no_provider()
            return metadata

    def verify_token(self, token: str) -> Caller:
        """The caller of a token. The scopes `commonplace:read|propose|write|admin` give the tier.

        Raises:
            UnauthenticatedError: the token is forged, expired, malformed, or has another issuer or audience.
            ForbiddenError: kind "scope": the token has no scope of this server.
            UnavailableError: the provider's keys cannot be fetched.
        """
        import jwt  # noqa: PLC0415 - only needed with a provider

        try:
            key = self._keys.get_signing_key_from_jwt(token)
            claims = cast(
                "dict[str, object]",
                jwt.decode(
                    token,
                    key,
                    algorithms=list(ALGORITHMS),
                    audience=self.audience,
                    issuer=self.issuer,
                    leeway=LEEWAY,
                    options={"require": ["exp", "iss", "aud"]},
                ),
            )
        except (jwt.PyJWKClientConnectionError, OSError, ValueError) as error:  # ValueError: the key set is not JSON
            raise _no_provider() from error
        except jwt.PyJWTError as error:
            raise _not_valid() from error
        return Caller(f"oauth:{_subject(claims)}", _tier(claims))

    @cached_property
    def _keys(self) -> PyJWKClient:
        from jwt import PyJWKClient  # noqa: PLC0415

        return PyJWKClient(self._jwks_uri, cache_keys=True, lifespan=600, timeout=TIMEOUT)

    @property
    def _jwks_uri(self) -> str:
        """URL of the provider's key set, from its metadata."""
        return str(self.metadata("jwks_uri")["jwks_uri"])


def provider_metadata(issuer: str, needed: str) -> dict[str, object]:
    """The metadata of a provider (OpenID Connect Discovery, RFC 8414). Fetched on each call.

    Args:
        issuer: The provider's URL.
        needed: A required key; its value must be a string.

    Raises:
        UnavailableError: the provider does not respond, or its metadata lacks the required key.
    """
    import httpx2  # noqa: PLC0415

    for path in DISCOVERY:
        try:
            answer = httpx2.get(issuer.rstrip("/") + path, timeout=TIMEOUT)
            said = cast("object", answer.json()) if answer.is_success else None
        except (httpx2.HTTPError, ValueError) as error:
            raise _no_provider() from error
        if isinstance(said, dict) and isinstance(cast("dict[str, object]", said).get(needed), str):
            return cast("dict[str, object]", said)
    raise _no_provider()


def _subject(claims: dict[str, object]) -> str:
    """The `sub` claim; for a token issued to a machine, its client id."""
    return str(next((claims[name] for name in ("sub", "client_id", "azp") if claims.get(name)), ""))


def _tier(claims: dict[str, object]) -> Tier:
    scopes = _scopes(claims)
    granted: list[Tier] = [tier for tier in TIERS if f"{SCOPE_PREFIX}{tier}" in scopes]
    if not granted:
        raise ForbiddenError(
            "The access token has no scope of this server.",
            kind="scope",
            hint=f"Sign in with one of {', '.join(SCOPE_PREFIX + tier for tier in TIERS)}.",
        )
    return granted[-1]


def _scopes(claims: dict[str, object]) -> list[str]:
    """The scopes of the claim `scope`, or of `scp` if there is no `scope`: a string (RFC 9068) or a list of strings."""
    scope = next((claims[name] for name in ("scope", "scp") if claims.get(name) is not None), "")
    if isinstance(scope, str):
        return scope.split()
    if isinstance(scope, list):
        listed = [element for element in cast("list[object]", scope) if isinstance(element, str)]
        if len(listed) == len(cast("list[object]", scope)):
            return listed
    raise _not_valid()


def _not_valid() -> UnauthenticatedError:
    return UnauthenticatedError(
        "The access token is not valid here.", kind="token", hint="Sign in again at the identity provider."
    )


def _no_provider() -> UnavailableError:
    return UnavailableError("The identity provider does not answer.", kind="oauth", hint="Try again in a few seconds.")


# Sign-in at the identity provider: authorization code with PKCE (RFC 6749, 7636).
#
# State that must survive the redirect is in a cookie that this server seals with an HMAC. No token is stored here.


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
        requested_values = {
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
        url = f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(requested_values)}"
        flow = {"state": state, "secret": secret, "target": target, "until": int(time.time()) + MAX_SECONDS}
        return url, self._sealed(json.dumps(flow).encode())

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
        kept_cookie = self._read_cookie(cookie)
        state = query.get("state", "")
        if not state or not hmac.compare_digest(state.encode(), str(kept_cookie.get("state", "")).encode()):
            raise _begin_again("The answer of the identity provider belongs to no sign-in of this browser.")
        announced = self.verifier.metadata("token_endpoint").get("authorization_response_iss_parameter_supported")
        if query.get("iss", "" if announced is True else self.issuer) != self.issuer:  # RFC 9207
            raise _begin_again("The answer comes from another identity provider.")
        _require_code(query)
        if self.used is not None and not self.used.take("sign-in", state, time.time() + MAX_SECONDS):
            raise _begin_again("This sign-in was finished before.")
        answer = self._exchange_code(query["code"], str(kept_cookie["secret"]), back)
        token, lifetime = answer.get("access_token"), answer.get("expires_in")
        if not isinstance(token, str):
            raise _begin_again("The identity provider gave no access token.")
        self.verifier.verify_token(token)
        seconds = lifetime if isinstance(lifetime, int) and lifetime > 0 else DEFAULT_LIFETIME
        return SignedIn(token, seconds, str(kept_cookie.get("target", "/")))

    def _exchange_code(self, code: str, secret: str, back: str) -> Mapping[str, object]:
        import httpx2  # noqa: PLC0415 - only needed with a provider

        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "client_id": self.client_id,
            "code_verifier": secret,
            "resource": self.verifier.audience,
        }
        auth = httpx2.BasicAuth(self.client_id, self.client_secret) if self.client_secret else None
        try:
            answer = httpx2.post(self._endpoint("token_endpoint"), data=form, auth=auth, timeout=TIMEOUT)
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
            kept_cookie = cast("dict[str, object]", json.loads(raw))
        except ValueError:
            return {}
        until = kept_cookie.get("until")
        return kept_cookie if isinstance(until, int) and until > time.time() else {}

    def _mark(self, content: bytes) -> bytes:
        return hmac.digest(self.seal, content, "sha256")


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _require_code(query: Mapping[str, str]) -> None:
    """Raise what the identity provider said instead of a code."""
    if "error" in query or not query.get("code"):
        said = query.get("error_description") or query.get("error") or "it gave no code"
        raise _begin_again(f"The identity provider signed nobody in: {said[:200]}")


def _begin_again(message: str) -> KnowledgeError:
    return UnauthenticatedError(message, kind="sign-in", hint="Begin again.")
