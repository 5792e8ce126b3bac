"""Plans the move of several files: the new bytes of each page, so that every link keeps its target."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection as AbstractCollection
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from commonplace.domain import edits
from commonplace.domain.addresses import Address, fold, parse_address, require_new_name
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document, Link, LinkKind, Span
from commonplace.domain.errors import (
    AlreadyExistsError,
    GitError,
    InvalidInputError,
    NotFoundError,
    StorageError,
    TooLargeError,
)
from commonplace.domain.graphs import title_case
from commonplace.domain.links import LASTING_WAYS, Way, link_key, own_names, read_as
from commonplace.domain.markdown.link_rewrites import markdown_path
from commonplace.domain.markdown.paths import INDEX_NAMES, relative_path, slashed
from commonplace.domain.ports import Store, Transaction
from commonplace.domain.query import ResolvedLink
from commonplace.domain.records import names_of_record
from commonplace.domain.sites import moved_url, site_of
from commonplace.services.collections import Collection, trial_transaction
from commonplace.services.writes.documents import existing, require_free
from commonplace.services.writes.links_after import LinksAfter

MAX_MOVED_BYTES = 256 * 1024 * 1024
"""Maximum size in bytes of all files of one move."""


@dataclass(frozen=True, slots=True)
class MovePlan:
    """The changes of a move."""

    moves: Mapping[Address, Address]
    contents: Mapping[Address, bytes]
    """New bytes by address, of every moved file and of the other pages whose links are rewritten."""
    came: frozenset[Address]
    """The new addresses of the moved files."""
    pinned: tuple[Address, ...] = ()
    """Pages with links that the new names would have redirected; these links now contain the path of their target."""
    gained: tuple[Address, ...] = ()
    """Pages with links that led nowhere and lead to a moved file now."""
    rewritten: tuple[Address, ...] = ()
    """Moved pages in which links are rewritten, by their new addresses."""
    ignored: tuple[Address, ...] = ()
    """Files that were to be moved and stay, because ignore files exclude them."""
    not_rewritten: tuple[Address, ...] = ()
    """Pages that are not UTF-8, by their new addresses: their bytes stay, and links in them no longer lead right."""

    @property
    def others(self) -> list[Address]:
        """The other pages in which links are rewritten, by path."""
        return sorted(self.contents.keys() - self.came)

    @property
    def came_from(self) -> dict[Address, Address]:
        """The old address of each moved file, by its new one."""
        return {new: old for old, new in self.moves.items()}


def plan_moves(
    collection: Collection,
    transaction: Transaction,
    moves: Mapping[Address, Address],
    changed: AbstractCollection[Address] = (),
) -> MovePlan:
    """The changes that a move of these files makes. Writes nothing.

    Args:
        collection: Collection of the files.
        transaction: The transaction, by which files are read.
        moves: New address by old address, of documents and other files. Ignored files among several stay.
        changed: Documents that the transaction has changed already, whose links are not indexed yet.

    Raises:
        NotFoundError: one of the files does not exist.
        AlreadyExistsError: a new address is taken, or is that of two files.
        InvalidInputError: the old and the new address of a file are the same, or its title is in a file beside it.
        TooLargeError: the files have more than `MAX_MOVED_BYTES` together.
        StorageError: a page that may link to a moved one cannot be read.
    """
    ignored = {old for old in moves if transaction.is_ignored(old)} if len(moves) > 1 else set[Address]()
    moves = {old: new for old, new in moves.items() if old not in ignored}
    _require_no_titles(collection, moves)
    _require_free(collection, transaction, moves)
    _require_size(collection, moves)
    linking = _linking(collection, transaction, moves)
    written = {address for address in changed if address.is_document and address not in moves}
    contents = {new: transaction.read(old) for old, new in moves.items()}
    present = {address: transaction.read(address) for address in written if transaction.exists(address)}
    after = LinksAfter(collection, contents | present, {*moves, *written})
    relinks = _Relinks(collection, moves, after)
    pinned, gained = _redirected(after, moves)
    sources = {*linking, *pinned, *present, *(old for old in moves if old.is_document)}
    rewritten = _rewrite(transaction, sources, relinks, contents)
    came = frozenset(moves.values())
    pinned_pages, lost = tuple(sorted(relinks.pinned)), tuple(sorted(relinks.not_rewritten))
    of_links = pinned_pages, tuple(sorted(gained)), rewritten
    return MovePlan(dict(moves), contents, came, *of_links, tuple(sorted(ignored)), lost)


def _require_no_titles(collection: Collection, moves: Mapping[Address, Address]) -> None:
    """Raise if a file of fields beside a page of TiddlyWiki, which has its title, would have to follow a move."""
    for site in collection.index.lookup().sites:
        if site.graph and (titled := next((old for old in moves if old.path in site.graph.titles), None)):
            raise InvalidInputError(
                f"The title of {titled.path} is in {titled.path}.meta, which does not follow a move.",
                kind="path",
                hint="Move both files with Git, or in TiddlyWiki.",
            )


def _redirected(after: LinksAfter, moves: Mapping[Address, Address]) -> tuple[set[Address], set[Address]]:
    """The pages that stay and have links that the move would lead to another page, or from nowhere to a moved file."""
    taken = [link for link in after.redirected() if moves.keys().isdisjoint((link.found.target, link.found.source))]
    came = frozenset(moves.values())
    pinned = {link.found.source for link in taken if link.found.target is not None} | (after.sided() - moves.keys())
    return pinned, {link.found.source for link in taken if link.found.target is None and link.now in came}


def _rewrite(
    transaction: Transaction,
    sources: AbstractCollection[Address],
    relinks: _Relinks,
    contents: dict[Address, bytes],
) -> tuple[Address, ...]:
    """Add the new contents of documents with changed links; return the new addresses of the moved ones among them."""
    rewritten: list[Address] = []
    for source in sorted(sources):
        try:
            document = read_document(source, transaction.read(source))
        except NotFoundError:
            continue
        content = relinks.rewritten(document)
        new = relinks.moves.get(source)
        if content != document.raw or new is not None:
            contents[new or source] = content
        if content != document.raw and new is not None:
            rewritten.append(new)
    return tuple(rewritten)


def folder_moves(collection: Collection, folder: str, target: str) -> dict[Address, Address]:
    """New address by old address of each file below a folder that is moved; pages first, then by path.

    Raises:
        InvalidInputError: a new path is invalid.
    """
    pending, files = [folder], list[Address]()
    while pending:
        here = pending.pop()
        pending += collection.store.folders(here)
        files += (address for address, _ in collection.store.files(here))
    files.sort(key=lambda address: (not address.is_document, address.path))
    return {address: parse_address(f"{target}{address.path[len(folder) :]}") for address in files}


def preview_moves(
    collection: Collection, moves: Mapping[Address, Address], unsaved: Mapping[Address, bytes]
) -> MovePlan:
    """The changes that a move of these files would make. Writes nothing.

    Args:
        collection: Collection of the files.
        moves: New address by old address.
        unsaved: Texts that are open in an editor, by address; they replace those of the files.

    Raises:
        KnowledgeError: an error of `plan_moves`, or the folder is read-only.
    """
    with trial_transaction(collection.store) as transaction:
        for address, text in unsaved.items():
            transaction.put(address, text)
        return plan_moves(collection, transaction, moves, unsaved)


def moved_text(
    collection: Collection, old: Address, new: Address, text: bytes, others: Mapping[Address, Address]
) -> bytes:
    """A text of a page from before moves, with the links that it would have if it had been there when they were made.

    Args:
        collection: The collection, in which the moves are made.
        old: The address of the text.
        new: The address of the page, which may be the same.
        text: The text.
        others: New address by old address of other files that were moved, or will be, also from where they will be.
            There is none at the old addresses now.
    """
    if not old.is_document:
        return text
    document = read_document(old, text)
    linked = _linked(document, others)
    moves = {**linked, **({old: new} if old != new else {})}
    if not moves:
        return text
    before = LinksAfter(collection, {**dict.fromkeys(linked, b""), old: text}, {new})
    coming = [target for target in linked.values() if collection.store.stat(target) is None]
    after = LinksAfter(collection, {**dict.fromkeys(coming, b""), new: text})
    return _Relinks(collection, moves, after, before).rewritten(document)


def _linked(document: Document, moves: Mapping[Address, Address]) -> dict[Address, Address]:
    """The moves of files that links of a document may name by path."""
    keys = {link_key(side.target) for link in document.links for side in (link, link.other) if side}
    linked: dict[Address, Address] = {}
    for old, new in moves.items():
        names = [old.path, *([old.folder] if old.name in INDEX_NAMES else [])]
        if not keys.isdisjoint(map(link_key, names)):
            linked[old] = new
    return linked


def _require_free(collection: Collection, transaction: Transaction, moves: Mapping[Address, Address]) -> None:
    taken: set[str] = set()
    for old, new in moves.items():
        if fold(new.path) in taken:  # also on a case-insensitive file system
            raise AlreadyExistsError(
                f"Two of the files would become {new.path}.", kind="path", hint="Give each a path of its own."
            )
        taken.add(fold(new.path))
        if old == new:
            raise InvalidInputError("The new path is the old one.", kind="path", hint="Give another path.")
        require_new_name(new)
        if old.is_document:
            existing(collection, transaction, old)
        if new in moves:
            continue  # the file at this address is moved, too
        if new.is_document:
            require_free(collection, transaction, new, besides=old)
        elif transaction.exists(new):
            raise AlreadyExistsError(
                f"There already is a file {new.path}, which would be overwritten.",
                kind="path",
                hint="Give another path, or move that file first.",
            )


def _require_size(collection: Collection, moves: Mapping[Address, Address]) -> None:
    """Check that the moved files fit into memory, because a transaction holds their bytes."""
    stats = {old: collection.store.stat(old) for old in moves}
    sizes = {old: stat.size for old, stat in stats.items() if stat is not None}
    if (total := sum(sizes.values())) > MAX_MOVED_BYTES:
        largest = max(sizes, key=lambda old: sizes[old])
        raise TooLargeError(
            f"The files to move have {total:,} bytes together; the limit is {MAX_MOVED_BYTES:,}.",
            kind="path",
            hint=f"Move the largest by hand first: {largest} ({sizes[largest]:,} bytes).",
        )


def _linking(collection: Collection, transaction: Transaction, moves: Mapping[Address, Address]) -> set[Address]:
    """The documents that link to the moved files, including unsynced edits by others.

    Raises:
        StorageError: one of these or a moved document is unreadable, so that its links would be missed.
    """
    index = collection.index
    before = {*_sources(collection, moves), *(old for old in moves if old.is_document and index.record(old))}
    unreadable = dict(index.sync().unreadable)
    sources = _sources(collection, moves)
    for address in sorted({*before, *sources}):
        lost = address not in sources and index.record(address) is None and transaction.exists(address)
        if reason := unreadable.get(address.path, f"{address} could not be read." if lost else ""):
            raise StorageError(
                f"{reason} Links that a move must rewrite can stand in it, so nothing was changed.",
                kind="document",
                hint="Try again; if it stays so, check the file's permissions and its disk.",
                path=address.path,
            )
    return sources


def _sources(collection: Collection, moves: Mapping[Address, Address]) -> set[Address]:
    return {link.source for old in moves for link in collection.index.links_to(old, sentences=False)}


class _AffectedLink(NamedTuple):
    """A link that a move may lead elsewhere, or to which it gives another path."""

    target: Address
    """Target before the move."""
    new: Address
    """The same page after the move."""
    shown: str
    """The name or URL that a wiki or site shows for the page, if the link is written so; "" otherwise."""
    is_pinned: bool
    """Whether neither its page nor its target moves, and the move would have taken it over."""


class _Relinks:
    """Rewrites the links of documents so that each link keeps its target in a move."""

    def __init__(
        self,
        collection: Collection,
        moves: Mapping[Address, Address],
        after: LinksAfter,
        before: LinksAfter | None = None,
    ) -> None:
        self._collection = collection
        self.moves = moves
        self._after = after
        self._earlier = EarlierLinks(collection, moves, after)
        self._before = before or LinksAfter(collection, {})
        """Targets of links before the move; by default those of now."""
        self.pinned: set[Address] = set()
        """The documents, by their new addresses, with links to other documents that the move would have taken over."""
        self.not_rewritten: set[Address] = set()
        """The documents, by their new addresses, that are not UTF-8 and have links that no longer lead right."""

    def rewritten(self, document: Document) -> bytes:
        """The document's bytes after the move, with each link leading where it led before; as they are if not UTF-8."""
        here = self.moves.get(document.address, document.address)
        resolved = self._before.read(document)
        document = replace(document, links=tuple([link.link for link in resolved]))
        affected = self._affected(resolved, document.address, here)
        targets = {at: link.new for at, link in affected.items()}
        if not document.decodable:
            if any(self._after.target(document.links[at], here) != new for at, new in targets.items()):
                self.not_rewritten.add(here)
            return document.raw
        if any(link.is_pinned for link in affected.values()):
            self.pinned.add(here)

        def leads(path: str, kind: LinkKind) -> Address | None:
            return self._after.leads(path, kind, here)

        moved_to = here if here != document.address else None
        whole = self._of_one_side(document, here)
        before = {at: link.target for at, link in affected.items()} | {at: target for at, (target, _) in whole.items()}
        targets |= {at: self.moves.get(target, target) for at, (target, _) in whole.items()}
        published = {at: link.shown for at, link in affected.items()}
        texts = {at: text for at, (_, text) in whole.items()}
        spellings = {**published, **self._earlier.spellings(document, here, targets), **texts}
        return edits.rewrite_links(document, targets, old=before, moved_to=moved_to, leads=leads, spellings=spellings)

    def _affected(self, links: Sequence[ResolvedLink], source: Address, here: Address) -> dict[int, _AffectedLink]:
        """The links of a document that may have to be rewritten, by position."""
        with_target = (
            (at, link.link, link.target) for at, link in enumerate(links) if link.target and link.link.target
        )
        affected = ((at, self._affected_link(link, target, source, here)) for at, link, target in with_target)
        return {at: link for at, link in affected if link}

    def _affected_link(self, link: Link, target: Address, source: Address, here: Address) -> _AffectedLink | None:
        new = self.moves.get(target, target)
        moves = new != target or here != source
        way = self._before.resolution(link, source).way if moves else Way.NONE
        if way in LASTING_WAYS and self._after.resolution(link, here)[:2] == (new, way):
            return None
        is_taken = link_key(link.target) in self._after.keys and self._after.target(link, here) != new
        if not moves and not is_taken:
            return None
        is_published = new != target and way in {Way.URL, Way.PATH}
        return _AffectedLink(target, new, self._shown(link, source, target, new) if is_published else "", not moves)

    def _of_one_side(self, document: Document, here: Address) -> dict[int, tuple[Address, edits.WholeLink]]:
        """The wikilinks `[[a|b]]` whose other side gets a page by the move, which readers would then prefer.

        By position, each with its target before the move and a Markdown link that leads there for every reader.
        """
        if not any(link.other for link in document.links):
            return {}
        index, links = self._collection.index, dict[int, tuple[Address, edits.WholeLink]]()
        later = index.resolve(replace(document, address=here), self._after)
        for position, (now, then) in enumerate(zip(index.resolve(document, self._before), later, strict=True)):
            if now.target and now.link.kind is LinkKind.WIKI and self._is_taken(document, now.link, then):
                links[position] = now.target, self._in_markdown(now.link, here, now.target)
                self.pinned.add(here)
        return links

    def _is_taken(self, document: Document, link: Link, then: ResolvedLink) -> bool:
        """Whether the other side of a link is its page after the move, and had none before."""
        if link.other is None or link.page_last == then.link.page_last or not (then.target and then.target.is_document):
            return False
        had = self._before.target(link.other, document.address)
        return had is None or not had.is_document

    def _in_markdown(self, link: Link, here: Address, target: Address) -> edits.WholeLink:
        new = self.moves.get(target, target)
        near = relative_path(new.path, here.folder)
        path = near if self._after.leads(near, LinkKind.MARKDOWN, here) == new else f"/{new.path}"
        fragment = f"#{markdown_path(link.fragment)}" if link.fragment else ""
        return edits.WholeLink(f"[{link.label or link.target}]({markdown_path(path)}{fragment})".encode())

    def _shown(self, link: Link, source: Address, old: Address, new: Address) -> str:
        """The form in which a link names what a wiki or site shows of a moved document; "" if it names the file.

        That is its name in title case, or the URL under which a site publishes it.
        """
        if self._collection.in_title_case() and (name := _in_title_case(link, old, new)):
            return name
        site = site_of(self._before.sites, source)
        if site and site.graph and link.kind in {LinkKind.WIKI, LinkKind.EMBED, LinkKind.FRONTMATTER}:
            return site.graph.linked_name(new)
        record = self._collection.index.record(old) if site else None
        if site is None or record is None:
            return ""
        names = own_names(names_of_record(record))
        return moved_url(site, slashed(link.target), old, new, names) or ""


