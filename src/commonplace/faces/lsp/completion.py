"""Completion of link targets, headings, block ids, tags and front-matter values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import unquote

from lsprotocol.types import (
    CompletionItem,
    CompletionItemKind,
    CompletionItemLabelDetails,
    CompletionList,
    Position,
    Range,
    TextEdit,
)

from commonplace.domain.document_reader import Fragments
from commonplace.domain.documents import Link, LinkKind
from commonplace.domain.json import Json
from commonplace.domain.markdown.link_rewrites import markdown_path
from commonplace.domain.markdown.link_syntax import parse_wiki
from commonplace.domain.markdown.paths import joined, relative_path
from commonplace.domain.query import Filter, ListQuery, ResolvedLink
from commonplace.domain.words.scripts import fold_accents
from commonplace.domain.yaml_loader import load, scalar_text
from commonplace.faces.lsp.pages import EditorPage, EditorPages
from commonplace.services.link_completion import LIMIT, frontmatter_keys, heading_names, page_candidates, wiki_name
from commonplace.services.typed_entries import current_schema

TRIGGERS = ("[", "#", "(", "/", "^", ":")
"""Characters after which a client requests completions automatically."""
MAX_VALUES_READ = 2_000
"""Maximum number of pages whose front matter is read for the values of a field."""
_WIKI = re.compile(r"!?\[\[([^\[\]\n|]*)$")
_MARKDOWN = re.compile(r"(?:\]\(|^ {0,3}\[(?!\^)[^\]\n]+\]: *)<?([^()<>\"\n]*)$")
"""The target of an inline link or a reference definition. It may contain unencoded blanks while it is typed."""
_TAG = re.compile(r"(?:^|(?<=[\s(]))#([^\s#\[\](){}.,;:!?'\"]*)$")
_FIELD = re.compile(r"^([A-Za-z_][\w-]*):[ \t]*(?:\[(?:[^\]]*,)?[ \t]*)?([^,\]]*)$")
_ITEM = re.compile(r"^[ \t]*-[ \t]+(.*)$")
_KEY = re.compile(r"^([A-Za-z_][\w-]*)?$")
_TAG_FIELDS = frozenset({"tags", "tag", "keywords"})


def complete(pages: EditorPages, page: EditorPage, position: Position) -> CompletionList:
    """Completions at a position. Incomplete if more match than are listed."""
    offset = page.lines.offset(position)
    line = page.lines.line(position.line)
    start = page.lines.offset(Position(position.line, 0))
    before = line[: offset - start].decode("utf-8", "replace")
    after = line[offset - start :].decode("utf-8", "replace")
    head = page.document.frontmatter
    if offset < head.span.end and head.is_yaml and position.line > 0 and "[[" not in before:
        items = list(_frontmatter(page, position, before))
    elif match := _WIKI.search(before):
        items = list(_wiki(pages, page, _back(page, position, match[1]), match[1], after))
    elif found_match := _MARKDOWN.search(before):
        items = list(_markdown(pages, page, _back(page, position, found_match[1]), found_match[1]))
    elif candidate := _TAG.search(before):
        items = list(_tags(page, _back(page, position, candidate[1]), candidate[1]))
    else:
        items = []
    return CompletionList(is_incomplete=len(items) >= LIMIT or bool(items), items=items[:LIMIT])


def _back(page: EditorPage, position: Position, typed: str) -> Range:
    """The range of the typed text before a position."""
    end = page.lines.offset(position)
    return Range(page.lines.position(end - len(typed.encode())), position)


def _wiki(pages: EditorPages, page: EditorPage, place: Range, typed: str, after: str) -> Iterator[CompletionItem]:
    closing = "" if after.startswith(("]]", "|")) else "]]"
    target, hash_sign, fragment = typed.partition("#")
    if hash_sign:
        link = Link(LinkKind.WIKI, (parse_wiki(target) or ("", target, ""))[1], target)
        for name, kind in dict(_fragments(pages, page, link, fragment)).items():
            yield _item(name, kind, TextEdit(place, f"{target}#{name}{closing}"))
        return
    for number, record in enumerate(page_candidates(page.collection.index, typed, page.address)):
        if written := wiki_name(page.collection.index, record, page.address):
            edit = TextEdit(place, written + closing)
            yield _item(record.title, CompletionItemKind.File, edit, record.address.path, number)


def _markdown(pages: EditorPages, page: EditorPage, place: Range, typed: str) -> Iterator[CompletionItem]:
    target, hash_sign, fragment = typed.partition("#")
    if hash_sign:
        link = Link(LinkKind.MARKDOWN, unquote(target), target)
        target_page = _page_of(pages, page, link)
        for section in target_page.document.sections[1:] if target_page else ():
            if fold_accents(section.anchor).startswith(fold_accents(fragment)):
                item = f"{target}#{section.anchor}"
                edit = TextEdit(place, item)
                yield _item(section.heading, CompletionItemKind.Reference, edit, typed_as=typed + item)
        return
    for number, record in enumerate(
        page_candidates(page.collection.index, _from_root(page, unquote(typed)), page.address)
    ):
        written = markdown_path(relative_path(record.address.path, page.address.folder))
        yield _item(
            record.title,
            CompletionItemKind.File,
            TextEdit(place, written),
            record.address.path,
            number,
            typed_as=typed + written,
        )


def _from_root(page: EditorPage, typed: str) -> str:
    """The typed path relative to the collection's root; unchanged if it has no slash or leads outside."""
    if "/" not in typed:
        return typed
    folder, _, name = typed.rpartition("/")
    place = joined("" if typed.startswith("/") else page.address.folder, f"{folder}/")
    return typed if place is None else f"{place}{name}"


