"""`commonplace brief`: what an agent gets at the start of a session, within a budget of tokens."""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.domain.addresses import Address
from commonplace.domain.json import Json
from commonplace.domain.records import iso_timestamp
from commonplace.domain.tokens import QUARTERS, tokens_of
from commonplace.faces.brief_output import brief_lines
from commonplace.faces.cli.output import shown
from commonplace.faces.cli.pages import path_of
from commonplace.faces.cli.session import Session
from commonplace.services.brief import brief
from commonplace.services.past import since_of
from commonplace.services.proposals import decisions
from commonplace.services.services import Services

ENVELOPE = 80
"""Quarters of a token for what the JSON has beside its lines."""


BRIEF_JSON = """As JSON: `{"since", "tokens", "lines": [..]}`; `since` is in ISO 8601 UTC, for a commit its id and
the words that name it, null for no moment."""


def brief_command(
    session: Session,
    task: Annotated[str, typer.Argument(metavar="[TASK]", help="What you are about to do, in words.")] = "",
    *,
    since: Annotated[
        str, typer.Option(metavar="WHEN", help="Changes since a date, 'yesterday', '7 days', a commit or a tag.")
    ] = "",
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", min=100, max=50_000, metavar="N", help="Maximum size in tokens.")
    ] = 1_500,
) -> None:
    """See what matters for a task: rules, sections, changes, proposals.

    Examples:
        commonplace brief "restore the database after an outage"
        commonplace brief "write the release notes" --since "7 days"

    The same as the tool `brief` over MCP, which also knows when its client was here last. Rules are those of AGENTS.md
    or README.md at the top of the folder.
    """
    with session.opened() as collections:
        start = since_of(collections, since) if since else None
        found_brief = brief(Services(collections=collections), task, None, since=start)
        room = max_tokens * QUARTERS - (ENVELOPE if session.out.as_json else 0)
        proposals = decisions.listed(collections)
        lines = brief_lines(
            found_brief,
            proposals,
            room,
            lambda collection, path: path_of(collections, collection, Address(path)),
            "See commonplace log, commonplace diff, or give a larger --max-tokens.",
        )
        if session.out.as_json:
            rows: list[Json] = list(lines)
            when = start.name or iso_timestamp(int(start.when)) if start else None
            session.out.json({"since": when, "tokens": tokens_of("\n".join(lines)), "lines": rows})
            return
        for line in lines:
            session.out.line(shown(line))
        session.out.message("" if lines else "There is nothing to tell yet.")
