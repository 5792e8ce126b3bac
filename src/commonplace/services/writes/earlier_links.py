"""Links as they were written before an earlier move, so that moving a page back restores every byte.

A rewritten link leads right, but its author's spelling is lost: `./Black%20Tea.md`, other letter case, a path where a
name would do. A commit from before the earlier move still has that spelling.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document, Link, Span
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

        A link of the earlier version counts if it leads to the new target after the move, and its line is the same
        except for the targets of links; of the other links, if the link itself is.

        Args:
            document: The document as read under its old address.
            here: Its new address; the old one if it does not move.
            targets: New targets of links by position.
        """
        found: dict[int, bytes] = {}
        for state in self._states if targets else ():
            missing = {position: new for position, new in targets.items() if position not in found}
            if missing and (earlier := self._earlier(state, here)):
                found |= self._matched(document, earlier, here, missing)
        return found

    def _matched(
        self, document: Document, earlier: Document, here: Address, targets: Mapping[int, Address]
    ) -> dict[int, bytes]:
        """The bytes of each target in an earlier version of the page that has the same link in the same line."""
        links = [side for link in earlier.links for side in (link, link.other) if side and side.target_span.end]
        leading = [(link, self._after.target(link, here)) for link in links if link.target]
        found: dict[int, bytes] = {}
        used: set[Span] = set()
        for surroundings in (_line_around, _link_around):
            hidden, hidden_before = _HiddenTargets(document), _HiddenTargets(earlier)
            before: defaultdict[tuple[object, ...], dict[Span, bytes]] = defaultdict(dict)
            for link, target in leading:
                if link.target_span in used:
                    continue
                key = (link.kind, link.page_last, target, hidden_before.text(*surroundings(earlier, link)))
                before[key][link.target_span] = _target_of(earlier, link)
            now: defaultdict[tuple[object, ...], dict[Span, list[int]]] = defaultdict(dict)
            for position, new in targets.items():
                link = document.links[position]
                if position not in found and link.target_span.end:
                    key = (link.kind, link.page_last, new, hidden.text(*surroundings(document, link)))
                    now[key].setdefault(link.target_span, []).append(position)
            for key, places in now.items():
                spellings = _one_each(list(before[key].values()), len(places))
                used |= before[key].keys() if spellings else set()
                for positions, spelling in zip(places.values(), spellings, strict=False):
                    found |= dict.fromkeys(positions, spelling)
        return found

    def _earlier(self, state: Store, here: Address) -> Document | None:
        """The page in a state; None if it was not there, or cannot be read."""
        try:
            raw = state.read(here)
        except NotFoundError:
            return None
        except GitError as error:
            _log.info("%s: an earlier version cannot be read, so its links are not restored: %s", here, error)
            return None
        earlier = read_document(here, raw)
        return earlier if earlier.decodable else None


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


def _one_each(spellings: Sequence[bytes], places: int) -> Sequence[bytes]:
    """A spelling for each place, in order; none if it is not clear which of several belongs where."""
    if len(spellings) == places:
        return spellings
    return [spellings[0]] * places if len(set(spellings)) == 1 else ()


def _target_of(document: Document, link: Link) -> bytes:
    return document.raw[link.target_span.start : link.target_span.end]


def _line_around(document: Document, link: Link) -> tuple[int, int]:
    """Start and end of the line with a link's target."""
    start = document.raw.rfind(b"\n", 0, link.target_span.start) + 1
    end = document.raw.find(b"\n", link.target_span.end)
    return start, end if end >= 0 else len(document.raw)


def _link_around(document: Document, link: Link) -> tuple[int, int]:
    """Start and end of a link; those of its target for one in the front matter."""
    del document
    return link.span if link.span.end else link.target_span


class _HiddenTargets:
    """The text of a document without the targets of its links, which a move rewrites."""

    def __init__(self, document: Document) -> None:
        self._raw = document.raw
        both = (side for link in document.links for side in (link, link.other) if side)
        self._spans = sorted({side.target_span for side in both if side.target_span.end})

    def text(self, start: int, end: int) -> bytes:
        """The bytes of a range, with a NUL in place of each target."""
        parts: list[bytes] = []
        for span in self._spans[bisect_left(self._spans, (start, start)) :]:
            if span.end > end:
                break
            parts += [self._raw[start : span.start], b"\0"]
            start = span.end
        return b"".join([*parts, self._raw[start:end]])
