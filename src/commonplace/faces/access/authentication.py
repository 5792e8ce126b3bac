"""Authentication of HTTP requests: turns an `Authorization` header into a `Caller`, or raises."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, replace

from commonplace.domain.errors import UnauthenticatedError
from commonplace.faces.access.callers import Caller, least
from commonplace.faces.access.keys import KEY_PREFIX, KeyStore, digest
from commonplace.faces.access.tokens import TokenVerifier
from commonplace.faces.access.used_once import UsedOnce
from commonplace.settings import Tier

BEARER_SCHEME = "bearer "
SIGNED_OUT = "signed out"
"""Purpose of tokens and cookies in `UsedOnce` that no longer sign anybody in."""
DEFAULT_TIER: Tier = "write"
"""Default tier of a caller who needs no key or uses the server's own key."""


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Authenticates callers.

    A key is required if the server has its own key, a key was ever created, or an identity provider is configured.
    Revoking the last key does not open the server.
    """

    keys: KeyStore
    always_closed: bool
    """Whether a key is required even if none exists."""
    own_key: str = ""
    """The server's own key, from its environment."""
    tokens: TokenVerifier | None = None
    tier: Tier | None = None
    """Upper limit of every caller's tier; None for the tier of the key or token."""
    used: UsedOnce | None = None
    """The tokens that were signed out; None if tokens are valid until they expire."""

    @property
    def is_open(self) -> bool:
        """Whether requests need no key."""
        return not self.always_closed and not self.own_key and self.tokens is None and not self.keys.ever()

    def is_local(self, authorization: str | None) -> bool:
        """Whether `authenticate` can answer without a network call; it reads at most the key file."""
        if self.tokens is None or authorization is None:
            return True
        return authorization[len(BEARER_SCHEME) :].strip().startswith(KEY_PREFIX)

    def authenticate(self, authorization: str | None) -> Caller:
        """The caller that this header identifies.

        Raises:
            UnauthenticatedError: a key is required, and the header has no valid one.
        """
        if self.is_open:
            return Caller("", self.tier or DEFAULT_TIER, is_default=self.tier is None)
        caller = self._known(_token(authorization))
        return replace(caller, tier=least(caller.tier, self.tier)) if self.tier else caller

    def _known(self, token: str) -> Caller:
        if self.own_key and hmac.compare_digest(digest(self.own_key), digest(token)):
            return Caller("key:own", self.tier or DEFAULT_TIER, is_default=self.tier is None)
        key = self.keys.find(token)
        if key is not None:
            return key.caller
        is_token = not token.startswith(KEY_PREFIX) and token.count(".") == 2  # noqa: PLR2004 - a JWT
        if self.tokens is not None and is_token and not (self.used and self.used.has(SIGNED_OUT, token)):
            return self.tokens.verify_token(token)
        raise UnauthenticatedError(
            "The key is not known here.", kind="token", hint="Send a valid key as 'Authorization: Bearer KEY'."
        )


def _token(authorization: str | None) -> str:
    if authorization is None or not authorization.lower().startswith(BEARER_SCHEME):
        raise UnauthenticatedError("A key is needed here.", kind="key", hint="Send it as 'Authorization: Bearer KEY'.")
    return authorization[len(BEARER_SCHEME) :].strip()
