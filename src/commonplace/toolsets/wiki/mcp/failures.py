"""Texts of errors: one line with the reason, and further lines with help."""

from __future__ import annotations

from collections.abc import Callable

from commonplace.domain.errors import ALREADY_EDITED, ALREADY_WRITTEN, Code, KnowledgeError

AUTHENTICATION = "Authentication failed. The API key may be misconfigured."
CONFLICT = (
    "Conflict: the page was modified since last read. Read the page again to get the current version, then retry."
)
NO_ANSWER = "The wiki API is not responding. It may be restarting. Try again in a few seconds."
NO_MEANING = "Semantic search is not set up on this server. Use search_notes instead: it searches by keywords."


def show_error(error: KnowledgeError) -> str:
    """The text of an error in the contract's words."""
    tell = _OF_KIND.get((error.code, error.kind)) or _OF_CODE.get(error.code, _plain)
    told = tell(error)
    return "\n".join([told, *(line for line in _help(error) if line not in told)])


def _not_found(error: KnowledgeError) -> str:
    path = error.context.get("reference", "")
    if not path:
        return error.advice
    return f"Page not found: {path}. Use write_note to create it, or list_notes to see available pages."


def _invalid(error: KnowledgeError) -> str:
    return f"Invalid request: {error}"


def _plain(error: KnowledgeError) -> str:
    return error.advice


def _help(error: KnowledgeError) -> list[str]:
    lines: list[str] = []
    nearest = error.context.get("nearest")
    if isinstance(nearest, list) and nearest:
        lines.append(f"Did you mean: {', '.join(nearest)}")
    current = error.context.get("current_revision")
    if isinstance(current, str) and current:
        lines.append(f"Current revision: {current}")
    lines += [line for line in (ALREADY_WRITTEN, ALREADY_EDITED) if error.hint.startswith(line)]
    return lines


_OF_KIND: dict[tuple[Code, str], Callable[[KnowledgeError], str]] = {
    (Code.NOT_FOUND, "page"): _not_found,
    (Code.NOT_FOUND, "document"): _not_found,  # it went away during the call
    (Code.UNAVAILABLE, "semantic"): lambda _: NO_MEANING,
    (Code.UNAVAILABLE, "api"): lambda _: NO_ANSWER,
}
_OF_CODE: dict[Code, Callable[[KnowledgeError], str]] = {
    Code.UNAUTHENTICATED: lambda _: AUTHENTICATION,
    Code.CONFLICT: lambda _: CONFLICT,
    Code.INVALID: _invalid,
}
