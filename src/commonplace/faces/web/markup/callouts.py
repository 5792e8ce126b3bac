"""Callouts and admonitions: the style of each type, and the enclosing elements."""

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
"""The style of each callout type; unknown types look like notes."""


@dataclass(slots=True)
class Callout:
    """State of a callout that is being written."""

    label: str
    """Title for a callout without one."""
    body: str
    """The tags between title and body."""
    close: str
    """The closing tags."""
    in_title: bool = True
    titled: bool = False
    """Whether the first paragraph has begun; its first line is the title."""
    title_at: int = 0
    """Number of output parts before the title."""


def callout_open(kind: str, fold: str = "") -> tuple[str, Callout]:
    """The opening tags of a callout, and its state.

    Args:
        kind: Type of the callout as written, such as `note` or `Warning`.
        fold: "-" for a folded callout, "+" for a foldable one, "" for a fixed one.
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
    """An admonition with content that is HTML already; `fold` as in `callout_open`."""
    opening, callout = callout_open(kind, fold)
    return f"{opening}{escape(title, quote=False) or callout.label}{callout.body}{inside}{callout.close}"
