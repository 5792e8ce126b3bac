"""The tool `changes` of the toolset `notes`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple

from commonplace.domain.addresses import Address, fold
from commonplace.domain.changes import people_of
from commonplace.domain.errors import IndexingError, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.proposals import ServedView
from commonplace.domain.query import Filter, ListQuery
from commonplace.domain.tokens import size_of
from commonplace.faces.mcp.toolset import Call, ToolResult
from commonplace.faces.write_output import day
from commonplace.services.collections import Collection
from commonplace.services.deletions import cut_off, is_proposed, with_deletion
from commonplace.services.history import uncommitted_addresses
from commonplace.services.past import narrowed_since, section_blame, since_of
from commonplace.toolsets.notes.mcp.parameters import NotesChanges
from commonplace.toolsets.notes.mcp.text_output import BoundedAnswer, line_of, next_call
from commonplace.toolsets.notes.service.page_history import (
    ChangeFilter,
    PageCommit,
    commits,
    deleted_pages,
    gone_pages,
)
from commonplace.toolsets.notes.service.page_lookup import (
    FoundPage,
    find_page,
    folder_prefix,
    page_in_files,
    page_path,
    require_known_folder,
    shown_path,
    unknown,
)

BUILDING_WAIT_SECONDS = 0.8
"""Timeout in seconds for the first index before changes are told without what needs it."""
MAX_SHOWN_COMMITS = 200
"""Maximum number of commits in one answer."""
MAX_DELETED = 50
"""Maximum number of deleted pages in one answer."""
MAX_PEOPLE_NAMED = 5
"""Maximum number of people, agents and programs that an error names."""
MAX_PAGES_NAMED = 8
"""Maximum number of pages named for a commit."""


def changes(call: Call, arguments: NotesChanges) -> ToolResult:
    """The changes of pages, newest first."""
    answer = BoundedAnswer(arguments.max_tokens)
    with suppress(IndexingError):
        call.services.collections.wait_ready(BUILDING_WAIT_SECONDS, call.progress)
    chosen, change_filter = _wanted(call, arguments)
    skipped = _cursor(arguments.cursor)
    limits = [] if skipped else [line for collection in chosen for line in _limits(collection, arguments)]
    if arguments.sections:
        return _shown(answer, [*limits, *_section_lines(chosen[0], change_filter)])
    if arguments.deleted:
        lines = [line for collection in chosen for line in _deleted_lines(call, collection, change_filter)]
        return _shown(answer, [*limits, *lines] or ["No deleted pages."])
    lines = limits
    for collection in () if skipped else chosen:
        lines += _before_commits(call, collection, change_filter, diff=arguments.diff)
    with_commits = (other_collection for other_collection in chosen if other_collection.store.history.available)
    every = ((where, commit) for where in with_commits for commit in commits(where, change_filter, call.go_on))
    ends, diffs = list[int](), list[_DiffPlace]()
    for collection, commit in islice(every, skipped, skipped + MAX_SHOWN_COMMITS + 1):
        lines.append(_commit_line(commit, change_filter))
        if arguments.diff:
            _add_diffs(call, collection, commit, lines, diffs)
        ends.append(len(lines))
    if not lines and not skipped:
        require_known_folder(chosen, change_filter.prefix)
        _require_known_author(chosen, change_filter, call)
    more = len(ends) > MAX_SHOWN_COMMITS
    lines = lines[: ends[-2]] if more else lines
    return _shown(answer, lines or ["No changes."], skipped, ends[:MAX_SHOWN_COMMITS], more=more, diffs=diffs)


def _limits(collection: Collection, arguments: NotesChanges) -> list[str]:
    """A line on what the history of a folder cannot tell; none if it tells all."""
    if collection.store.history.available:
        cut = cut_off([collection.store])
        return [f"{collection.name}: {cut}"] if cut else []
    arguments_given = [name for name in ("by", "deleted", "diff") if getattr(arguments, name)]
    return (
        [f"{collection.name}: {collection.store.history.absence}; {' and '.join(arguments_given)} cannot be known."]
        if arguments_given
        else []
    )


def _before_commits(call: Call, collection: Collection, change_filter: ChangeFilter, *, diff: bool) -> list[str]:
    """The trash of a page, and changes without a commit: both are newer than any commit."""
    trash = _trash_lines(call, collection, change_filter) if change_filter.address else []
    if not collection.store.history.available:
        return trash if change_filter.by else [*trash, *_without_history(collection, change_filter)]
    return [*trash, *_uncommitted(collection, change_filter, diff=diff)]


def _require_known_author(chosen: Sequence[Collection], change_filter: ChangeFilter, call: Call) -> None:
    """Raise if no commit is by the requested person, agent or program.

    Raises:
        NotFoundError: kind "author"; context holds `nearest`.
    """
    if not change_filter.by:
        return
    names: Counter[str] = Counter()
    for collection in chosen:
        for commit in commits(collection, ChangeFilter(), call.go_on):
            names.update({commit.commit.author.name, *commit.credits})
            if change_filter.by.casefold() in f"{commit.commit.author.name} <{commit.commit.author.email}>".casefold():
                return
    if not any(change_filter.by.casefold() in name.casefold() for name in names):
        known_names = [name for name, _ in names.most_common(MAX_PEOPLE_NAMED)]
        raise unknown("author", change_filter.by, known_names, sorted(names))


def _wanted(call: Call, arguments: NotesChanges) -> tuple[Sequence[Collection], ChangeFilter]:
    collections = call.services.collections
    chosen, prefix = folder_prefix(collections, arguments.folder)
    address: Address | None = None
    if arguments.page:
        try:
            page = _page(call, arguments.page)
            chosen, address = (page.collection,), page.record.address
        except (NotFoundError, IndexingError):
            gone = gone_page(call, arguments.page)
            if gone is None:
                raise
            chosen, address = (gone[0],), gone[1]
    since = since_of(chosen, arguments.since) if arguments.since else None
    if since:
        chosen = [collection for collection in chosen if collection.name in since.commits]
    return chosen, ChangeFilter(address=address, prefix=prefix, since=since, by=arguments.by)


def _page(call: Call, reference: str) -> FoundPage:
    """The page; while the first index is being built, by the files."""
    collections = call.services.collections
    try:
        collections.wait_ready(0, call.progress)
    except IndexingError as error:
        return page_in_files(collections, reference, str(error))
    return find_page(collections, reference)


def gone_page(call: Call, reference: str) -> tuple[Collection, Address] | None:
    """The folder and address of a page that is gone, and that a commit or the trash knows; None if there is none."""
    try:
        path = page_path(call.services.collections, reference)
    except KnowledgeError:
        return None
    if path.collection.store.history.log(path.address, limit=1):
        return path.collection, path.address
    chosen, _ = folder_prefix(call.services.collections, reference)
    name = fold(path.address.id)
    gone = ((collection, address) for collection in chosen for address in gone_pages(collection, name))
    return next((pair for pair in gone if not pair[0].store.ignores(pair[1])), None)


def _cursor(text: str) -> int:
    if text and not (text.isascii() and text.isdigit() and len(text) < 9):  # noqa: PLR2004
        raise InvalidInputError(f"Invalid cursor {text[:40]!r}.", kind="argument", hint="Give that of the last answer.")
    return int(text or 0)


class _DiffPlace(NamedTuple):
    """The lines of a page's changes in a commit, and the call that shows the page as the commit has it."""

    first: int
    end: int
    call: str


