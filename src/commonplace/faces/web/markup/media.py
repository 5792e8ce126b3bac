"""Elements for images, sound, video and other files in a page's text."""

from __future__ import annotations

import re
from html import escape

IMAGES = {
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
    "avif": "image/avif", "bmp": "image/bmp", "svg": "image/svg+xml", "ico": "image/x-icon",
}  # fmt: skip
AUDIO = {
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "ogg": "audio/ogg",
    "m4a": "audio/mp4",
    "flac": "audio/flac",
    "opus": "audio/ogg",
}
VIDEO = {"mp4": "video/mp4", "webm": "video/webm", "ogv": "video/ogg", "mov": "video/mp4", "m4v": "video/mp4"}
PDF = {"pdf": "application/pdf"}
SHOWN_TYPES = {**IMAGES, **AUDIO, **VIDEO, **PDF}
"""Media types, by suffix, of files that browsers display; all other files are downloads."""
_SIZE = re.compile(r"\s*(\d{1,4})(?:x(\d{1,4}))?\s*")


def suffix_of(path: str) -> str:
    """The last suffix in lower case, without its dot; "" if there is none."""
    return path.rpartition("/")[2].partition(".")[2].rpartition(".")[2].lower()


def media_html(url: str, path: str, label: str, title: str) -> str:
    """The element that displays a file.

    Args:
        url: URL of the file.
        path: Path of the file; its suffix determines the element.
        label: Text of the embed: an alternative text, or the size in pixels (`300`, `300x200`).
        title: Title of the link; "" if there is none.
    """
    suffix, name = suffix_of(path), path.rpartition("/")[2]
    size = _SIZE.fullmatch(label)
    shown = escape(label if label and not size else name.rpartition(".")[0])
    titled = f' title="{escape(title)}"' if title else ""
    if suffix in IMAGES:
        width = f' width="{size[1]}"' if size else ""
        height = f' height="{size[2]}"' if size and size[2] else ""
        return f'<img src="{escape(url)}" alt="{shown}"{titled}{width}{height} loading="lazy">'
    if suffix in AUDIO:
        return f'<audio controls preload="metadata" src="{escape(url)}" title="{shown}"></audio>'
    if suffix in VIDEO:
        return f'<video controls preload="metadata" src="{escape(url)}" title="{shown}"></video>'
    kind = "PDF" if suffix in PDF else f"{suffix.upper()} file" if suffix else "File"
    return f'<a class="file-card" href="{escape(url)}"{titled}><b>{escape(name)}</b> <small>{escape(kind)}</small></a>'
