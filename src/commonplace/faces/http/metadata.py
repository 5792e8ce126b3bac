"""Metadata of the protected resource: names the authorization server for clients without a token (RFC 9728)."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.types import Receive, Scope, Send

from commonplace.faces.access.callers import TIERS
from commonplace.faces.access.tokens import SCOPE_PREFIX
from commonplace.faces.responses import send_json

METADATA = "/.well-known/oauth-protected-resource"


@dataclass(frozen=True, slots=True)
class ResourceMetadata:
    """The metadata document. Served at its own path, and at that path followed by the resource's path."""

    resource: str
    issuer: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond with the document."""
        del receive
        document = {
            "resource": self.resource,
            "authorization_servers": [self.issuer],
            "scopes_supported": [f"{SCOPE_PREFIX}{tier}" for tier in TIERS],
            "bearer_methods_supported": ["header"],
        }
        await send_json(send, 200, document, with_body=scope["method"] != "HEAD")