def _shown(
    answer: BoundedAnswer,
    lines: Sequence[str],
    skipped: int = 0,
    ends: Sequence[int] = (),
    *,
    more: bool = False,
    diffs: Sequence[_DiffPlace] = (),
) -> str:
    """The lines that fit, and the way to the rest.

    Args:
        answer: The answer.
        lines: The lines.
        skipped: Number of commits before the first line.
        ends: Number of lines up to the end of each commit.
        more: Whether there are commits after the last line.
        diffs: Places of the changes of pages among the lines.
    """
    longest = max((place.call for place in diffs), key=size_of, default="")
    answer.reserve(f"More: cursor='999999999', or a larger max_tokens. {longest}".rstrip())
    added = answer.add_all(lines)
    if added == len(lines) and not more:
        return answer.text()
    if not added:
        answer.release()
        answer.add_shortened(lines[0])
    whole = sum(1 for end in ends if end <= added)
    ways = [f"cursor='{skipped + max(whole, 1)}'"] if ends else []
    ways += ["a larger max_tokens"] if added < len(lines) else []
    answer.release()
    cut = next((f" {place.call}" for place in diffs if place.first <= added < place.end), "")
    return answer.text(f"More: {', or '.join(ways)}.{cut}")


def _commit_line(commit: PageCommit, change_filter: ChangeFilter) -> str:
    """One commit; with the pages that it changed, if the answer is not about one page under its current path."""
    page, since = change_filter.address, change_filter.since
    when = datetime.fromtimestamp(commit.commit.when, UTC)
    subject = line_of(commit.commit.message.partition("\n")[0], 100)
    people = people_of(commit.commit)
    names = [address.path for address in commit.pages[:MAX_PAGES_NAMED]]
    more = f" and {len(commit.pages) - len(names)} more" if len(commit.pages) > len(names) else ""
    touched = f": {', '.join(names)}{more}" if names and commit.pages != (page,) else ""
    came = " (merged or picked since)" if since and commit.commit.when < int(since.when) else ""
    return f"{commit.commit.id[:10]} {when:%Y-%m-%d %H:%M}{came} {people}: {subject}{touched}"


