"""The browser's files: built by `make web`, stored compressed, and served at URLs with a hash of their content."""

from __future__ import annotations

import gzip
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

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
    return {one.name: one for one in map(_asset, sorted(STATIC.iterdir())) if one.content_type}


@cache
def digest() -> str:
    """The first digits of a SHA-256 over all files. Files refer to each other, so they share one hash."""
    found = sha256()
    for name, one in assets().items():
        found.update(name.encode() + b"\0" + one.content + b"\0")
    return found.hexdigest()[:HASH_CHARS]


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
