"""Bytes that a push writes where the base has none, and edited values in the base's bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from xml.sax.saxutils import escape, quoteattr

from commonplace.toolsets.pages.confluence.elements import MARKUP
from commonplace.toolsets.pages.confluence.from_markdown import EditError
from commonplace.toolsets.pages.confluence.tokens import Token


def as_text(text: str) -> bytes:
    """Text between tags."""
    return escape(text).replace("\xa0", "&nbsp;").encode()


def as_cdata(text: str) -> bytes:
    """Text in a CDATA section; its end mark is spread over two."""
    return text.replace("]]>", "]]]]><![CDATA[>").encode()


_NEWMARKUP: Mapping[str, tuple[str, str]] = {
    "quote": ("<blockquote>", "</blockquote>"),
    "table": ("<table><tbody>", "</tbody></table>"),
    "tasks": ("<ac:task-list>", "</ac:task-list>"),
    "layout": ("<ac:layout>", "</ac:layout>"),
    "cell": ("<ac:layout-cell>", "</ac:layout-cell>"),
    "panel": ("", "</ac:rich-text-body></ac:structured-macro>"),
    "expand": ("", "</ac:rich-text-body></ac:structured-macro>"),
    "task": ("", "</ac:task-body></ac:task>"),
    "section": ("", "</ac:layout-section>"),
}
"""Start and end of the elements whose tags are not their names; a start of "" depends on the value."""


def new_tag(token: Token, *, opens: bool) -> str:
    """The tag of an element that the base does not have."""
    name, value = token.name, token.value[0] if token.value else ""
    if name in {"comment", "rich"}:
        raise EditError(token.line, f"no {'inline comment' if name == 'comment' else 'macro'} {token.key} is here.")
    start, end = _NEWMARKUP.get(name, ("", f"</h{value}>" if name == "heading" else f"</{name}>"))
    return (start or _new_start(token, value)) if opens else end


def _new_start(token: Token, value: str) -> str:
    """The start of an element that depends on the element's value."""
    name = token.name
    if name in {"panel", "expand"}:
        title = f'<ac:parameter ac:name="title">{escape(value)}</ac:parameter>' if value else ""
        return f'<ac:structured-macro ac:name="{token.key or "expand"}">{title}<ac:rich-text-body>'
    if name == "task":
        state = "complete" if value == "x" else "incomplete"
        return f"<ac:task><ac:task-status>{state}</ac:task-status><ac:task-body>"
    if name == "section":
        return f"<ac:layout-section ac:type={quoteattr(value)}>"
    if name == "heading":
        return f"<h{value}>"
    return f"<{name}{_attributes(token, value)}>"


def _attributes(token: Token, value: str) -> str:
    if token.name == "ol" and value != "1":
        return f' start="{value}"'
    return f" {token.key}" if token.key else ""


def new_code(token: Token) -> str:
    """A macro for code."""
    text, language, title, noformat = token.value
    named = [("language", language), ("title", title)]
    parameters = "".join(
        f'<ac:parameter ac:name="{name}">{escape(value)}</ac:parameter>' for name, value in named if value
    )
    name = "noformat" if noformat else "code"
    body = f"<ac:plain-text-body><![CDATA[{as_cdata(text).decode()}]]></ac:plain-text-body>"
    return f'<ac:structured-macro ac:name="{name}">{parameters}{body}</ac:structured-macro>'


# Edited values in the base's bytes.


def patched(token: Token, base: Token, raw: bytes) -> bytes:
    """The bytes of a token with its new value."""
    patches: Mapping[str, Callable[[], bytes]] = {
        "heading": lambda: patched_heading(raw, token.value[0]),
        "task": lambda: _patched_task(raw, token.value[0]),
        "panel": lambda: _with_parameter(raw, "title", token.value[0]),
        "expand": lambda: _with_parameter(raw, "title", token.value[0]),
        "status": lambda: _with_parameter(raw, "title", token.value[0]),
        "ol": lambda: _with_attribute(raw, "start", token.value[0]),
        "section": lambda: _with_attribute(raw, "ac:type", token.value[0]),
        "image": lambda: _with_attribute(raw, "ac:alt", token.value[0]),
        "pre": lambda: re.sub(
            rb"(<pre[^>]*>).*(</pre>)", lambda m: m[1] + as_text(token.value[0]) + m[2], raw, flags=re.DOTALL
        ),
        "code": lambda: _patched_code(token, base, raw),
        "date": lambda: _patched_date(token, raw),
    }
    if token.name not in patches:
        raise EditError(token.line, "the text of this placeholder cannot be edited; put it back as it was.")
    return patches[token.name]()


def patched_heading(raw: bytes, level: str) -> bytes:
    """The tag of a heading with another level."""
    return re.sub(rb"^(</?h)[1-6]", lambda match: match[1] + level.encode(), raw)


def _patched_task(raw: bytes, state: str) -> bytes:
    status = b"complete" if state == "x" else b"incomplete"
    tag = b"<ac:task-status>" + status + b"</ac:task-status>"
    patched, count = re.subn(rb"<ac:task-status>[^<]*</ac:task-status>|<ac:task-status\s*/>", lambda _: tag, raw)
    return patched if count else raw.replace(b"<ac:task-body", tag + b"<ac:task-body", 1)


def _patched_date(token: Token, raw: bytes) -> bytes:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", token.value[0]):
        raise EditError(token.line, f"{token.value[0]!r} is no date such as 2026-05-31.")
    return _with_attribute(raw, "datetime", token.value[0])


def _patched_code(token: Token, base: Token, raw: bytes) -> bytes:
    text, language, title, noformat = token.value
    if noformat != base.value[3]:
        raise EditError(token.line, "a block of code cannot become one without format here; write a new block.")
    if text != base.value[0]:
        start, end = raw.index(b"<ac:plain-text-body"), raw.rindex(b"</ac:plain-text-body>")
        start = raw.index(b">", start) + 1
        raw = raw[:start] + b"<![CDATA[" + as_cdata(text) + b"]]>" + raw[end:]
    if language != base.value[1]:
        raw = _with_parameter(raw, "language", language)
    return raw if title == base.value[2] else _with_parameter(raw, "title", title)


def _with_attribute(raw: bytes, name: str, value: str) -> bytes:
    shown = f"{name}={quoteattr(value)}".encode()
    head, tail = raw[: MARKUP.match(raw).end()], raw[MARKUP.match(raw).end() :]  # type: ignore[union-attr]
    pattern = re.compile(name.encode() + rb"\s*=\s*(?:\"[^\"]*\"|'[^']*')")
    patched, count = pattern.subn(lambda _: shown, head, count=1)
    if not count:
        patched = re.sub(rb"^<[^\s/>]+", lambda match: match[0] + b" " + shown, head)
    return patched + tail


def _with_parameter(raw: bytes, name: str, value: str) -> bytes:
    """The bytes of a macro's start with another value of a parameter; an empty value removes it."""
    shown = f'<ac:parameter ac:name="{name}">{escape(value)}</ac:parameter>'.encode() if value else b""
    pattern = re.compile(rb"<ac:parameter ac:name=\"" + name.encode() + rb"\"\s*(?:/>|>.*?</ac:parameter>)", re.DOTALL)
    patched, count = pattern.subn(lambda _: shown, raw, count=1)
    if count or not value:
        return patched
    end = MARKUP.match(raw).end()  # type: ignore[union-attr]
    return raw[:end] + shown + raw[end:]
