"""Commits for readers: changes in a collection and in a document, and the versions of a document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from commonplace.domain.addresses import Address
from commonplace.domain.changes import Commit
from commonplace.domain.edits import lines_of
from commonplace.domain.errors import NotFoundError
from commonplace.domain.revisions import revision_of
from commonplace.domain.words.text_decoder import decoded
from commonplace.services.collections import Collection
from commonplace.services.deletions import not_served
from commonplace.services.history import last_commits, moved_on
from commonplace.services.site.documents import FOLDERS, PerState

RECENT = 30
"""Number of commits on a page of recent changes."""
MAX_DIFF_ROWS = 3_000
"""Maximum number of rows of differences on one page."""
MAX_FOLLOWED = 400
"""Maximum number of commits that are searched for one change of a document."""


def _latest(collection: Collection) -> tuple[Commit, ...]:
    history = collection.store.history
    return tuple(history.log(None, limit=RECENT + 1)) if history.available else ()


_LATEST = PerState(_latest)
"""The latest commits of each collection, newest first; empty without Git."""


def latest(collection: Collection, limit: int) -> Sequence[Commit]:
    """The latest commits that are shown, at most `RECENT`, newest first; none without Git."""
    return [commit for commit in _LATEST.of(collection) if commit.is_shown][:limit]


def documents_of(collection: Collection, commit: Commit) -> tuple[Address, ...]:
    """The documents that a commit touched; one that it renamed counts once, by its new address."""
    sources = set(collection.store.history.renames(commit.id).values())
    return tuple(address for address in commit.addresses if address not in sources)


def recent(collection: Collection, page: int) -> tuple[Sequence[Commit], bool]:
    """A page of the collection's commits, newest first, and whether there are older ones.

    Args:
        collection: The collection.
        page: Number of the page, from 1.
    """
    history = collection.store.history
    if not history.available:
        return (), False
    offset = (page - 1) * RECENT
    commits = history.log(None, limit=RECENT + 1, offset=offset) if offset else _LATEST.of(collection)
    return [commit for commit in commits[:RECENT] if commit.is_shown], len(commits) > RECENT


def commit_of(collection: Collection, revision: str) -> Commit:
    """A commit of the collection with the documents that it touched.

    Raises:
        NotFoundError: no id among the last `MAX_FOLLOWED` commits begins with the revision.
    """
    history = collection.store.history
    for offset in range(0, MAX_FOLLOWED, RECENT):
        commits = history.log(None, limit=RECENT, offset=offset) if history.available else []
        for commit in commits:
            if commit.id.startswith(revision) and commit.is_shown:
                return commit
        if len(commits) < RECENT:
            break
    raise NotFoundError(f"There is no recent commit {revision[:40]!r} here.", kind="revision")


def before(collection: Collection, address: Address, commit: str) -> str:
    """The previous commit that touched the document; "" if this commit created it."""
    commits = collection.store.history.log(address, limit=MAX_FOLLOWED)
    at = next((number for number, other_commit in enumerate(commits) if other_commit.id == commit), len(commits))
    return commits[at + 1].id if at + 1 < len(commits) else ""


def version(collection: Collection, address: Address, commit: str) -> str:
    """The text of a document at a commit ("": the current text); "" if it did not exist, or is not served."""
    try:
        if not commit:
            return collection.index.document(address).text if collection.index.record(address) else ""
        return decoded(collection.store.history.read(address, commit))
    except NotFoundError:
        return ""


@dataclass(frozen=True, slots=True)
class GonePage:
    """A document that no longer exists."""

    address: Address
    removed: Commit
    """The last commit that touched it."""
    last: str
    """The last commit that contains the document."""
    renamed_to: Address | None
    """The new address if the document was moved; None otherwise."""

    @property
    def is_committed(self) -> bool:
        """Whether `removed` took it away; otherwise it is the last commit with the document, whose file is gone."""
        return self.removed.id != self.last


def gone_page(collection: Collection, address: Address) -> GonePage | None:
    """The history of a document that no longer exists, under its last name.

    None if it never existed, or is a file that is not served.
    """
    last = last_commits(collection, address)
    if last is None or address in not_served(collection.store) or collection.store.ignores(address):
        return None
    target = moved_on(collection, address, last.touched)
    if target is not None and target not in collection.index.revisions():
        return gone_page(collection, target)
    content = collection.store.history.read(address, last.containing)
    return GonePage(address, last.touched, last.containing, _renamed_to(collection, address, last.touched, content))


MAX_RENAMES = 20
"""Maximum number of renames of one document that are followed."""


def folder_now(collection: Collection, folder: str) -> str:
    """The folder to which the documents of a folder that no longer exists were moved; "" if there is none."""
    for _ in range(MAX_RENAMES):
        folder = _folder_after(collection, folder)
        if not folder or folder in FOLDERS.of(collection):
            return folder
    return ""


def _folder_after(collection: Collection, folder: str) -> str:
    """The folder to which the last commit that touched a folder moved most of its documents; "" if it moved none."""
    history = collection.store.history
    inside = f"{folder}/"
    for offset in range(0, MAX_FOLLOWED if history.available else 0, RECENT):
        commits = history.log(None, limit=RECENT, offset=offset)
        last = next((commit for commit in commits if any(at.path.startswith(inside) for at in commit.addresses)), None)
        if last is not None:
            targets = Counter(
                new.path.removesuffix(f"/{name}")
                for new, old in history.renames(last.id).items()
                if old.path.startswith(inside) and new.path.endswith(f"/{(name := old.path.removeprefix(inside))}")
            )
            return next((target for target, _ in targets.most_common(1)), "")
        if len(commits) < RECENT:
            break
    return ""


def _renamed_to(collection: Collection, address: Address, removed: Commit, content: bytes) -> Address | None:
    revisions = collection.index.revisions()
    target = moved_on(collection, address, removed)
    if target is not None:
        return target if target in revisions else None
    same = [other for other, revision in revisions.items() if revision == revision_of(content)]
    return same[0] if len(same) == 1 else None


# Side-by-side comparison of two versions of a text by lines, and by words within changed lines.


CONTEXT = 3
"""Number of equal lines that are shown before and after a change."""
MAX_LINES = 6_000
"""Maximum number of lines for a full comparison; longer versions have one change, from first to last difference."""
MAX_WORDS = 400
"""Maximum number of words of a line that is compared by words; a longer line is marked as a whole."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]")

