"""The pages of a base that are published: the selection, and a collection in which no other page exists."""

from __future__ import annotations

import os
from collections.abc import Collection as AnyCollection
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from commonplace.domain.addresses import Address, document_suffixes, fold
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json, scalar_text
from commonplace.domain.query import Record
from commonplace.domain.site_file import SITE_FILE, PublishRules, declared_site, is_meant_as_site_file
from commonplace.services.collections import Collection
from commonplace.services.site.published_view import PublishedIndex, PublishedStore, Reads, names_of_path
from commonplace.services.sites import site_findings

_FALSE, _TRUE = frozenset({"false", "no", "off", "0"}), frozenset({"true", "yes", "on", "1"})
_MARKS: Sequence[tuple[tuple[str, ...], Mapping[str, str]]] = (
    (("draft", "private"), dict.fromkeys(_TRUE, "true")),
    (("publish", "published", "public"), dict.fromkeys(_FALSE, "false")),
    (("visibility", "status", "access"), {word: word for word in ("private", "draft", "internal", "secret", "hidden")}),
)
"""Keys of the front matter, and the words with which each leaves the page out, as the report shows them."""
_MARK_KEYS = frozenset(key for keys, _ in _MARKS for key in keys)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A page or file that is not published."""

    path: str
    reason: str
    """The reason, such as `draft: true`."""


@dataclass(frozen=True, slots=True)
class PublishedPages:
    """The pages of a base that are published, and those that are not."""

    records: Mapping[str, Record]
    """Records of the published pages by path."""
    left_out: tuple[LeftOut, ...]


def require_rules(collection: Collection, base: Path) -> tuple[str, ...]:
    """Check that the base says without an error which pages are published. Returns its other errors about the site.

    Args:
        collection: The base.
        base: Its folder.

    Raises:
        InvalidInputError: kind "publish": `commonplace.yaml` cannot be read, is wrong about publishing, or has another
            name.
    """
    problems = [finding.message for finding in declared_site(collection.store).publish_findings]
    names = sorted(file.name for file in base.iterdir())
    problems += [f"{name} is not read. Name it {SITE_FILE}." for name in names if is_meant_as_site_file(name)]
    file = base / SITE_FILE
    if file.is_symlink() or (file.exists() and not file.is_file()):
        problems.append(f"{SITE_FILE} is a link or a folder, so it is not read. Put the file itself there.")
    if problems:
        raise InvalidInputError(
            f"Nothing was published: {' '.join(problems)}",
            kind="publish",
            hint="Valid: `publish: {exclude: [internal, journal/diary.md], only_marked: true}`, one key or both.",
        )
    return tuple(finding.message for finding in site_findings(collection))


def select(records: Sequence[Record], rules: PublishRules) -> PublishedPages:
    """Select the pages that everybody may see.

    Args:
        records: All pages.
        rules: The rules of the base.
    """
    chosen: dict[str, Record] = {}
    left_out: list[LeftOut] = []
    for record in sorted(records, key=lambda record: record.address):
        reason = _reason(record.address.path, record.frontmatter, rules)
        if reason:
            left_out.append(LeftOut(record.address.path, reason))
        else:
            chosen[record.address.path] = record
    return PublishedPages(chosen, tuple(left_out))


def _reason(path: str, values: Mapping[str, Json], rules: PublishRules) -> str:
    """The reason why a page is not published; "" if it is."""
    folder = excluded_by(path, rules)
    if folder:
        return f"excluded: {folder}"
    flags: dict[str, list[str]] = {}
    for key in filter(_is_mark, values):
        flags.setdefault(key.strip().lower(), []).extend(_flags(values[key]))
    for keys, words in _MARKS:
        for key in keys:
            word = next((word for word in flags.get(key, ()) if word in words), "")
            if word:
                return f"{key}: {words[word]}"
    if rules.only_marked and _TRUE.isdisjoint(flags.get("publish", ())):
        return "not marked with publish: true"
    return ""


def _is_mark(key: str) -> bool:
    return key.strip().lower() in _MARK_KEYS


def _flags(value: Json) -> Iterator[str]:
    """The words of a value in lower case; a list has those of its items."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _flags(item)
    else:
        yield scalar_text(value).strip().lower()


def excluded_by(path: str, rules: PublishRules) -> str:
    """The excluded folder or page that a path is in; "" for none. Case and Unicode form do not count."""
    bare = fold(path)
    for element in rules.exclude:
        rule = fold(element)
        if bare == rule or bare.startswith(f"{rule}/") or bare in {f"{rule}.md", f"{rule}.mdx"}:
            return element
    return ""


def published_collection(
    collection: Collection, selection: PublishedPages, rules: PublishRules, unlisted: Iterable[str]
) -> tuple[Collection, PublishedIndex, frozenset[str]]:
    """The collection with the published pages alone, in which no other page can be read, found or linked to.

    Beside it are its index, and the names of the other pages, folded.

    Args:
        collection: The base.
        selection: Its pages.
        rules: The rules of the base.
        unlisted: Paths of further pages that are not published: ignored files, and former names.
    """
    hidden = frozenset(Address(left_out.path) for left_out in selection.left_out)
    unlisted_names = frozenset(fold(name) for path in unlisted for name in names_of_path(path))
    reads = Reads()
    index = PublishedIndex(
        collection.index,
        selection.records,
        hidden,
        lambda path: fold(path) in unlisted_names or bool(excluded_by(path, rules)),
        reads,
    )
    published = replace(
        collection,
        store=PublishedStore(collection.store, hidden, reads),
        index=index,
        semantic_index=None,
        past=None,
        proposals=None,
    )
    return published, index, index.hidden_names() | unlisted_names


def ignored_pages(base: Path, records: AnyCollection[str]) -> Iterator[str]:
    """The paths of the pages in the folder of a base that it does not serve, such as those of ignored folders.

    Args:
        base: The folder.
        records: The paths of all pages that it serves.
    """
    suffixes = document_suffixes()
    for folder, folders, names in os.walk(base):
        if ".git" in folders:
            folders.remove(".git")
        inside = Path(folder).relative_to(base).as_posix()
        for name in names:
            path = name if inside == "." else f"{inside}/{name}"
            if name.endswith(suffixes) and path not in records:
                yield path


@dataclass(frozen=True, slots=True)
class PublishReport:
    """The result of a publication."""

    pages: int
    rendered: int
    """Number of pages that were rendered; the others are as the last publication wrote them."""
    written: int
    """Number of files that were created or changed."""
    removed: int
    """Number of files of an earlier publication that were removed."""
    files: int
    """Number of pictures and other files that pages use."""
    redirects: int
    left_out: tuple[LeftOut, ...]
    broken: tuple[tuple[str, str], ...]
    """Page and target of each link that leads nowhere in the base, either."""
    searchable: bool = False
    """Whether the pages can be searched."""
    notices: tuple[str, ...] = ()
    """Sentences about parts that were not written."""


def previous_paths(collection: Collection, records: Mapping[str, Record], limit: int) -> Iterator[tuple[str, str]]:
    """The old and the current path of each renamed page, the newest renames first.

    Args:
        collection: The collection with the history.
        records: The records of the published pages by path.
        limit: Maximum number of commits that are looked at.
    """
    history = collection.store.history
    if not history.available:
        return
    current: dict[str, str] = {path: path for path in records}
    for commit in history.log(None, limit=limit):
        for new, old in history.renames(commit.id).items():
            if new.path in current and old.path not in current:
                current[old.path] = current[new.path]
                yield old.path, current[old.path]
