"""Pages: documents with a page id in their frontmatter, and the other fields that a sync writes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from commonplace.domain.addresses import SKIPPED_FOLDERS, Address
from commonplace.domain.documents import Finding, Frontmatter
from commonplace.domain.errors import KnowledgeError, NotFoundError, StorageError
from commonplace.domain.frontmatter import block_end, read_frontmatter
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.ports import Store
from commonplace.domain.records import unix_seconds
from commonplace.domain.words.text_decoder import decoded
from commonplace.toolsets.pages.rules.space import SPACE_FILE, Space

EXCLUDED_FOLDERS = SKIPPED_FOLDERS | {"dist", "build", "coverage"}
"""Folders that never contain pages, at any depth."""
MAX_SHOWN_VALUE = 60
"""Maximum length in characters of a wrong id in a message."""

NO_IDS: Mapping[str, str] = MappingProxyType({})

_ID = re.compile(r"[A-Za-z0-9_-]{1,511}")
_FLAWS = frozenset({"bad_yaml", "unterminated_frontmatter"})
"""Rules of the findings that make a frontmatter unreadable."""
_END_OF_UNCLOSED = re.compile(rb"^[ \t]*\r?$|^#", re.MULTILINE)
_TITLE_LINE = re.compile(r"\s*#[ \t]+([^\n]*)(?:\n|\Z)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page. Unknown texts are "", unknown dates None."""

    address: Address
    id: str
    title: str
    labels: tuple[str, ...] = ()
    author_email: str = ""
    author_name: str = ""
    last_modifier_email: str = ""
    created: int | None = None
    """Unix seconds."""
    updated: int | None = None
    url: str = ""
    parent_title: str = ""
    flaw: str = ""
    """The reason why the frontmatter cannot be read completely, as a clause; "" if it can.

    A page with a flaw has the values that could be read.
    """

    @property
    def author(self) -> str:
        """The author's e-mail address, or the name if the site hides addresses."""
        return self.author_email or self.author_name


@dataclass(frozen=True, slots=True)
class UnusablePage:
    """A file that has a page id but cannot be a page."""

    address: Address
    reason: str
    """The rest of a sentence that begins with the file's path."""


@dataclass(frozen=True, slots=True)
class PageText:
    """A page with its text."""

    page: Page
    content: str
    """Markdown without the frontmatter, trimmed, with its title line."""


def is_page_path(address: Address) -> bool:
    """Whether a page may have this address."""
    return address.is_document and EXCLUDED_FOLDERS.isdisjoint(address.path.split("/")[:-1])


def read_page(address: Address, raw: bytes, ids: Mapping[str, str] = NO_IDS) -> PageText | UnusablePage | None:
    """Parse the page in a file's bytes; None if it is not a page.

    Args:
        address: Address of the file.
        raw: The file's bytes.
        ids: Page id by path, for pages whose frontmatter cannot be read.
    """
    source = _decodable(raw)
    block = read_frontmatter(source)
    flaw = flaw_of(block.findings)
    values, end = _salvaged(source, block, ids.get(address.path)) if flaw else (block.values, block.span.end)
    content = source[end:].decode().strip()
    heading = _TITLE_LINE.match(content)
    page = page_from(address, values, heading[1].strip() if heading else address.stem)
    if not isinstance(page, Page):
        return page
    return PageText(replace(page, flaw=flaw) if flaw else page, content)


def flaw_of(findings: Iterable[Finding]) -> str:
    """The reason why a frontmatter cannot be read, as a clause; "" if it can."""
    messages = (finding.message for finding in findings if finding.rule in _FLAWS)
    message = next(messages, "").removesuffix(".").partition("; it is read as text")[0]
    return f"{message[:1].lower()}{message[1:]}"


def content_of(raw: bytes) -> str:
    """The content of a file that is known to be a page without a flaw. Skips the frontmatter without parsing it."""
    source = _decodable(raw)
    return source[block_end(source) :].decode().strip()


def page_from(address: Address, values: JsonObject, heading: str) -> Page | UnusablePage | None:
    """The page that a frontmatter describes; None if it has no page id.

    Args:
        address: Address of the file.
        values: The frontmatter.
        heading: The title if the frontmatter has none.
    """
    page_id = values.get("page_id")
    if page_id is None or page_id == "" or not is_page_path(address):
        return None
    identifier = "" if isinstance(page_id, bool | float) else as_one_line(page_id)
    if not _ID.fullmatch(identifier):
        return UnusablePage(address, f"its page_id {_shown(page_id)} is not 1 to 511 of A-Z, a-z, 0-9, - and _")
    return Page(
        address=address,
        id=identifier,
        title=as_one_line(values.get("title")) or heading,
        labels=_labels(values.get("labels")),
        author_email=as_one_line(values.get("author_email")),
        author_name=as_one_line(values.get("author_name")),
        last_modifier_email=as_one_line(values.get("last_modifier_email")),
        created=unix_seconds(values.get("created_at")),
        updated=unix_seconds(values.get("updated_at")),
        url=as_one_line(values.get("url")),
        parent_title=as_one_line(values.get("parent_title")),
    )


