"""Code actions: create the target page of a broken link, or correct the link to the nearest name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lsprotocol.types import (
    CodeAction,
    CodeActionKind,
    CreateFile,
    CreateFileOptions,
    Diagnostic,
    OptionalVersionedTextDocumentIdentifier,
    Position,
    Range,
    TextDocumentEdit,
    TextEdit,
    WorkspaceEdit,
)

from commonplace.domain.addresses import Address, parse_document_address
from commonplace.domain.document_reader import Fragments, find_fragment
from commonplace.domain.documents import Link, LinkKind, Span
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.markdown.link_rewrites import markdown_path
from commonplace.domain.markdown.paths import joined, relative_path
from commonplace.domain.query import ResolvedLink
from commonplace.faces.lsp.diagnostics import BROKEN_LINK, SOURCE, broken_at
from commonplace.faces.lsp.pages import EditorPage, EditorPages

MAX_NEAREST = 3
_MARKDOWN_KINDS = (LinkKind.MARKDOWN, LinkKind.IMAGE)


def actions(pages: EditorPages, page: EditorPage, diagnostics: Sequence[Diagnostic]) -> list[CodeAction]:
    """Code actions that correct the diagnostics of a range."""
    made: list[CodeAction] = []
    for diagnostic in diagnostics:
        if diagnostic.source != SOURCE or (found := broken_at(pages, page, diagnostic)) is None:
            continue
        rule, resolved = found
        offered = _for_link(pages, page, resolved) if rule == BROKEN_LINK else _for_fragment(pages, page, resolved)
        for title, edit in offered:
            made.append(CodeAction(title, CodeActionKind.QuickFix, diagnostics=[diagnostic], edit=edit))
    return made


def _for_link(pages: EditorPages, page: EditorPage, resolved: ResolvedLink) -> Iterator[tuple[str, WorkspaceEdit]]:
    link = resolved.link
    if link.target_span.end:
        for name in page.collection.index.nearest(link.target, MAX_NEAREST):
            record = page.collection.index.find(name)
            if record is not None and record.address != page.address:
                written = _written(page, link, record.address, name)
                yield f"Change the link to {name}", _replace(page, link.target_span, written)
    address = _wanted(page, link)
    if address is not None and link.kind is not LinkKind.IMAGE and not link.collection:
        yield f"Create {address.path}", _create_page(pages, page, address, link.label or address.stem)


def _for_fragment(pages: EditorPages, page: EditorPage, resolved: ResolvedLink) -> Iterator[tuple[str, WorkspaceEdit]]:
    link, target = resolved.link, pages.target(page, resolved)
    if target is None or not link.span.end:
        return
    nearest: Sequence[object] = ()
    fragments = Fragments(target.page.document)
    try:
        find_fragment(target.page.document, link.fragment)
    except NotFoundError as error:
        found = error.context.get("nearest")
        nearest = found if isinstance(found, list | tuple) else ()
    source = page.document.source
    start = source.find(b"#", link.target_span.end or link.span.start, link.span.end)
    end = start + 1 + len(link.fragment.encode())
    if start < 0 or source[start + 1 : end] != link.fragment.encode():  # the fragment is escaped in the source
        return
    for name in nearest[:MAX_NEAREST]:
        heading = str(name)
        section = next((one for one in target.page.document.sections if one.heading == heading), None)
        if section is not None:
            heading = fragments.naming(section, by_anchor=link.kind in _MARKDOWN_KINDS)
        yield f"Change the heading to {heading}", _replace(page, Span(start + 1, end), heading)


def _written(page: EditorPage, link: Link, address: Address, name: str) -> str:
    if link.kind not in _MARKDOWN_KINDS:
        return name
    return markdown_path(relative_path(address.path, page.address.folder))


def _wanted(page: EditorPage, link: Link) -> Address | None:
    """The address of the page that a broken link names; None if it is not a valid address."""
    target = link.target.removesuffix(".html").strip()
    if link.kind in _MARKDOWN_KINDS and not target.startswith("/"):
        target = joined(page.address.folder, target) or ""
    try:
        return parse_document_address(target.lstrip("/")) if target else None
    except InvalidInputError:
        return None


def _create_page(pages: EditorPages, page: EditorPage, address: Address, title: str) -> WorkspaceEdit:
    uri = pages.uri_of(page.collection, address)
    text = f"# {title}\n"
    start = Range(Position(0, 0), Position(0, 0))
    return WorkspaceEdit(
        document_changes=[
            CreateFile(uri, options=CreateFileOptions(overwrite=False, ignore_if_exists=True)),
            TextDocumentEdit(OptionalVersionedTextDocumentIdentifier(uri), [TextEdit(start, text)]),
        ]
    )


def _replace(page: EditorPage, span: Span, text: str) -> WorkspaceEdit:
    place = OptionalVersionedTextDocumentIdentifier(page.uri, page.version)
    return WorkspaceEdit(document_changes=[TextDocumentEdit(place, [TextEdit(page.lines.range(span), text)])])
