"""Resolves what a caller names: a page by path, title, alias, link or the handle of a hit; folders, tags and types."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection as Pages
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from unicodedata import normalize

from commonplace.domain.activity import record_read
from commonplace.domain.addresses import Address, fold, is_document_path, parse_document_address
from commonplace.domain.errors import IndexingError, InvalidInputError, NotFoundError
from commonplace.domain.query import Filter, ListQuery, Record
from commonplace.services.collections import (
    Collection,
    Collections,
    as_stored,
    is_served_page,
    record_of,
    record_of_new_file,
    reference_splits,
    several_named,
)
from commonplace.services.deletions import cut_off, deletion_of, skipped_file
from commonplace.services.file_search import pages_named
from commonplace.services.listing import every_document
from commonplace.services.writes.new_paths import daily_address, has_folder, new_page_address

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
MAX_NEAREST_PAGES = 3
"""Maximum number of pages that an error suggests."""


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page and the part of it that the reference names."""

    collection: Collection
    record: Record
    fragment: str = ""
    """`Heading`, an anchor or `^block`; "" for the whole page."""


@dataclass(frozen=True, slots=True)
class PagePath:
    """The path of an existing or a new page."""

    collection: Collection
    address: Address


def find_page(collections: Collections, reference: str) -> FoundPage:
    """The page to which a reference resolves.

    Args:
        collections: The open folders.
        reference: A path with or without suffix, id, title, alias or `[[link]]`, each with or without `#Heading` or
            `#^block`. A prefix `NAME:` selects the folder if several are served.

    Raises:
        NotFoundError: kind "document"; context holds `nearest`. It also holds `folder` if the reference is a folder's
            path, and `place`, the path of the daily page, if the reference is a date.
    """
    page = page_or_none(collections, reference)
    if page is None:
        raise _unknown(*_chosen(collections, _unwrapped(reference)))
    return page


def page_to_change(collections: Collections, reference: str) -> FoundPage:
    """The page that `find_page` returns, unless the reference is a file name with its suffix and the page lies deeper.

    Such a name is a path at the top, at which `write` creates a page; a change of it must not reach another page.

    Raises:
        NotFoundError: as from `find_page`; for such a name, context holds the page in `nearest`.
    """
    page = find_page(collections, reference)
    name = _chosen(collections, reference.strip())[1].partition("#")[0].strip()
    if "/" in name or not is_document_path(name) or fold(page.record.address.path) == fold(name):
        return page
    deeper = shown_path(collections, page.collection, page.record.address)
    raise NotFoundError(f"There is no page {name!r} at the top.", kind="document", reference=name, nearest=[deeper])


def page_or_none(collections: Collections, reference: str) -> FoundPage | None:
    """The page that `find_page` returns; None if there is none, without the time for what is near to it."""
    for chosen, rest in [_chosen(collections, text) for text in _sides(reference)]:
        for name, fragment in reference_splits(rest):
            for collection in chosen:
                record = _record(collection, name) if name else None
                if record is not None:
                    record_read(collection.store.identity, record.address.path)
                    return FoundPage(collection, record, fragment)
    return None


def page_in_files(collections: Collections, reference: str, state: str) -> FoundPage:
    """The page at a path, or of a file name or title, by the files alone. Its record has what its file tells.

    For the time in which the first index is being built: answers within a second.

    Args:
        collections: The open folders.
        reference: A path with or without suffix, a file name, id, title or alias, with or without `#Heading` or
            `#^block`.
        state: The state of the first index, a sentence.

    Raises:
        IndexingError: no page of this name is known yet, or several are.
    """
    chosen, rest = _chosen(collections, _unwrapped(reference))
    page = _at_path(chosen, rest)
    if page is not None:
        return page
    fragments = {name: fragment for name, fragment in reference_splits(rest) if name}
    pages: list[FoundPage] = []
    looked = ""
    for collection in chosen if fragments else ():
        named, said = pages_named(collection, list(fragments))
        pages += [FoundPage(collection, record, fragments[name]) for record, name in named]
        looked += f": {said}" if said else ""
    if len(pages) == 1:
        return pages[0]
    raise _not_one(
        rest.partition("#")[0] or rest, [shown_path(collections, *_place(page)) for page in pages], looked, state
    )


def _at_path(chosen: Sequence[Collection], rest: str) -> FoundPage | None:
    """The page at a path, with or without a fragment, by the files alone; None if there is none."""
    for name, fragment in reference_splits(rest):
        with suppress(InvalidInputError):
            address = parse_document_address(name)
            for collection in chosen:
                if is_served_page(collection.store, address):
                    document = collection.index.document(address)
                    record = Record(address=address, id=address.id, title=document.title, type="")
                    return FoundPage(collection, record, fragment)
    return None


