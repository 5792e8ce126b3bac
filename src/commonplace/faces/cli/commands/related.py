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
        found = located(collections, session.relative(page))
        near = related(found.collection, found.record.address, limit)
        if session.out.as_json:
            session.out.json({"page": found.record.id, "related": [_json(one) for one in near]})
            return
        for one in near:
            name = page_name(session, collections, one.found.collection, one.found.record.address)
            mark = "  linked" if one.linked else ""
            session.out.line(f"{name}  {one_line(one.found.record.title)}{mark}", INDENT)
        session.out.message("" if near else "Nothing is near to it.")


def _json(one: RelatedDocument) -> Json:
    place = place_json(one.found.collection, one.found.record)
    return {**place, "score": round(one.score, 4), "linked": one.linked}
