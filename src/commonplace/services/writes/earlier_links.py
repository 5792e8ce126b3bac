"""Links as they were written before an earlier move, so that moving a page back restores every byte.

A rewritten link leads right, but its author's spelling is lost: `./Black%20Tea.md`, other letter case, a path where a
name would do. A commit from before the earlier move still has that spelling.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document, Link
from commonplace.domain.errors import GitError, NotFoundError
from commonplace.domain.ports import Store
from commonplace.services.collections import Collection
from commonplace.services.writes.links_after import LinksAfter

MAX_FILES = 10
"""Maximum number of moved files whose new addresses are looked up in earlier commits."""
MAX_COMMITS = 300
"""Maximum number of commits that are searched for each of them."""

_log = logging.getLogger(__name__)


class EarlierLinks:
    """The links of pages in the commits from before their files were moved away from addresses to which they return.

    Args:
        collection: The collection of the pages.
        moves: New address by old address of each moved file.
        after: Targets of links after the move.
    """

    def __init__(self, collection: Collection, moves: Mapping[Address, Address], after: LinksAfter) -> None:
        self._collection = collection
        self._moves = moves
        self._after = after

    @cached_property
    def _states(self) -> Sequence[Store]:
        """The files of these commits. Looked up for the first page with a link to rewrite."""
        return _states_before(self._collection, self._moves)

    def spellings(self, document: Document, here: Address, targets: Mapping[int, Address]) -> dict[int, bytes]:
        """Bytes of link targets in an earlier version of a page, by position in `document.links`.

        A version counts only if its text is the same except for the targets of links, and a link of it only if it leads
        to the new target after the move.

        Args:
            document: The page as read under its old address.
            here: Its new address; the old one if it does not move.
            targets: New targets of links by position.
        """
        found: dict[int, bytes] = {}
        for state in self._states if targets else ():
            wanted = {position: new for position, new in targets.items() if position not in found}
            if wanted and (earlier := self._earlier(state, here, document)):
                links = earlier.links
                right = [one for one, new in wanted.items() if self._leads(links[one], document.links[one], here, new)]
                found |= {one: _target_of(earlier, links[one]) for one in right}
        return found

    def _leads(self, earlier: Link, link: Link, here: Address, new: Address) -> bool:
        """Whether an earlier version of a link leads to the new target after the move."""
        return bool(earlier.target) and earlier.kind == link.kind and self._after.target(earlier, here) == new

    def _earlier(self, state: Store, here: Address, document: Document) -> Document | None:
        """The page in a state; None if more than the targets of its links was different."""
        try:
            raw = state.read(here)
        except NotFoundError:
            return None
        except GitError as error:
            _log.info("%s: an earlier version cannot be read, so its links are not restored: %s", here, error)
            return None
        earlier = _with_same_sides(read_document(here, raw), document)
        return earlier if earlier.decodable and _besides_targets(earlier) == _besides_targets(document) else None


def _states_before(collection: Collection, moves: Mapping[Address, Address]) -> Sequence[Store]:
    states: list[Store] = []
    if collection.past is None:
        return states
    commits = collection.past.commits
    for new in islice(moves.values(), MAX_FILES):
        if any(state.stat(new) is not None for state in states):  # it left together with another file
            continue
        if commit := commits.latest_with(new, within=MAX_COMMITS):
            states.append(commits.store(commit))
    return states


def _with_same_sides(earlier: Document, document: Document) -> Document:
    """The earlier page, in which each `[[a|b]]` is the link of the side that is the page in the present one."""
    if len(earlier.links) != len(document.links):
        return earlier
    links = zip(earlier.links, document.links, strict=True)
    return replace(earlier, links=tuple(_side_of(old, page_last=now.page_last) for old, now in links))


def _side_of(link: Link, *, page_last: bool) -> Link:
    return link.other if link.other is not None and link.page_last != page_last else link


def _target_of(document: Document, link: Link) -> bytes:
    return document.raw[link.target_span.start : link.target_span.end]


def _besides_targets(document: Document) -> list[bytes]:
    """The parts of a page between the targets of its links."""
    spans = sorted({(link.target_span.start, link.target_span.end) for link in document.links if link.target_span.end})
    starts = [0, *(end for _, end in spans)]
    ends = [*(start for start, _ in spans), len(document.raw)]
    return [document.raw[start:end] for start, end in zip(starts, ends, strict=True)]