def _place(page: FoundPage) -> tuple[Collection, Address]:
    return page.collection, page.record.address


def _not_one(name: str, paths: list[str], looked: str, state: str) -> IndexingError:
    """The error for a name that no page is known to have, or several have."""
    fault = f"{name[:120]!r} names {len(paths)} pages" if paths else f"No page {name[:120]!r} is known yet"
    return IndexingError(
        f"{fault}{looked}. {state}",
        kind="index",
        hint=f"Give a path, such as {paths[0]}." if paths else "Give its path, or try again in a few seconds.",
        nearest=paths[:MAX_NEAREST_PAGES],
    )


def path_among(
    collections: Collections, reference: str, pages: Pages[tuple[str, Address]]
) -> tuple[PagePath, str] | None:
    """The path and the fragment if a reference names one of these pages, which need not exist; else None.

    Args:
        collections: The open folders.
        reference: A path with or without suffix, with or without `#Heading` or `#^block`.
        pages: The name of the folder and the address of each page.
    """
    chosen, rest = _chosen(collections, _unwrapped(reference))
    for name, fragment in reference_splits(rest):
        with suppress(InvalidInputError):
            address = parse_document_address(name)
            for collection in chosen:
                if (collection.name, address) in pages:
                    return PagePath(collection, address), fragment
    return None


def page_path(collections: Collections, reference: str) -> PagePath:
    """The path of an existing or a new page; a missing `.md` is added.

    Raises:
        InvalidInputError: the reference is not a valid path of a page.
        NotFoundError: no folder is served.
    """
    chosen, rest = _chosen(collections, _unwrapped(reference))
    if not chosen:
        raise NotFoundError("No folder is served.", kind="collection")
    return PagePath(chosen[0], as_stored(chosen[0].index, parse_document_address(rest)))


def new_page_path(collections: Collections, reference: str) -> PagePath:
    """The path of a new page. Unlike `page_path`, refuses a bare name that other pages or a folder have.

    Raises:
        InvalidInputError, NotFoundError: as from `page_path`.
        AlreadyExistsError: other pages have this name; context holds `nearest`.
    """
    chosen, rest = _chosen(collections, _unwrapped(reference))
    if not chosen:
        raise NotFoundError("No folder is served.", kind="collection")
    return PagePath(chosen[0], new_page_address(chosen[0], rest))


def folder_prefix(collections: Collections, folder: str) -> tuple[Sequence[Collection], str]:
    """The collections and the path prefix (`notes/`, or "") that a folder argument selects.

    The prefix has the Unicode normalization of the first page below it.
    """
    chosen, rest = _chosen(collections, folder.strip())
    path = rest.strip("/")
    prefix = f"{path}/" if path and path != "." else ""
    within = ListQuery(filter=Filter(prefix=prefix), limit=1)
    first = (
        record for collection in chosen if not prefix.isascii() for record in collection.index.list(within).records
    )
    for record in first:
        return chosen, "".join(f"{name}/" for name in record.address.path.split("/")[: prefix.count("/")])
    return chosen, prefix


def shown_path(collections: Collections, collection: Collection, address: Address) -> str:
    """The path of a page for callers, prefixed by the name of its folder if several are served."""
    return address.path if len(collections.members) == 1 else f"{collection.name}:{address.path}"


def _unwrapped(reference: str) -> str:
    return _sides(reference)[0]


def _sides(reference: str) -> list[str]:
    """A reference without the brackets of a link; both sides of `[[a|b]]`."""
    text = reference.strip()
    if not (text.startswith(("[[", "![[")) and text.endswith("]]")):
        return [text]
    first, _, last = text[text.index("[[") + 2 : -2].partition("|")
    return [side for side in (first.strip(), last.strip()) if side] or [""]


def _chosen(collections: Collections, text: str) -> tuple[Sequence[Collection], str]:
    name, separator, rest = text.partition(":")
    collection = collections.named(name) if separator else None
    if collection is not None:
        return (collection,), rest.strip()
    return collections.members, text


def _record(collection: Collection, name: str) -> Record | None:
    record = record_of(collection.index, name) or collection.index.find(name)
    if record is not None:
        return record
    with suppress(InvalidInputError):
        return record_of_new_file(collection, parse_document_address(name))
    return None


def _daily_path(collection: Collection, day: str) -> str:
    try:
        return daily_address(collection, date.fromisoformat(day)).path
    except ValueError:  # there is no such day
        return f"{day}.md"


