"""Rewrites the targets of links after a move, in each author's style."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from commonplace.domain.addresses import Address, fold, is_document_path
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
    relative_path,
    slashed,
    without_suffix,
)
from commonplace.domain.yaml_loader import is_plain, scalar_text

_MARKDOWN_KINDS = frozenset({LinkKind.MARKDOWN, LinkKind.IMAGE})
_NOT_IN_WIKILINKS = re.compile(r"[|\[\]\r\n]|^[#\s]|\s$")
_SAFE = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/!$'*+,;=:@[]"
_NOT_IN_TAGS = b"',=;"
"""Characters that can end an attribute's value without quotes, a candidate of `srcset`, or begin an entity's end."""
_HIGH = bytes(range(0x80, 0x100))
_ENCODED_LETTER = re.compile(rb"%[89A-Fa-f]")


@dataclass(frozen=True, slots=True)
class LinkMove:
    """The change of one link's source and target."""

    source: Address
    """Address of the document that contains the link, as of when the link was read."""
    moved_to: Address
    """New address of that document."""
    old: Address
    """Old target of the link."""
    new: Address
    """New target of the link."""
    url: str = ""
    """The URL under which a site publishes the new target; "" for a link that does not name a URL."""


def moved_target(link: Link, move: LinkMove, leads_right: Callable[[str], bool]) -> str:
    """The path part of a link after a move, in the author's style: depth of the path, `.md` or not, `/`, `./`.

    Args:
        link: The link as parsed. If it names an id, title or alias that still resolves correctly, its target is
            returned unchanged.
        move: The change of source and target; `old` and `new` are equal if another document would get the name.
        leads_right: Returns whether a path resolves to `move.new` from the new source. If a style does not, the file's
            path is used.
    """
    spellings = (*([move.url] if move.url else []), *_spellings(link, move))
    return next((path for path in (*spellings, *_paths(link, move)) if leads_right(path)), spellings[-1])


def _paths(link: Link, move: LinkMove) -> tuple[str, ...]:
    """The path of the new target itself, which no other document's name can match."""
    if link.kind in _MARKDOWN_KINDS:
        return relative_path(move.new.path, move.moved_to.folder), f"/{move.new.path}"
    return move.new.id if move.new.is_document else move.new.path, move.new.path, f"/{move.new.path}"


def _spellings(link: Link, move: LinkMove) -> tuple[str, ...]:
    """The path in the author's style; if it can be ambiguous, followed by a spelling that is not."""
    written = slashed(link.target)
    path = _stretched(written, move.old, move.new)
    relative = relative_path(path, move.moved_to.folder)
    markdown = link.kind in _MARKDOWN_KINDS
    from_root = not written.startswith("./") and leads_to(joined("", written), move.old)
    from_folder = not written.startswith("/") and leads_to(joined(move.source.folder, written), move.old)
    if written.startswith("/"):
        return (f"/{path}",) if from_root else _in_docs_tree(written, path, relative, move.old)
    from_page = not from_folder and markdown and leads_to(joined(move.source.id, written.rstrip("/")), move.old)
    if from_page:  # a docs tree publishes `a.md` as `a/`
        return (_slashed_as(written, relative_path(path, move.moved_to.id)),)
    if from_folder and (markdown or ("/" in written and not from_root)):
        return _from_folder(link, written, move, path, relative)
    if from_root and (markdown or "/" in written):
        return (path, relative) if markdown else (path,)
    return _by_end(link, written, move, path, relative)


def _from_folder(link: Link, written: str, move: LinkMove, path: str, relative: str) -> tuple[str, ...]:
    """The spellings of a path from the page's own folder.

    The shortest path stays the shortest, so that a page that moves away and back has its old links. A detour such as
    `../a/x.md` inside of `a` stays as long as it leads right, and is `../b/x.md` after the folder is renamed to `b`.
    """
    markdown, fixed = link.kind in _MARKDOWN_KINDS, is_fixed(written)
    still_ends = not markdown and not fixed and ends_path(fold(without_suffix(written)), move.new, fold)
    if still_ends and move.old == move.new:
        return link.target, relative, path
    shortest = relative_path(_stretched(written, move.old, move.old), move.source.folder)
    leads_still = leads_to(joined(move.moved_to.folder, written), move.new)
    stays = move.old == move.new and move.moved_to == move.source
    if leads_still and (markdown or fixed) and (stays or written.removeprefix("./") != shortest):
        return (link.target,)
    detour = _as_deep(written, path, move.moved_to.folder) if written.removeprefix("./") != shortest else ""
    # A bare path in a wikilink is looked up from the root first: a link that stated its base still states it.
    dotted = written.startswith("./") or (fixed and not markdown)
    spelt = f"./{relative}" if dotted and not relative.startswith(".") else relative
    spellings = (spelt,) if markdown or is_fixed(spelt) else (spelt, path)
    return (detour, *spellings) if detour else spellings


def _as_deep(written: str, path: str, folder: str) -> str:
    """The new path with as many `../` as the old one; "" if it had none, or if these lead elsewhere now."""
    parts = written.split("/")
    up = "../" * next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    base = joined(folder, up) if up else None
    return f"{up}{path[len(base) :]}" if base is not None and path.startswith(base) else ""


