"""The web pages of projects: instructions, documents with their chapters, and to-do lists."""

from __future__ import annotations

from pathlib import Path

from commonplace.faces.web.exchange import ToolsetPages
from commonplace.toolsets.projects.web.views import card, projects

PROJECT_PAGES = ToolsetPages(
    views={"projects": projects},
    templates=Path(__file__).parent / "templates",
    menu=(("Projects", "/projects"),),
    card=card,
)
"""The web pages of a server of projects."""
