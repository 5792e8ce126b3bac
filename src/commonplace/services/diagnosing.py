"""What is wrong with an installation and the folders that it serves, for who asks why something does not work.

Each check is a function that yields what it found; the command `doctor` runs them all. What is wrong inside of
documents is the business of `checking`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Severity
from commonplace.domain.errors import KnowledgeError, NotFoundError, StorageError
from commonplace.domain.ports import Progress
from commonplace.domain.revisions import revision_of
from commonplace.domain.schema import schema_problems
from commonplace.domain.troubles import Trouble
from commonplace.domain.words.amounts import amount
from commonplace.services.cataloguing import schema_of
from commonplace.services.collections import Collection
from commonplace.services.meaning import meaning_state

SHOWN = 3
"""How many names a message gives before it counts."""


def plugins(faults: Iterable[tuple[str, str]]) -> Iterator[Trouble]:
    """Plugins that are installed and not used, or of which something is not used.

    Args:
        faults: A plugin's name, and what is wrong with it.
    """
    for name, message in faults:
        hint = "Mend or update the package that names it, or uninstall it."
        yield Trouble("plugin", Severity.WARNING, name, message, hint)


def collection(one: Collection) -> Iterator[Trouble]:
    """What keeps a collection from being served as its owner means it."""
    schema = schema_of(one)
    mend = "Mend the line; until then the folder is served without what could not be read."
    for finding in schema.findings:
        yield Trouble("schema", Severity.ERROR, one.name, finding.message, mend)
    for problem in schema_problems(schema):
        yield Trouble("schema", Severity.WARNING, one.name, problem, "Correct the declaration in kb.yaml.")
    if one.store.read_only_reason:
        message = f"Nothing can be written: {one.store.read_only_reason}."
        yield Trouble("read_only", Severity.INFO, one.name, message, "It can be read and searched all the same.")


def meaning(one: Collection) -> Iterator[Trouble]:
    """What search by meaning has of the pages that the index knows; asked when it is up to date."""
    state = meaning_state(one)
    if state.status == "failing":
        hint = "Search goes by words until then."
        yield Trouble("meaning", Severity.WARNING, one.name, f"Search by meaning fails: {state.reason}", hint)
    else:
        yield Trouble("meaning", None, one.name, f"Search by meaning: {state.status}. {state.reason}".strip())


def index(one: Collection, progress: Progress | None = None) -> Iterator[Trouble]:
    """Whether the index knows every file by the bytes that it has now.

    The index takes in first what has changed by size or time; what differs after that, it would never have seen.
    """
    report = one.index.sync(progress)
    odd = _odd(one)
    if odd:
        one.index.sync(progress)
        odd &= _odd(one)  # what was changed while it was looked at is known by now
    if odd:
        some = ", ".join(sorted(address.path for address in odd)[:SHOWN])
        more = f" and {len(odd) - SHOWN:,} more" if len(odd) > SHOWN else ""
        message = f"The index is not as the files are for {amount(len(odd), 'page')}: {some}{more}."
        hint = "Their bytes changed and their times did not. Build the index anew:"
        yield Trouble("index", Severity.WARNING, one.name, message, hint, "commonplace index --rebuild")
    else:
        pages = one.index.counts().documents
        yield Trouble("index", None, one.name, f"The index is as the files are: {amount(pages, 'page')}.")
    if report.unreadable:
        path, reason = report.unreadable[0]
        message = f"{amount(len(report.unreadable), 'file')} cannot be served, such as {path}: {reason}."
        yield Trouble("files", Severity.INFO, one.name, message, "All of them, and why:", "commonplace check")


def _odd(one: Collection) -> set[Address]:
    """Documents whose files have other bytes than the index knows, and those that only one of the two has."""
    known = one.index.revisions()
    there: set[Address] = set()
    odd: set[Address] = set()
    with one.store.reading() as read:
        for address in sorted(address for address, _ in one.store.scan()):
            try:
                revision = revision_of(read(address))
            except (NotFoundError, StorageError):
                continue  # it is among the unreadable ones
            there.add(address)
            if known.get(address) != revision:
                odd.add(address)
    return odd | (known.keys() - there)


def opening(error: KnowledgeError) -> Trouble:
    """Why the folders cannot be opened."""
    return Trouble("opening", Severity.ERROR, error.kind or "folder", str(error), error.hint)
