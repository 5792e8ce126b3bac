"""OAuth 2.1 access tokens of an identity provider: JWTs, verified as a resource server does."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, cast

from commonplace.domain.errors import ForbiddenError, UnauthenticatedError, UnavailableError
from commonplace.faces.access.callers import TIERS, Caller
from commonplace.settings import Tier

if TYPE_CHECKING:
    from jwt import PyJWKClient

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
            expires, known = self._metadata.get(needed, (0.0, None))
            if expires < time.monotonic():
                self._metadata[needed] = (time.monotonic() + FAILURE_SECONDS, None)
                known = provider_metadata(self.issuer, needed)
                self._metadata[needed] = (time.monotonic() + METADATA_SECONDS, known)
            if known is None:
                raise _no_provider()
            return known

    def verify_token(self, token: str) -> Caller:
        """The caller of a token. The scopes `commonplace:read|write|admin` give the tier.

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
    given = _scopes(claims)
    granted: list[Tier] = [tier for tier in TIERS if f"{SCOPE_PREFIX}{tier}" in given]
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
        listed = [one for one in cast("list[object]", scope) if isinstance(one, str)]
        if len(listed) == len(cast("list[object]", scope)):
            return listed
    raise _not_valid()


def _not_valid() -> UnauthenticatedError:
    return UnauthenticatedError(
        "The access token is not valid here.", kind="token", hint="Sign in again at the identity provider."
    )


def _no_provider() -> UnavailableError:
    return UnavailableError("The identity provider does not answer.", kind="oauth", hint="Try again in a few seconds.")