def _fragments(
    pages: EditorPages, page: EditorPage, link: Link, typed: str
) -> Iterator[tuple[str, CompletionItemKind]]:
    """Headings of a link's target; after `^`, its block ids."""
    target = _page_of(pages, page, link)
    if target is None:
        return
    if typed.startswith("^"):
        for block_id in Fragments(target.document).block_ids:
            yield block_id, CompletionItemKind.Constant
        return
    for name in heading_names(target.document, typed):
        yield name, CompletionItemKind.Reference


def _page_of(pages: EditorPages, page: EditorPage, link: Link) -> EditorPage | None:
    if not link.target:
        return page
    record = page.collection.index.find(link.target, page.address)
    target = pages.target(page, ResolvedLink(source=page.address, link=link, target=record.address if record else None))
    return target.page if target else None


def _tags(page: EditorPage, place: Range, typed: str) -> Iterator[CompletionItem]:
    for number, (tag, count) in enumerate(page.collection.index.tags(Filter(), typed)):
        pages = f"{count} page" if count == 1 else f"{count} pages"
        yield _item(tag, CompletionItemKind.Keyword, TextEdit(place, tag), pages, number)


def _frontmatter(page: EditorPage, position: Position, before: str) -> Iterator[CompletionItem]:
    field, typed = _field_at(page, position, before)
    if field is None:
        if match := _KEY.match(before):
            yield from _keys(page, _other_fields(page, position), _back(page, position, match[1] or ""))
        return
    place = _back(page, position, typed)
    if field in _TAG_FIELDS:
        yield from _tags(page, place, typed.lstrip("#\"'"))
        return
    flow = "[" in before[: len(before) - len(typed)]
    for number, value in enumerate(_values(page, _other_fields(page, position), field)):
        if value.casefold().startswith(typed.casefold().strip("\"'")):
            edit = TextEdit(place, scalar_text(value, flow=flow))
            yield _item(value, CompletionItemKind.Value, edit, "", number)


def _other_fields(page: EditorPage, position: Position) -> Mapping[str, Json]:
    """The fields of the front matter without the line at a position, which may be invalid YAML while it is typed."""
    head = page.document.frontmatter.span
    last = page.lines.position(head.end).line
    lines = [page.lines.line(number) for number in range(1, last) if number != position.line]
    text = b"\n".join(lines).decode("utf-8", "replace").partition("\n---")[0]
    value = load(text).value
    return value if isinstance(value, Mapping) else {}


def _field_at(page: EditorPage, position: Position, before: str) -> tuple[str | None, str]:
    """The front-matter field whose value is at a position, and the part of the value before the position."""
    if match := _FIELD.match(before):
        return match[1], match[2]
    item = _ITEM.match(before)
    if not item:
        return None, ""
    for number in range(position.line - 1, 0, -1):
        above = page.lines.line(number).decode("utf-8", "replace")
        if found_match := _FIELD.match(above):
            return found_match[1], item[1]
        if not _ITEM.match(above):
            break
    return None, ""


def _keys(page: EditorPage, present: Mapping[str, Json], place: Range) -> Iterator[CompletionItem]:
    kind = present.get("type")
    for number, key in enumerate(frontmatter_keys(page.collection, kind if isinstance(kind, str) else "")):
        if key not in present:
            yield _item(key, CompletionItemKind.Property, TextEdit(place, f"{key}: "), "", number)


def _values(page: EditorPage, present: Mapping[str, Json], field: str) -> Sequence[str]:
    """Values permitted by the schema for a field, then values in other pages, most frequent first."""
    index = page.collection.index
    schema = current_schema(page.collection)
    if field == "type":
        used = [name for name, _ in index.counts().types if name]
        return list(dict.fromkeys((*schema.types, *used)))
    kind = present.get("type")
    declared = schema.types.get(kind) if isinstance(kind, str) else None
    options = declared.fields[field].options if declared and field in declared.fields else ()
    records = index.list(ListQuery(sort="updated", descending=True, limit=MAX_VALUES_READ)).records
    counts = _counts(record.frontmatter.get(field) for record in records)
    return list(dict.fromkeys((*options, *sorted(counts, key=lambda count: (-counts[count], count)))))


def _counts(values: Iterable[Json]) -> dict[str, int]:
    """Number of times that each text occurs in values and lists of values; long texts are left out."""
    counts: dict[str, int] = {}
    for value in values:
        for element in value if isinstance(value, list) else [value]:
            if isinstance(element, str) and 0 < len(element) <= LIMIT:
                counts[element] = counts.get(element, 0) + 1
    return counts


def _item(
    label: str,
    kind: CompletionItemKind,
    edit: TextEdit,
    detail: str = "",
    number: int = 0,
    typed_as: str = "",
) -> CompletionItem:
    """Create an item. Clients sort items by `number`, and filter them by its text with and without accents."""
    whole = f"{edit.new_text} {label} {detail}".strip()
    return CompletionItem(
        label=label or edit.new_text,
        kind=kind,
        label_details=CompletionItemLabelDetails(description=detail) if detail else None,
        detail=detail or None,
        sort_text=f"{number:04}",
        filter_text=typed_as or (whole if whole.isascii() else f"{whole} {fold_accents(whole)}"),
        text_edit=edit,
    )