def _unknown(chosen: Sequence[Collection], text: str) -> NotFoundError:
    name = text.partition("#")[0].strip() or text
    if any(has_folder(collection, name) for collection in chosen if name.strip("/")):
        return NotFoundError(
            f"{name.strip('/')!r} is a folder, not a page.", kind="document", reference=name, folder=name.strip("/")
        )
    if several := several_named(chosen, name):
        return several
    day = _DAY.fullmatch(name.removesuffix(".md").rpartition("/")[2])
    nearest: list[str] = []
    for collection in chosen:
        for reference in collection.index.nearest(name):
            record = record_of(collection.index, reference)
            path = record.address.path if record else reference
            nearest.append(f"{collection.name}:{path}" if len(chosen) > 1 else path)
    stores = [collection.store for collection in chosen]
    skipped = skipped_file(stores, name)
    gone = None if skipped else deletion_of(stores, name)
    reason = gone.sentence if gone else skipped or cut_off(stores)
    error = NotFoundError(
        f"There is no page {text[:120]!r}. {reason}".rstrip(),
        kind="document",
        reference=text,
        nearest=nearest[:MAX_NEAREST_PAGES],
    )
    if gone and gone.moved_to:
        error.context["nearest"] = [gone.moved_to.path]
    elif gone:
        error.context |= {"gone": gone.address.path, "moment": gone.moment}
    if day and chosen:
        folder = name.rpartition("/")[0]
        error.context["place"] = f"{folder}/{day[0]}.md" if folder else _daily_path(chosen[0], day[0])
    return error


# Checks of the folders, tags and types that narrow a query, and the nearest names for an unknown one.


MAX_KNOWN = 5
"""Maximum number of known names that an error lists."""
MIN_LIKENESS = 0.5
"""Minimum similarity of a suggested name, 0 to 1."""


def require_known_folder(chosen: Sequence[Collection], prefix: str) -> None:
    """Raise if no page is below a path prefix.

    Raises:
        NotFoundError: kind "folder"; context holds `nearest`.
    """
    counts: Counter[str] = Counter()
    for collection in chosen:
        for address in collection.index.revisions():
            if address.path.startswith(prefix):
                return
            parts = address.folder.split("/") if address.folder else []
            counts.update("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
    if prefix and any(_has_empty_folder(collection, prefix.rstrip("/")) for collection in chosen):
        raise NotFoundError(f"The folder {prefix[:80]!r} has no pages.", kind="folder", reference=prefix)
    names = sorted((name for name in counts if "/" not in name), key=lambda name: (-counts[name], name))
    raise unknown("folder", prefix, [f"{name}/" for name in names], [f"{name}/" for name in sorted(counts)])


def _has_empty_folder(collection: Collection, folder: str) -> bool:
    """Whether there is a folder that may contain files, none of which is a page."""
    above = folder.rpartition("/")[0]
    return normalize("NFC", folder) in (normalize("NFC", text) for text in collection.store.folders(above))


def require_known_tag(chosen: Sequence[Collection], tag: str) -> None:
    """Raise if no page has a tag or a tag nested below it.

    Raises:
        NotFoundError: kind "tag"; context holds `nearest`.
    """
    names = [name for collection in chosen for name, _ in collection.index.tags(Filter())]
    if not any(f"{fold(name)}/".startswith(f"{fold(tag)}/") for name in names):
        raise unknown("tag", tag, names, names)


def require_known_type(chosen: Sequence[Collection], type_: str) -> None:
    """Raise if no page has a type.

    Raises:
        NotFoundError: kind "type"; context holds `nearest`.
    """
    counts = Counter(record.type for collection in chosen for record in every_document(collection) if record.type)
    if fold(type_) not in map(fold, counts):
        names = [name for name, _ in counts.most_common()]
        raise unknown("type", type_, names, names)


def unknown(kind: str, name: str, common: Sequence[str], names: Iterable[str]) -> NotFoundError:
    """The error for an unknown name.

    Args:
        kind: The kind of the name: "folder", "tag", "type" or "author".
        name: The unknown name.
        common: Known names, most frequent first.
        names: All known names.
    """
    by_form: dict[str, str] = {}
    for other_name in names:
        by_form.setdefault(fold(other_name), other_name)
    close = get_close_matches(fold(name), by_form, 3, MIN_LIKENESS)
    within = [form for form in by_form if fold(name.strip("/")) in form and form not in close]
    nearest = [by_form[form] for form in [*close, *within]][:3]
    listed = f"Known: {', '.join(common[:MAX_KNOWN])}." if common else f"There is no {kind} at all."
    return NotFoundError(f"There is no {kind} {name[:80]!r}.", kind=kind, hint=listed, reference=name, nearest=nearest)
