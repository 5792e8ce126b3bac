"""The side file with the comments of a page: to read, never to push."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from commonplace.toolsets.pages.confluence.page_files import escaped
from commonplace.toolsets.pages.confluence.remote import RemoteComment
from commonplace.toolsets.pages.confluence.storage import PageLinks
from commonplace.toolsets.pages.confluence.to_storage import view_of

MAX_HEADING = 6


def accounts_of(comments: Iterable[RemoteComment]) -> set[str]:
    """The accounts that wrote comments and replies."""
    accounts: set[str] = set()
    for comment in comments:
        accounts |= {comment.author, *accounts_of(comment.replies)} - {""}
    return accounts


def comments_file(
    title: str, comments: Sequence[RemoteComment], links: PageLinks, people: Mapping[str, tuple[str, str]]
) -> bytes:
    """The bytes of the side file of a page.

    Args:
        title: Title of the page.
        comments: The comments, oldest first.
        links: Targets of links as the page writes them.
        people: Name and e-mail address by account.
    """
    lines = [f"# Comments on {escaped(title)}"]
    for comment in comments:
        lines += _comment(comment, links, people, 2)
    return ("\n\n".join(lines) + "\n").encode()


def _comment(comment: RemoteComment, links: PageLinks, people: Mapping[str, tuple[str, str]], level: int) -> list[str]:
    name = people.get(comment.author, ("", ""))[0] or comment.author or "Somebody"
    parts = [escaped(name), escaped(comment.created[:10]), escaped(comment.status)]
    lines = [f"{'#' * min(level, MAX_HEADING)} {', '.join(part for part in parts if part)}"]
    if comment.marked:
        lines.append(f"> {escaped(comment.marked)}")
    text = view_of(comment.body, links).markdown.strip("\n")
    lines += [text] if text else []
    for reply in comment.replies:
        lines += _comment(reply, links, people, level + 1)
    return lines
