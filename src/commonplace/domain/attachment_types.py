"""Types of attachments: a name says what a file is, and its first bytes must say the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from xml.parsers.expat import ExpatError, ParserCreate

from commonplace.domain.addresses import is_attachment_name
from commonplace.domain.errors import InvalidInputError, TooLargeError

MAX_ATTACHMENT_BYTES = 32 * 1024 * 1024
"""Maximum size in bytes of an attachment that is stored from a browser."""
_HTML_NAMESPACE = "http://www.w3.org/1999/xhtml"
_ACTIVE_ELEMENT = re.compile(
    r"script|foreignobject|iframe|embed|object|handler|listener|meta|form|link|set|animate.*", re.IGNORECASE
)
"""Elements that make an SVG more than a picture: scripts, foreign content, and what can set attributes."""
_URL_ATTRIBUTES = frozenset({"href", "src", "base"})
_IGNORED_IN_URL = re.compile(r"[\x00-\x20\x7f-\xa0]+")
"""Characters that browsers ignore in a URL."""
_PICTURE_URL = re.compile(
    r"(?:#|https?://|data:image/(?:png|jpe?g|gif|webp|avif|bmp)[;,]|(?![a-z][a-z0-9+.-]*:)).*", re.DOTALL
)
_BEFORE_SVG = re.compile(rb"[?>-]*\s*<(\?xml|!--|!doctype)", re.IGNORECASE)
"""The beginning of what may come before the root of an SVG, behind the end of what came before it."""
_ENDS = {b"?xml": b"?>", b"!--": b"-->", b"!doctype": b">"}
_SVG_ROOT = re.compile(rb"[?>-]*\s*<svg\b", re.IGNORECASE)
_ISO_MEDIA = ("avif", "heic", "mp4", "m4a", "mov")
_ZIPPED = ("docx", "xlsx", "pptx", "odt", "ods", "odp", "zip")
_BEGINNINGS: Mapping[str, tuple[bytes, ...]] = {
    "png": (b"\x89PNG\r\n\x1a\n",),
    "jpg": (b"\xff\xd8\xff",),
    "jpeg": (b"\xff\xd8\xff",),
    "gif": (b"GIF87a", b"GIF89a"),
    "webp": (b"RIFF",),
    "wav": (b"RIFF",),
    "bmp": (b"BM",),
    "tiff": (b"II*\0", b"MM\0*"),
    "pdf": (b"%PDF-",),
    "mp3": (b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2"),
    "ogg": (b"OggS",),
    "webm": (b"\x1a\x45\xdf\xa3",),
    **dict.fromkeys(_ZIPPED, (b"PK\x03\x04",)),
}


def require_attachment(name: str, content: bytes) -> None:
    """Check that a file may be an attachment: of a permitted type, and really of it.

    Raises:
        InvalidInputError: kind "attachment": the type is not permitted, the content is of another one, or the picture
            contains a script.
        TooLargeError: it has more than `MAX_ATTACHMENT_BYTES`.
    """
    stem, _, suffix = name.lower().rpartition(".")
    if not stem or not is_attachment_name(name):
        raise InvalidInputError(
            f"{name[:100]!r} is not a file that pages embed.",
            kind="attachment",
            hint="Attach a picture, sound, video, PDF, office document, CSV or ZIP file.",
        )
    if len(content) > MAX_ATTACHMENT_BYTES:
        raise TooLargeError(
            f"The file has {len(content):,} bytes; the limit is {MAX_ATTACHMENT_BYTES:,}.",
            kind="attachment",
            hint="Attach a smaller one.",
        )
    if not _SIGNS.get(suffix, _begins)(suffix, content):
        raise InvalidInputError(
            f"The content of {name[:100]!r} is not that of a {suffix} file.",
            kind="attachment",
            hint="Save it in that format, or name it as what it is.",
        )
    if suffix == "svg" and not is_plain_svg(content):
        raise InvalidInputError(
            "The picture contains a script, or what can run one.",
            kind="attachment",
            hint="Export it as a plain SVG, or as a PNG.",
        )


def is_plain_svg(content: bytes) -> bool:
    """Whether an SVG is a picture alone: XML without scripts, handlers, HTML, entities and other URLs.

    URLs are parts of the picture, files and pages of the web, and pictures in `data:`. Elements of other languages,
    such as those of drawing programs, do nothing in a browser.
    """
    parser = ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = _require_plain
    parser.StartDoctypeDeclHandler = _require_no_subset
    parser.EntityDeclHandler = parser.ProcessingInstructionHandler = parser.SkippedEntityHandler = _refuse
    try:
        parser.Parse(content, True)
    except (ExpatError, LookupError, ValueError):
        return False
    return True


def _require_plain(name: str, attributes: Mapping[str, str]) -> None:
    """Raise ValueError for an element that is no part of a picture."""
    namespace, _, element = name.rpartition(" ")
    if namespace == _HTML_NAMESPACE or _ACTIVE_ELEMENT.fullmatch(element):
        raise ValueError(name)
    for key, value in attributes.items():
        attribute = key.rpartition(" ")[2].lower()
        url = _IGNORED_IN_URL.sub("", value).lower() if attribute in _URL_ATTRIBUTES else ""
        is_link_to_data = element.lower() == "a" and url.startswith("data:")
        if attribute.startswith("on") or is_link_to_data or not _PICTURE_URL.fullmatch(url):
            raise ValueError(key)


def _require_no_subset(name: str, system: str | None, public: str | None, has_subset: int) -> None:
    del system, public
    if has_subset:
        raise ValueError(name)


def _refuse(*parts: object) -> None:
    raise ValueError(parts)


def _begins(suffix: str, content: bytes) -> bool:
    return content.startswith(_BEGINNINGS.get(suffix, ()))


def _is_riff(suffix: str, content: bytes) -> bool:
    return content.startswith(b"RIFF") and content[8:12] == {"webp": b"WEBP", "wav": b"WAVE"}[suffix]


def _is_iso_media(_: str, content: bytes) -> bool:
    return content[4:8] == b"ftyp"


def _is_table(_: str, content: bytes) -> bool:
    return b"\0" not in content and not re.match(rb"\s*<", content)


def _is_svg(_: str, content: bytes) -> bool:
    """Whether a text has the root of an SVG, after a declaration, comments and a document type."""
    at = 3 if content.startswith(b"\xef\xbb\xbf") else 0
    while match := _BEFORE_SVG.match(content, at):
        end = content.find(_ENDS[match[1].lower()], match.end())
        if end < 0:
            return False
        at = end + 1
    return b"\0" not in content and _SVG_ROOT.match(content, at) is not None


_SIGNS: Mapping[str, Callable[[str, bytes], bool]] = {
    "webp": _is_riff,
    "wav": _is_riff,
    "csv": _is_table,
    "svg": _is_svg,
    **dict.fromkeys(_ISO_MEDIA, _is_iso_media),
}
