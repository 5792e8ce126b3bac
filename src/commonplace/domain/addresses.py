"""Addresses: relative paths of files, parsed once, so that no address can leave its collection.

Every path from outside (a tool argument, a URL, a link target, a file name found by a scan) is parsed into an `Address`
here or rejected. No lower module handles raw paths.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import translate

from commonplace.domain.errors import InvalidInputError

MAX_COMPONENT_BYTES = 255
MAX_PATH_BYTES = 1024
MAX_SHOWN_ADDRESS = 80
"""Maximum length in characters of a rejected path in an error message."""
MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdx", ".tid")
"""Suffixes of documents, of which `.tid` is that of TiddlyWiki; the setting `also_read` adds others (`read_also`)."""
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__"})
"""Folders that never contain documents, in any collection."""
_SKIPPED_FOLDER = re.compile(rf"(?:^|/)({'|'.join(sorted(SKIPPED_FOLDERS))})/")

IGNORE_FILES = (".commonplaceignore", ".gitignore")
"""Ignore files of a folder. The first takes precedence."""

_WILDCARD = re.compile(r"[*?\[]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029]")
_DRIVE = re.compile(r"^[A-Za-z]:([/\\]|$)")
_SHORT_GIT = re.compile(r"^git~\d+$")
_PLAIN_PART = r"[A-Za-z0-9_](?:[A-Za-z0-9_. +,()-]*[A-Za-z0-9_+,()-])?"
_PLAIN_PATH = re.compile(rf"{_PLAIN_PART}(?:/{_PLAIN_PART})*")
"""Matches paths that are valid if not longer than `MAX_COMPONENT_BYTES`, which includes almost all real paths."""
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
"""Invisible characters that are not format characters (Cf): fillers, joiners, variation selectors, empty Braille."""


DIRECTIONS = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Characters that change the direction of text, so that a name can look like another one; for a class of a pattern."""
_BIDI_CONTROL = re.compile(f"[{DIRECTIONS}]")


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """A relative path inside one collection, `/`-separated, with its suffix (`notes/idea.md`).

    For input from outside, use `parse_address`, never the constructor.
    """

    path: str

    def __str__(self) -> str:
        return self.path

    @property
    def folder(self) -> str:
        """The part before the last `/`; "" at the root."""
        return self.path.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The last part, including the suffix."""
        return self.path.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The last part without a Markdown suffix."""
        return _without_suffix(self.name)

    @property
    def id(self) -> str:
        """The path without a Markdown suffix: the id of a document without an `id` in its frontmatter."""
        return _without_suffix(self.path)

    @property
    def is_document(self) -> bool:
        """Whether the file is read as a document."""
        return is_document_path(self.path)

    @property
    def skipped_folder(self) -> str:
        """The folder of the path that is skipped in any collection; "" if there is none."""
        match = _SKIPPED_FOLDER.search(self.path)
        return match[1] if match else ""

    @property
    def ignored_by(self) -> str:
        """The reason why a file is ignored, for messages: "is ignored by an ignore file"."""
        folder = self.skipped_folder
        return f"is in a folder {folder}, which is skipped" if folder else "is ignored by an ignore file"


def read_also(names: Sequence[str]) -> None:
    """Set the further files that are documents: suffixes such as `.qmd`, and masks such as `README` and `*.txt`.

    The setting is global to the process; set it before any folder is read. A mask is compared with the file's name,
    regardless of case, with `*`, `?` and `[…]` as in a shell.
    """
    _FurtherNames.suffixes = tuple(
        name.lower() for name in names if name.startswith(".") and not _WILDCARD.search(name)
    )
    _FurtherNames.given = tuple(names)
    masks = [translate(name.lower()) for name in names if not name.startswith(".") or _WILDCARD.search(name)]
    _FurtherNames.masks = re.compile("|".join(masks)) if masks else None


class _FurtherNames:
    given: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    masks: re.Pattern[str] | None = None


def further_names() -> tuple[str, ...]:
    """The names passed to `read_also`."""
    return _FurtherNames.given


