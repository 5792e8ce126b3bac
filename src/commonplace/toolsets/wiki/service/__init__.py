"""A wiki's notes: the operations that chat assistants and the REST API have, on a folder or on another server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.services.services import ServiceKey

if TYPE_CHECKING:
    from commonplace.toolsets.wiki.rules.wiki import Wiki

WIKI_KEY: ServiceKey[Wiki] = ServiceKey("wiki")
"""The remote wiki, else the first open collection as a wiki."""
