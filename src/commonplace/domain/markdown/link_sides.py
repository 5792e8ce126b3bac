"""Determines the side of `[[a|b]]` that is the page."""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import IntFlag

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Link


class PageSide(IntFlag):
    """The side of `[[a|b]]` that is the page for a reader; `![[a|b]]` always embeds `a`."""

    FIRST = 1
    """The side `a`."""
    LAST = 2
    """The side `b`."""
    EXISTING = 4
    """The side that exists; `a` if both or neither exist."""
    EXISTING_ELSE_LAST = 8
    """The side that exists; `b` if both or neither exist."""


EVERY_SIDE = PageSide.FIRST | PageSide.LAST | PageSide.EXISTING | PageSide.EXISTING_ELSE_LAST
"""The readers of a link with one side: all."""


def page_side(style: str | None) -> PageSide:
    """The page side of a wiki's style: `linktitle`, `pagenametitle`, `titlelink`, `titlepagename`, or None for none."""
    if style is None:
        return PageSide.EXISTING
    return PageSide.LAST if style.startswith("title") else PageSide.FIRST


def readers(first: int, last: int) -> tuple[PageSide, PageSide]:
    """The readers for whom the first side is the page, and those for whom the last side is.

    Args:
        first: Result of `presence` for the first side.
        last: Result of `presence` for the last side.
    """
    by_existence = PageSide.EXISTING | PageSide.EXISTING_ELSE_LAST
    if first != last:
        nothing = PageSide(0)
        of_first, of_last = (by_existence, nothing) if first > last else (nothing, by_existence)
    else:
        of_first, of_last = PageSide.EXISTING, PageSide.EXISTING_ELSE_LAST
    return PageSide.FIRST | of_first, PageSide.LAST | of_last


def presence(target: Address | None, *, elsewhere: bool) -> int:
    """The kind of a side's target: 2 for a page, 1 for another file, 0 for none.

    Args:
        target: Target of the side in its own collection; None if there is none.
        elsewhere: Whether the side names another collection, which is assumed to have the page.
    """
    return 2 if elsewhere or (target is not None and target.is_document) else int(target is not None)


def in_order(link: Link) -> tuple[Link, Link] | None:
    """Both sides of a link, the first one first; None if the link has one side."""
    if link.other is None:
        return None
    other = link.other._replace(other=link._replace(other=None))
    return (other, link) if link.page_last else (link, other)


def chosen(
    link: Link,
    side: PageSide,
    follow: Callable[[Link], tuple[Link, Address | None]],
    own_names: Collection[str] = (),
) -> tuple[Link, Address | None]:
    """A link as interpreted by a reader, and its target.

    Args:
        link: The link, by either of its sides.
        side: The reader's side.
        follow: Returns the reading of a side, and its target.
        own_names: Names of the link's own collection.
    """
    both = in_order(link)
    if both is None:
        return follow(link)
    sides = [follow(link) for link in both]
    there = [
        presence(target, elsewhere=bool(link.collection) and link.collection not in own_names) for link, target in sides
    ]
    return sides[0 if side in readers(*there)[0] else 1]
