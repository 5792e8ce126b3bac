"""Sources that are added to a base: what kind of file the bytes are, and the Markdown page beside it."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Protocol
from urllib.parse import SplitResult, unquote, urlsplit

from commonplace.domain.addresses import portable_name
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json
from commonplace.domain.yaml_edits import entry_lines

MAX_SOURCE_BYTES = 64 * 1024 * 1024
"""Maximum size in bytes of a source."""
MAX_UNPACKED_BYTES = 512 * 1024 * 1024
"""Maximum size in bytes of what a zipped format unpacks to."""
MAX_PARTS = 10_000
"""Maximum number of files in a zipped format."""
MAX_STEM = 80
"""Maximum length in characters of a name that comes from a URL."""
PLAIN_KINDS = frozenset({"html", "md", "txt", "csv"})
"""Kinds that need no library to be read."""
KINDS = ("pdf", "docx", "pptx", "xlsx", "epub", "html", "md", "txt", "csv")
DIGEST_KEY = "sha256"
"""Front-matter key of the digest of a stored source, on its page."""
_MARKDOWN = frozenset({"md", "markdown", "mdx"})
_HTML_NAMES = frozenset({"html", "htm", "xhtml"})
_HTML = re.compile(rb"(?is)\A(?:\xef\xbb\xbf)?(?:\s|<!--.*?-->|<\?xml[^>]*>)*<(?:!doctype\s+html|html|head|body)\b")
_PART_OF_HTML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<[a-zA-Z!]")
"""The beginning of a part of a page, without the tags that a page begins with."""
_OFFICE = {"word/": "docx", "ppt/": "pptx", "xl/": "xlsx"}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_IS_ENCRYPTED = 1
_HEADING = re.compile(r"(?m)\A\s*# \S")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that becomes a source."""

    name: str
    content: bytes
    url: str = ""
    """URL that it was read from; "" for a file."""


@dataclass(frozen=True, slots=True)
class ConvertedText:
    """The text of a source as Markdown, and its title, author and date."""

    text: str
    title: str = ""
    author: str = ""
    date: str = ""
    """Date of the document, `YYYY-MM-DD`; "" for none."""
    notes: tuple[str, ...] = ()
    """The parts that were not converted, a sentence each."""


class SourceReader(Protocol):
    """Reads sources from the web, and converts them."""

    def download(self, url: str) -> SourceFile:
        """The file of a URL.

        Raises:
            InvalidInputError, ConfigError, UnavailableError, TooLargeError: it is no URL, private, not there, or large.
        """
        ...

    def convert(self, kind: str, source: SourceFile) -> ConvertedText:
        """The text of a file of one of `KINDS`.

        Raises:
            ConfigError: libraries are missing; the hint has the command that installs them.
            InvalidInputError: the file is encrypted or damaged, or its conversion takes too much time or memory.
        """
        ...


def url_parts(text: str) -> SplitResult:
    """The parts of a URL; empty ones for a text that is none, such as one with a bracket that is not closed."""
    try:
        return urlsplit(text)
    except ValueError:
        return urlsplit("")


@lru_cache(64)
def is_loopback(host: str) -> bool:
    """Whether a name or address always means this machine. Requests to it never go through a proxy."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def name_of_url(url: str) -> str:
    """The name of a URL's file: the last part of its path, else its host."""
    parts = urlsplit(url)
    last = unquote(parts.path.rstrip("/").rpartition("/")[2])
    return last or parts.hostname or ""


def kind_of(source: SourceFile) -> str:
    """The kind of a source by its bytes, whatever its name or server says; one of `KINDS`.

    Raises:
        InvalidInputError: kind "source": it is none of them, encrypted, or unpacks to more than the limits.
    """
    content, suffix = source.content, source.name.rpartition(".")[2].lower()
    if content.startswith(b"%PDF-"):
        return "pdf"
    if content.startswith(b"PK\x03\x04"):
        return _zipped_kind(content)
    if content.startswith(_OLE):
        raise _refused("The file is encrypted, or of the time before Office 2007", "Save it as DOCX, PPTX or XLSX.")
    if _HTML.match(content[:4_096]) or (suffix in _HTML_NAMES and _PART_OF_HTML.match(content)):
        return "html"
    if not content.strip():
        raise _refused("The file is empty", "Give a file with text.")
    if b"\0" in content[:65_536] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _refused("The file is none that has text", f"Known are {', '.join(KINDS)}.")
    return {"csv": "csv", **dict.fromkeys(_MARKDOWN, "md")}.get(suffix, "txt")


