"""The status of semantic search of a collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Severity
from commonplace.domain.errors import KnowledgeError, NotFoundError, StorageError
from commonplace.domain.findings import Diagnostic
from commonplace.domain.ports import Progress
from commonplace.domain.query import EmbeddingStatus
from commonplace.domain.revisions import revision_of
from commonplace.domain.schema_problems import declaration_findings
from commonplace.domain.site_file import SITE_FILE
from commonplace.domain.words.amounts import amount
from commonplace.services.collections import Collection
from commonplace.services.sites import site_findings
from commonplace.services.typed_entries import current_schema

EMBEDDING_OFF = EmbeddingStatus(
    status="off", reason="Search by meaning is switched off (--no-embed, or the setting embed)."
)


EMBED_COMMAND = "commonplace index --embed"


def embedding_gap(state: EmbeddingStatus) -> str:
    """A sentence about texts that are not embedded yet, and the process that embeds them; "" if nothing is missing."""
    if state.status not in {"waiting", "working"}:
        return ""
    known_text = f"{state.documents:,} of {amount(state.documents + state.pending, 'page')}"
    who = "the rest is being embedded" if state.status == "working" else "nothing embeds the rest"
    return f"Search by meaning knows {known_text}; {who}."


def embedding_status(collection: Collection, *, trying: bool = False) -> EmbeddingStatus:
    """The status of a collection's vectors: the model, the number of embedded texts, and the last error.

    Args:
        collection: The collection.
        trying: Whether to use the model first, which tells whether it works.
    """
    return collection.semantic_index.status(trying=trying) if collection.semantic_index else EMBEDDING_OFF


# Diagnostics of an installation and its folders.
#
# Each check is a function that yields its results; the command `doctor` runs all of them. `services.checks` finds
# problems inside documents.


MAX_SHOWN_FILES = 3
"""Maximum number of names in a message."""


def plugin_diagnostics(faults: Iterable[tuple[str, str]]) -> Iterator[Diagnostic]:
    """Installed plugins that are not used, or only in part.

    Args:
        faults: Name of a plugin, and its fault.
    """
    for name, message in faults:
        hint = "Repair or update the package that names it, or uninstall it."
        yield Diagnostic("plugin", Severity.WARNING, name, message, hint)


def collection_diagnostics(collection: Collection) -> Iterator[Diagnostic]:
    """Problems that prevent a collection from being served as intended."""
    for finding in declaration_findings(current_schema(collection)):
        hint = _SCHEMA_HINTS.get(finding.rule, "Repair the line; until then the folder is served without it.")
        yield Diagnostic(finding.rule, finding.severity, collection.name, finding.message, hint)
    for finding in site_findings(collection):
        yield Diagnostic(
            finding.rule, finding.severity, collection.name, finding.message, f"Correct it in {SITE_FILE}."
        )
    if collection.store.read_only_reason:
        message = f"Nothing can be written: {collection.store.read_only_reason}."
        yield Diagnostic(
            "read_only", Severity.INFO, collection.name, message, "It can be read and searched all the same."
        )


_SCHEMA_HINTS = {
    "bad_declaration": "Correct the declaration in kb.yaml.",
    "unknown_declaration": "kb_schema shows it to agents all the same.",
}
"""Remedies by rule; for any other rule, the YAML of the file is wrong."""


def embedding(collection: Collection) -> Iterator[Diagnostic]:
    """The status of semantic search. The index must be up to date."""
    state = embedding_status(collection, trying=True)
    if state.status == "failing":
        hint = "Search goes by words until then."
        yield Diagnostic("meaning", Severity.WARNING, collection.name, f"Search by meaning fails: {state.reason}", hint)
    elif state.status == "waiting":
        hint = "A running server embeds pages, too."
        yield Diagnostic("meaning", Severity.INFO, collection.name, embedding_gap(state), hint, EMBED_COMMAND)
    elif state.status == "working":
        yield Diagnostic("meaning", None, collection.name, embedding_gap(state))
    else:
        yield Diagnostic("meaning", None, collection.name, f"Search by meaning: {state.status}. {state.reason}".strip())


def index_diagnostics(collection: Collection, progress: Progress | None = None) -> Iterator[Diagnostic]:
    """Check that the index has the current bytes of every file.

    Files with another size or time are indexed first. Differences that remain could not be detected otherwise.
    """
    report = collection.index.sync(progress)
    odd = _odd(collection)
    if odd:
        collection.index.sync(progress)
        odd &= _odd(collection)  # files that changed during the check are indexed by now
    if odd:
        some = ", ".join(sorted(address.path for address in odd)[:MAX_SHOWN_FILES])
        more = f" and {len(odd) - MAX_SHOWN_FILES:,} more" if len(odd) > MAX_SHOWN_FILES else ""
        message = f"The index differs from the files for {amount(len(odd), 'page')}: {some}{more}."
        hint = "Their bytes changed but their times did not. Rebuild the index:"
        yield Diagnostic("index", Severity.WARNING, collection.name, message, hint, "commonplace index --rebuild")
    else:
        pages = collection.index.counts().documents
        yield Diagnostic("index", None, collection.name, f"The index matches the files: {amount(pages, 'page')}.")
    if report.unreadable:
        path, reason = report.unreadable[0]
        message = f"{amount(len(report.unreadable), 'file')} cannot be served, such as {path}: {reason}."
        yield Diagnostic("files", Severity.INFO, collection.name, message, "All of them, and why:", "commonplace check")


def _odd(collection: Collection) -> set[Address]:
    """Documents whose files differ from the index, and documents that exist in only one of both."""
    revisions = collection.index.revisions()
    there: set[Address] = set()
    odd: set[Address] = set()
    with collection.store.reading() as read:
        for address in sorted(address for address, _ in collection.store.scan()):
            try:
                revision = revision_of(read(address))
            except (NotFoundError, StorageError):
                continue  # reported with the unreadable files
            there.add(address)
            if revisions.get(address) != revision:
                odd.add(address)
    return odd | (revisions.keys() - there)


def opening_diagnostics(error: KnowledgeError) -> Diagnostic:
    """The diagnostic for an error at opening the folders."""
    return Diagnostic("opening", Severity.ERROR, error.kind or "folder", str(error), error.hint)
