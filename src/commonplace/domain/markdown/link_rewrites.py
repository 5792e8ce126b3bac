"""Links after a move: where each must lead now, written as its writer would have written it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from commonplace.domain.addresses import MARKDOWN_SUFFIXES, Address, fold
from commonplace.domain.documents import Link, LinkKind
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.markdown.link_syntax import parse_wiki
from commonplace.domain.markdown.paths import (
    HTML_SUFFIXES,
    INDEX_NAMES,
    ends_path,
    is_fixed,
    joined,
    leads_to,
    place_files,
    relative_path,
    slashed,
    without_suffix,
)
from commonplace.domain.yamlblock.scalars import is_plain, scalar_text

_MARKDOWN_KINDS = frozenset({LinkKind.MARKDOWN, LinkKind.IMAGE})
_NOT_IN_WIKILINKS = re.compile(r"[\^|\[\]]")
_QUOTING = re.compile(r"[\"'\\]")
_SAFE = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/!$'*+,;=:@[]"
_HIGH = bytes(range(0x80, 0x100))
_ENCODED_LETTER = re.compile(rb"%[89A-Fa-f]")


@dataclass(frozen=True, slots=True)
class LinkMove:
    """What one link must follow."""

    source: Address
    """The document that holds the link, as it was called when the link was read."""
    moved_to: Address
    """What that document is called now."""
    old: Address
    """Where the link led."""
    new: Address
    """Where it must lead."""


def moved_target(link: Link, move: LinkMove, leads_right: Callable[[str], bool]) -> str:
    """The path part of a link after a move, in the writer's style: how far it is spelt out, `.md` or not, `/`, `./`.

    Args:
        link: As it was read. One that names an id, title or alias stays as it is.
        move: What it must follow.
        leads_right: Whether a path leads to `move.new` from where the link is now; a style in which it does not is
            given up for one that always does.
    """
    spellings = _spellings(link, move)
    return next((path for path in spellings[:-1] if leads_right(path)), spellings[-1])


def _spellings(link: Link, move: LinkMove) -> tuple[str, ...]:
    """The path in the writer's style, and where that can be misunderstood, in one that cannot."""
    written = slashed(link.target)
    path = _stretched(written, move.old, move.new)
    relative = relative_path(path, move.moved_to.folder)
    markdown = link.kind in _MARKDOWN_KINDS
    from_root = not written.startswith("./") and leads_to(joined("", written), move.old)
    from_folder = not written.startswith("/") and leads_to(joined(move.source.folder, written), move.old)
    if written.startswith("/"):
        return (f"/{path}" if from_root else link.target,)
    if from_folder and (markdown or ("/" in written and not from_root)):
        if move.new.path in place_files(joined(move.moved_to.folder, written)) and (markdown or is_fixed(written)):
            return (link.target,)  # roundabout, perhaps, but right
        dotted = f"./{relative}" if written.startswith("./") and not relative.startswith(".") else relative
        return (dotted,) if markdown or is_fixed(dotted) else (dotted, path)
    if from_root and (markdown or "/" in written):
        return (path, relative) if markdown else (path,)
    if not ends_path(fold(without_suffix(written)), move.old, fold):
        return (link.target,)
    short = "/".join(path.split("/")[-len(written.split("/")) :])
    return short, relative if markdown else path


def _stretched(written: str, old: Address, new: Address) -> str:
    """The new path from the root with as much of a suffix as the link was written with."""
    if not old.is_document or not new.is_document:
        return new.path
    bare = written.rstrip("/")
    if written.lower().endswith(MARKDOWN_SUFFIXES):
        return new.path
    for suffix in HTML_SUFFIXES:
        if written.endswith(suffix) and not old.path.endswith(suffix):
            return new.id + suffix
    names_folder = old.name in INDEX_NAMES and fold(bare.rpartition("/")[2]) != fold(old.stem)
    if names_folder and new.name in INDEX_NAMES:
        return new.folder + ("/" if written.endswith("/") and new.folder else "")
    return new.id


def written_target(link: Link, target: str, before: bytes, opening: bytes) -> bytes:
    """A path as it stands in a link.

    Args:
        link: The link.
        target: The path to write.
        before: The path that it replaces, whose style of escapes it takes on.
        opening: The byte in front of that.

    Raises:
        InvalidInputError: the path cannot be written in a link of this kind.
    """
    if link.kind in _MARKDOWN_KINDS:
        return _in_markdown(target, before, angled=opening == b"<")
    if parse_wiki(target) != ("", target, "") or _NOT_IN_WIKILINKS.search(target):
        raise InvalidInputError(
            f"The new path cannot be written in a {link.kind.value} link.",
            kind="path",
            hint="Use a path without any of # ^ | [ ] and : in it.",
        )
    return _in_yaml(target, opening) if link.kind == LinkKind.FRONTMATTER else target.encode()


def _in_markdown(target: str, before: bytes, *, angled: bool) -> bytes:
    """Percent-encoded as far as needed; letters of other scripts only where the old path had them so."""
    if ":" in target.partition("/")[0]:
        target = f"./{target}"
    safe = _SAFE + (b" ()" if angled else b"") + (b"" if _ENCODED_LETTER.search(before) else _HIGH)
    return b"".join([bytes((byte,)) if byte in safe else b"%%%02X" % byte for byte in target.encode()])


def _in_yaml(target: str, opening: bytes) -> bytes:
    """Within the quotation marks that stand in front of it, inside a longer scalar, or as a scalar of its own."""
    if opening == b"'":
        return target.replace("'", "''").encode()
    quoted = scalar_text(target, quote='"')
    if opening == b'"':
        return quoted[1:-1].encode()
    if opening.strip() and (_QUOTING.search(target) or not is_plain(target, flow=True)):
        raise InvalidInputError("The new path cannot be written inside a text of the front matter.", kind="path")
    return (target if is_plain(target, flow=True) else quoted).encode()
