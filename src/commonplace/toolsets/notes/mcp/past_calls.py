"""Calls on a past state of the base, and versions of one page."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import replace

from commonplace.domain.addresses import Address, fold, is_document_path
from commonplace.domain.errors import NotFoundError
from commonplace.domain.markdown.paths import without_suffix
from commonplace.domain.revisions import is_revision
from commonplace.faces.mcp.toolset import Call
from commonplace.faces.write_output import day
from commonplace.services.collections import Collection, Collections, FoundDocument
from commonplace.services.history import trashed
from commonplace.services.past import as_of, document_then, moment_of
from commonplace.toolsets.notes.mcp.text_output import BoundedAnswer, line_of
from commonplace.toolsets.notes.service.page_lookup import FoundPage, find_page

SHORT_REVISION = 12
"""Digits of a revision that are shown; 7 are enough to pass one."""


@contextmanager
def call_at(call: Call, at: str, answer: BoundedAnswer) -> Generator[Call]:
    """The call on the base at a past moment; the unchanged call if `at` is "".

    The first line of the answer names the moment. Pages of the past are not recorded as seen in the session.

    Args:
        call: The call.
        at: The moment in the syntax of `services.past`; "" for now.
        answer: The answer, still empty.
    """
    if not at:
        yield call
        return
    with as_of(call.services.collections, at) as base:
        answer.add_shortened(base.note)
        yield replace(call, services=replace(call.services, collections=base.collections), session=None)


def page_at(call: Call, then: Call, reference: str) -> FoundPage:
    """The page that a reference names, at the moment of a call.

    As `read` finds it: the page that has the name now, under the name that it had then; else the one that had the name.

    Args:
        call: The call on the present base.
        then: The call that `call_at` yields.
        reference: The reference, as for `find_page`.

    Raises:
        NotFoundError: as from `find_page`.
    """
    if then is not call:
        with suppress(NotFoundError):
            now = find_page(call.services.collections, reference)
            document = document_then(FoundDocument(now.collection, now.record), then.services.collections)
            if document is not None:
                return FoundPage(document.collection, document.record, now.fragment)
    return find_page(then.services.collections, reference)


def version_of(collection: Collection, address: Address, at: str) -> tuple[bytes, str] | None:
    """The bytes of a file at a moment, or those that the trash has, and which of them; None if it was not there then.

    Args:
        collection: The collection.
        address: The file.
        at: The moment, as `services.past` takes it, or a revision that the trash has.

    Raises:
        InvalidInputError, NotFoundError, GitError: as `services.past.moment_of`.
        NotFoundError, StorageError: kind "trash": the item has expired meanwhile, or is unreadable.
    """
    trash = collection.store.trash
    item = trashed(collection, address.path, at) if trash and is_revision(at) else None
    if trash and item is not None and item.address == address:
        which = f"{item.revision[:SHORT_REVISION]}, until {day(item.until)}"
        return trash.content(item), f"AS IN THE TRASH ({which}), not as it is now"
    commit = moment_of(collection, at).commit.id
    then = collection.store.history.address_at(address, commit)
    try:
        raw = collection.past.commits.store(commit).read(then) if collection.past and then else None
    except NotFoundError:  # an ignore file excludes it
        return None
    if raw is None or then is None:
        return None
    older = f" as {then.path}" if then != address else ""
    return raw, f"AS IT WAS at {line_of(at, 40)} ({commit[:SHORT_REVISION]}){older}, not as it is now"


def is_path_then(collections: Collections, collection: Collection, name: str, at: str) -> bool:
    """Whether a name is a path at a moment, so that no page of then can have it as its title, alias or file name.

    It is one with a folder that was there then, or with a suffix of a page if no file of then has this name.

    Args:
        collections: The collections; with several, a name without a prefix may be that of another one's page.
        collection: The collection that the name selects.
        name: The name, without a fragment.
        at: The moment, as for `version_of`.
    """
    if collection.past is None or (len(collections.members) > 1 and not name.startswith(f"{collection.name}:")):
        return False
    then = collection.past.commits.store(moment_of(collection, at).commit.id)
    path = name.removeprefix(f"{collection.name}:").strip()
    folder = path.rpartition("/")[0]
    if folder:
        return is_document_path(path) or bool(then.files(folder))
    if not is_document_path(path):
        return False
    named = collection.store.history.named(fold(without_suffix(path)))
    addresses = (address for address, _ in then.scan()) if named is None else filter(then.stat, named)
    return all(address.name != path for address in addresses)
