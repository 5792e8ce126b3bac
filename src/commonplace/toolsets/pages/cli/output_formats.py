"""The answer to a search as JSON, as XML and as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from commonplace.domain.json import Json, JsonObject
from commonplace.faces.cli.output import one_line
from commonplace.toolsets.pages.rules.queries import PageAnswer, PageHit

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def answer_json(query: str, filters: JsonObject, answer: PageAnswer, milliseconds: int) -> str:
    """The answer as one JSON document; dates are unix seconds."""
    return as_json(
        {
            "query": query,
            "totalHits": answer.total,
            "processingTimeMs": milliseconds,
            "filters": filters or None,
            "results": [_result(rank, hit) for rank, hit in enumerate(answer.hits, 1)],
        }
    )


def answer_xml(query: str, filters: JsonObject, answer: PageAnswer) -> str:
    """The answer as one XML document; `count` is the number of all matching pages."""
    lines = [f"<search-results query={_attribute(query)} count={_attribute(str(answer.total))}>"]
    if filters:
        lines += ["  <filters>", *_elements(filters, "    "), "  </filters>"]
    for rank, hit in enumerate(answer.hits, 1):
        values = {key: value for key, value in _result(rank, hit).items() if key != "rank"}
        lines += [f"  <result rank={_attribute(str(rank))}>", *_elements(values, "    "), "  </result>"]
    return "\n".join([*lines, "</search-results>"])


def answer_text(query: str, answer: PageAnswer) -> str:
    """The answer as lines for a person."""
    if not answer.hits:
        return f'No results found for "{one_line(query)}"'
    lines = [f'Found {answer.total} result(s) for "{one_line(query)}"']
    for rank, hit in enumerate(answer.hits, 1):
        page = hit.page
        lines += ["", f"{rank}. {one_line(page.title)}", f"   {one_line(page.address.path)}"]
        about = [f"labels: {', '.join(page.labels)}" if page.labels else "", page.url]
        lines += [f"   {one_line(text)}" for text in (hit.snippet, *about) if text]
    return "\n".join(lines)


def status_xml(values: JsonObject, warnings: Sequence[str] = ()) -> str:
    """The status as XML.

    Args:
        values: The status in its JSON form.
        warnings: Sentences about the pages.
    """
    space = values["space"]
    connected = _attribute(str(values["connected"]).lower())
    lines = [f"<search-status connected={connected}>"]
    if values["meilisearchUrl"] is not None:
        lines.append(f"  <meilisearch url={_attribute(str(values['meilisearchUrl']))} />")
    count = _attribute(str(values["documentCount"] or 0))
    lines.append(f"  <index name={_attribute(str(values['indexName']))} documents={count} />")
    if isinstance(space, Mapping):
        lines.append(f"  <space key={_attribute(str(space['key']))} name={_attribute(str(space['name']))} />")
    said = [*([str(values["error"])] if values["error"] else []), *warnings]
    return "\n".join([*lines, *(f"  {_element('warning', text)}" for text in said), "</search-status>"])


def as_json(values: JsonObject) -> str:
    """JSON that does not escape characters outside ASCII."""
    return json.dumps(values, ensure_ascii=False, allow_nan=False)


def _result(rank: int, hit: PageHit) -> dict[str, Json]:
    page = hit.page
    return {
        "rank": rank,
        "title": page.title,
        "path": page.address.path,
        "page_id": page.id,
        "labels": list(page.labels),
        "snippet": hit.snippet,
        "url": page.url or None,
        "created_at": page.created,
        "updated_at": page.updated,
    }


def _elements(values: JsonObject, indent: str) -> Iterator[str]:
    """One element for each value, and for each item of a list, named in the singular. Empty values are omitted."""
    for name, value in values.items():
        if isinstance(value, Sequence) and not isinstance(value, str):
            if value:
                yield f"{indent}<{name}>"
                yield from (f"{indent}  {_element(name.removesuffix('s'), item)}" for item in value)
                yield f"{indent}</{name}>"
        elif value is not None and value != "":
            yield f"{indent}{_element(name, value)}"


def _element(name: str, value: Json) -> str:
    if isinstance(value, bool):
        value = str(value).lower()
    return f"<{name}>{escape(_clean(str(value)))}</{name}>" if value is not None else f"<{name}/>"


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))


def _clean(text: str) -> str:
    """The text with each character that XML forbids replaced by U+FFFD."""
    return _NO_XML.sub("\ufffd", text)
