"""`commonplace read`: a page as it is in its file, or a part of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated

import typer

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Document, Section
from commonplace.domain.errors import ConfigError, KnowledgeError
from commonplace.domain.json import Json
from commonplace.domain.revisions import revision_of
from commonplace.faces.cli.options import AtOption, PageArgument, exclusive
from commonplace.faces.cli.output import FAINT, one_line
from commonplace.faces.cli.pages import named_part, status_json
from commonplace.faces.cli.session import Session
from commonplace.services import history, reads
from commonplace.services.collections import Collection, Collections
from commonplace.services.past import as_of, is_moment, moment_of
from commonplace.services.reads import TextPassage
from commonplace.services.statuses import CollectionStatuses

READ_JSON = """As JSON: `{"collection", "id", "path", "title", "revision", "frontmatter": {..}, "heading": [..],
"first_line", "text"}`; with `--outline` instead of the last four `"outline": [{"level", "heading", "anchor",
"line"}]`; with a moment in `--at` also `"at": {FOLDER: COMMIT}`. What lapsed or is a draft also has `"status":
{"status", "by"}`."""


def read_command(
    session: Session,
    page: PageArgument,
    section: Annotated[str | None, typer.Option(metavar="HEADING", help='One section: "Set-up > Linux".')] = None,
    lines: Annotated[str | None, typer.Option(metavar="FROM-TO", help="Some lines, as in 10-40, 10- or 10.")] = None,
    at: AtOption = "",
    *,
    outline: Annotated[bool, typer.Option("--outline", help="Its headings and their lines only.")] = False,
) -> None:
    """Read a page, or the part of it that you need.

    Examples:
        commonplace read notes/idea
        commonplace read "Getting started" --outline
        commonplace read notes/idea --section "Set-up > Linux"
        commonplace read "notes/idea#Set-up"
        commonplace read notes/idea.md --at 1a2b3c4 > old.md
        commonplace read notes/idea --at yesterday
        commonplace read notes/idea --json

    PAGE is a path with or without .md, an id, or a title; NAME:PAGE names the folder too where several are open. As in
    a link, #Heading, #Heading#Sub or #^block behind it is a part of it. What is written is byte for byte what the file
    holds. --json also gives the revision that `write --revision` asks for.
    """
    exclusive(**{"--section": section, "--lines": lines, "--outline": outline})
    exclusive(**{"--lines": lines, "--at": at})
    span = _range(lines) if lines is not None else None
    with session.opened() as collections:
        row = named_part(collections, session.relative(page), at)
        collection, address, part = _named_then(collections, session.relative(page), at, row)
        then = _then(session, collection, at)
        at = history.revision_at(collection, at)
        if outline:
            _show_outline(session, collection, reads.document_at(collection, address, at), then)
        elif part and section is None and span is None:
            _show(session, collection, reads.fragment(collection, address, part, at=at), then)
        else:
            _show(session, collection, _passage(collection, address, at, section=section, span=span), then)


def _then(session: Session, collection: Collection, at: str) -> dict[str, Json]:
    """The folder's commit at a moment, as JSON; also shown as a message. Empty if `at` is a revision of the page."""
    if not at or not is_moment(collection, at):
        return {}
    moment = moment_of(collection, at)
    session.out.message(moment.note)
    return {"at": {collection.name: moment.commit.id}}


def _named_then(
    collections: Collections, page: str, at: str, row: tuple[Collection, Address, str]
) -> tuple[Collection, Address, str]:
    """The page that had this name at a moment, if the page that has the name now did not exist then.

    A path means its page, so that no index of the moment is made to look for others.
    """
    collection, address, _ = row
    if not at or not is_moment(collection, at):
        return row
    is_path = collection.index.record(address) and page.partition("#")[0].endswith((address.path, address.id))
    if not is_path and collection.store.history.address_at(address, moment_of(collection, at).commit.id) is None:
        with as_of(collections, at) as base, suppress(KnowledgeError):
            then, address, part = named_part(base.collections, page, "")
            return collections.get(then.name), address, part
    return row


def _passage(
    collection: Collection, address: Address, at: str, *, section: str | None, span: tuple[int, int] | None
) -> TextPassage:
    if section is not None:
        return reads.section(collection, address, section, at=at)
    if span is not None:
        return reads.lines(collection, address, *span)
    return reads.whole(collection, address, at=at)


def _range(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,9})(-(\d{1,9})?)?", text)
    if not match:
        raise ConfigError(f"Invalid --lines {text!r}: expected numbers such as 10-40, 10- or 10.", kind="option")
    first = int(match[1])
    return first, int(match[3]) if match[3] else 10**9 if match[2] else first


def _show(session: Session, collection: Collection, passage: TextPassage, then: dict[str, Json]) -> None:
    document = passage.document
    status = CollectionStatuses(collection).in_file(document, passage.section.ordinal if passage.section else 0)
    if session.out.as_json:
        session.out.json(
            {
                **_place(collection, document),
                **then,
                **(status_json(status) if status.mark else {}),
                "frontmatter": document.frontmatter.values,
                "heading": list(passage.section.path) if passage.section else [],
                "first_line": passage.first_line,
                "text": passage.text,
            }
        )
    else:
        if status.mark:
            session.out.message(one_line(status.mark))
        whole = passage.text == document.text
        session.out.raw(document.raw if whole else passage.text.encode())


def _show_outline(session: Session, collection: Collection, document: Document, then: dict[str, Json]) -> None:
    out = session.out
    headings = list(_headings(document))
    if out.as_json:
        rows: list[Json] = [
            {"level": section.level, "heading": section.heading, "anchor": section.anchor, "line": line}
            for section, line in headings
        ]
        out.json({**_place(collection, document), **then, "outline": rows})
        return
    for section, line in headings:
        out.line(
            f"{out.styled(FAINT, str(line)):>6}  {'#' * section.level} {one_line(section.heading)}", 8 + section.level
        )


def _headings(document: Document) -> Iterator[tuple[Section, int]]:
    """Each heading with its line number, computed in one pass over the bytes."""
    raw = document.encoded
    line, at = 1, 0
    for section in document.sections:
        line += raw.count(b"\n", at, section.start)
        at = section.start
        if section.level:
            yield section, line


def _place(collection: Collection, document: Document) -> dict[str, Json]:
    record = collection.index.record(document.address)
    return {
        "collection": collection.name,
        "id": record.id if record else document.address.id,
        "path": document.address.path,
        "title": collection.title_of(document),
        "revision": revision_of(document.raw),
    }