def _zipped_kind(content: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
            _require_packed(parts)
            names = [part.filename for part in parts]
            is_book = "mimetype" in names and b"epub" in _beginning(archive)
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError) as error:
        raise _refused("The file is damaged", "Get it again.") from error
    kinds = ["epub"] if is_book else [kind for folder, kind in _OFFICE.items() if _has(names, folder)]
    if len(kinds) != 1:
        raise _refused("The file is an archive", f"Unpack it, and add its files. Known are {', '.join(KINDS)}.")
    return kinds[0]


def _has(names: Sequence[str], folder: str) -> bool:
    return any(name.startswith(folder) for name in names)


def _require_packed(parts: Sequence[zipfile.ZipInfo]) -> None:
    """Raise InvalidInputError for an archive that is encrypted or unpacks to too much."""
    if any(part.flag_bits & _IS_ENCRYPTED for part in parts):
        raise _refused("The file is encrypted", "Save it without a password.")
    if len(parts) > MAX_PARTS or sum(part.file_size for part in parts) > MAX_UNPACKED_BYTES:
        raise _refused(
            f"The file unpacks to more than {MAX_UNPACKED_BYTES:,} bytes or {MAX_PARTS:,} parts", "Split it."
        )


def _beginning(archive: zipfile.ZipFile) -> bytes:
    with archive.open("mimetype") as part:
        return part.read(100)


def _refused(problem: str, hint: str) -> InvalidInputError:
    return InvalidInputError(f"{problem}.", kind="source", hint=hint)


def stored_name(source: SourceFile, kind: str) -> str:
    """The name under which a source is stored: its own, with the suffix of its real kind."""
    plain = portable_name(source.name.replace("\\", "/").rpartition("/")[2]) or "source"
    stem, _, suffix = plain.rpartition(".")
    is_same = suffix.lower() == kind or (kind == "md" and suffix.lower() in _MARKDOWN)
    is_suffix = bool(stem) and (is_same or suffix.lower() in {*KINDS, "htm", "xhtml", "php", "asp", "aspx", "jsp"})
    base = portable_name((stem if is_suffix else plain)[:MAX_STEM].lstrip(".")) or "source"
    return f"{base}.{suffix if is_same and stem else kind}"


def digest_of(content: bytes) -> str:
    """SHA-256 of a source in hex, as its page has it."""
    return hashlib.sha256(content).hexdigest()


def source_page(source: SourceFile, file: tuple[str, str], converted: ConvertedText, title: str, day: str) -> str:
    """The Markdown page beside a source.

    Args:
        source: The source.
        file: Name and path of the stored file.
        converted: Its text.
        title: The page's title.
        day: Today, `YYYY-MM-DD`.
    """
    name, path = file
    fields: dict[str, Json] = {"title": title}
    fields |= {key: value for key, value in (("author", converted.author), ("date", converted.date)) if value}
    if source.url:
        fields["sources"] = [{"url": source.url, "read": day, "copy": path}]
    else:
        fields["from"] = source.name
    fields |= {"added": day, DIGEST_KEY: digest_of(source.content)}
    head = [line for key, value in fields.items() for line in entry_lines(key, value)]
    text = converted.text.strip("\n")
    top: Sequence[str] = () if _HEADING.match(text) else (f"# {_one_line(title)}", "")
    link = f"Source: [{name.translate(_IN_LABEL)}](<{name}>)"
    return "\n".join(["---", *head, "---", "", *top, link, "", text]).rstrip("\n") + "\n"


_IN_LABEL = str.maketrans({"[": "(", "]": ")"})


def _one_line(text: str) -> str:
    return " ".join(text.split())
