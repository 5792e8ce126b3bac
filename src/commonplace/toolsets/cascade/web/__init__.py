"""The web pages of layers: each effective concept, and all differences between layers."""

from __future__ import annotations

from pathlib import Path

from commonplace.faces.web.exchange import ToolsetPages
from commonplace.toolsets.cascade.web.concepts import concepts
from commonplace.toolsets.cascade.web.lists import card, conflicts
from commonplace.toolsets.cascade.web.one_layer import agent_url, notes, withheld

CASCADE_PAGES = ToolsetPages(
    views={"concepts": concepts, "conflicts": conflicts},
    templates=Path(__file__).parent / "templates",
    menu=(("Concepts", "/concepts"), ("Conflicts", "/conflicts")),
    card=card,
    notes=notes,
    withheld=withheld,
    agent_url=agent_url,
)
"""The pages that a server of layers adds to the pages of each layer."""
