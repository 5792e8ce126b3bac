"""The navigation beside a page as HTML: the way to the page is open, every other section is loaded on demand."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from html import escape

from markupsafe import Markup

from commonplace.domain.navigation import OTHERS, Navigation, NavigationNode, Place
from commonplace.domain.site_file import ENGLISH
from commonplace.faces.web.messages import MessageCatalogue, message_catalogue
from commonplace.faces.web.urls import Urls
from commonplace.services.bounded_cache import BoundedCache

MAX_ROWS = 80
"""Maximum number of rows of an open section on a page; those around the opened row are shown."""
MAX_OPENED_ROWS = 80
"""Maximum number of rows of the whole levels that are open on the start page."""
MAX_LOADED_OPEN_ROWS = 300
"""Maximum number of rows of a section with the whole levels below it that open when it is loaded."""
MAX_DIGITS = 7
MAX_BRANCH_ROWS = 1_000
"""Maximum number of rows of a section in one response."""


MAX_NAVIGATIONS = 8
"""Maximum number of navigations of which rows are cached."""
_ROWS: BoundedCache[dict[Place, str]] = BoundedCache(MAX_NAVIGATIONS)
"""Rows by place, for each version of a navigation."""


@dataclass(frozen=True, slots=True)
class NavigationHtml:
    """Writes the navigation of one collection.

    Args:
        urls: Creates the URLs.
        collection: Name of the collection.
        navigation: Its navigation.
        words: The words around the titles.
    """

    urls: Urls
    collection: str
    navigation: Navigation
    words: MessageCatalogue = field(default_factory=partial(message_catalogue, ENGLISH))
    _same_rows: dict[Place, str] = field(init=False)

    def __post_init__(self) -> None:
        """Find the rows that were written before for the same navigation."""
        key = (self.urls, self.collection, self.navigation.version, self.words.language)
        rows = _ROWS.get(key)
        object.__setattr__(self, "_same_rows", _ROWS.put(key, {}, 1) if rows is None else rows)

    def whole(self, path: str) -> Markup:
        """The navigation with the way to a page open, and at the top, as many levels as fit."""
        current = self.navigation.places.get(path, ())
        opened = {current[:depth] for depth in range(1, len(current) + 1)}
        if len(current) <= 1:
            opened |= self._fitting((), MAX_OPENED_ROWS)
        rows = self._rows((), current, opened)
        return Markup(f"<ul>{''.join(rows)}</ul>")  # noqa: S704 - its texts are escaped

    def section(self, place: Place, start: int = 0, end: int = 0, limit: int = MAX_BRANCH_ROWS) -> Markup:
        """The rows `[start, end)` of one section, with as many levels below them as fit.

        `end` is 0 for all rows, `limit` 0 for any number of them.
        """
        nodes = self.navigation.children(place)
        stop = min(end or len(nodes), start + (limit or len(nodes)), len(nodes))
        opened = self._fitting(place, MAX_LOADED_OPEN_ROWS)
        rows = [self._row(nodes[at], (*place, at), (), opened) for at in range(start, stop)]
        if stop < (end or len(nodes)):
            rows.append(self._more(place, stop, end))
        return Markup(f"<ul>{''.join(rows)}</ul>")  # noqa: S704 - its texts are escaped

    def _fitting(self, place: Place, limit: int) -> AbstractSet[Place]:
        """The sections below a place that open with it: whole levels, as long as there are at most `limit` rows."""
        opened: set[Place] = set()
        level: list[Place] = [place]
        rows = len(self.navigation.children(place))
        while level and rows <= limit:
            opened.update(level)
            below = [(*above, at) for above in level for at in range(len(self.navigation.children(above)))]
            level = [inner for inner in below if self.navigation.children(inner)]
            rows += sum(len(self.navigation.children(inner)) for inner in level)
        return opened

    def section_url(self, place: Place, start: int = 0, end: int = 0, *, fragment: bool = False) -> str:
        """The URL of a section's page, or of its rows alone, which are valid for the same navigation only."""
        limits = {"from": start, "to": end}
        query = {name: str(value) for name, value in limits.items() if value}
        path = ".".join(map(str, place)) or "all"
        version = {"fragment": self.navigation.version} if fragment else {}
        return self.urls.view("section", self.collection, path, **query, **version)

    def _rows(self, place: Place, current: Place, opened: AbstractSet[Place]) -> Iterator[str]:
        """The rows below a place, with the opened sections; the row at `current` is that of the page."""
        nodes = self.navigation.children(place)
        is_way = current[: len(place)] == place
        at = current[len(place)] if is_way and len(current) > len(place) else 0
        limit = MAX_ROWS if is_way else len(nodes)  # other sections are open because all of their rows fit
        start = max(0, min(at - limit // 2, len(nodes) - limit))
        if start:
            yield self._more(place, 0, start)
        stop = min(start + limit, len(nodes))
        for number in range(start, stop):
            yield self._row(nodes[number], (*place, number), current, opened)
        if stop < len(nodes):
            yield self._more(place, stop, 0)

    def _row(self, node: NavigationNode, place: Place, current: Place, opened: AbstractSet[Place]) -> str:
        """The row of a node; that of a closed section or of another page is the same on every page."""
        if place == current or place in opened:
            return self._made_row(node, place, current, opened)
        row = self._same_rows.get(place)
        if row is None:
            row = self._same_rows[place] = self._made_row(node, place, current, opened)
        return row

    def _made_row(self, node: NavigationNode, place: Place, current: Place, opened: AbstractSet[Place]) -> str:
        title = escape(self.title(node))
        link = ""
        if node.path:
            mark = ' aria-current="page"' if place == current else ""
            link = f'<a dir="auto" href="{self._url(node)}"{mark}>{title}</a>'
        elif node.url:
            link = f'<a dir="auto" class="external" rel="noopener noreferrer" href="{escape(node.url)}">{title}</a>'
        if not node.children:
            return f"<li>{link}</li>"
        below = self.words.text("Pages below {title}", title=node.title)
        name = f'<span class="visually-hidden">{below}</span>' if link else f'<span dir="auto">{title}</span>'
        kind = ' class="has-page"' if link else ""
        if place in opened:
            rows = "".join(self._rows(place, current, opened))
            return f"<li{kind}>{link}<details open><summary>{name}</summary><ul>{rows}</ul></details></li>"
        source = escape(self.section_url(place, fragment=True))
        count = self.words.text("All {n}", n=self.words.thousands(len(node.children)))
        closed = f'<li><a href="{escape(self.section_url(place))}">{count}</a></li>'
        return f'<li{kind}>{link}<details data-src="{source}"><summary>{name}</summary><ul>{closed}</ul></details></li>'

    def title(self, node: NavigationNode) -> str:
        """The title of a row; that of the section of pages which no navigation contains is in the language."""
        return str(self.words.text(OTHERS)) if node.title == OTHERS and not node.path else node.title

    def _url(self, node: NavigationNode) -> str:
        return escape(self.urls.page(self.collection, node.path))

    def _more(self, place: Place, start: int, end: int) -> str:
        """A row that stands for the rows `[start, end)`; `end` 0 for all from `start`."""
        count = (end or len(self.navigation.children(place))) - start
        source = escape(self.section_url(place, start, end, fragment=True))
        url = escape(self.section_url(place, start, end))
        rest = self.words.text("{n} more" if start else "{n} before", n=self.words.thousands(count))
        return f'<li class="more"><a href="{url}" data-more="{source}">{rest}</a></li>'


def place_of(text: str) -> Place | None:
    """The place that a path of a section's URL names; None if it names none."""
    if text == "all":
        return ()
    parts = text.split(".")
    if any(not part.isascii() or not part.isdigit() or len(part) > MAX_DIGITS for part in parts):
        return None
    return tuple(map(int, parts))
