"""The web pages of typed bases: the declarations of a base, and how a page differs from them."""

from __future__ import annotations

from pathlib import Path

from commonplace.faces.web.exchange import ToolsetPages
from commonplace.toolsets.kb.web.schema import about, notes, schema

KB_PAGES = ToolsetPages(
    views={"schema": schema},
    templates=Path(__file__).parent / "templates",
    about=about,
    notes=notes,
    confined=True,
)
"""The web pages of a typed base."""
