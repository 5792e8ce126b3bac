"""The answer to a search as JSON, as XML and as text."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, cast, get_args
from xml.sax.saxutils import escape, quoteattr

import typer

from commonplace.domain.errors import InvalidInputError, KnowledgeError
from commonplace.domain.json import Json, JsonObject
from commonplace.faces.cli.output import one_line
from commonplace.toolsets.pages.cli.failures import (
    GENERAL,
    CnDependencies,
    EngineOptions,
    SpaceHandle,
    exit_code,
    message,
    out,
)
from commonplace.toolsets.pages.rules.queries import (
    MAX_PAGE_LIMIT,
    PageAnswer,
    PageFilter,
    PageHit,
    PageQuery,
    Sort,
    TimeFilters,
)
from commonplace.toolsets.pages.service import PAGES_KEY

if TYPE_CHECKING:
    from commonplace.toolsets.pages.rules.queries import RebuildReport


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


# `cn search`: searches a space, updates its index, and reports the index's status.


READY_SECONDS = 600.0
"""Timeout in seconds of `status` for an index that is being built."""
_DAY = "YYYY-MM-DD"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatOptions:
    """Options for the format of the answer."""

    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False
    as_xml: Annotated[bool, typer.Option("--xml", help="Answer in XML.")] = False

    def check(self) -> None:
        """Check that at most one format is requested.

        Raises:
            InvalidInputError: both formats are requested.
        """
        if self.as_json and self.as_xml:
            raise InvalidInputError("--json and --xml exclude each other: give one of them.", kind="argument")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexOptions:
    """Options of `cn search index`."""

    force: Annotated[bool, typer.Option("--force", help="index: build everything anew.")] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="index: say only what would be done.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The filter and order of pages."""

    labels: Annotated[
        list[str], typer.Option("--labels", metavar="L", help="With this label; repeated: with any of them.")
    ] = field(default_factory=list[str])
    author: Annotated[str | None, typer.Option("--author", metavar="A", help="E-mail address or whole name.")] = None
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=MAX_PAGE_LIMIT, metavar="N", help="Maximum number of pages.")
    ] = 10
    created_after: Annotated[str | None, typer.Option(metavar=_DAY, help="Created this day or later.")] = None
    created_before: Annotated[str | None, typer.Option(metavar=_DAY, help="Created this day or earlier.")] = None
    updated_after: Annotated[str | None, typer.Option(metavar=_DAY, help="Updated this day or later.")] = None
    updated_before: Annotated[str | None, typer.Option(metavar=_DAY, help="Updated this day or earlier.")] = None
    created_within: Annotated[str | None, typer.Option(metavar="DUR", help="Created in the last 30d, 2w, 6m, 1y.")] = (
        None
    )
    updated_within: Annotated[str | None, typer.Option(metavar="DUR", help="Updated in the last 30d, 2w, 6m, 1y.")] = (
        None
    )
    stale: Annotated[str | None, typer.Option(metavar="DUR", help="Not updated for 30d, 2w, 6m, 1y.")] = None
    sort: Annotated[str | None, typer.Option(metavar="KEY", help=f"One of {', '.join(get_args(Sort))}.")] = None

    def query(self, text: str) -> PageQuery:
        """The search that the options describe.

        Raises:
            InvalidInputError: the value of an option is invalid.
        """
        if self.sort not in {None, *get_args(Sort)}:
            raise InvalidInputError(f"sort must be one of {', '.join(get_args(Sort))}; got {self.sort!r}")
        times = TimeFilters(**{name: value for name, value in asdict(self).items() if name in TimeFilters.__slots__})
        now = time.time()
        return PageQuery(
            text=text,
            filter=PageFilter(
                labels=tuple(self.labels),
                author=self.author or "",
                created=times.created(now),
                updated=times.updated(now),
            ),
            sort=cast("Sort | None", self.sort),
            limit=self.limit,
        )

    def active(self) -> JsonObject:
        """The given filters by name."""
        return {name: value for name, value in asdict(self).items() if value and name != "limit"}


def search(
    parts: CnDependencies, words: list[str], filters: SearchOptions, form: FormatOptions, engine: EngineOptions
) -> int:
    """Search the space of the current folder; return the exit code."""
    form.check()
    text = " ".join(words)
    query = filters.query(text)
    with parts.opened(engine.settings()) as place:
        place.engine.connect()
        place.sync()
        began = time.perf_counter()
        answer = place.services.of(PAGES_KEY).search(query)
        took = round(1000 * (time.perf_counter() - began))
    if form.as_json:
        out(answer_json(text, filters.active(), answer, took))
    elif form.as_xml:
        out(answer_xml(text, filters.active(), answer))
    else:
        out(answer_text(text, answer))
    if answer.notice:
        message(answer.notice)
    return 0


def index(parts: CnDependencies, indexing: IndexOptions, engine: EngineOptions) -> int:
    """Update the search index; return the exit code."""
    with parts.opened(engine.settings()) as place:
        place.engine.connect()
        made: RebuildReport = place.engine.rebuild(afresh=indexing.force, dry_run=indexing.dry_run)
    for page in made.unusable:
        message(f"Error: {one_line(page.address.path)} was left out: {one_line(page.reason)}.")
    for page in made.flawed:
        message(
            f"Error: {one_line(page.address.path)} was indexed with what could be read of it: {one_line(page.flaw)}."
        )
    out(f"{'Would index' if indexing.dry_run else 'Indexed'} {made.pages} pages")
    return GENERAL if made.unusable or made.flawed else 0


def status(parts: CnDependencies, form: FormatOptions, engine: EngineOptions) -> int:
    """Print the status of the search; the exit code reports the problem, 0 if there is none."""
    form.check()
    with parts.opened(engine.settings()) as place:
        values, code = _status(place)
        unreadable = len(place.engine.rebuild(dry_run=True).flawed)
    if form.as_json:
        out(as_json(values if not unreadable else {**values, "unreadablePages": unreadable}))
    elif form.as_xml:
        out(status_xml(values, _unreadable(unreadable)))
    else:
        out("\n".join([*_lines(values, place), *_unreadable(unreadable)]))
    return code


def _status(place: SpaceHandle) -> tuple[dict[str, Json], int]:
    space = place.space()
    connected, count, problem = False, None, None
    try:
        place.engine.connect()
        connected = True
        place.sync()
        count = place.engine.count(READY_SECONDS)
    except KnowledgeError as error:
        problem = error
    values: dict[str, Json] = {
        "connected": connected,
        "meilisearchUrl": place.engine.url,
        "indexName": space.index_name,
        "documentCount": count,
        "space": {"key": space.key, "name": space.name},
        "error": str(problem) if problem else None,
    }
    return values, exit_code(problem) if problem else 0


def _unreadable(count: int) -> list[str]:
    """The line about pages whose frontmatter cannot be read completely; [] if there are none."""
    pages = "1 page has" if count == 1 else f"{count} pages have"
    return [f"{pages} frontmatter that cannot be read; 'cn search index' names them."] if count else []


def _lines(values: JsonObject, place: SpaceHandle) -> list[str]:
    space = place.space()
    where = f" at {place.engine.url}" if place.engine.url else ""
    lines = [
        f"Space: {one_line(space.name)} ({one_line(space.key)})",
        f"Search engine: {place.engine.name}{where}{'' if values['connected'] else ' (not connected)'}",
        f"Index: {space.index_name}",
    ]
    if values["documentCount"] is not None:
        lines.append(f"Documents: {values['documentCount']}")
    return [*lines, f"Error: {values['error']}"] if values["error"] else lines