def document_suffixes() -> tuple[str, ...]:
    """The suffixes of documents in lower case, `.md` first."""
    return (*MARKDOWN_SUFFIXES, *_FurtherNames.suffixes)


def is_document_path(path: str) -> bool:
    """Whether a file with this path or name is read as a document: by its suffix (in any case) or by a mask."""
    if path.endswith(MARKDOWN_SUFFIXES):
        return True
    lowered = path.lower()
    if lowered.endswith(MARKDOWN_SUFFIXES):
        return True
    masks = _FurtherNames.masks
    return lowered.endswith(_FurtherNames.suffixes) or bool(masks and masks.fullmatch(lowered.rpartition("/")[2]))


def parse_address(text: str) -> Address:
    """Parse a path from outside.

    Rejected are: the empty path, absolute paths, drive letters and UNC, backslashes, control characters and line
    breaks; parts that are empty, `.` or `..`, that begin with a dot (such as `.git`) or are a short name (NTFS) for
    such a part, that are invisible, or that end in a dot or blank; lone surrogates; parts over 255 bytes and paths over
    1,024 bytes of UTF-8.

    Raises:
        InvalidInputError: the path breaks a rule; the message names the rule and its limit, if it has one.
    """
    reason = _refusal(text)
    if reason:
        raise InvalidInputError(
            f"Invalid path {_shown(text)}: {reason}.",
            kind="path",
            hint="Give a path relative to the collection's folder, such as 'notes/idea.md'.",
        )
    return Address(text)


def address_or_none(text: str) -> Address | None:
    """The address of a path; None if the path breaks a rule of `parse_address`."""
    try:
        return parse_address(text)
    except InvalidInputError:
        return None


def parse_document_address(text: str) -> Address:
    """Parse the path of a document. A leading `/` is ignored and a missing `.md` is added.

    The name without its suffix may end in a dot: `Acme Inc.` is the file `Acme Inc..md`.
    """
    stripped = text[1:] if text.startswith("/") and not text.startswith("//") else text
    name = stripped.rpartition("/")[2]
    if name.endswith(".") and name.strip("."):
        return parse_address(f"{stripped}.md")
    address = parse_address(stripped)
    return address if address.is_document else parse_address(f"{stripped}.md")


def require_new_name(address: Address) -> None:
    """Reject a name that new files must not have; existing files with such a name are readable.

    Raises:
        InvalidInputError: the path contains a bidirectional control character.
    """
    if match := _BIDI_CONTROL.search(address.path):
        raise InvalidInputError(
            f"Invalid path {_shown(address.path)}: it contains the bidirectional control character "
            f"U+{ord(match[0]):04X}, with which a name looks like another one.",
            kind="path",
            hint="Leave the character out.",
        )


def has_direction(address: Address) -> bool:
    """Whether a path has a bidirectional control character, with which `require_new_name` rejects it."""
    return _BIDI_CONTROL.search(address.path) is not None


def fold(text: str) -> str:
    """The form in which names are compared regardless of case, width and Unicode normalization."""
    # For ASCII, `lower` gives the same result at a quarter of the cost.
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def _without_suffix(path: str) -> str:
    lowered = path.lower()
    for suffix in document_suffixes():
        if lowered.endswith(suffix) and len(path) > len(suffix):
            return path[: -len(suffix)]
    return path


def _refusal(text: str) -> str:
    if len(text) <= MAX_COMPONENT_BYTES and _PLAIN_PATH.fullmatch(text):
        return ""  # a tenth of the cost of checking every rule
    return _first_broken_rule(text)


def _first_broken_rule(text: str) -> str:
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        return "it contains a lone surrogate, which is not valid text"
    for broken, reason in _PATH_RULES:
        if broken(text):
            return reason
    refusals = (_part_refusal(part) for part in text.split("/"))
    return next((refusal for refusal in refusals if refusal), "")


def _part_refusal(part: str) -> str:
    return next((reason for broken, reason in _PART_RULES if broken(part)), "")


