"""Renames of pages and headings, and updates of the links to them.

The editor applies the edits; the server writes nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from lsprotocol.types import (
    OptionalVersionedTextDocumentIdentifier,
    Position,
    PrepareRenamePlaceholder,
    RenameFile,
    TextDocumentEdit,
    TextEdit,
    WorkspaceEdit,
)

from commonplace.domain.addresses import Address, is_document_path, parse_document_address
from commonplace.domain.document_reader import Fragments, read_document
from commonplace.domain.documents import Document, Link, Section, Span
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.links import MARKDOWN_KINDS
from commonplace.domain.markdown.link_rewrites import markdown_path
from commonplace.faces.lsp.navigation import links_to_page, target_at
from commonplace.faces.lsp.pages import EditorPage, EditorPages, LinkLocation, heading_span
from commonplace.faces.lsp.positions import LineTable, text_edits
from commonplace.services.collections import Collection
from commonplace.services.writes.moves import folder_moves, preview_moves


@dataclass(frozen=True, slots=True)
class PageRename:
    """The target of a rename at a position."""

    target: LinkLocation
    placeholder: str
    """The current name."""
    span: Span
    """The range of the current name in the page at the position."""


def prepare(pages: EditorPages, page: EditorPage, position: Position) -> PrepareRenamePlaceholder | None:
    """The target of a rename at a position; None if nothing can be renamed there."""
    renamed = _rename(pages, page, position)
    return renamed and PrepareRenamePlaceholder(page.lines.range(renamed.span), renamed.placeholder)


def rename(pages: EditorPages, page: EditorPage, position: Position, name: str) -> WorkspaceEdit:
    """The edits of a rename.

    Args:
        pages: The open pages.
        page: The page.
        position: A heading or the fragment of a link (renames the heading), or another part of a link (renames the
            page).
        name: The new heading; or the page's new name in its folder; or the page's new path if it contains a slash.

    Raises:
        InvalidInputError: nothing can be renamed at the position, or the name is not valid.
        AlreadyExistsError: the new path exists.
    """
    renamed = _rename(pages, page, position)
    if renamed is None:
        raise InvalidInputError(
            "There is nothing to rename here.", kind="position", hint="Put the cursor on a link or a heading."
        )
    if renamed.target.section is not None:
        return _rename_heading(pages, renamed.target.page, renamed.target.section, " ".join(name.split()))
    old = renamed.target.page.address
    return move(pages, renamed.target.page.collection, {old: _address(old, name)}, is_moved=False)


def move(
    pages: EditorPages, collection: Collection, moves: Mapping[Address, Address], *, is_moved: bool
) -> WorkspaceEdit:
    """The edits that update links when pages are moved.

    Args:
        pages: The open pages.
        collection: The collection of the moved pages.
        moves: The new address of each page, by its old address.
        is_moved: Whether the editor moves the files itself.
    """
    changes: list[TextDocumentEdit | RenameFile] = []
    old_of = {new: old for old, new in moves.items()}
    shown = pages.unsaved(collection)
    texts = {address: text.raw for address, text in shown.items()}
    for address, after in preview_moves(collection, moves, texts).contents.items():
        if not address.is_document:
            continue
        old = old_of.get(address, address)
        source = pages.at(collection, old)
        edits = text_edits(LineTable(source.document.raw, source.lines.encoding), after)
        if edits:
            changes.append(_edit(source.uri, edits, shown[old].version if old in shown else None))
    if not is_moved:
        changes += [
            RenameFile(pages.uri_of(collection, old), pages.uri_of(collection, new)) for old, new in moves.items()
        ]
    return WorkspaceEdit(document_changes=changes)


def moved_pages(pages: EditorPages, files: Sequence[tuple[str, str]]) -> dict[str, dict[Address, Address]]:
    """The moves of pages, and of all files in moved folders, by name of their collection.

    Args:
        pages: The open pages.
        files: Old and new URI of each file or folder.
    """
    found: dict[str, dict[Address, Address]] = {}
    for old_uri, new_uri in files:
        old, new = pages.address_of(old_uri), pages.address_of(new_uri)
        if old is None or new is None or old[0].name != new[0].name:
            continue
        moves = found.setdefault(old[0].name, {})
        if old[1].is_document:
            moves[old[1]] = new[1]
        else:
            moves |= folder_moves(old[0], old[1].path, new[1].path)
    return found


def _rename(pages: EditorPages, page: EditorPage, position: Position) -> PageRename | None:
    resolved = page.link_at(position)
    if resolved is not None:
        link, target = resolved.link, pages.target(page, resolved)
        if target is None:
            return None
        fragment = _fragment_span(page.document.source, link)
        if target.section and fragment and (fragment.start <= page.lines.offset(position) or not link.target):
            return PageRename(target, target.section.heading, fragment)
        span = link.target_span if link.target_span.end else link.span
        return PageRename(LinkLocation(target.page, None, Span(0, 0)), target.page.address.stem, span)
    target = target_at(pages, page, position)
    section = page.heading_at(position)
    if section is None:
        return None
    return PageRename(LinkLocation(page, section, target.span), section.heading, heading_span(page, section))


def _address(old: Address, name: str) -> Address:
    """The new address of a page.

    Raises:
        InvalidInputError: the name is not a valid path of a page.
    """
    name = name.strip().replace(os.sep, "/")
    suffix = PurePosixPath(old.path).suffix
    path = name if "/" in name or not old.folder else f"{old.folder}/{name}"
    return parse_document_address(path.lstrip("/") if is_document_path(path) else f"{path.lstrip('/')}{suffix}")


def _rename_heading(pages: EditorPages, page: EditorPage, section: Section, name: str) -> WorkspaceEdit:
    if not name:
        raise InvalidInputError("A heading needs a text.", kind="name", hint="Give one.")
    versions = {page.uri: page.version}
    heading = heading_span(page, section)
    edits = {page.uri: [TextEdit(page.lines.range(heading), name)]}
    source = page.document.encoded
    renamed = read_document(page.address, source[: heading.start] + name.encode() + source[heading.end :])
    before, after = Fragments(page.document), Fragments(renamed)
    for source, resolved in links_to_page(pages, page):
        span = _fragment_span(source.lines.text, resolved.link)
        written = _fragment(resolved.link, section, before, after, renamed) if span else None
        if span is None or written is None:
            continue
        if resolved.link.kind in MARKDOWN_KINDS:
            written = markdown_path(written, in_tag=_is_in_tag(source.lines.text, resolved.link))
        versions.setdefault(source.uri, source.version)
        edits.setdefault(source.uri, []).append(TextEdit(source.lines.range(span), written))
    return WorkspaceEdit(document_changes=[_edit(uri, made, versions[uri]) for uri, made in edits.items()])


def _fragment(link: Link, section: Section, before: Fragments, after: Fragments, renamed: Document) -> str | None:
    """A link's fragment after the rename of a section, in the same style: an anchor or a heading path.

    None if it stays: it names another part and still leads to it, or it names the section by an id that stays.
    """
    named = next(iter(before.linked_sections(link.fragment)), None) if link.fragment else None
    if named is None or named.ordinal >= len(renamed.sections):
        return None
    now = renamed.sections[named.ordinal]
    leads_still = next(iter(after.linked_sections(link.fragment)), None) == now
    if leads_still and (named.ordinal != section.ordinal or link.fragment == now.anchor):
        return None
    by_anchor = link.fragment == named.anchor and (link.kind in MARKDOWN_KINDS or named.anchor != named.heading)
    above, _, _ = link.fragment.rpartition("#")
    return after.naming(now, by_anchor=by_anchor, above=above)


def _fragment_span(source: bytes, link: Link) -> Span | None:
    """The byte range of a link's fragment; None if it has none."""
    if not link.fragment:
        return None
    start = source.find(b"#", link.target_span.end or link.span.start, link.span.end or None)
    if start < 0 or not link.span.end:
        return None
    ends = rb"[\"'\s>]" if _is_in_tag(source, link) else rb"[\]|)\s>]" if link.kind in MARKDOWN_KINDS else rb"[\]|]"
    end = re.compile(ends).search(source, start, link.span.end)
    return Span(start + 1, end.start() if end else link.span.end)


def _is_in_tag(source: bytes, link: Link) -> bool:
    """Whether a link is an attribute of an HTML tag."""
    return source.startswith(b"<", link.span.start)


def _edit(uri: str, edits: Sequence[TextEdit], version: int | None) -> TextDocumentEdit:
    """The edits of one file. The editor refuses them if its text is newer than `version`."""
    return TextDocumentEdit(OptionalVersionedTextDocumentIdentifier(uri, version), list(edits))
