"""Views of history: recent commits, one commit, the history of a document, and comparisons of versions."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.domain.addresses import Address
from commonplace.domain.errors import NotFoundError
from commonplace.domain.revisions import is_revision
from commonplace.faces.web import shown
from commonplace.faces.web.exchange import CardRow, PageRequest, PageResponse
from commonplace.faces.web.pages import breadcrumbs, page
from commonplace.faces.web.views.document import once_located, toolset_notes
from commonplace.services.collections import Collection, current_revision
from commonplace.services.history import revision_at
from commonplace.services.past import moment_of
from commonplace.services.site import changes
from commonplace.services.site.changes import MAX_DIFF_ROWS, DiffRow, differences
from commonplace.services.site.documents import document_at_path

MAX_FILES = 40
"""Maximum number of documents of a commit whose differences are shown."""
HISTORY_SIZE = 50
"""Number of commits on one page of a history."""


@dataclass(frozen=True, slots=True)
class CommitRow:
    """A commit in a list."""

    collection: Collection
    commit: shown.ShownCommit
    documents: tuple[Address, ...]


def recent(request: PageRequest) -> PageResponse:
    """Recent commits of all collections, newest first."""
    number = request.number("page")
    rows: list[CommitRow] = []
    more = False
    for collection in request.collections:
        commits, older = changes.recent(collection, number)
        more = more or older
        rows += [
            CommitRow(collection, shown.shown_commit(other_commit), changes.documents_of(collection, other_commit))
            for other_commit in commits
        ]
    rows.sort(key=lambda row: -row.commit.when)
    without = [collection.name for collection in request.collections if not collection.store.history.available]
    return page(request, "recent.html", rows=rows, number=number, more=more, without=without)


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The changes of a commit in one document."""

    address: Address
    url: str
    rows: list[DiffRow]
    before: str
    """The previous commit that touched the document; "" if there is none."""
    renamed_from: Address | None
    """The document's address before the commit; None if the commit did not rename it."""
    notes: list[CardRow]
    """Parts that toolsets show for the current document."""
    is_deleted: bool
    """Whether the commit deleted the document."""


def commit(request: PageRequest) -> PageResponse:
    """One commit: author, time, message, and the differences in each document."""
    collection, revision = request.located()
    if not is_revision(revision):
        raise NotFoundError("There is no such commit.", kind="revision", hint="See the recent changes.")
    found_commit = changes.commit_of(collection, revision.lower())
    renames = collection.store.history.renames(found_commit.id)
    touched = changes.documents_of(collection, found_commit)
    files: list[FileDiff] = []
    left = MAX_DIFF_ROWS
    for address in touched[:MAX_FILES]:
        before = changes.before(collection, address, found_commit.id)
        old = changes.version(collection, address, before) if before else ""
        rows = differences(old, changes.version(collection, address, found_commit.id))[: max(left, 0)]
        left -= len(rows)
        notes = toolset_notes(request, document_at_path(collection, address.path))
        url = request.urls.page(collection.name, address.path)
        is_deleted = not collection.store.history.has(address, found_commit.id)
        files.append(FileDiff(address, url, rows, before, renames.get(address), notes, is_deleted))
    return page(
        request,
        "commit.html",
        collection=collection,
        commit=shown.shown_commit(found_commit),
        files=files,
        total=len(touched),
        view=_view(request),
    )


def history(request: PageRequest) -> PageResponse:
    """The commits of a document, with a form to compare two versions; with `at`, those up to a moment."""
    collection, address = once_located(request)
    number = request.number("page")
    log = collection.store.history
    if request.at and collection.past is not None:
        log = collection.past.commits.store(moment_of(collection, request.at).commit.id).history
        address = collection.store.history.address_at(address, log.head()) or address
    commits = log.log(address, limit=HISTORY_SIZE + 1, offset=(number - 1) * HISTORY_SIZE) if log.available else []
    if not commits and (request.at or document_at_path(collection, address.path) is None):
        raise NotFoundError("There is no such page, and there was none.", kind="document")
    return page(
        request,
        "history.html",
        collection=collection,
        address=address,
        commits=[
            (shown.shown_commit(other_commit), _has(collection, address, other_commit.id))
            for other_commit in commits[:HISTORY_SIZE]
        ],
        more=len(commits) > HISTORY_SIZE,
        restores=request.may_edit(collection),
        revision=current_revision(collection, address),
        number=number,
        crumbs=breadcrumbs(request, collection, address.folder),
    )


def _has(collection: Collection, address: Address, commit: str) -> bool:
    """Whether a commit contains the document, under its name of then; not so a commit that deletes it."""
    return collection.store.history.address_at(address, commit) is not None


def compare(request: PageRequest) -> PageResponse:
    """Compare two versions of a document, at the commits `from` and `to`. Without `to`, the current file is used.

    Without `from`, the version before the last commit is used.
    """
    collection, address = once_located(request)
    old, new = request.query.get("from"), revision_at(collection, request.query.get("to", ""))
    old = _version_before(collection, address) if old is None else revision_at(collection, old)
    for commit in filter(None, (old, new)):
        _has(collection, address, commit)  # says that there is no such commit
    before = changes.version(collection, address, old) if old else ""
    after = changes.version(collection, address, new)
    document = document_at_path(collection, address.path)
    if not (before or after or document):
        raise NotFoundError("There is no such page, and there was none at these commits.", kind="document")
    rows = differences(before, after)
    return page(
        request,
        "compare.html",
        collection=collection,
        address=address,
        old=old,
        new=new,
        rows=rows[:MAX_DIFF_ROWS],
        notes=toolset_notes(request, document),
        cut=len(rows) > MAX_DIFF_ROWS,
        view=_view(request),
        crumbs=breadcrumbs(request, collection, address.folder),
    )


def _version_before(collection: Collection, address: Address) -> str:
    """The last but one commit that touched a document; "" if there is none."""
    log = collection.store.history
    commits = log.log(address, limit=1, offset=1) if log.available else []
    return commits[0].id if commits else ""


def _view(request: PageRequest) -> str:
    return "inline" if request.query.get("view") == "inline" else "side"
