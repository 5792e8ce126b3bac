"""Checks of the folders, tags and types that narrow a query, and the nearest names for an unknown one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from unicodedata import normalize

from commonplace.domain.addresses import fold
from commonplace.domain.errors import NotFoundError
from commonplace.domain.query import Filter
from commonplace.services.collections import Collection
from commonplace.services.listing import every_document

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
