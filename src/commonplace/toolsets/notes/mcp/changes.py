"""The tool `changes` of the toolset `notes`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice

from commonplace.domain.addresses import Address, fold
from commonplace.domain.changes import people_of
from commonplace.domain.errors import GitError, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.markdown.paths import ends_path
from commonplace.domain.proposals import ServedView
from commonplace.domain.query import Filter, ListQuery
from commonplace.domain.revisions import is_revision
from commonplace.domain.words.moments import parse_moment
from commonplace.faces.mcp.toolset import Call, ToolResult
from commonplace.faces.retained import day
from commonplace.services.collections import Collection
from commonplace.services.past import moment_of, section_blame
from commonplace.toolsets.notes.mcp.parameters import NotesChanges
from commonplace.toolsets.notes.mcp.text_output import BoundedAnswer, line_of, next_call
from commonplace.toolsets.notes.service.known_names import require_known_folder, unknown
from commonplace.toolsets.notes.service.page_history import (
    ChangeFilter,
    PageCommit,
    commits,
    deleted_pages,
    gone_pages,
)
from commonplace.toolsets.notes.service.page_lookup import find_page, folder_prefix, page_path, shown_path

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
    chosen, wanted = _wanted(call, arguments)
    if arguments.sections:
        return _shown(answer, _section_lines(chosen[0], wanted))
    if arguments.deleted:
        lines = [line for one in chosen for line in _deleted_lines(call, one, wanted)]
        return _shown(answer, lines or ["No deleted pages."])
    skipped = _cursor(arguments.cursor)
    lines: list[str] = []
    for collection in () if skipped else chosen:
        lines += _trash_lines(call, collection, wanted) if wanted.address else []
        if not collection.store.history.available:
            lines += _without_history(collection, wanted)
        else:
            lines += _uncommitted(collection, wanted, diff=arguments.diff)
    with_commits = (one for one in chosen if one.store.history.available)
    every = ((where, one) for where in with_commits for one in commits(where, wanted, call.go_on))
    ends: list[int] = []
    for collection, one in islice(every, skipped, skipped + MAX_SHOWN_COMMITS + 1):
        lines.append(_commit_line(one, wanted.address))
        if arguments.diff:
            lines += _diffs(collection, one)
        ends.append(len(lines))
    if not lines and not skipped:
        require_known_folder(chosen, wanted.prefix)
        _require_known_author(chosen, wanted, call)
    more = len(ends) > MAX_SHOWN_COMMITS
    lines = lines[: ends[-2]] if more else lines
    return _shown(answer, lines or ["No changes."], skipped, ends[:MAX_SHOWN_COMMITS], more=more)


def _require_known_author(chosen: Sequence[Collection], wanted: ChangeFilter, call: Call) -> None:
    """Raise if no commit is by the requested person, agent or program.

    Raises:
        NotFoundError: kind "author"; context holds `nearest`.
    """
    if not wanted.by:
        return
    names: Counter[str] = Counter()
    for collection in chosen:
        for one in commits(collection, ChangeFilter(), call.go_on):
            names.update({one.commit.author.name, *one.credits})
            if wanted.by.casefold() in f"{one.commit.author.name} <{one.commit.author.email}>".casefold():
                return
    if not any(wanted.by.casefold() in name.casefold() for name in names):
        known = [name for name, _ in names.most_common(MAX_PEOPLE_NAMED)]
        raise unknown("author", wanted.by, known, sorted(names))


def _wanted(call: Call, arguments: NotesChanges) -> tuple[Sequence[Collection], ChangeFilter]:
    collections = call.services.collections
    chosen, prefix = folder_prefix(collections, arguments.folder)
    address: Address | None = None
    if arguments.page:
        try:
            page = find_page(collections, arguments.page)
            chosen, address = (page.collection,), page.record.address
        except NotFoundError:
            gone = gone_page(call, arguments.page)
            if gone is None:
                raise
            chosen, address = (gone[0],), gone[1]
    since, after = _since(chosen, arguments.since)
    if after:
        chosen = _with_commit(chosen, after)
    return chosen, ChangeFilter(address=address, prefix=prefix, since=since, after=after, by=arguments.by)


def _with_commit(chosen: Sequence[Collection], commit: str) -> Sequence[Collection]:
    """The folders whose branch contains a commit.

    Raises:
        NotFoundError: kind "revision": no folder's branch contains it.
    """
    unknown: NotFoundError | None = None
    found: list[Collection] = []
    for collection in chosen:
        try:
            if collection.past is not None:
                collection.past.commits.commit(commit)
            found.append(collection)
        except NotFoundError as error:
            unknown = error
    if unknown is not None and not found:
        raise unknown
    return found


def gone_page(call: Call, reference: str) -> tuple[Collection, Address] | None:
    """The folder and address of a page that is gone, and that a commit or the trash knows; None if there is none."""
    try:
        path = page_path(call.services.collections, reference)
    except KnowledgeError:
        return None
    if path.collection.store.history.log(path.address, limit=1):
        return path.collection, path.address
    chosen, _ = folder_prefix(call.services.collections, reference)
    gone = [(collection, one) for collection in chosen for one in gone_pages(collection)]
    return next((known for known in gone if ends_path(fold(path.address.id), known[1], fold)), None)


def _since(chosen: Sequence[Collection], text: str) -> tuple[datetime | None, str]:
    if not text:
        return None, ""
    moment = parse_moment(text)
    if moment is not None:
        return moment, ""
    if is_revision(text):
        return None, text
    for collection in chosen:
        with suppress(NotFoundError, InvalidInputError, GitError):
            return None, moment_of(collection, text).commit.id
    raise InvalidInputError(
        f"Invalid argument since: {text[:60]!r} is neither a date nor a commit.",
        kind="argument",
        hint="Give a date such as 2026-03-01, 'yesterday', '7 days', 7 or more digits of a commit, a tag, or HEAD~3.",
    )


def _cursor(text: str) -> int:
    if text and not (text.isascii() and text.isdigit() and len(text) < 9):  # noqa: PLR2004
        raise InvalidInputError(f"Invalid cursor {text[:40]!r}.", kind="argument", hint="Give that of the last answer.")
    return int(text or 0)


def _shown(
    answer: BoundedAnswer, lines: Sequence[str], skipped: int = 0, ends: Sequence[int] = (), *, more: bool = False
) -> str:
    """The lines that fit, and the way to the rest.

    Args:
        answer: The answer.
        lines: The lines.
        skipped: Number of commits before the first line.
        ends: Number of lines up to the end of each commit.
        more: Whether there are commits after the last line.
    """
    answer.reserve("More: cursor='999999999', or a larger max_tokens.")
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
    return answer.text(f"More: {', or '.join(ways)}.")


def _commit_line(one: PageCommit, page: Address | None) -> str:
    """One commit; with the pages that it changed, if the answer is not about one page under its current path."""
    when = datetime.fromtimestamp(one.commit.when, UTC)
    subject = line_of(one.commit.message.partition("\n")[0], 100)
    people = people_of(one.commit)
    names = [address.path for address in one.pages[:MAX_PAGES_NAMED]]
    more = f" and {len(one.pages) - len(names)} more" if len(one.pages) > len(names) else ""
    touched = f": {', '.join(names)}{more}" if names and one.pages != (page,) else ""
    return f"{one.commit.id[:10]} {when:%Y-%m-%d %H:%M} {people}: {subject}{touched}"


def _diffs(collection: Collection, one: PageCommit) -> Iterator[str]:
    for address in one.pages[:MAX_PAGES_NAMED]:
        yield from _diff(collection, address, "", one.commit.id)


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


def _section_lines(collection: Collection, wanted: ChangeFilter) -> list[str]:
    """The sections of a page, each with the author and date of its last change."""
    if wanted.address is None:
        raise InvalidInputError("sections is about one page.", kind="argument", hint="Give page.")
    lines: list[str] = []
    for one in section_blame(collection, wanted.address):
        name = line_of(one.section.heading, 80) if one.section.level else "(beginning)"
        said = "not committed"
        if one.commit is not None:
            when = datetime.fromtimestamp(one.commit.when, UTC)
            said = f"{when:%Y-%m-%d} {people_of(one.commit)} {one.commit.id[:10]}"
        lines.append(f"{'  ' * max(0, one.section.level - 1)}- {name}: {said}")
    return lines


def _uncommitted(collection: Collection, wanted: ChangeFilter, *, diff: bool) -> list[str]:
    if wanted.by:
        return []
    store = collection.store
    changed: Mapping[Address, str] = store.changed() if isinstance(store, ServedView) else {}
    proposed = [one for one in changed if one.path.startswith(wanted.prefix) and wanted.address in {None, one}]
    known = collection.index.revisions(Filter(prefix=wanted.prefix))
    known = {one: known[one] for one in known if wanted.address in {None, one} and one not in changed}
    lines = [f"Proposed, not yet in the base: {_paths(sorted(proposed))}"] if proposed else []
    history = collection.store.history
    found = sorted(history.uncommitted(known))
    if not found:
        return lines
    lines.append(f"Not committed: {_paths(found)}")
    head = history.head()
    shown = found[:MAX_PAGES_NAMED] if diff and head else []
    return lines + [line for one in shown for line in _diff(collection, one, head, "")]


def _paths(addresses: Sequence[Address]) -> str:
    """The first paths, and the number of the others."""
    more = f" and {len(addresses) - MAX_PAGES_NAMED} more" if len(addresses) > MAX_PAGES_NAMED else ""
    return ", ".join(one.path for one in addresses[:MAX_PAGES_NAMED]) + more


def _without_history(collection: Collection, wanted: ChangeFilter) -> list[str]:
    """The changes of a folder without Git: the pages with the dates of their files."""
    since = f"{wanted.since:%Y-%m-%d}" if wanted.since else ""
    among = (wanted.address,) if wanted.address else None
    query = ListQuery(
        filter=Filter(prefix=wanted.prefix, updated_from=since, among=among),
        sort="updated",
        descending=True,
        limit=MAX_SHOWN_COMMITS,
    )
    records = collection.index.list(query).records
    head = f"{collection.name} has no Git history; by the dates of its files:"
    return [head, *(f"{one.updated[:16].replace('T', ' ')} {one.address.path}" for one in records)]


def _deleted_lines(call: Call, collection: Collection, wanted: ChangeFilter) -> list[str]:
    """Deleted pages, each with the command that restores it, or the path to which it was moved."""
    lines: list[str] = []
    for one in deleted_pages(collection, wanted, MAX_DELETED, call.go_on):
        what = f"moved to {one.moved_to}" if one.moved_to else "deleted"
        who = "and not committed yet"
        if one.deleted_in is not None:
            who = f"{day(one.deleted_in.when)} by {people_of(one.deleted_in)} in {one.deleted_in.id[:10]}"
        how = (
            ""
            if one.moved_to
            else f"; last in {one.last_in[:12]}: {_way_back(call, collection, one.address, one.last_in)}"
        )
        lines.append(f"{one.address.path} {what} {who}{how}")
    return lines + _trash_lines(call, collection, wanted)


def _way_back(call: Call, collection: Collection, address: Address, at: str) -> str:
    """The call that brings a state of a file back, or, for callers who only read, shows it."""
    tool = "read" if call.tier == "read" else "restore"
    return next_call(tool, page=shown_path(call.services.collections, collection, address), at=at[:12])


def _trash_lines(call: Call, collection: Collection, wanted: ChangeFilter) -> list[str]:
    """The files in the trash that are gone from their paths, each with the call that brings it back."""
    trash = collection.store.trash
    return [
        f"{item.address.path} {item.loss} {day(item.when)}, in the trash until {day(item.until)}:"
        f" {_way_back(call, collection, item.address, item.revision)}"
        for item in (trash.items() if trash else ())
        if collection.store.stat(item.address) is None
        and item.address.path.startswith(wanted.prefix)
        and wanted.address in {None, item.address}
    ]
