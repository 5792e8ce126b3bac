"""The browser's files: built by `make web`, stored compressed, served under URLs that name their content."""

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
"""Characters of the SHA-256 that a URL carries."""
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
    """Compressed with gzip; empty for what does not get smaller."""


@cache
def assets() -> dict[str, Asset]:
    """Every file by name."""
    return {one.name: one for one in map(_asset, sorted(STATIC.iterdir())) if one.content_type}


@cache
def digest() -> str:
    """The beginning of the SHA-256 of all files: they name each other, so one version has one URL."""
    found = sha256()
    for name, one in assets().items():
        found.update(name.encode() + b"\0" + one.content + b"\0")
    return found.hexdigest()[:HASH_CHARS]


def asset_url(name: str) -> str:
    """Where a file is served; other content has another URL."""
    return f"{PREFIX}/{digest()}/{assets()[name].name}"


def asset_at(path: str) -> Asset | None:
    """The file that is served at a path; None if there is none, or if the path is that of another version."""
    version, _, name = path.removeprefix(f"{PREFIX}/").partition("/")
    return assets().get(name) if version == digest() else None


@cache
def frame_policy(name: str) -> str:
    """The `Content-Security-Policy` of a document that is a frame without an origin: its own script and no network."""
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
