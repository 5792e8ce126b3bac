"""Where a client that has no token learns whom to ask for one (RFC 9728)."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.types import Receive, Scope, Send

from commonplace.faces.access.callers import TIERS
from commonplace.faces.access.tokens import SCOPE_PREFIX
from commonplace.faces.responses import send_json

METADATA = "/.well-known/oauth-protected-resource"


@dataclass(frozen=True, slots=True)
class ResourceMetadata:
    """The document, at its own path and with the resource's path behind it."""

    resource: str
    issuer: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the document."""
        del receive
        document = {
            "resource": self.resource,
            "authorization_servers": [self.issuer],
            "scopes_supported": [f"{SCOPE_PREFIX}{tier}" for tier in TIERS],
            "bearer_methods_supported": ["header"],
        }
        await send_json(send, 200, document, with_body=scope["method"] != "HEAD")