def _by_end(link: Link, written: str, move: LinkMove, path: str, relative: str) -> tuple[str, ...]:
    """The spellings of a link that names the end of its target's path; the link itself if it names something else."""
    if not ends_path(fold(without_suffix(written)), move.old, fold):
        return (link.target,)
    short = "/".join(path.split("/")[-len(written.split("/")) :])
    ends_still = move.old == move.new or ends_path(fold(without_suffix(written)), move.new, fold)
    shorts = (link.target, short) if ends_still else (short,)
    return *shorts, relative if link.kind in _MARKDOWN_KINDS else path


def _in_docs_tree(written: str, path: str, relative: str, old: Address) -> tuple[str, ...]:
    """The URL path of a docs tree that differs from the file's path in its beginning.

    Args:
        written: The old URL path.
        path: The new path from the root, with the kind of suffix that was written.
        relative: The new path from the linking document's folder.
        old: The old target.
    """
    names = without_suffix(written.strip("/")).split("/")
    for own in (old.id, old.folder):
        parts = own.split("/")
        shared = 0
        while shared < min(len(names), len(parts)) and fold(names[-1 - shared]) == fold(parts[-1 - shared]):
            shared += 1
        if shared:
            folder = "".join(f"{part}/" for part in parts[:-shared])
            url = "".join(f"{name}/" for name in names[:-shared])
            inside = path.startswith(folder)
            return (_slashed_as(written, f"/{url}{path[len(folder) :]}") if inside else relative,)
    return (written,)  # a slug, which does not change


def _slashed_as(written: str, path: str) -> str:
    return f"{path}/" if written.endswith("/") and not path.endswith("/") else path


def _stretched(written: str, old: Address, new: Address) -> str:
    """The new path from the root with the kind of suffix that the link was written with."""
    if not old.is_document or not new.is_document:
        return new.path
    bare = written.rstrip("/")
    if is_document_path(written):
        return new.path
    for suffix in HTML_SUFFIXES:
        if written.endswith(suffix) and not old.path.endswith(suffix):
            is_index = new.name in INDEX_NAMES and bare.rpartition("/")[2] == f"index{suffix}"
            return (f"{new.folder}/index" if new.folder else "index") + suffix if is_index else new.id + suffix
    names_folder = old.name in INDEX_NAMES and fold(bare.rpartition("/")[2]) != fold(old.stem)
    if names_folder and new.name in INDEX_NAMES:
        return new.folder + ("/" if written.endswith("/") and new.folder else "")
    return new.id


def written_target(link: Link, target: str, before: bytes, opening: bytes, *, in_tag: bool = False) -> bytes:
    """The bytes of a path inside a link.

    Args:
        link: The link.
        target: The path to write.
        before: The replaced path, whose style of escapes is preserved.
        opening: The byte before the path; in a front matter, the style of its scalar, or this byte if it is plain.
        in_tag: Whether the link is an attribute of an HTML tag.

    Raises:
        InvalidInputError: the path cannot be written in a link of this kind.
    """
    if link.kind in _MARKDOWN_KINDS:
        return _in_markdown(target, before, angled=opening == b"<", in_tag=in_tag)
    if (parse_wiki(target) or ("no",))[0] or _NOT_IN_WIKILINKS.search(target):
        raise InvalidInputError(
            f"The new path cannot be written in a {link.kind.value} link.",
            kind="path",
            hint="Use a path without any of | [ ] and : in it.",
        )
    return _in_yaml(target, opening) if link.kind == LinkKind.FRONTMATTER else target.encode()


def markdown_path(target: str, *, in_tag: bool = False) -> str:
    """A path as the target of a new Markdown link or of an attribute of HTML, percent-encoded if necessary."""
    return _in_markdown(target, b"", angled=False, in_tag=in_tag).decode()


def _in_markdown(target: str, before: bytes, *, angled: bool, in_tag: bool) -> bytes:
    """Percent-encode the necessary characters, and letters of other scripts only if the old path had them encoded."""
    if ":" in target.partition("/")[0]:
        target = f"./{target}"
    safe = (
        _SAFE.translate(None, _NOT_IN_TAGS if in_tag else b"")
        + (b" ()" if angled else b"")
        + (b"" if _ENCODED_LETTER.search(before) else _HIGH)
    )
    return b"".join([bytes((byte,)) if byte in safe else b"%%%02X" % byte for byte in target.encode()])


def _in_yaml(target: str, opening: bytes) -> bytes:
    """Write a target inside a quoted or block scalar, inside a longer plain scalar, or as a scalar."""
    if opening == b"'":
        return target.replace("'", "''").encode()
    quoted = scalar_text(target, quote='"')
    if opening == b'"':
        return quoted[1:-1].encode()
    if opening in {b"|", b">"}:
        return target.encode()
    if not opening.strip():
        return (target if is_plain(target, flow=True) else quoted).encode()
    if not is_plain(f"a{target}", flow=True) or (
        opening == b"=" and " " in target
    ):  # it is not the scalar's beginning, which has further rules
        raise InvalidInputError(
            f"The new path {target} cannot be written inside an unquoted text of the front matter.",
            kind="path",
            hint="Put this text in quotation marks, or use a path without any of , [ ] { } : # in it.",
        )
    return target.encode()
