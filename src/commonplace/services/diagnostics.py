"""What is wrong with an installation and the folders that it serves, for who asks why something does not work.

Each check is a function that yields what it found; the command `doctor` runs them all. What is wrong inside of
documents is the business of `checking`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from commonplace.domain.addresses import Address
from commonplace.domain.diagnostics import Diagnostic
from commonplace.domain.documents import Severity
from commonplace.domain.errors import KnowledgeError, NotFoundError, StorageError
from commonplace.domain.ports import Progress
from commonplace.domain.revisions import revision_of
from commonplace.domain.schema import schema_problems
from commonplace.domain.words.amounts import amount
from commonplace.services.collections import Collection
from commonplace.services.embedding_status import embedding_status
from commonplace.services.typed_entries import current_schema

MAX_SHOWN_FILES = 3
"""How many names a message gives before it counts."""


def plugin_diagnostics(faults: Iterable[tuple[str, str]]) -> Iterator[Diagnostic]:
    """Plugins that are installed and not used, or of which something is not used.

    Args:
        faults: A plugin's name, and what is wrong with it.
    """
    for name, message in faults:
        hint = "Mend or update the package that names it, or uninstall it."
        yield Diagnostic("plugin", Severity.WARNING, name, message, hint)


def collection_diagnostics(one: Collection) -> Iterator[Diagnostic]:
    """What keeps a collection from being served as its owner means it."""
    schema = current_schema(one)
    mend = "Mend the line; until then the folder is served without what could not be read."
    for finding in schema.findings:
        yield Diagnostic("schema", Severity.ERROR, one.name, finding.message, mend)
    for problem in schema_problems(schema):
        yield Diagnostic("schema", Severity.WARNING, one.name, problem, "Correct the declaration in kb.yaml.")
    if one.store.read_only_reason:
        message = f"Nothing can be written: {one.store.read_only_reason}."
        yield Diagnostic("read_only", Severity.INFO, one.name, message, "It can be read and searched all the same.")


def embedding(one: Collection) -> Iterator[Diagnostic]:
    """What search by meaning has of the pages that the index knows; asked when it is up to date."""
    state = embedding_status(one)
    if state.status == "failing":
        hint = "Search goes by words until then."
        yield Diagnostic("meaning", Severity.WARNING, one.name, f"Search by meaning fails: {state.reason}", hint)
    else:
        yield Diagnostic("meaning", None, one.name, f"Search by meaning: {state.status}. {state.reason}".strip())


def index_diagnostics(one: Collection, progress: Progress | None = None) -> Iterator[Diagnostic]:
    """Whether the index knows every file by the bytes that it has now.

    The index takes in first what has changed by size or time; what differs after that, it would never have seen.
    """
    report = one.index.sync(progress)
    odd = _odd(one)
    if odd:
        one.index.sync(progress)
        odd &= _odd(one)  # what was changed while it was looked at is known by now
    if odd:
        some = ", ".join(sorted(address.path for address in odd)[:MAX_SHOWN_FILES])
        more = f" and {len(odd) - MAX_SHOWN_FILES:,} more" if len(odd) > MAX_SHOWN_FILES else ""
        message = f"The index is not as the files are for {amount(len(odd), 'page')}: {some}{more}."
        hint = "Their bytes changed and their times did not. Build the index anew:"
        yield Diagnostic("index", Severity.WARNING, one.name, message, hint, "commonplace index --rebuild")
    else:
        pages = one.index.counts().documents
        yield Diagnostic("index", None, one.name, f"The index is as the files are: {amount(pages, 'page')}.")
    if report.unreadable:
        path, reason = report.unreadable[0]
        message = f"{amount(len(report.unreadable), 'file')} cannot be served, such as {path}: {reason}."
        yield Diagnostic("files", Severity.INFO, one.name, message, "All of them, and why:", "commonplace check")


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


def opening_diagnostics(error: KnowledgeError) -> Diagnostic:
    """Why the folders cannot be opened."""
    return Diagnostic("opening", Severity.ERROR, error.kind or "folder", str(error), error.hint)