_UNPORTABLE = re.compile(r'[<>:"\\|?*]')
"""Characters that Windows allows in no file name, and Obsidian in no name of a note; `/` divides names."""
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\.|$)", re.IGNORECASE)
"""Names that Windows reserves for devices, with any suffix."""


def portable_name(name: str) -> str:
    """A name without the characters that not every file system allows; blanks and dots at its ends are removed."""
    plain = " ".join(_UNPORTABLE.sub(" ", name).split()).strip(". ")
    stem, dot, suffixes = plain.partition(".")
    return f"{stem} page{dot}{suffixes}" if _DEVICE.match(plain) else plain


def unportable(path: str) -> str:
    """Why Windows cannot check out a file of this path; "" if it can."""
    for part in path.split("/"):
        if match := _UNPORTABLE.search(part):
            return f"The name {part[:MAX_SHOWN_ADDRESS]!r} contains {match.group()!r}, which Windows does not allow"
        if part.endswith((".", " ")):
            return f"The name {part[:MAX_SHOWN_ADDRESS]!r} ends with a dot or a blank, which Windows does not allow"
        if _DEVICE.match(part):
            return f"The name {part[:MAX_SHOWN_ADDRESS]!r} is that of a device on Windows"
    return ""


def visible_form(part: str) -> str:
    """The visible part of a name: NFKC, without invisible characters and without blanks at either end."""
    if part.isascii():
        return part.strip()
    plain = unicodedata.normalize("NFKC", part)
    return "".join(c for c in plain if unicodedata.category(c) != "Cf" and not _INVISIBLE.match(c)).strip()


def _is_hidden_in_disguise(part: str) -> bool:
    """Whether a part is another spelling of a hidden name. HFS+ ignores some code points; NTFS has short names."""
    if part.isascii():
        return bool(_SHORT_GIT.match(part.casefold()))
    visible = visible_form(part)
    plain = visible.rstrip(". ")
    return visible.startswith(".") or bool(_SHORT_GIT.match(plain.casefold()))


_PATH_RULES: tuple[tuple[Callable[[str], object], str], ...] = (
    (lambda text: not text, "it is empty"),
    (_CONTROL.search, "it contains a control character or line break"),
    (lambda text: "\\" in text, "it contains a backslash; parts are separated by '/'"),
    (lambda text: text.startswith("/") or _DRIVE.match(text), "it is absolute"),
    (lambda text: len(text.encode()) > MAX_PATH_BYTES, f"it is longer than {MAX_PATH_BYTES:,} bytes"),
)
_PART_RULES: tuple[tuple[Callable[[str], object], str], ...] = (
    (lambda part: not part, "it has an empty part"),
    (lambda part: part in {".", ".."}, "'.' and '..' are not allowed"),
    (lambda part: part.startswith("."), "a part begins with a dot; hidden files are not served"),
    (lambda part: part[-1] in ". " or part[0] == " ", "a part ends in a dot or begins or ends with a blank"),
    (lambda part: not visible_form(part).rstrip(". "), "a part has no visible character"),
    (_is_hidden_in_disguise, "a part is another spelling of a hidden or Git name"),
    (lambda part: len(part.encode()) > MAX_COMPONENT_BYTES, f"a part is longer than {MAX_COMPONENT_BYTES} bytes"),
)


def _shown(text: str) -> str:
    cut = text if len(text) <= MAX_SHOWN_ADDRESS else f"{text[: MAX_SHOWN_ADDRESS - 3]}..."
    return repr(cut) if cut.isprintable() else ascii(cut)


def is_attachment_name(name: str) -> bool:
    """Whether a name is that of a file that pages embed or link to, unlike a page, program code and configuration."""
    return name.rpartition(".")[2].lower() in _ATTACHED


_PICTURES = "png jpg jpeg gif svg webp avif bmp tiff heic"
_OTHERS = "pdf mp3 m4a wav ogg mp4 mov webm docx xlsx pptx odt ods odp csv zip"
_ATTACHED = frozenset([*_PICTURES.split(), *_OTHERS.split()])
"""Suffixes of the files that pages embed or link to."""
