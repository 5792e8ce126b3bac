"""The pages of a base that are published: the selection, and a collection in which no other page exists."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import cast

from commonplace.domain.addresses import Address, document_suffixes, fold
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.findings import shortened
from commonplace.domain.json import Json, list_of, number_of, scalar_text, text_of
from commonplace.domain.ports import History
from commonplace.domain.query import Record
from commonplace.domain.site_file import SITE_FILE, PublishRules, declared_site, is_meant_as_site_file
from commonplace.services.collections import Collection
from commonplace.services.site.published_view import PublishedIndex, PublishedStore, Reads, names_of_path
from commonplace.services.sites import site_findings

_FALSE, _TRUE = frozenset({"false", "no", "off", "0"}), frozenset({"true", "yes", "on", "1"})
_HARMLESS: Sequence[tuple[tuple[str, ...], Callable[[str], bool]]] = (
    (("draft", "private"), lambda word: word in _FALSE),
    # Many generators give a day here.
    (("publish", "published", "public"), lambda word: word in _TRUE or _DAY.match(word) is not None),
    (("visibility", "status", "access"), lambda word: _CLOSED.isdisjoint(re.findall(r"\w+", word))),
)
"""Keys of the front matter, and whether a word of their values leaves the page in. In doubt it is left out."""
_CLOSED = frozenset({"private", "draft", "internal", "secret", "hidden"})
_DAY = re.compile(r"(?:19|20)\d\d(?:\D|$)")
_USUAL = {**dict.fromkeys(_FALSE, "false"), **dict.fromkeys(_TRUE, "true")}
"""The usual form of a word in the report."""
MAX_KEYS = 4_000
"""Maximum number of keys of the front matter of which it is remembered whether they mark a page."""
_MARK_KEYS = frozenset(key for keys, _ in _HARMLESS for key in keys)
_UNREAD = frozenset({"bad_toml", "bad_yaml", "unterminated_frontmatter"})
_MARK_LINE = re.compile(
    rf"""^[ \t]*["']?(?:{"|".join(_MARK_KEYS)})["']?[ \t]*[:=]""".encode(), re.IGNORECASE | re.MULTILINE
)
_OWN_RULES = re.compile(rb"^(exclude_docs|draft_docs)[ \t]*:", re.MULTILINE)
MAX_HEAD_BYTES = 4_096
"""Number of bytes at the start of a page in which marks are looked for if its front matter is not understood."""


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
    settings = declared_site(collection.store)
    problems = [finding.message for finding in settings.publish_findings]
    problems += _unread_rules(collection, settings.publish)
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


def _unread_rules(collection: Collection, rules: PublishRules) -> Iterator[str]:
    """The configuration files whose own rules leave pages out, unless the base has rules. They are not read."""
    if rules != PublishRules():
        return
    for path in sorted({site.config for site in collection.index.lookup().sites if site.generator == "MkDocs"}):
        content = collection.store.read(Address(path))
        if key := next((match[1].decode() for match in _OWN_RULES.finditer(content)), ""):
            yield f"{path} leaves pages out with {key}, which is not read. Name these pages in {SITE_FILE}."


def select(records: Sequence[Record], rules: PublishRules, read: Callable[[Address], bytes]) -> PublishedPages:
    """Select the pages that everybody may see. A mark that is not understood leaves its page out.

    Args:
        records: All pages.
        rules: The rules of the base.
        read: Returns the bytes of a page; called if its front matter is not understood.
    """
    chosen: dict[str, Record] = {}
    left_out: list[LeftOut] = []
    for record in sorted(records, key=lambda record: record.address):
        reason = _reason(record.address.path, record.frontmatter, rules)
        if not reason and any(finding.rule in _UNREAD for finding in record.findings):
            has_mark = _MARK_LINE.search(read(record.address)[:MAX_HEAD_BYTES])
            reason = "a mark in front matter that is not understood" if has_mark else ""
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
    for keys, is_harmless in _HARMLESS:
        for key in keys:
            word = next((word for word in flags.get(key, ()) if word and not is_harmless(word)), "")
            if word:
                return f"{key}: {_USUAL.get(word, shortened(word))}"
    if rules.only_marked and _TRUE.isdisjoint(flags.get("publish", ())):
        return "not marked with publish: true"
    return ""


@lru_cache(MAX_KEYS)
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


def has_name(content: bytes, names: AbstractSet[str]) -> bool:
    """Whether a file contains one of these folded names, in any case."""
    text = fold(content.decode("utf-8", "replace")) if content else ""
    return bool(text) and any(name in text for name in names)