def _in_title_case(link: Link, old: Address, new: Address) -> str:
    """The new name in title case for a wikilink that wrote the old one with a capital letter; "" for any other link."""
    folders, _, name = link.target.rpartition("/")
    is_wiki = link.kind in {LinkKind.WIKI, LinkKind.EMBED}
    if not is_wiki or link.target == link.target.lower() or fold(name) != fold(old.stem):
        return ""
    return title_case(new.id if folders else new.id.rpartition("/")[2])


# Links as they were written before an earlier move, so that moving a page back restores every byte.
#
# A rewritten link leads right, but its author's spelling is lost: `./Black%20Tea.md`, other letter case, a path where
# a name would do. A commit from before the earlier move still has that spelling.


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
        self.moves = moves
        self._after = after

    @cached_property
    def _states(self) -> Sequence[Store]:
        """The files of these commits. Looked up for the first page with a link to rewrite."""
        return _states_before(self._collection, self.moves)

    def spellings(self, document: Document, here: Address, targets: Mapping[int, Address]) -> dict[int, bytes]:
        """Bytes of link targets in an earlier version of a page, by position in `document.links`.

        A link of the earlier version counts if it leads to the new target after the move, and its line is the same
        except for the targets of links; of the other links, if the link itself is.

        Args:
            document: The document as read under its old address.
            here: Its new address; the old one if it does not move.
            targets: New targets of links by position.
        """
        spellings: dict[int, bytes] = {}
        for state in self._states if targets else ():
            missing = {position: new for position, new in targets.items() if position not in spellings}
            if missing and (earlier := self._earlier(state, here)):
                spellings |= self._matched(document, earlier, here, missing)
        return spellings

    def _matched(
        self, document: Document, earlier: Document, here: Address, targets: Mapping[int, Address]
    ) -> dict[int, bytes]:
        """The bytes of each target in an earlier version of the page that has the same link in the same line."""
        links = [side for link in earlier.links for side in (link, link.other) if side and side.target_span.end]
        leading = [(link, self._after.target(link, here)) for link in links if link.target]
        found_positions: dict[int, bytes] = {}
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
                if position not in found_positions and link.target_span.end:
                    key = (link.kind, link.page_last, new, hidden.text(*surroundings(document, link)))
                    now[key].setdefault(link.target_span, []).append(position)
            for key, places in now.items():
                spellings = _one_each(list(before[key].values()), len(places))
                used |= before[key].keys() if spellings else set()
                for positions, spelling in zip(places.values(), spellings, strict=False):
                    found_positions |= dict.fromkeys(positions, spelling)
        return found_positions

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
        links = tuple(self._as_read(link, here) for link in earlier.links)
        return replace(earlier, links=links) if earlier.decodable else None

    def _as_read(self, link: Link, here: Address) -> Link:
        """The link as it is read after the move, both sides of `[[a|b]]`."""
        reading = read_as(link, self._after.resolution(link, here).link.target)
        return reading._replace(other=self._as_read(reading.other, here)) if reading.other else reading


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