def pages_by_id(pages: Iterable[Page], paths: Mapping[str, str]) -> tuple[dict[str, Page], list[UnusablePage]]:
    """Pages by id, in path order. If several pages have one id, the page in `paths` counts, else the first.

    Args:
        pages: The pages, in any order.
        paths: Path by page id.
    """
    found_pages: dict[str, Page] = {}
    others: list[UnusablePage] = []
    for page in sorted(
        pages, key=lambda other_page: (paths.get(other_page.id) != other_page.address.path, other_page.address.path)
    ):
        first = found_pages.setdefault(page.id, page)
        if first is not page:
            others.append(UnusablePage(page.address, f"its page_id {page.id} is that of {first.address} too"))
    ordered = sorted(found_pages.values(), key=lambda page: page.address.path)
    return {page.id: page for page in ordered}, others


def flawed_pages(pages: Iterable[Page]) -> list[Page]:
    """The pages whose frontmatter cannot be read completely, sorted by path."""
    return sorted((page for page in pages if page.flaw), key=lambda page: page.address)


def without_title(content: str) -> str:
    """A page's content without its title line."""
    heading = _TITLE_LINE.match(content)
    return content[heading.end() :] if heading else content


@lru_cache(maxsize=65_536)
def fold_label(text: str) -> str:
    """The form in which labels and authors are compared: the whole text, case- and width-insensitive."""
    return unicodedata.normalize("NFKC", text).strip().lower()


def as_one_line(value: Json) -> str:
    """A scalar as text on one line; "" for any other value."""
    if isinstance(value, str):
        return " ".join(value.split())
    if value is None or isinstance(value, bool):
        return ""
    return str(value) if isinstance(value, (int, float)) else ""


def _decodable(raw: bytes) -> bytes:
    return raw if raw.isascii() else decoded(raw).removeprefix("\ufeff").encode()


def _salvaged(source: bytes, block: Frontmatter, known_id: str | None) -> tuple[JsonObject, int]:
    """The readable values of a frontmatter with a flaw, and the offset after it.

    If the closing line is missing, the next thematic break seems to close the frontmatter. Its first lines may still be
    readable.
    """
    values, end = block.values, block.span.end
    if not values.get("page_id"):
        first, first_end = _unclosed(source)
        if first.get("page_id") or not block.present:
            values, end = first, first_end
    if not values.get("page_id") and known_id:
        values = {**values, "page_id": known_id}
    return values, end


def _unclosed(source: bytes) -> tuple[JsonObject, int]:
    """The values of a frontmatter that ends at a blank line or a heading, and the offset after it."""
    start = source.index(b"\n") + 1
    end = next((match.start() for match in _END_OF_UNCLOSED.finditer(source, start)), len(source))
    return read_frontmatter(b"---\n" + source[start:end].rstrip() + b"\n---\n").values, end


def _labels(value: Json) -> tuple[str, ...]:
    listed: Sequence[Json] = value if isinstance(value, Sequence) else [value]
    items = value.split(",") if isinstance(value, str) else listed
    return tuple(dict.fromkeys(text for text in map(as_one_line, items) if text))


def _shown(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN_VALUE else f"{text[:MAX_SHOWN_VALUE]}..."


# Spaces inside the folder of another space. A nested space is separate and not part of the outer space.


class NestedSpaces:
    """The nested spaces of a folder; each subfolder is examined once.

    Args:
        store: The folder of the outer space.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, bool] = {"": False}

    def hold(self, address: Address) -> bool:
        """Whether a document belongs to a nested space."""
        return self._nested(address.path.rpartition("/")[0])

    def _nested(self, folder: str) -> bool:
        space_file = self._known.get(folder)
        if space_file is None:
            space_file = self._nested(folder.rpartition("/")[0]) or self._has_space_file(folder)
            self._known[folder] = space_file
        return space_file

    def _has_space_file(self, folder: str) -> bool:
        try:
            return self._store.stat(Address(f"{folder}/{SPACE_FILE.path}")) is not None
        except KnowledgeError:  # the file exists but cannot be examined
            return True


def page_addresses(store: Store) -> Iterator[Address]:
    """The addresses of a folder that may be pages of its space."""
    nested = NestedSpaces(store)
    return (address for address, _ in store.scan() if is_page_path(address) and not nested.hold(address))


# Reads every page of a folder, for engines with their own copy and for dry runs.


def has_pages(store: Store, space: Space) -> bool:
    """Whether the folder of a space has any page."""
    for address in page_addresses(store):
        try:
            if isinstance(read_page(address, store.read(address), space.ids), PageText):
                return True
        except (NotFoundError, StorageError):
            continue
    return False


class PageReader:
    """The current pages of a folder.

    Args:
        store: The folder.
        space: The space file.
    """

    def __init__(self, store: Store, space: Space) -> None:
        self._store = store
        self._ids = space.ids
        pages: list[Page] = []
        unusable: list[UnusablePage] = []
        for address in page_addresses(store):
            try:
                page = read_page(address, store.read(address), self._ids)
            except NotFoundError:
                continue
            except StorageError as error:
                unusable.append(UnusablePage(address, str(error)))
                continue
            if isinstance(page, PageText):
                pages.append(page.page)
            elif page is not None:
                unusable.append(page)
        self.pages, repeated = pages_by_id(pages, space.paths)
        """Pages by id."""
        self.unusable = sorted([*unusable, *repeated], key=lambda page: page.address)
        self.flawed = flawed_pages(self.pages.values())

    def texts(self) -> Iterator[PageText]:
        """The pages with their texts, read again one by one; deleted pages and pages with a new id are omitted."""
        for page in self.pages.values():
            try:
                unusable_page = read_page(page.address, self._store.read(page.address), self._ids)
            except (NotFoundError, StorageError):
                continue
            if isinstance(unusable_page, PageText) and unusable_page.page.id == page.id:
                yield unusable_page