def _add_diffs(
    call: Call, collection: Collection, commit: PageCommit, lines: list[str], diffs: list[_DiffPlace]
) -> None:
    """Add the changes of a commit's pages to the lines, and their places."""
    for address in commit.pages[:MAX_PAGES_NAMED]:
        first, identifier = len(lines), commit.commit.id
        lines += _diff(collection, address, "", identifier)
        path = shown_path(call.services.collections, collection, address)
        at = identifier if collection.store.history.has(address, identifier) else f"before {identifier[:10]}"
        diffs.append(_DiffPlace(first, len(lines), next_call("read", page=path, at=at[:17])))
    if len(commit.pages) > MAX_PAGES_NAMED:
        others = len(commit.pages) - MAX_PAGES_NAMED
        lines.append(f"  {others} more: ask for one with page, diff and since='before {commit.commit.id[:10]}'.")


def _diff(collection: Collection, address: Address, old: str, new: str) -> Iterator[str]:
    """The changes of a page between two commits. "" is the first parent as `old`, and the current file as `new`."""
    try:
        text = collection.store.history.diff(address, old, new)
    except KnowledgeError as error:
        text = str(error)
    yield f"  {address.path}"
    yield from (f"  {line}" for line in _without_file_names(text))


def _without_file_names(diff: str) -> Iterator[str]:
    """The lines of a unified diff of one file, without those that name the file."""
    lines = diff.removesuffix("\n").split("\n")
    first = next((at for at, line in enumerate(lines) if line.startswith("@@ ")), len(lines))
    yield from (line for line in lines[:first] if not line.startswith(("diff --git", "index ", "--- ", "+++ ")))
    yield from (line.removesuffix("\r") for line in lines[first:])


def _section_lines(collection: Collection, change_filter: ChangeFilter) -> list[str]:
    """The sections of a page, each with the author and date of its last change."""
    if change_filter.address is None:
        raise InvalidInputError("sections is about one page.", kind="argument", hint="Give page.")
    if collection.store.stat(change_filter.address) is None:
        path = change_filter.address.path
        raise with_deletion(
            NotFoundError(f"{path} is not there, so that it has no sections.", kind="document"),
            [collection.store],
            path,
        )
    lines: list[str] = []
    for change in section_blame(collection, change_filter.address):
        name = line_of(change.section.heading, 80) if change.section.level else "(beginning)"
        said = "proposed" if is_proposed(collection.store, change_filter.address) else "not committed"
        if change.commit is not None:
            when = datetime.fromtimestamp(change.commit.when, UTC)
            said = f"{when:%Y-%m-%d} {people_of(change.commit)} {change.commit.id[:10]}"
        lines.append(f"{'  ' * max(0, change.section.level - 1)}- {name}: {said}")
    return lines


