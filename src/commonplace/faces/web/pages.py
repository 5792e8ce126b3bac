"""HTML from templates, with a single environment that is loaded on first use and escapes values by default."""

from __future__ import annotations

import gzip
from base64 import b64encode
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from commonplace.domain.errors import KnowledgeError
from commonplace.domain.site_file import ENGLISH
from commonplace.faces.responses import retry_headers
from commonplace.faces.web.appearance import appearance
from commonplace.faces.web.exchange import PageRequest, PageResponse
from commonplace.faces.web.messages import MessageCatalogue, message_catalogue
from commonplace.services.collections import Collection
from commonplace.services.history import commits_writes

if TYPE_CHECKING:
    from jinja2 import Environment


TEMPLATES = Path(__file__).parent / "templates"


@cache
def environment(language: str = ENGLISH, *further: Path) -> Environment:
    """The template environment of a language, including templates in further folders."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader([TEMPLATES, *further]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    words = message_catalogue(language)
    made.filters.update(ago=words.ago, amount=words.amount, asset=asset_url, moment=moment, thousands=words.thousands)
    made.globals |= cast("Any", {"_": words.text, "language": language, "scripts": words.scripts})
    made.filters["commits"] = cast("Any", commits_writes)  # Jinja types filters by its own
    return made


def page(request: PageRequest, template: str, code: int = 200, /, **values: object) -> PageResponse:
    """Render a page from a template, with the request and the given values.

    A value `problem` that is an error also gives the response its `Retry-After`.
    """
    collection = values.get("collection")
    shown = (
        environment(
            language_of(request, collection if isinstance(collection, Collection) else None),
            *(pages.templates for pages in request.toolsets if pages.templates),
        )
        .get_template(template)
        .render(
            request=request,
            urls=request.urls,
            site=site_name(request),
            look=appearance(request, collection if isinstance(collection, Collection) else None),
            **values,
        )
    )
    problem = values.get("problem")
    headers = retry_headers(problem) if isinstance(problem, KnowledgeError) else {}
    return PageResponse(shown.encode("utf-8", "replace"), status=code, headers=headers)


def language_of(request: PageRequest, collection: Collection | None) -> str:
    """The language of a page around its text: that of its base, else the one that all bases share, else English."""
    shown = [collection] if collection is not None and not collection.is_past else list(request.collections)
    languages = {request.site(shown_collection).settings.language or ENGLISH for shown_collection in shown}
    return languages.pop() if len(languages) == 1 else ENGLISH


def words_of(request: PageRequest, collection: Collection | None) -> MessageCatalogue:
    """The words of a page around its text."""
    return message_catalogue(language_of(request, collection))


def site_name(request: PageRequest) -> str:
    """The title of the pages: that of the only base that the reader may see, otherwise the names of the bases."""
    collections = list(request.collections)
    if len(collections) == 1:
        return request.site(collections[0]).title
    names = [collection.name for collection in collections]
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "") or "commonplace"  # noqa: PLR2004


def base_title(request: PageRequest, collection: Collection) -> str:
    """The name of a base on pages: the title of its site if it is the only base, otherwise its name in URLs."""
    is_only = len(list(request.collections)) == 1 and not collection.is_past
    return request.site(collection).title if is_only else collection.name


def breadcrumbs(request: PageRequest, collection: Collection, folder: str) -> list[tuple[str, str]]:
    """Name and URL of each folder from the collection's root to this folder."""
    result = [(base_title(request, collection), request.urls.view("tree", collection.name, ""))]
    parts = folder.split("/") if folder else []
    for number, part in enumerate(parts):
        path = "/".join(parts[: number + 1])
        result.append((collection.shown_name(part), request.urls.view("tree", collection.name, f"{path}/")))
    return result


def moment(seconds: int) -> str:
    """A moment as `YYYY-MM-DD HH:MM` in UTC."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
    except (OverflowError, OSError, ValueError):
        return ""


# The browser's files: built by `make web`, stored compressed, and served at URLs with a hash of their content.


STATIC = Path(__file__).parent / "static"
PREFIX = "/static"
HASH_CHARS = 12
"""Number of hex digits of the SHA-256 in a URL."""
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".html": "text/html; charset=utf-8",
}
_GZIP = ".gz"


@dataclass(frozen=True, slots=True)
class Asset:
    """One file."""

    name: str
    content_type: str
    content: bytes
    compressed: bytes
    """Content compressed with gzip; empty if compression does not reduce the size."""


@cache
def assets() -> dict[str, Asset]:
    """All files by name."""
    return {asset.name: asset for asset in map(_asset, sorted(STATIC.iterdir())) if asset.content_type}


@cache
def digest() -> str:
    """The first digits of a SHA-256 over all files. Files refer to each other, so they share one hash."""
    found_hash = sha256()
    for name, asset in assets().items():
        found_hash.update(name.encode() + b"\0" + asset.content + b"\0")
    return found_hash.hexdigest()[:HASH_CHARS]


def asset_url(name: str) -> str:
    """The URL of a file. Changed content has a different URL."""
    return f"{PREFIX}/{digest()}/{assets()[name].name}"


def asset_at(path: str) -> Asset | None:
    """The file at a path; None if there is none or the URL has the hash of another version."""
    version, _, name = path.removeprefix(f"{PREFIX}/").partition("/")
    return assets().get(name) if version == digest() else None


@cache
def frame_policy(name: str) -> str:
    """`Content-Security-Policy` of a document in a sandboxed frame: only its own script, and no network."""
    content = assets()[name].content
    script = content.partition(b"<script>")[2].rpartition(b"</script>")[0]
    own = b64encode(sha256(script).digest()).decode()
    return f"default-src 'none'; script-src 'sha256-{own}'; style-src 'unsafe-inline'; sandbox allow-scripts"


def _asset(path: Path) -> Asset:
    stored = path.read_bytes()
    is_compressed = path.suffix == _GZIP
    name = path.name.removesuffix(_GZIP)
    content = gzip.decompress(stored) if is_compressed else stored
    return Asset(name, TYPES.get(Path(name).suffix, ""), content, stored if is_compressed else b"")
