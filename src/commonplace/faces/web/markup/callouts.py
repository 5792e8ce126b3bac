"""Callouts and admonitions: their look by type, and the elements round them."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

_KINDS = {
    "note": "note", "abstract": "note", "summary": "note", "tldr": "note", "info": "note", "todo": "note",
    "tip": "tip", "hint": "tip", "important": "tip", "success": "tip", "check": "tip", "done": "tip",
    "question": "warning", "help": "warning", "faq": "warning", "warning": "warning", "caution": "warning",
    "attention": "warning", "failure": "danger", "fail": "danger", "missing": "danger", "danger": "danger",
    "error": "danger", "bug": "danger", "example": "note", "quote": "quote", "cite": "quote", "seealso": "note",
}  # fmt: skip
"""The look of each type of callout; an unknown type looks like a note."""


@dataclass(slots=True)
class Callout:
    """A callout that is being written."""

    label: str
    """Its title if the text gives none."""
    body: str
    """The tags between title and body."""
    close: str
    """The tags that end it."""
    in_title: bool = True
    titled: bool = False
    """Whether a paragraph, whose first line is the title, has begun."""
    title_at: int = 0
    """Pieces of output before the title."""


def callout_open(kind: str, fold: str = "") -> tuple[str, Callout]:
    """The tags that begin a callout, and the callout.

    Args:
        kind: As written: `note`, `Warning`.
        fold: "-" for one that is folded, "+" for one that can be folded, "" for neither.
    """
    name = " ".join(kind.lower().split())
    look = f"callout callout-{_KINDS.get(name, 'note')}"
    label = escape(name.replace("-", " ").capitalize())
    if not fold:
        return f'<div class="{look}"><p class="callout-title">', Callout(
            label, '</p><div class="callout-body">\n', "</div></div>\n"
        )
    state = " open" if fold == "+" else ""
    return f'<details class="{look}"{state}><summary>', Callout(
        label, '</summary><div class="callout-body">\n', "</div></details>\n"
    )


def admonition_html(kind: str, title: str, inside: str, *, fold: str) -> str:
    """An admonition whose inside is HTML already; `fold` is that of `callout_open`."""
    opening, callout = callout_open(kind, fold)
    return f"{opening}{escape(title, quote=False) or callout.label}{callout.body}{inside}{callout.close}"