Part = tuple[bool, str]
"""A piece of a line: whether it was changed, and its text."""


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One row of a comparison."""

    kind: Literal["same", "changed", "removed", "added", "gap"]
    old_number: int = 0
    """Line number in the old version from 1; 0 if the old version lacks the line."""
    new_number: int = 0
    old: tuple[Part, ...] = ()
    new: tuple[Part, ...] = ()


def differences(old: str, new: str) -> list[DiffRow]:
    """The rows of a comparison: changed lines with their context; empty if the versions are equal."""
    before, after = lines_of(old), lines_of(new)
    rows: list[DiffRow] = []
    for group in _groups(before, after):
        if rows or group[0][1] or group[0][3]:
            rows.append(DiffRow("gap"))
        for tag, a, b, c, d in group:
            rows += _rows(tag, before[a:b], after[c:d], a + 1, c + 1)
    return rows


_Opcode = tuple[str, int, int, int, int]


def _groups(before: Sequence[str], after: Sequence[str]) -> Iterator[list[_Opcode]]:
    if max(len(before), len(after)) <= MAX_LINES:
        yield from SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(CONTEXT)
        return
    start = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), -1)
    if start < 0 and len(before) == len(after):
        return
    start = min(len(before), len(after)) if start < 0 else start
    tail = 0
    while tail < min(len(before), len(after)) - start and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    yield [("replace", start, len(before) - tail, start, len(after) - tail)]


def _rows(tag: str, old: Sequence[str], new: Sequence[str], first_old: int, first_new: int) -> Iterator[DiffRow]:
    if tag == "equal":
        for number, line in enumerate(old):
            part = ((False, line),)
            yield DiffRow("same", first_old + number, first_new + number, part, part)
        return
    for number in range(max(len(old), len(new))):
        before = old[number] if number < len(old) else None
        after = new[number] if number < len(new) else None
        if before is not None and after is not None:
            left, right = _words(before, after)
            yield DiffRow("changed", first_old + number, first_new + number, left, right)
        elif before is not None:
            yield DiffRow("removed", first_old + number, 0, ((True, before),))
        elif after is not None:
            yield DiffRow("added", 0, first_new + number, (), ((True, after),))


def _words(old: str, new: str) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    before, after = _WORD.findall(old), _WORD.findall(new)
    if max(len(before), len(after)) > MAX_WORDS:
        return ((True, old),), ((True, new),)
    left: list[Part] = []
    right: list[Part] = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if b > a:
            left.append((tag != "equal", "".join(before[a:b])))
        if d > c:
            right.append((tag != "equal", "".join(after[c:d])))
    return tuple(left), tuple(right)
