"""`commonplace related`: the pages that are about the same as a page.

As JSON: `{"page", "related": [{"collection", "id", "path", "title", "revision", "score", "linked"}]}`.
"""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.domain.json import Json
from commonplace.faces.cli.options import PageArgument
from commonplace.faces.cli.output import INDENT, one_line
from commonplace.faces.cli.pages import located, page_name, place_json
from commonplace.faces.cli.session import Session
from commonplace.services.related_documents import RelatedDocument, related


def command(
    session: Session,
    page: PageArgument,
    *,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=25, help="Maximum number of pages.")] = 5,
) -> None:
    """Find the pages nearest to a page, in meaning where a model is installed.

    Examples:
        commonplace related runbooks/restore-database
        commonplace related topics/tides --limit 10 --json

    A page that is linked already is marked with `linked`.
    """
    with session.opened() as collections:
        document = located(collections, session.relative(page))
        near = related(document.collection, document.record.address, limit)
        if session.out.as_json:
            session.out.json(
                {"page": document.record.id, "related": [_json(related_document) for related_document in near]}
            )
            return
        for other_document in near:
            name = page_name(session, collections, other_document.found.collection, other_document.found.record.address)
            mark = "  linked" if other_document.linked else ""
            session.out.line(f"{name}  {one_line(other_document.found.record.title)}{mark}", INDENT)
        session.out.message("" if near else "Nothing is near to it.")


def _json(document: RelatedDocument) -> Json:
    place = place_json(document.found.collection, document.found.record)
    return {**place, "score": round(document.score, 4), "linked": document.linked}
