"""The navigation beside a page as HTML: the way to the page is open, every other section is loaded on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from commonplace.domain.navigation import Navigation, NavigationNode, Place
from commonplace.faces.web.urls import Urls

MAX_ROWS = 80
"""Maximum number of rows of an open section on a page; those around the opened row are shown."""
MAX_DIGITS = 7
MAX_BRANCH_ROWS = 1_000
"""Maximum number of rows of a section in one response."""


@dataclass(frozen=True, slots=True)
class NavigationHtml:
    """Writes the navigation of one collection.

    Args:
        urls: Creates the URLs.
        collection: Name of the collection.
        navigation: Its navigation.
    """

    urls: Urls
    collection: str
    navigation: Navigation

    def whole(self, path: str) -> Markup:
        """The navigation with the way to a page open; with all sections closed if the page has no place."""
        opened = self.navigation.places.get(path, ())
        return Markup(f"<ul>{''.join(self._rows((), opened, path))}</ul>")  # noqa: S704 - its texts are escaped

    def section(self, place: Place, start: int = 0, end: int = 0, limit: int = MAX_BRANCH_ROWS) -> Markup:
        """The rows `[start, end)` of one section, all closed; `end` 0 for all, `limit` 0 for any number of rows."""
        nodes = self.navigation.children(place)
        stop = min(end or len(nodes), start + (limit or len(nodes)), len(nodes))
        rows = [self._row(nodes[at], (*place, at), (), "") for at in range(start, stop)]
        if stop < (end or len(nodes)):
            rows.append(self._more(place, stop, end))
        return Markup(f"<ul>{''.join(rows)}</ul>")  # noqa: S704 - its texts are escaped

    def section_url(self, place: Place, start: int = 0, end: int = 0, *, fragment: bool = False) -> str:
        """The URL of a section's page, or of its rows alone, which are valid for the same navigation only."""
        limits = {"from": start, "to": end}
        query = {name: str(value) for name, value in limits.items() if value}
        path = ".".join(map(str, place)) or "all"
        version = {"fragment": self.navigation.version} if fragment else {}
        return self.urls.view("section", self.collection, path, **query, **version)

    def _rows(self, place: Place, opened: Place, path: str) -> Iterator[str]:
        """The rows below a place, with the row at `opened` and those below it open."""
        nodes = self.navigation.children(place)
        at = opened[len(place)] if len(opened) > len(place) else 0
        start = max(0, min(at - MAX_ROWS // 2, len(nodes) - MAX_ROWS))
        if start:
            yield self._more(place, 0, start)
        stop = min(start + MAX_ROWS, len(nodes))
        for number in range(start, stop):
            yield self._row(nodes[number], (*place, number), opened, path)
        if stop < len(nodes):
            yield self._more(place, stop, 0)

    def _row(self, node: NavigationNode, place: Place, opened: Place, path: str) -> str:
        title = escape(node.title)
        link = ""
        if node.path:
            current = ' aria-current="page"' if place == opened else ""
            link = f'<a dir="auto" href="{self._url(node)}"{current}>{title}</a>'
        elif node.url:
            link = f'<a dir="auto" class="external" rel="noopener noreferrer" href="{escape(node.url)}">{title}</a>'
        if not node.children:
            return f"<li>{link}</li>"
        name = (
            f'<span class="visually-hidden">Pages below {title}</span>' if link else f'<span dir="auto">{title}</span>'
        )
        kind = ' class="has-page"' if link else ""
        if opened[: len(place)] == place:
            rows = "".join(self._rows(place, opened, path))
            return f"<li{kind}>{link}<details open><summary>{name}</summary><ul>{rows}</ul></details></li>"
        source = escape(self.section_url(place, fragment=True))
        closed = f'<li><a href="{escape(self.section_url(place))}">All {len(node.children):,}</a></li>'
        return f'<li{kind}>{link}<details data-src="{source}"><summary>{name}</summary><ul>{closed}</ul></details></li>'

    def _url(self, node: NavigationNode) -> str:
        return escape(self.urls.page(self.collection, node.path))

    def _more(self, place: Place, start: int, end: int) -> str:
        """A row that stands for the rows `[start, end)`; `end` 0 for all from `start`."""
        count = (end or len(self.navigation.children(place))) - start
        source = escape(self.section_url(place, start, end, fragment=True))
        url = escape(self.section_url(place, start, end))
        return (
            f'<li class="more"><a href="{url}" data-more="{source}">{count:,} {"more" if start else "before"}</a></li>'
        )


def place_of(text: str) -> Place | None:
    """The place that a path of a section's URL names; None if it names none."""
    if text == "all":
        return ()
    parts = text.split(".")
    if any(not part.isascii() or not part.isdigit() or len(part) > MAX_DIGITS for part in parts):
        return None
    return tuple(map(int, parts))
