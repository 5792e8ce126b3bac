"""Diagnostics: what `commonplace check` says of a page, while somebody types."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol.types import Diagnostic, DiagnosticSeverity, Range

from commonplace.domain.addresses import fold
from commonplace.domain.document_reader import has_fragment
from commonplace.domain.documents import LinkKind, Severity, Span
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.links import link_key
from commonplace.domain.query import ResolvedLink
from commonplace.faces.lsp.pages import EditorPage, EditorPages, whole_range
from commonplace.services.quality import check_entry

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
    """Diagnostics of a page: its links and front matter as they are in the editor.

    Rules that compare a page with others are applied while its text is the saved one, as they read the index.
    """
    found = [*_links(pages, page)]
    try:
        is_saved = page.collection.store.read(page.address) == page.document.raw
    except KnowledgeError:
        is_saved = False
    record = page.collection.index.record(page.address)
    if is_saved and record is not None:
        for issue in check_entry(pages.collections, page.collection, record):
            if issue.rule not in _OWN_RULES:
                place = _place(page, issue.line, issue.field)
                found.append(_diagnostic(place, issue.rule, _SEVERITIES[issue.severity], issue.message))
    else:
        for finding in page.document.findings:
            place = _place(page, finding.line, finding.field)
            found.append(_diagnostic(place, finding.rule, _SEVERITIES[finding.severity], finding.message))
    return found


def broken_at(pages: EditorPages, page: EditorPage, place: Range) -> tuple[str, ResolvedLink] | None:
    """The rule and the link of a diagnostic at a range."""
    for rule, resolved in _broken(pages, page):
        if page.lines.range(_span(resolved)) == place:
            return rule, resolved
    return None


def _links(pages: EditorPages, page: EditorPage) -> Iterator[Diagnostic]:
    for rule, resolved in _broken(pages, page):
        link = resolved.link
        if rule == BROKEN_LINK:
            message = f"The link to {link.raw[:80]!r} leads nowhere."
        else:
            target = resolved.target or page.address
            message = f"{target.path} has no heading or block {link.fragment[:60]!r}. Name one that it has."
        yield _diagnostic(page.lines.range(_span(resolved)), rule, DiagnosticSeverity.Warning, message)


def _broken(pages: EditorPages, page: EditorPage) -> Iterator[tuple[str, ResolvedLink]]:
    names = {one.name for one in pages.collections.members}
    for resolved in page.collection.index.resolve(page.document):
        link = resolved.link
        if not _span(resolved).end:
            continue
        if resolved.target is None:
            elsewhere = link.collection in names - {page.collection.name}
            if not (elsewhere and pages.target(page, resolved)) and not _is_own_name(page, resolved):
                yield BROKEN_LINK, resolved
        elif link.fragment and resolved.target.is_document and not _has_fragment(pages, page, resolved):
            yield DEAD_ANCHOR, resolved


def _is_own_name(page: EditorPage, resolved: ResolvedLink) -> bool:
    """Whether a link names the page that contains it, which the index does not know before it is saved."""
    own = {fold(page.document.title), link_key(page.address.path)}
    return bool(resolved.link.target) and {fold(resolved.link.target), link_key(resolved.link.target)} & own != set()


def _has_fragment(pages: EditorPages, page: EditorPage, resolved: ResolvedLink) -> bool:
    target = pages.target(page, resolved)
    return target is None or has_fragment(target.page.document, resolved.link.fragment)


def _span(resolved: ResolvedLink) -> Span:
    link = resolved.link
    return link.target_span if link.kind is LinkKind.FRONTMATTER else link.span


def _place(page: EditorPage, line: int, field: str) -> Range:
    """A line, the line of a front-matter field, or the first line."""
    if line:
        return page.lines.line_range(line - 1)
    head = page.document.frontmatter.span
    key = re.compile(rb"(?m)^" + re.escape(field.encode()) + rb"[ \t]*:.*$") if field and field != "body" else None
    found = key.search(page.document.source, head.start, head.end) if key else None
    return page.lines.range(Span(*found.span())) if found else whole_range(page)


def _diagnostic(place: Range, rule: str, severity: DiagnosticSeverity, message: str) -> Diagnostic:
    return Diagnostic(range=place, message=message, severity=severity, code=rule, source=SOURCE)
