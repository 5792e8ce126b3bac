"""Messages about links that get another target through a write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from commonplace.domain.addresses import Address
from commonplace.domain.markdown.wikitext import TIDDLER_SUFFIX
from commonplace.domain.sites import site_of
from commonplace.services.collections import Collection
from commonplace.services.writes.links_after import RedirectedLink

MAX_NAMED_PAGES = 5
"""Maximum number of pages that one line names."""


def redirect_lines(
    links: Iterable[RedirectedLink], here: Address | None = None, name: Callable[[Address], str] = str
) -> list[str]:
    """One line for each pair of old and new target, with the pages that contain the links.

    Args:
        links: The links.
        here: The page that is written; lines call it "here".
        name: Returns the name of any other page.
    """
    sources: dict[tuple[Address | None, Address | None], dict[str, None]] = {}
    for link in links:
        sources.setdefault((link.found.target, link.now), {})[name(link.found.source)] = None
    lines: list[str] = []
    for (before, now), pages in sources.items():
        which = f"Links to {name(before)}" if before else "Links that led nowhere"
        where = "here" if now and now == here else f"to {name(now)}" if now else "nowhere"
        lines.append(f"{which} now lead {where} in {named_pages(list(pages))}")
    return lines


def named_pages(names: Sequence[str]) -> str:
    """The first `MAX_NAMED_PAGES` names, and the number of the others."""
    more = f" and {len(names) - MAX_NAMED_PAGES} more" if len(names) > MAX_NAMED_PAGES else ""
    return f"{', '.join(names[:MAX_NAMED_PAGES])}{more}"


def moved_link_lines(pinned: Sequence[str], gained: Sequence[str]) -> list[str]:
    """Messages about links that a move affects.

    Args:
        pinned: Pages with links that would have changed their target; the links were replaced by paths.
        gained: Pages with broken links that the move resolves.
    """
    lines: list[str] = []
    if pinned:
        lines.append(f"Links to another page of that name now give its path, in {named_pages(pinned)}")
    if gained:
        lines.append(f"Links that led nowhere now lead here in {named_pages(gained)}")
    return lines


def kept_title_lines(titles: Mapping[str, str]) -> list[str]:
    """The message about own titles of moved pages, by which links name them; none without such pages.

    Args:
        titles: The title by the name of the file.
    """
    shown = named_pages([f"{title!r} ({name})" for name, title in titles.items()])
    return [f"Links name the page's own title, which a move does not change: {shown}"] if titles else []


def own_titles(collection: Collection, addresses: Iterable[Address]) -> dict[str, str]:
    """The titles of those of some moved pages that links name by a title of their own, by path.

    These are tiddlers, and pages of Logseq with a property `title::`.
    """
    records = filter(None, map(collection.index.record, addresses))
    return {record.address.path: record.title for record in records if _has_own_title(collection, record.address)}


def _has_own_title(collection: Collection, address: Address) -> bool:
    sites = collection.index.lookup().sites
    site = site_of(sites, address) if sites else None
    if site is None or site.graph is None or not site.graph.slashes:
        return address.path.lower().endswith(TIDDLER_SUFFIX)
    return "title" in collection.index.document(address).frontmatter.values


def ignored_lines(names: Sequence[str]) -> list[str]:
    """The message about files that a move of their folder leaves where they are; none without such files."""
    return (
        [f"Ignore files exclude {named_pages(names)}, so {'they stay' if len(names) > 1 else 'it stays'}"]
        if names
        else []
    )


def not_rewritten_lines(names: Sequence[str], *, would: bool = False) -> list[str]:
    """The message about links in pages that are not UTF-8; none without such pages.

    Args:
        names: The pages.
        would: Whether the move is only planned.
    """
    if not names:
        return []
    links = "Links would not be rewritten" if would else "Links were not rewritten"
    remedy = "Convert such a page to UTF-8 " + ("first." if would else "and correct its links.")
    return [f"{links} in {named_pages(names)}: not UTF-8, and never changed. {remedy}"]