def _uncommitted(collection: Collection, change_filter: ChangeFilter, *, diff: bool) -> list[str]:
    if change_filter.by:
        return []
    store = collection.store
    pages = {change_filter.address} if change_filter.address else None
    proposed = _among(store.changed() if isinstance(store, ServedView) else (), pages, change_filter.prefix)
    lines = [f"Proposed, not yet in the base: {_paths(proposed)}"] if proposed else []
    try:
        collection.index.wait_ready(0)
    except IndexingError as error:
        return [*lines, f"{collection.name}: {error} What is not committed is not known yet."]
    changed, gone = (_among(item, pages) for item in uncommitted_addresses(collection, change_filter.prefix))
    if not changed and not gone:
        return lines
    removed = f"removed: {_paths(gone)}" if gone else ""
    lines.append(f"Not committed: {'; '.join(filter(None, (_paths(changed), removed)))}")
    head = store.history.head()
    shown = [*changed, *gone][:MAX_PAGES_NAMED] if diff and head else []
    return lines + [line for address in shown for line in _diff(collection, address, head, "")]


def _among(addresses: Iterable[Address], pages: set[Address] | None, prefix: str = "") -> list[Address]:
    """The addresses of some pages, None for all, that begin so; sorted."""
    return sorted(item for item in addresses if item.path.startswith(prefix) and (pages is None or item in pages))


def _paths(addresses: Sequence[Address]) -> str:
    """The first paths, and the number of the others."""
    more = f" and {len(addresses) - MAX_PAGES_NAMED} more" if len(addresses) > MAX_PAGES_NAMED else ""
    return ", ".join(address.path for address in addresses[:MAX_PAGES_NAMED]) + more


def _without_history(collection: Collection, change_filter: ChangeFilter) -> list[str]:
    """The changes of a folder without Git: the pages with the dates of their files."""
    among = (change_filter.address,) if change_filter.address else None
    query = ListQuery(
        filter=narrowed_since(collection, Filter(prefix=change_filter.prefix, among=among), change_filter.since),
        sort="updated",
        descending=True,
        limit=MAX_SHOWN_COMMITS,
    )
    records = collection.index.list(query).records
    head = f"{collection.name}: {collection.store.history.absence}; by the dates of its files:"
    return [head, *(f"{record.updated[:16].replace('T', ' ')} {record.address.path}" for record in records)]


def _deleted_lines(call: Call, collection: Collection, change_filter: ChangeFilter) -> list[str]:
    """Deleted pages, each with the command that restores it, or the path to which it was moved."""
    lines: list[str] = []
    pages, is_whole = deleted_pages(collection, change_filter, MAX_DELETED, call.go_on)
    for page in pages:
        what = f"moved to {page.moved_to}" if page.moved_to else "deleted"
        who = "by your proposal" if is_proposed(collection.store, page.address) else "and not committed yet"
        if page.deleted_in is not None:
            who = f"{day(page.deleted_in.when)} by {people_of(page.deleted_in)} in {page.deleted_in.id[:10]}"
        how = (
            ""
            if page.moved_to
            else f"; last in {page.last_in[:12]}: {_way_back(call, collection, page.address, page.last_in)}"
        )
        lines.append(f"{page.address.path} {what} {who}{how}")
    if not is_whole:
        lines.append(
            f"{collection.name}: earlier deletions are not known yet, the history is being read. Ask again later."
        )
    return lines + _trash_lines(call, collection, change_filter)


def _way_back(call: Call, collection: Collection, address: Address, at: str) -> str:
    """The call that brings a state of a file back, or, for callers who only read, shows it."""
    tool = "read" if call.tier == "read" else "restore"
    return next_call(tool, page=shown_path(call.services.collections, collection, address), at=at[:12])


def _trash_lines(call: Call, collection: Collection, change_filter: ChangeFilter) -> list[str]:
    """The files in the trash that are gone from their paths, each with the call that brings it back."""
    trash = collection.store.trash
    return [
        f"{item.address.path} {item.loss} {day(item.when)}, in the trash until {day(item.until)}:"
        f" {_way_back(call, collection, item.address, item.revision)}"
        for item in (trash.items() if trash else ())
        if collection.store.stat(item.address) is None
        and item.address.path.startswith(change_filter.prefix)
        and change_filter.address in {None, item.address}
    ]
