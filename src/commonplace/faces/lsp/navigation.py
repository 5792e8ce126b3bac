"""Hover, definitions, references and symbols, and the renames of pages and headings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from lsprotocol.types import (
    DocumentHighlight,
    DocumentLink,
    DocumentSymbol,
    FoldingRange,
    Hover,
    Location,
    MarkupContent,
    MarkupKind,
    OptionalVersionedTextDocumentIdentifier,
    Position,
    PrepareRenamePlaceholder,
    Range,
    RenameFile,
    SymbolKind,
    TextDocumentEdit,
    TextEdit,
    WorkspaceEdit,
    WorkspaceSymbol,
)

from commonplace.domain.addresses import Address, is_document_path, parse_document_address
from commonplace.domain.document_reader import Fragments, read_document
from commonplace.domain.documents import Document, Link, Section, Span
from commonplace.domain.errors import InvalidInputError, KnowledgeError
from commonplace.domain.links import MARKDOWN_KINDS
from commonplace.domain.markdown.link_rewrites import markdown_path
from commonplace.domain.query import ResolvedLink, SearchQuery
from commonplace.faces.lsp.pages import (
    EditorPage,
    EditorPages,
    LineTable,
    LinkLocation,
    SourceText,
    heading_span,
    text_edits,
)
from commonplace.services.collections import Collection
from commonplace.services.links import by_name
from commonplace.services.writes.moves import folder_moves, preview_moves

# Hover, definitions, references and symbols.


MAX_HOVER_CHARS = 2_000
MAX_FOUND = 25
"""Maximum number of pages in the answer to a symbol query, each with its best heading."""


def hover(pages: EditorPages, page: EditorPage, position: Position) -> Hover | None:
    """The text of the target of the link at a position; None if there is no link."""
    resolved = page.link_at(position)
    if resolved is None:
        return None
    place = page.lines.range(_span_of(resolved.link))
    target = pages.target(page, resolved)
    if target is None:
        written = resolved.link.raw.replace("`", "'")
        text = resolved.target.path if resolved.target else f"No page or file is named `{written}`."
        return Hover(MarkupContent(MarkupKind.Markdown, text), place)
    document = target.page.document
    start, end = target.span.start, target.span.end
    if target.section:
        end = target.section.tree_end
    elif not target.span.end:
        start, end = document.body_start, len(document.source)
    text = document.source[start:end].decode("utf-8", "replace").strip()
    more = "…" if len(text) > MAX_HOVER_CHARS else ""
    head = f"**{target.page.collection.title_of(document)}** ({target.page.address.path})\n\n---\n\n"
    return Hover(MarkupContent(MarkupKind.Markdown, f"{head}{text[:MAX_HOVER_CHARS]}{more}"), place)


def definition(pages: EditorPages, page: EditorPage, position: Position) -> Location | None:
    """The target of the link at a position: a page, a heading or block, or another file."""
    resolved = page.link_at(position)
    if resolved is None:
        return None
    if target := pages.target(page, resolved):
        return target.location()
    if resolved.target is None:
        return None
    return Location(pages.uri_of(page.collection, resolved.target), Range(Position(0, 0), Position(0, 0)))


def references(pages: EditorPages, page: EditorPage, position: Position, *, declared: bool) -> list[Location]:
    """The links to the target at a position: the target of a link, else the heading, else the page.

    Args:
        pages: The open pages.
        page: The page.
        position: The position in it.
        declared: Whether to add the page or heading itself.
    """
    target = target_at(pages, page, position)
    locations = [
        Location(source.uri, source.lines.range(_span_of(resolved.link)))
        for source, resolved in links_to(pages, target)
    ]
    return [target.location(), *locations] if declared else locations


def target_at(pages: EditorPages, page: EditorPage, position: Position) -> LinkLocation:
    """The target at a position: the target of a link, else a heading, else the page."""
    resolved = page.link_at(position)
    target = pages.target(page, resolved) if resolved else None
    if target is not None:
        return target
    heading = page.heading_at(position)
    if heading is None or (heading.level == 1 and heading.ordinal == 1):  # the title stands for the page
        return LinkLocation(page, None, Span(0, 0))
    return LinkLocation(page, heading, Span(heading.start, heading.content))


def links_to(pages: EditorPages, target: LinkLocation) -> Iterator[tuple[SourceText, ResolvedLink]]:
    """The links to a page or one of its sections, with the texts that contain the links."""
    section_of = section_finder(target.page)
    for source, resolved in links_to_page(pages, target.page):
        own = source.uri == target.page.uri and not resolved.link.target  # a fragment alone names no page
        if not own if target.section is None else section_of(resolved.link) == target.section:
            yield source, resolved


def links_to_page(pages: EditorPages, home: EditorPage) -> Iterator[tuple[SourceText, ResolvedLink]]:
    """The links to a page and those to its own parts, with the texts that contain the links.

    Links in open pages are read from the editor's text, all others from the index.
    """
    unsaved = pages.unsaved(home.collection)
    for address in sorted({home.address, *unsaved}):
        source = home if address == home.address else pages.at(home.collection, address)
        for resolved in source.collection.index.resolve(source.document):
            if resolved.target == home.address:
                yield SourceText(source.uri, source.lines, source.version), resolved
    texts: dict[tuple[str, Address], SourceText | None] = {}
    for collection, resolved in _indexed_links(pages, home):
        key = (collection.name, resolved.source)
        if (collection.name == home.collection.name and resolved.source in unsaved) or resolved.source == home.address:
            continue
        if key not in texts:
            texts[key] = _text(pages, collection, resolved.source)
        if (text := texts[key]) is not None:
            yield text, resolved


def _indexed_links(pages: EditorPages, home: EditorPage) -> Iterator[tuple[Collection, ResolvedLink]]:
    for resolved in home.collection.index.links_to(home.address, sentences=False):
        yield home.collection, resolved
    for other, links in by_name(pages.collections, home.collection, home.address):
        yield from ((other, resolved) for resolved in links)


def section_finder(page: EditorPage) -> Callable[[Link], Section | None]:
    """A function that returns the section of the page that a link to the page names; None for the page or a block."""
    fragments = Fragments(page.document)
    sections: dict[str, Section | None] = {"": None}

    def section_of(link: Link) -> Section | None:
        if link.fragment not in sections:
            part = fragments.find(link.fragment)
            sections[link.fragment] = part[2] if part else None
        return sections[link.fragment]

    return section_of


def _text(pages: EditorPages, collection: Collection, address: Address) -> SourceText | None:
    try:
        return pages.text(collection, address)
    except KnowledgeError:  # deleted in the meantime, or unreadable
        return None


def document_links(pages: EditorPages, page: EditorPage) -> list[DocumentLink]:
    """The links of a page that have a target page or file."""
    made: list[DocumentLink] = []
    for resolved in page.collection.index.resolve(page.document):
        if resolved.target is not None and _span_of(resolved.link).end:
            uri = pages.uri_of(page.collection, resolved.target)
            made.append(DocumentLink(page.lines.range(_span_of(resolved.link)), uri, resolved.target.path))
    return made


def highlights(pages: EditorPages, page: EditorPage, position: Position) -> list[DocumentHighlight]:
    """The links of a page with the same target as the link at a position."""
    resolved = page.link_at(position)
    target = pages.target(page, resolved) if resolved else None
    if resolved is None or target is None:
        return []
    section_of = section_finder(target.page)
    document_highlights: list[DocumentHighlight] = []
    for resolved_link in page.collection.index.resolve(page.document):
        link = resolved_link.link
        if _page_named(resolved_link) != _page_named(resolved):
            continue
        if section_of(link) == target.section:
            document_highlights.append(DocumentHighlight(page.lines.range(_span_of(link))))
    return document_highlights


def _page_named(resolved: ResolvedLink) -> tuple[Address | None, str, str]:
    """The page that a link names: its address; for another collection, the collection's name and the link's target."""
    return resolved.target, resolved.link.collection, "" if resolved.target else resolved.link.target


def symbols(page: EditorPage) -> list[DocumentSymbol]:
    """The headings of a page, nested by level."""
    top: list[DocumentSymbol] = []
    open_: list[tuple[int, list[DocumentSymbol]]] = []
    for section in page.document.sections:
        if not section.level:
            continue
        children: list[DocumentSymbol] = []
        symbol = DocumentSymbol(
            name=section.heading or "#" * section.level,
            kind=SymbolKind.String,
            range=page.lines.range(Span(section.start, section.tree_end)),
            selection_range=page.lines.range(heading_span(page, section)),
            children=children,
        )
        while open_ and open_[-1][0] >= section.level:
            open_.pop()
        (open_[-1][1] if open_ else top).append(symbol)
        open_.append((section.level, children))
    return top


def folds(page: EditorPage) -> list[FoldingRange]:
    """The foldable ranges of a page: its sections and its front matter."""
    spans = [Span(section.start, section.tree_end) for section in page.document.sections if section.level]
    if page.document.frontmatter.present:
        spans.append(page.document.frontmatter.span)
    source = page.document.source
    ranges: list[FoldingRange] = []
    for span in spans:
        end = span.start + len(source[span.start : span.end].rstrip())
        first, last = page.lines.position(span.start).line, page.lines.position(end).line
        if last > first:
            ranges.append(FoldingRange(first, last))
    return ranges


def workspace_symbols(pages: EditorPages, query: str) -> list[WorkspaceSymbol]:
    """Pages and headings that match a query, best first."""
    found_symbols: list[WorkspaceSymbol] = []
    for collection in pages.collections.members:
        try:
            hits = collection.index.search(SearchQuery(text=query, limit=MAX_FOUND, sections=1, snippet=1)).hits
        except InvalidInputError:  # the query has no words
            continue
        unsaved = pages.unsaved(collection)
        for hit in hits:
            address = hit.record.address
            top = Location(pages.uri_of(collection, address), Range(Position(0, 0), Position(0, 0)))
            found_symbols.append(_symbol(address, hit.record.title, SymbolKind.File, top))
            for section in hit.sections[:1]:
                heading = section.path[-1] if section.path else ""
                if heading and heading != hit.record.title:
                    place = None if address in unsaved else _written_heading(pages, collection, address, heading)
                    named = (heading, place) if place else _parsed_heading(pages, collection, address, section.ordinal)
                    found_symbols += [_symbol(address, named[0], SymbolKind.String, named[1])] if named else []
    return found_symbols


def _written_heading(pages: EditorPages, collection: Collection, address: Address, heading: str) -> Location | None:
    """The location of a heading in a saved page, if exactly one line has this heading in its source form; else None.

    This avoids parsing the pages of an answer, which takes longer than finding them.
    """
    try:
        source = pages.text(collection, address)
    except KnowledgeError:
        return None
    line = re.compile(rb"^#{1,6}[ \t]+(" + re.escape(heading.encode()) + rb")[ \t]*\r?$", re.MULTILINE)
    lines = list(line.finditer(source.lines.text))
    return Location(source.uri, source.lines.range(Span(*lines[0].span(1)))) if len(lines) == 1 else None


def _parsed_heading(
    pages: EditorPages, collection: Collection, address: Address, ordinal: int
) -> tuple[str, Location] | None:
    """The heading of a section in the editor's text, and its location; None if there is no such section."""
    try:
        page = pages.at(collection, address)
    except KnowledgeError:
        return None
    section = next(
        (
            other_section
            for other_section in page.document.sections
            if other_section.ordinal == ordinal and other_section.level
        ),
        None,
    )
    if section is None:
        return None
    return section.heading, Location(page.uri, page.lines.range(heading_span(page, section)))


def _symbol(address: Address, name: str, kind: SymbolKind, place: Location) -> WorkspaceSymbol:
    return WorkspaceSymbol(location=place, name=name, kind=kind, container_name=address.path)


def _span_of(link: Link) -> Span:
    return link.span if link.span.end else link.target_span


# Renames of pages and headings, and updates of the links to them.
#
# The editor applies the edits; the server writes nothing.


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
    addresses: dict[str, dict[Address, Address]] = {}
    for old_uri, new_uri in files:
        old, new = pages.address_of(old_uri), pages.address_of(new_uri)
        if old is None or new is None or old[0].name != new[0].name:
            continue
        moves = addresses.setdefault(old[0].name, {})
        if old[1].is_document:
            moves[old[1]] = new[1]
        else:
            moves |= folder_moves(old[0], old[1].path, new[1].path)
    return addresses


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
