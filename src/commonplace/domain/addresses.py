"""Where a file lies in its collection: parsed once, so that a path that escapes cannot be expressed.

Every outside string (a tool argument, a URL, a link target, a file name met in a scan) becomes an `Address` here or
is refused here; nothing below this module handles raw paths.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from commonplace.domain.errors import InvalidInputError

MAX_COMPONENT_BYTES = 255
MAX_PATH_BYTES = 1024
MAX_SHOWN_ADDRESS = 80
"""Characters of a refused path that an error repeats."""
MARKDOWN_SUFFIXES = (".md", ".markdown")
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__"})
"""Folders that never hold documents, whatever the collection."""

IGNORE_FILES = (".commonplaceignore", ".gitignore")
"""Files that name what is left out of a folder; the first has the last word."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029]")
_DRIVE = re.compile(r"^[A-Za-z]:([/\\]|$)")
_SHORT_GIT = re.compile(r"^git~\d+$")
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
"""What shows nothing and is no format character: fillers, joiners, selectors of variants, the empty Braille cell."""


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """A relative path inside one collection, `/`-separated, with its suffix (`notes/idea.md`).

    Build one with `parse_address` (outside input), never directly from outside input.
    """

    path: str

    def __str__(self) -> str:
        return self.path

    @property
    def folder(self) -> str:
        """The part before the last `/`, or "" at the root."""
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The last part, suffix included."""
        return self.path.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The last part without a Markdown suffix."""
        return _without_suffix(self.name)

    @property
    def id(self) -> str:
        """The path without a Markdown suffix: the name of a document whose frontmatter gives no `id`."""
        return _without_suffix(self.path)

    @property
    def is_document(self) -> bool:
        """Whether the name says that this is Markdown."""
        return is_markdown(self.path)


def is_markdown(path: str) -> bool:
    """Whether a path ends as those of documents do."""
    return path.endswith(MARKDOWN_SUFFIXES) or path.lower().endswith(MARKDOWN_SUFFIXES)


def parse_address(text: str) -> Address:
    """Turn an outside string into an address, or say why it is none.

    Refused: empty, absolute, drive letters and UNC, backslashes, control characters and line breaks, empty, `.` and
    `..` parts, parts that begin with a dot (so every `.git` file) or are Git's short name for it, parts of which
    nothing is seen, parts that end in a dot or blank, lone surrogates, parts over 255 and paths over 1,024 bytes of
    UTF-8.

    Raises:
        InvalidInputError: with the rule that the text breaks, and the limit where there is one.
    """
    reason = _refusal(text)
    if reason:
        raise InvalidInputError(
            f"Invalid path {_shown(text)}: {reason}.",
            kind="path",
            hint="Give a path relative to the collection's folder, such as 'notes/idea.md'.",
        )
    return Address(text)


def parse_document_address(text: str) -> Address:
    """Like `parse_address`, for a document: a leading `/` is forgiven and `.md` is added when it is missing.

    So a name may end in a dot: `Acme Inc.` is the file `Acme Inc..md`, which does not.
    """
    stripped = text[1:] if text.startswith("/") and not text.startswith("//") else text
    name = stripped.rpartition("/")[2]
    if name.endswith(".") and name.strip("."):
        return parse_address(f"{stripped}.md")
    address = parse_address(stripped)
    return address if address.is_document else parse_address(f"{stripped}.md")


def fold(text: str) -> str:
    """The form in which names are compared when case, accents' encoding and width must not matter."""
    # Of plain ASCII the same, for a quarter of the cost.
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def _without_suffix(path: str) -> str:
    lowered = path.lower()
    for suffix in MARKDOWN_SUFFIXES:
        if lowered.endswith(suffix) and len(path) > len(suffix):
            return path[: -len(suffix)]
    return path


def _refusal(text: str) -> str:
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        return "it holds a lone surrogate, which is no text"
    for broken, reason in _PATH_RULES:
        if broken(text):
            return reason
    refusals = (_part_refusal(part) for part in text.split("/"))
    return next((refusal for refusal in refusals if refusal), "")


def _part_refusal(part: str) -> str:
    return next((reason for broken, reason in _PART_RULES if broken(part)), "")


def visible_form(part: str) -> str:
    """A name as far as it is seen: compatibility forms unified, without what shows nothing and blanks at its ends."""
    if part.isascii():
        return part.strip()
    plain = unicodedata.normalize("NFKC", part)
    return "".join(c for c in plain if unicodedata.category(c) != "Cf" and not _INVISIBLE.match(c)).strip()


def _is_hidden_in_disguise(part: str) -> bool:
    """HFS+ ignores some code points, NTFS has short names: both are other spellings of `.git`."""
    if part.isascii():
        return bool(_SHORT_GIT.match(part.casefold()))
    visible = visible_form(part)
    plain = visible.rstrip(". ")
    return visible.startswith(".") or bool(_SHORT_GIT.match(plain.casefold()))


_PATH_RULES: tuple[tuple[Callable[[str], object], str], ...] = (
    (lambda text: not text, "it is empty"),
    (_CONTROL.search, "it holds a control character or line break"),
    (lambda text: "\\" in text, "it holds a backslash; parts are separated by '/'"),
    (lambda text: text.startswith("/") or _DRIVE.match(text), "it is absolute"),
    (lambda text: len(text.encode()) > MAX_PATH_BYTES, f"it is longer than {MAX_PATH_BYTES:,} bytes"),
)
_PART_RULES: tuple[tuple[Callable[[str], object], str], ...] = (
    (lambda part: not part, "it has an empty part"),
    (lambda part: part in {".", ".."}, "'.' and '..' are not allowed"),
    (lambda part: part.startswith("."), "a part begins with a dot; hidden files are not served"),
    (lambda part: part[-1] in ". " or part[0] == " ", "a part ends in a dot or begins or ends with a blank"),
    (lambda part: not visible_form(part).rstrip(". "), "nothing of a part is seen"),
    (_is_hidden_in_disguise, "a part is another spelling of a hidden or Git name"),
    (lambda part: len(part.encode()) > MAX_COMPONENT_BYTES, f"a part is longer than {MAX_COMPONENT_BYTES} bytes"),
)


def _shown(text: str) -> str:
    cut = text if len(text) <= MAX_SHOWN_ADDRESS else f"{text[: MAX_SHOWN_ADDRESS - 3]}..."
    return repr(cut) if cut.isprintable() else ascii(cut)
