"""Routes: the first segment of a path names the view, the view parses the rest."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.domain.attachment_types import MAX_ATTACHMENT_BYTES
from commonplace.domain.errors import NotFoundError
from commonplace.faces.web.exchange import EditingView, PageRequest, PageResponse, ToolsetPages, View
from commonplace.faces.web.views import (
    activity,
    administration,
    agent,
    assistance,
    changes,
    document,
    editor,
    feeds,
    files,
    graph,
    home,
    lists,
    page_actions,
    proposals,
    quality,
    search,
    sites,
)
from commonplace.services.collections import UNFINISHED_SECONDS

VIEWS: dict[str, View] = {
    "": home.home,
    "overview": home.overview,
    "section": sites.section,
    "style": sites.style,
    "p": document.document,
    "raw": document.source,
    "preview": document.preview,
    "mentions": document.mentions,
    "backlinks": document.linked_from,
    "sections": document.sections,
    "agent": agent.agent,
    "files": files.file,
    "tree": lists.tree,
    "tags": lists.tags,
    "types": lists.types,
    "timeline": lists.timeline,
    "search": search.search,
    "suggest": search.suggest,
    "recent": changes.recent,
    "commit": changes.commit,
    "history": changes.history,
    "compare": changes.compare,
    "wanted": quality.wanted,
    "broken": quality.broken,
    "orphans": quality.orphans,
    "findings": quality.findings,
    "review": quality.review,
    "attachments": files.attachments,
    "graph": graph.graph,
    "graph.json": graph.graph_json,
    "feed.atom": feeds.atom,
    "proposals.atom": feeds.proposals,
    "opensearch.xml": feeds.opensearch,
    "robots.txt": feeds.robots,
}
SEARCHES = {"search": UNFINISHED_SECONDS, "suggest": 0.0}
"""Timeouts in seconds for the first index, of views that then answer with what it has so far."""
WITHOUT_INDEX = frozenset({"style", "robots.txt", "opensearch.xml", "recent", "activity"})
"""Views that need no index, but for a form that was sent."""
EDITING: dict[str, EditingView] = {
    "edit": EditingView(view=editor.edit),
    "new": EditingView(view=page_actions.new),
    "daily": EditingView(view=page_actions.daily, methods=("GET",)),
    "move": EditingView(view=page_actions.move, plans=True),
    "delete": EditingView(view=page_actions.delete),
    "restore": EditingView(view=page_actions.restored, methods=("POST",)),
    "tick": EditingView(view=page_actions.ticked, methods=("POST",)),
    "reviewed": EditingView(view=page_actions.reviewed, methods=("POST",)),
    "proposals": EditingView(view=proposals.proposals, as_proposer=False),
    "admin": EditingView(view=administration.administration, tier="admin", as_proposer=False, waits=False),
    "activity": EditingView(view=activity.sessions, tier="write", as_proposer=False),
    "complete": EditingView(view=assistance.complete, methods=("GET",)),
    "attach": EditingView(view=assistance.attached, methods=("PUT",), max_body=MAX_ATTACHMENT_BYTES),
    "render": EditingView(view=editor.render, methods=("POST",), writes=False),
}
"""Views of callers who may propose, or of a higher tier; nobody else reaches them."""


def editing_at(path: str) -> EditingView | None:
    """The view that edits at a path; None if the path names none."""
    return EDITING.get(path.lstrip("/").partition("/")[0])


def view_at(path: str, toolsets: Sequence[ToolsetPages] = ()) -> tuple[str, str, View]:
    """The name of a view, the rest of the path, and the view. For an unknown name, a view that raises an error.

    Args:
        path: The decoded path of the request.
        toolsets: The pages of toolsets that the caller may see.
    """
    name, _, rest = path.lstrip("/").partition("/")
    view = VIEWS.get(name) or next((pages.views[name] for pages in toolsets if name in pages.views), None)
    return (name, rest, view) if view else ("", path, _nothing)


def is_view(path: str, toolsets: Sequence[ToolsetPages] = ()) -> bool:
    """Whether the first segment of a path names a view. Takes the same parameters as `view_at`."""
    return view_at(path, toolsets)[2] is not _nothing


def no_such_page() -> NotFoundError:
    """The error for an unknown path."""
    return NotFoundError("There is no such page.", kind="url", hint="Search for it, or begin at the home page.")


def _nothing(_: PageRequest) -> PageResponse:
    raise no_such_page()
