"""`commonplace add`: files and web pages as sources, each with a Markdown page beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from commonplace.domain.errors import ConfigError, KnowledgeError, NotFoundError, StorageError
from commonplace.domain.json import Json
from commonplace.domain.sources import MAX_SOURCE_BYTES, SourceFile, SourceReader
from commonplace.faces.cli.failures import error_json
from commonplace.faces.cli.output import BOLD, FAINT, INDENT, one_line
from commonplace.faces.cli.session import Session
from commonplace.faces.errors import error_mapping
from commonplace.services.services import Services
from commonplace.services.sources import AddedSource, add_source, citation_lines, is_url, too_large
from commonplace.services.writes import WriteRequest

ADD_JSON = """As JSON: `{"items": [{"collection", "file", "page", "title", "kind", "size", "action", "commit", "notes":
[..]}]}`; `file` is the path of the bytes as they came, `page` that of their text, `size` is in bytes, and `action`
is `created`, or `unchanged` if the same bytes were added before. Of several sources, `failed` has those that could
not be added: `[{"source", "error": {"code", "message", ..}}]`."""


def add_command(
    session: Session,
    sources: Annotated[list[str], typer.Argument(metavar="FILE|URL...", help="Files, or URLs of http or https.")],
    *,
    title: Annotated[str, typer.Option(metavar="TEXT", help="Title of the page, instead of the source's own.")] = "",
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="The commit's message.")] = "",
    private: Annotated[
        bool, typer.Option("--private", help="Also read URLs of private networks and of this machine.")
    ] = False,
) -> int:
    """Add files or web pages as sources that pages cite.

    Examples:
        commonplace add ~/Downloads/report.pdf
        commonplace add https://example.org/guide --title "The guide"
        commonplace add minutes.docx budget.xlsx -m "Papers of the meeting"
        commonplace add https://wiki.intern/page --private

    A source is stored in sources/ as it came, and beside it a page with its text, title, author, date, digest and
    where it is from. The page is searched and cited like any other; pages of a PDF and slides are its sections. The
    same bytes are added once. PDF, DOCX, PPTX, XLSX and EPUB need the extra `convert`; HTML, Markdown, CSV and text do
    not. A file is converted in a process of its own, without a network, within a minute. Markdown stays as it came and
    is its own page. A source that cannot be added is named, and the others are added.
    """
    if title and len(sources) > 1:
        raise ConfigError("--title is of one source.", kind="option", hint="Add them one by one.")
    settings = {"source_private": "true"} if private else {}
    configured = Session(
        session.dependencies, session.configured(settings), session.flags, session.out, session.command
    )
    with configured.services_for_writing(commit=True) as services:
        reader = _reader(services)
        if len(sources) == 1:
            rows: list[Json] = [_added(session, services, (sources[0], title, message), reader)]
            errors: dict[str, KnowledgeError] = {}
        else:
            rows, errors = _each_added(session, services, (sources, message), reader)
        failed: list[Json] = [{"source": source, "error": error_json(error)} for source, error in errors.items()]
        if session.out.as_json:
            session.out.json({"items": rows, **({"failed": failed} if failed else {})})
    return next((error_mapping(error).exit for error in errors.values()), 0)


def _each_added(
    session: Session, services: Services, what: tuple[list[str], str], reader: SourceReader
) -> tuple[list[Json], dict[str, KnowledgeError]]:
    """Add each of several sources; returns those that were added, and why the others were not."""
    rows: list[Json] = []
    errors: dict[str, KnowledgeError] = {}
    sources, message = what
    for source in sources:
        try:
            rows.append(_added(session, services, (source, "", message), reader))
        except KnowledgeError as error:
            errors[source] = error
            session.out.message("" if session.out.as_json else one_line(f"Not added: {source}: {error.advice}"))
    return rows, errors


def _reader(services: Services) -> SourceReader:
    if services.reader is None:
        raise ConfigError("Nothing can be added here.", kind="source", hint="Name a folder: -C PATH.")
    return services.reader()


def _added(session: Session, services: Services, what: tuple[str, str, str], reader: SourceReader) -> dict[str, Json]:
    """Add one source, and show it."""
    named, title, message = what
    collection = services.collections.members[0]
    source = reader.download(named) if is_url(named) else _file(named)
    added = add_source(collection, source, reader, title, WriteRequest(message=message))
    if not session.out.as_json:
        _show(session, added)
    return {
        "collection": collection.name,
        "file": added.file.path,
        "page": added.page.path,
        "title": added.title,
        "kind": added.kind,
        "size": added.size,
        "action": "created" if added.created else "unchanged",
        "commit": added.commit,
        "notes": list(added.notes),
    }


def _show(session: Session, added: AddedSource) -> None:
    out = session.out
    marks = f"{added.size:,} bytes" + (f"  commit {added.commit[:10]}" if added.commit else "")
    verb = "Added" if added.created else "Was added before:"
    out.line(one_line(f"{verb} {out.styled(BOLD, added.page.path)}  {out.styled(FAINT, marks)}"))
    for line in (*added.notes, *citation_lines(added)):
        out.line(one_line(line), INDENT)


def _file(named: str) -> SourceFile:
    path = Path(named).expanduser()
    try:
        size = path.stat().st_size
        if size > MAX_SOURCE_BYTES:
            raise too_large(size)
        with path.open("rb") as stream:
            return SourceFile(path.name, stream.read(MAX_SOURCE_BYTES + 1))
    except FileNotFoundError as error:
        raise NotFoundError(
            f"There is no file {named[:200]!r}.", kind="source", hint="Give a file, or a URL with https://."
        ) from error
    except OSError as error:
        raise StorageError(
            f"{named[:200]!r} cannot be read: {error.strerror}.", kind="source", hint="Check its path and permissions."
        ) from error
