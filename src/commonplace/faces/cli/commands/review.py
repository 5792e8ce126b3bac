"""`commonplace review`: what is to be reviewed, the gravest first; or a note that a page was reviewed.

As JSON: `{"items": [{"collection", "path", "line", "rule", "reason", "owners": [..], "call": {"tool", "page", ..}}]}`;
with `--done` `{"collection", "path", "revision", "commit", "next_review"}`.
"""

from __future__ import annotations

from typing import Annotated

import typer

from commonplace.domain.json import Json
from commonplace.domain.status import due_review, next_review
from commonplace.domain.words.amounts import amount
from commonplace.faces.cli.commands.check import HISTORY_SECONDS
from commonplace.faces.cli.options import exclusive
from commonplace.faces.cli.output import INDENT, one_line
from commonplace.faces.cli.pages import addressed
from commonplace.faces.cli.session import Session
from commonplace.services.checks import history_gaps
from commonplace.services.reviews import ReviewItem, mark_reviewed, queue_of, shown_item


def command(
    session: Session,
    *,
    owner: Annotated[str, typer.Option("--owner", metavar="NAME", help="Only pages of this owner.")] = "",
    done: Annotated[str, typer.Option("--done", metavar="PAGE", help="Note that this page was reviewed today.")] = "",
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="With --done: who reviewed it.")] = "",
    until: Annotated[str, typer.Option("--until", metavar="DAY", help="With --done: day of the next review.")] = "",
) -> None:
    """List what is to be reviewed, with the reason.

    Examples:
        commonplace review
        commonplace review --owner @docs-team
        commonplace review --done runbooks/restore.md --by Ada
        commonplace review --json | jq '.items[].call'

    Listed are quotations that their source does not have any more, sources that are gone, superseded or changed,
    replacements that are not there, contradictions, pages past their day of review, and unanswered golden questions.
    The owner of a page is `owner` in its front matter, else what CODEOWNERS says. --done sets last_reviewed_on, and
    review_by to --until, else by the page's own review_in, else to a day in half a year.
    """
    exclusive(**{"--owner": owner or None, "--done": done or None})
    if done:
        with session.opened_for_writing(commit=True) as collections:
            collection, address = addressed(collections, session.relative(done))
            receipt = mark_reviewed(collection, address, by, until)
            values = collection.index.document(address).frontmatter.values
            if session.out.as_json:
                written: dict[str, Json] = {
                    "path": address.path,
                    "revision": receipt.revision,
                    "commit": receipt.commit,
                    "next_review": due_review(values)[0],
                }
                session.out.json({"collection": collection.name, **written})
                return
            session.out.line(one_line(f"Reviewed: {address.path}; {next_review(values)}"))
        return
    with session.opened() as collections:
        gaps = history_gaps(collections.members, HISTORY_SECONDS)
        items = queue_of(collections.members, owner)
        session.out.message("\n".join(gaps))
        if session.out.as_json:
            session.out.json({"items": [_json(item) for item in items]})
            return
        for item in items:
            name = f"{item.collection.name}:" if len(collections.members) > 1 else ""
            session.out.line(one_line(name + shown_item(item)), INDENT)
        session.out.message(f"{amount(len(items), 'item')} to review.")


def _json(item: ReviewItem) -> dict[str, Json]:
    return {
        "collection": item.collection.name,
        "path": item.path,
        "line": item.line,
        "rule": item.rule,
        "reason": item.reason,
        "owners": list(item.owners),
        "call": dict(item.call),
    }
