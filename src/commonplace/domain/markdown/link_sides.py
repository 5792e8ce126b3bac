"""Determines the side of `[[a|b]]` that is the page."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntFlag

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Link


class PageSide(IntFlag):
    """The side of `[[a|b]]` that a reader takes for the page; `![[a|b]]` always embeds `a`."""

    FIRST = 1
    """`a`."""
    LAST = 2
    """`b`."""
    EXISTING = 4
    """The side that exists; `a` where both or neither do."""
    EXISTING_ELSE_LAST = 8
    """The side that exists; `b` where both or neither do."""


EVERY_SIDE = PageSide.FIRST | PageSide.LAST | PageSide.EXISTING | PageSide.EXISTING_ELSE_LAST
"""The readers for whom a link with one side counts."""


def page_side(style: str | None) -> PageSide:
    """The side of a wiki's style: `linktitle`, `pagenametitle`, `titlelink`, `titlepagename`; None for no style."""
    if style is None:
        return PageSide.EXISTING
    return PageSide.LAST if style.startswith("title") else PageSide.FIRST


def readers(first: int, last: int) -> tuple[PageSide, PageSide]:
    """The readers for whom the first side is the page, and those for whom the last one is.

    Args:
        first: How much there is of the first side, as returned by `presence`.
        last: The same of the last side.
    """
    by_existence = PageSide.EXISTING | PageSide.EXISTING_ELSE_LAST
    if first != last:
        nothing = PageSide(0)
        of_first, of_last = (by_existence, nothing) if first > last else (nothing, by_existence)
    else:
        of_first, of_last = PageSide.EXISTING, PageSide.EXISTING_ELSE_LAST
    return PageSide.FIRST | of_first, PageSide.LAST | of_last


def presence(target: Address | None, *, elsewhere: bool) -> int:
    """How much there is of a side: 2 for a page, 1 for another file, 0 for nothing.

    Args:
        target: Where the side leads in its own collection.
        elsewhere: Whether it names another collection, which is then taken to have the page.
    """
    return 2 if elsewhere or (target is not None and target.is_document) else int(target is not None)


def in_order(link: Link) -> tuple[Link, Link] | None:
    """Both sides of a link, the first one first; None if it has one side."""
    if link.other is None:
        return None
    other = link.other._replace(other=link._replace(other=None))
    return (other, link) if link.page_last else (link, other)


def chosen(
    link: Link, side: PageSide, follow: Callable[[Link], Address | None], collection: str = ""
) -> tuple[Link, Address | None]:
    """A link as a reader takes it, and where it leads.

    Args:
        link: The link, by either of its sides.
        side: The reader's side.
        follow: Returns where a side leads.
        collection: The own name of the link's collection.
    """
    both = in_order(link)
    if both is None:
        return link, follow(link)
    targets = [follow(one) for one in both]
    there = [
        presence(target, elsewhere=one.collection not in {"", collection})
        for one, target in zip(both, targets, strict=True)
    ]
    taken = 0 if side in readers(*there)[0] else 1
    return both[taken], targets[taken]
