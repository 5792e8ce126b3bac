"""Diagnostics of a page during editing, with the rules of `commonplace check`, and code actions that correct links."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lsprotocol.types import (
    CodeAction,
    CodeActionKind,
    CreateFile,
    CreateFileOptions,
    Diagnostic,
    DiagnosticSeverity,
    OptionalVersionedTextDocumentIdentifier,
    Position,
    Range,
    TextDocumentEdit,
    TextEdit,
    WorkspaceEdit,
)

from commonplace.domain.addresses import Address, fold, parse_document_address
from commonplace.domain.document_reader import Fragments, find_fragment
from commonplace.domain.documents import Document, Link, LinkKind, Severity, Span
from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.findings import RULES
from commonplace.domain.links import is_stub, is_text, link_key
from commonplace.domain.markdown.link_rewrites import markdown_path
from commonplace.domain.markdown.paths import joined, relative_path
from commonplace.domain.query import ResolvedLink
from commonplace.faces.lsp.pages import EditorPage, EditorPages, whole_range
from commonplace.services.findings import page_issues
from commonplace.services.health.page_rules import broken_link, dead_anchor

# Diagnostics of a page during editing, with the rules of `commonplace check`.


SOURCE = "commonplace"
BROKEN_LINK = "broken_link"
DEAD_ANCHOR = "dead_anchor"
_SEVERITIES = {
    Severity.ERROR: DiagnosticSeverity.Error,
    Severity.WARNING: DiagnosticSeverity.Warning,
    Severity.INFO: DiagnosticSeverity.Information,
}
_OWN_RULES = frozenset({BROKEN_LINK, DEAD_ANCHOR})


def diagnose(pages: EditorPages, page: EditorPage) -> list[Diagnostic]:
    """Diagnostics of a page, for its links and front matter in the editor.

    Rules that need the index, such as comparisons with other pages, are applied only if the page is saved.
    """
    diagnostics = [*_links(pages, page)]
    try:
        is_saved = page.collection.store.read(page.address) == page.document.raw
    except KnowledgeError:
        is_saved = False
    record = page.collection.index.record(page.address)
    if is_saved and record is not None:
        for issue in page_issues(pages.collections, page.collection, record):
            if issue.rule not in _OWN_RULES:
                place = _place(page, issue.line, issue.field)
                diagnostics.append(_diagnostic(place, issue.rule, _SEVERITIES[issue.severity], issue.message))
    else:
        for finding in page.document.findings:
            place = _place(page, finding.line, finding.field)
            diagnostics.append(_diagnostic(place, finding.rule, _SEVERITIES[finding.severity], finding.message))
    return diagnostics


def broken_at(pages: EditorPages, page: EditorPage, diagnostic: Diagnostic) -> tuple[str, ResolvedLink] | None:
    """The rule and the link of a diagnostic that a client sends back.

    The range need not match exactly, because Neovim up to 0.9 counts columns in bytes.
    """
    start = page.lines.offset(Position(diagnostic.range.start.line, 0))
    end = start + len(page.lines.line(diagnostic.range.start.line))
    near = [link for link in page.document.links if start <= _place_of(link).start < end]
    found_pairs = list(_broken(pages, replace(page, document=replace(page.document, links=tuple(near)))))
    for rule, resolved in found_pairs:
        if page.lines.range(_place_of(resolved.link)) == diagnostic.range:
            return rule, resolved
    return next((found_pair for found_pair in found_pairs if _message(page, *found_pair) == diagnostic.message), None)


def _links(pages: EditorPages, page: EditorPage) -> Iterator[Diagnostic]:
    for rule, resolved in _broken(pages, page):
        place = page.lines.range(_place_of(resolved.link))
        yield _diagnostic(place, rule, _SEVERITIES[RULES[rule]], _message(page, rule, resolved))


def _message(page: EditorPage, rule: str, resolved: ResolvedLink) -> str:
    link = resolved.link
    if rule == BROKEN_LINK:
        return broken_link(resolved, page.collection.index.lookup()).message
    return dead_anchor(resolved.target or page.address, link).message


def _broken(pages: EditorPages, page: EditorPage) -> Iterator[tuple[str, ResolvedLink]]:
    """The rule and the link of each broken link of a page."""
    checked: dict[tuple[Address, str], bool] = {}
    fragments: dict[Address, Fragments | None] = {}
    lookup = page.collection.index.lookup()
    for resolved in page.collection.index.resolve(page.document):
        link = resolved.link
        if not _place_of(link).end:
            continue
        if resolved.target is None:
            no_page = is_text(link, page.address, lookup.sites) or is_stub(link, page.address, lookup)
            if not (no_page or pages.target(page, resolved) or _is_own_name(page, resolved)):
                yield BROKEN_LINK, resolved
        elif link.fragment and resolved.target.is_document:
            named = (resolved.target, link.fragment)
            if resolved.target not in fragments:
                target = pages.target(page, resolved)
                fragments[resolved.target] = Fragments(target.page.document) if target else None
            if named not in checked:
                there = fragments[resolved.target]
                checked[named] = there is None or link.fragment in there
            if not checked[named]:
                yield DEAD_ANCHOR, resolved


def _is_own_name(page: EditorPage, resolved: ResolvedLink) -> bool:
    """Whether a link names its own page by a title or path that is not saved and thus not in the index yet."""
    own = {fold(page.document.title), link_key(page.address.path)}
    return bool(resolved.link.target) and {fold(resolved.link.target), link_key(resolved.link.target)} & own != set()


def _place_of(link: Link) -> Span:
    return link.span if link.span.end else link.target_span


def _place(page: EditorPage, line: int, field: str) -> Range:
    """The range of a line; if it is 0, that of a front-matter field; otherwise the first line."""
    if line:
        return page.lines.line_range(line - 1)
    head = page.document.frontmatter.span
    key = re.compile(rb"(?m)^" + re.escape(field.encode()) + rb"[ \t]*:.*$") if field and field != "body" else None
    match = key.search(page.document.source, head.start, head.end) if key else None
    return page.lines.range(Span(*match.span())) if match else whole_range(page)


def _diagnostic(place: Range, rule: str, severity: DiagnosticSeverity, message: str) -> Diagnostic:
    return Diagnostic(range=place, message=message, severity=severity, code=rule, source=SOURCE)


# Code actions: create the target page of a broken link, or correct the link to the nearest name.


MAX_NEAREST = 3
_MARKDOWN_KINDS = (LinkKind.MARKDOWN, LinkKind.IMAGE)


def actions(pages: EditorPages, page: EditorPage, diagnostics: Sequence[Diagnostic]) -> list[CodeAction]:
    """Code actions that correct the diagnostics of a range."""
    made: list[CodeAction] = []
    for diagnostic in diagnostics:
        if diagnostic.source != SOURCE or (found_pair := broken_at(pages, page, diagnostic)) is None:
            continue
        rule, resolved = found_pair
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


def _nearest(document: Document, fragment: str) -> Sequence[object]:
    """The names of the parts of a page that are most similar to a fragment; none for one that it has."""
    try:
        find_fragment(document, fragment)
    except NotFoundError as error:
        nearest = error.context.get("nearest")
        return nearest if isinstance(nearest, list | tuple) else ()
    return ()


def _for_fragment(pages: EditorPages, page: EditorPage, resolved: ResolvedLink) -> Iterator[tuple[str, WorkspaceEdit]]:
    link, target = resolved.link, pages.target(page, resolved)
    if target is None or not link.span.end:
        return
    fragments = Fragments(target.page.document)
    source = page.document.source
    start = source.find(b"#", link.target_span.end or link.span.start, link.span.end)
    end = start + 1 + len(link.fragment.encode())
    if start < 0 or source[start + 1 : end] != link.fragment.encode():  # the fragment is escaped in the source
        return
    for name in _nearest(target.page.document, link.fragment)[:MAX_NEAREST]:
        heading = str(name)
        section = next((element for element in target.page.document.sections if element.heading == heading), None)
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
