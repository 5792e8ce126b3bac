"""The change `supersede`: new text in place of the old, which stays marked or in a history section of its page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from posixpath import relpath

from commonplace.domain import edits
from commonplace.domain.addresses import Address
from commonplace.domain.appends import text_end
from commonplace.domain.citations import citation_text, citations_of, free_labels, read_citation, uses_list
from commonplace.domain.document_reader import read_again, read_document
from commonplace.domain.documents import Document, Section
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.frontmatter import set_fields
from commonplace.domain.json import Json
from commonplace.domain.markdown.wikitext import is_wikitext

HISTORY_HEADINGS = ("history", "superseded", "former versions", "archive")
"""Headings of the section in which a page keeps what it superseded, regardless of case; the first is the default."""
_TAIL = re.compile(r"(\s*)\Z")
_REFERENCE = re.compile(r"\[\^([^\[\]\s]+)\](?!:)")
_UNFIT = re.compile(r"[\s\"'{}]")


def require_markdown(document: Document, what: str) -> None:
    """Raise if a page is wikitext, which has no form for what a change writes.

    Args:
        document: The page.
        what: What the change writes: `history` or `sources`.

    Raises:
        InvalidInputError: kind "document": the page is wikitext.
    """
    if document.frontmatter.is_fields and is_wikitext(document.frontmatter):
        raise InvalidInputError(
            f"The page is wikitext of TiddlyWiki, which has no form for {what}.",
            kind="document",
            hint="Give the text alone, with what stood there or where it is from in words.",
        )


def superseded_page(document: Document, by: str, reason: str) -> bytes:
    """The page, marked as superseded by another one in its front matter.

    Raises:
        InvalidInputError: kind "argument": nothing replaces the page, or it would replace itself.
    """
    if not by:
        raise InvalidInputError(
            "A superseded page needs 'by', the page that replaces it.",
            kind="argument",
            hint="Give by, or section or old with the new text.",
        )
    if by.partition("#")[0] in {document.address.path, document.address.id}:
        raise InvalidInputError("A page does not supersede itself.", kind="argument", hint="Name another page in by.")
    fields: dict[str, Json] = {"superseded_by": by}
    if "status" in document.frontmatter.values:
        fields["status"] = "superseded"
    if reason:
        fields["superseded_reason"] = " ".join(reason.split())
    return set_fields(document, fields)


def superseded_section(document: Document, section: Section, text: str, by: str, reason: str) -> bytes:
    """The page with a new text of a section, whose old text is in the history; without one, the heading is marked."""
    old = document.raw[section.content : section.end].decode("utf-8", "replace").strip()
    if not text.strip():
        return _marked(document, section, by)
    changed = read_again(document, edits.replace_section(document, section, text))
    return _kept(changed, section.anchor, section.heading, old, by, reason)


def superseded_passage(document: Document, old: str, text: str, section: Section | None, by: str, reason: str) -> bytes:
    """The page with a passage replaced, and the old one in the history."""
    within = None if section is None else (section.start, section.tree_end if section.level else section.end)
    at = document.raw.find(old.encode(), within[0] if within else document.body_start)
    around = next((section for section in reversed(document.sections) if section.level and section.start <= at), None)
    changed = read_again(document, edits.replace_once(document, old, text, within=within))
    name, anchor = (around.heading, around.anchor) if around else (document.title, "")
    return _kept(changed, anchor, name, old.strip(), by, reason)


def _marked(document: Document, section: Section, by: str) -> bytes:
    if not by or not section.atx:
        raise InvalidInputError(
            "A superseded section needs 'text', the new text, or 'by', what replaces it, and a heading with #.",
            kind="argument",
            hint="Give text, or by such as 'network.md#port'.",
        )
    end = document.raw.find(b"\n", section.start)
    end = len(document.raw) if end < 0 else end
    line = document.raw[section.start : end].decode("utf-8", "replace").rstrip()
    own = section.attributes
    heading = line[: line.rfind("{")].rstrip() if own and line.endswith("}") else line.rstrip("#").rstrip()
    anchor = "" if "#" in own.split(" ")[0] else f"#{section.anchor}"
    attributes = " ".join(filter(None, (anchor, own, "status=superseded", f"by={_quoted(by)}")))
    return edits.replace_range(document, section.start, end, f"{heading} {{{attributes}}}")


def _kept(document: Document, anchor: str, name: str, old: str, by: str, reason: str) -> bytes:
    """The page with an old text in its history section, which is made at the end of the page if there is none."""
    day = datetime.now(UTC).date().isoformat()
    target = by or (f"#{anchor}" if anchor else document.address.path)
    history = next((section for section in document.sections if section.heading.casefold() in HISTORY_HEADINGS), None)
    level = history.level if history else 2
    head = "" if history else "## History\n\n"
    because = f"\n\nSuperseded: {' '.join(reason.split())}" if reason else ""
    attributes = f"status=superseded by={_quoted(target)}"
    below = re.sub(r"(?m)^(#{1,5}) ", rf"{'#' * min(level, 1)}\1 ", old)
    kept_text = f"{head}{'#' * (level + 1)} {name}, until {day} {{{attributes}}}\n\n{below}{because}"
    end = text_end(document, document.body_start, len(document.raw), kept_text)
    return edits.insert_text(document, history.content if history else end, kept_text)


def _quoted(reference: str) -> str:
    return f'"{reference}"' if _UNFIT.search(reference) else reference


# Sources of a change, in the page's own style.


def source_texts(sources: Sequence[str], folder: str) -> list[str]:
    """The sources as one line each, in the form that `read_citation` reads.

    Args:
        sources: A path, a title in [[ ]], a URL, or one of these with a quotation, each.
        folder: Folder of the citing page, to which links to pages are relative.

    Raises:
        InvalidInputError: kind "argument": a text names no source.
    """
    texts: list[str] = []
    for source in sources:
        line = " ".join(source.split())
        citation = read_citation(line) or read_citation(line, whole=True)
        if citation is None or (not citation.target and not citation.fragment):
            raise InvalidInputError(
                f"{source[:80]!r} names no source.",
                kind="argument",
                hint="Give 'guide.md#install', 'src/app.py#L10-L20@1a2b3c4' or a URL, then a quotation.",
            )
        if "](" in line or "[[" in line:
            texts.append(line)
            continue
        if not citation.is_url and not citation.first and "/" in f"{citation.target}{folder}":
            citation = citation._replace(target=relpath(citation.target, folder or "."))
        texts.append(citation_text(citation))
    return texts


def with_references(document: Document, text: str, texts: Sequence[str]) -> tuple[str, list[str]]:
    """A new text with references to the footnotes of sources, and their labels; unchanged in a page with a list.

    A source that the page cites in a footnote already has its label. `[^2]` in the text refers to the second source,
    unless the page has such a footnote. The others are referred to at the end. An empty text has no references.
    """
    if uses_list(document) or not texts or not text.strip():
        return text, []
    numbers = [str(number) for number in range(1, len(texts) + 1)]
    own = [label for label in numbers if f"[^{label}]" in text and f"[^{label}]:" not in document.text + text]
    labels = _labels(document, texts, numbers, own)
    text = _with_labels(text, dict(pair for pair in zip(numbers, labels, strict=True) if pair[0] in own))
    return _referring(text, labels), labels


def _with_labels(text: str, labels: Mapping[str, str]) -> str:
    """A text in which references with these labels have others."""
    return _REFERENCE.sub(lambda match: f"[^{labels.get(match[1], match[1])}]", text)


def _referring(text: str, labels: Sequence[str]) -> str:
    """A text with the references that it lacks at its end, below a heading, which has none."""
    there = {match[1] for match in _REFERENCE.finditer(text)}
    references = "".join(f"[^{label}]" for label in dict.fromkeys(labels) if label not in there)
    tail = _TAIL.search(text)
    end = tail.start() if tail else len(text)
    below = "\n\n" if references and text[:end].rpartition("\n")[2].startswith("#") else ""
    return text[:end] + below + references + text[end:]


def _labels(document: Document, texts: Sequence[str], numbers: Sequence[str], own: Sequence[str]) -> list[str]:
    """The labels of sources: of their footnotes in the page, else the numbers in the text, else free ones."""
    labels = {citation.key: citation.label for citation in citations_of(document) if citation.line}
    free = (label for label in free_labels(document, 2 * len(numbers)) if label not in own)
    for text, number in zip(texts, numbers, strict=True):
        if source_key(text) not in labels:
            labels[source_key(text)] = number if number in own else next(free)
    return [labels[source_key(text)] for text in texts]


def source_key(text: str) -> tuple[str, str, str]:
    """The key of the citation in a text of `source_texts`."""
    citation = read_citation(text)
    return citation.key if citation else (text, "", "")


def with_sources(raw: bytes, document: Document, texts: Sequence[str], labels: Sequence[str]) -> bytes:
    """The page with sources: items of its list, or the footnotes with these labels at its end; none is there twice."""
    changed = read_again(document, raw)
    if not labels:
        return _with_listed(changed, texts)
    fresh = {label: text for label, text in zip(labels, texts, strict=True) if f"[^{label}]:" not in changed.text}
    notes = "\n".join(f"[^{label}]: {text}" for label, text in fresh.items())
    return edits.insert_text(changed, len(changed.raw), notes) if notes else raw


def _with_listed(document: Document, texts: Sequence[str]) -> bytes:
    """The page with sources in the list of its front matter, without those that it cites already."""
    value = document.frontmatter.values.get("sources")
    listed: list[Json] = list(value) if isinstance(value, (list, tuple)) else [value] if value else []
    keys = {citation.key for citation in citations_of(document)}
    fresh = {key: text for text in texts if (key := source_key(text)) not in keys}
    return set_fields(document, {"sources": [*listed, *fresh.values()]}) if fresh else document.raw


def text_with_sources(address: Address, text: str, sources: Sequence[str]) -> str:
    """The text of a whole page with sources in its own style.

    Raises:
        InvalidInputError: kind "argument": a text names no source; kind "document": the page is wikitext.
    """
    if not sources:
        return text
    texts = source_texts(sources, address.folder)
    document = read_document(address, text.encode())
    require_markdown(document, "sources")
    referring, labels = with_references(document, text, texts)
    return with_sources(referring.encode(), document, texts, labels).decode()