def published_collection(
    collection: Collection, selection: PublishedPages, rules: PublishRules, unlisted: Iterable[str], withheld: str
) -> tuple[Collection, PublishedIndex, frozenset[str]]:
    """The collection with the published pages alone, in which no other page can be read, found or linked to.

    Beside it are its index, and the names of the other pages, folded.

    Args:
        collection: The base.
        selection: Its pages.
        rules: The rules of the base.
        unlisted: Paths of further pages that are not published: ignored files, and former names.
        withheld: The text in the place of the name of a page that is not published.
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
        withheld,
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


def files_in(base: Path) -> Iterator[str]:
    """The paths of all files in the folder of a base, also of ignored ones; those of Git are left out."""
    for folder, folders, names in os.walk(base):
        if ".git" in folders:
            folders.remove(".git")
        inside = Path(folder).relative_to(base).as_posix()
        yield from (name if inside == "." else f"{inside}/{name}" for name in names)


def pages_and_others(paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """The paths that are those of pages by their names, and the others."""
    suffixes = document_suffixes()
    pages: list[str] = []
    others: list[str] = []
    for path in paths:
        (pages if path.endswith(suffixes) else others).append(path)
    return pages, others


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


FormerPath = tuple[str, str, int]
"""The old and the current path of a renamed page, and the number of commits from the newest one to its rename."""


def previous_paths(
    collection: Collection, records: Mapping[str, Record], limit: int, stored: Mapping[str, Json]
) -> tuple[Sequence[FormerPath], Mapping[str, Json]]:
    """The renames of pages, the newest first, and what the next call may know of them.

    The stored ones are taken if later commits touched only pages that there are, so that they renamed none.

    Args:
        collection: The collection with the history.
        records: The records of its pages by path.
        limit: Maximum number of commits that are looked at.
        stored: What an earlier call gave to be stored; empty for none.
    """
    history = collection.store.history
    if not history.available:
        return (), {}
    names = blake2b("\n".join(sorted(records)).encode("utf-8", "replace"), digest_size=12).hexdigest()
    renames = _stored_renames(history, records, limit, stored) if stored.get("pages") == names else None
    if renames is None:
        renames = list(_renames(history, records, limit))
    raw: list[Json] = [list[Json](rename) for rename in renames]
    return renames, {"head": history.head(), "pages": names, "renames": raw}


def _stored_renames(
    history: History, pages: Container[str], limit: int, stored: Mapping[str, Json]
) -> list[FormerPath] | None:
    """The stored renames, of which the last ones may be too far away now; None if later commits may have renamed."""
    before = text_of(stored.get("head"))
    later = history.touched_since(before) if before else None
    if later is None or not all(address.path in pages for address in later):
        return None
    count = len(history.log(None, limit=limit, after=before)) if history.head() != before else 0
    rows = map(list_of, list_of(stored.get("renames")))
    renames = [(text_of(old), text_of(new), count + int(number_of(at) or 0)) for old, new, at in rows]
    return list(filter(lambda rename: rename[2] <= limit, renames))


def _renames(history: History, records: Mapping[str, Record], limit: int) -> Iterator[FormerPath]:
    current: dict[str, str] = {path: path for path in records}
    for number, commit in enumerate(history.log(None, limit=limit), 1):
        touched = {address.path for address in commit.addresses}
        if touched <= current.keys() or touched.isdisjoint(current):
            continue  # a rename that matters touches a page of today and one that is not there
        for new, old in history.renames(commit.id).items():
            if new.path in current and old.path not in current:
                current[old.path] = current[new.path]
                yield old.path, current[old.path], number


@dataclass(slots=True)
class WrittenPage:
    """A page as it was written, for the next publication."""

    revision: str
    targets: list[str] = field(default_factory=list[str])
    """Paths of the pages that it links to."""
    files: list[str] = field(default_factory=list[str])
    """Paths of the pictures and other files that it uses."""
    notes: list[str] = field(default_factory=list[str])
    """Sentences about its status, which changes with the day and with what replaces it; a digest of broken links."""
    shown: list[str] = field(default_factory=list[str])
    """Paths of the pages whose text it may show, because it embeds them."""
    named: list[str] = field(default_factory=list[str])
    """Paths of the pages whose headings and other parts its links name."""
    parts: str = ""
    """Changes with what links may name in it."""


_LISTS = ("targets", "files", "notes", "shown", "named")
"""The entries of a written page that are lists of texts; it must have the first two."""


def earlier_pages(stored: object) -> Iterator[tuple[str, WrittenPage]]:
    """The pages of the last publication by path; one whose entry has another form is written again."""
    for path, entry in cast("dict[str, object]", stored).items() if isinstance(stored, dict) else ():
        values = cast("dict[str, object]", entry) if isinstance(entry, dict) else {}
        revision, lists = values.get("revision"), _lists(values)
        if isinstance(revision, str) and lists and "targets" in values and "files" in values:
            parts = scalar_text(cast("Json", values.get("parts")))  # "" in those of an earlier version
            targets, files, notes, shown, named = lists
            yield path, WrittenPage(revision if parts else "", targets, files, notes, shown, named, parts)


def _lists(values: Mapping[str, object]) -> Sequence[list[str]]:
    """The lists of a written page; none if one is no list of texts. All are checked at once: there are many pages."""
    lists = cast("list[list[str]]", [values.get(key, []) for key in _LISTS])
    is_whole = {*map(type, lists)} == {list} and {*map(type, chain.from_iterable(lists))} <= {str}
    return lists if is_whole else ()
