"""Operations on a wiki's notes for chat assistants and the REST API, on a local folder or another server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.services.services import ServiceKey

if TYPE_CHECKING:
    from commonplace.toolsets.wiki.rules import Wiki

WIKI_KEY: ServiceKey[Wiki] = ServiceKey("wiki")
"""The remote wiki, else the wiki of the first open collection."""
