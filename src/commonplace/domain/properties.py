"""Properties of Logseq's pages: lines `key:: value` above the first block of a page, as its frontmatter.

Sources: `parse-property`, `separated-by-commas?` and `parse-non-string-property-value` in
https://github.com/logseq/logseq/blob/fab27740/deps/graph-parser/src/logseq/graph_parser/text.cljs, and `property.cljs`
beside it. The page's own `id::` is the id of a block (`domain.graphs`), and no property here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from commonplace.domain.documents import Span
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json, equal_json

_KEY = rb"[A-Za-z\x80-\xff][A-Za-z0-9_./?!+\x80-\xff-]*+"
PROPERTIES = re.compile(rb"(?:" + _KEY + rb"::(?:[ \t][^\r\n]*+)?(?:\r?\n|\Z))++(?=[\r\n#*+-]|\Z)")
"""The lines of a page's properties. The text below begins with a blank line, a bullet or a heading."""
_LINE = re.compile(rb"(?m)^(" + _KEY + rb")::(?:[ \t]+([^\r\n]*?))?[ \t]*(\r?\n|\Z)")
_LISTS = frozenset({"alias", "aliases", "tags"})
"""Properties whose values are lists separated by commas."""
_BRACKETS = re.compile(r"#?\[\[(.*)\]\]|#(.*)", re.DOTALL)
_COMMA = re.compile("[,\uff0c]")
_NUMBER = re.compile(r"[0-9]{1,15}")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


def read_properties(block: bytes) -> dict[str, Json]:
    """The values of the properties of a match of `PROPERTIES`, in order; of equal keys, the last one counts."""
    pairs = [(line[1].decode("utf-8", "replace"), _text(line)) for line in _LINE.finditer(block)]
    return {key: _value(key, text) for key, text in pairs if not (key == "id" and _UUID.fullmatch(text))}


def property_texts(source: bytes, span: Span) -> Iterator[tuple[str, str, int]]:
    """Key and value as text of each property of a block, with the offset of the value in the document."""
    for line in _LINE.finditer(source, *span):
        yield line[1].decode("utf-8", "replace"), _text(line), line.start(2)


def with_properties(raw: bytes, span: Span, changes: Mapping[str, Json]) -> bytes:
    """The bytes of a page with changed properties. All other bytes are unchanged.

    Args:
        raw: The page.
        span: The lines of its properties; an empty span where they are to be, if it has none.
        changes: New values by key; None removes the key.

    Raises:
        InvalidInputError: kind "frontmatter": a value is none of one line.
    """
    newline = "\r\n" if raw.count(b"\r\n") * 2 > raw.count(b"\n") else "\n"
    block = raw[span.start : span.end].decode("utf-8")
    rest = raw[span.end :]
    for key, value in changes.items():
        block = _changed(block, key, value, newline)
    if not block or not rest:
        return raw[: span.start] + block.encode() + rest
    is_new = span.start == span.end and not rest.startswith((b"\n", b"\r\n"))
    return raw[: span.start] + block.encode() + (newline.encode() if is_new else b"") + rest


def _changed(block: str, key: str, value: Json, newline: str) -> str:
    lines = block.splitlines(keepends=True)
    at = next((at for at, line in enumerate(lines) if line.partition("::")[0].casefold() == key.casefold()), len(lines))
    if value is None:
        return "".join([*lines[:at], *lines[at + 1 :]])
    name, _, rest = lines[at].partition("::") if at < len(lines) else (key, "", newline)
    text = _written(key, value, rest.strip())
    if not re.fullmatch(_KEY, name.encode()) or not equal_json(_value(key, text), _value(key, _plain(key, value))):
        raise _unwritable(key)
    if at and not lines[at - 1].endswith("\n"):
        lines[at - 1] += newline
    ending = rest[len(rest.rstrip("\r\n")) :]
    return "".join([*lines[:at], f"{name}:: {text}".rstrip(" ") + ending, *lines[at + 1 :]])


def _written(key: str, value: Json, before: str) -> str:
    """A value as text; the items of a list as they were written before, and in brackets if all of these were."""
    if not isinstance(value, (list, tuple)):
        return _plain(key, value)
    spelled = {_bare(item): item for item in _items(before)}
    bracketed = bool(spelled) and all(item.startswith("[[") for item in spelled.values())
    items = [_plain(key, item) for item in value]
    if any(_COMMA.search(item) for item in items):
        raise _unwritable(key)
    return ", ".join(spelled.get(item, f"[[{item}]]" if bracketed else item) for item in items)


def _plain(key: str, value: Json) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(key, item) for item in value)
    if isinstance(value, bool):
        return str(value).lower()
    if value is not None and not isinstance(value, (str, int, float)):
        raise _unwritable(key)
    text = "" if value is None else str(value).strip()
    if "\n" in text or "\r" in text:
        raise _unwritable(key)
    return text


def _unwritable(key: str) -> InvalidInputError:
    return InvalidInputError(
        f"The property {key[:80]!r} cannot have this value.",
        kind="frontmatter",
        hint="The page has properties of Logseq: one line each, `key:: value`; items of a list have no comma in them.",
    )


def _text(line: re.Match[bytes]) -> str:
    return (line[2] or b"").decode("utf-8", "replace")


def _value(key: str, text: str) -> Json:
    if key.casefold() in _LISTS:
        return [_bare(item) for item in _items(text)]
    if text in {"true", "false"}:
        return text == "true"
    return int(text) if _NUMBER.fullmatch(text) else text


def _items(text: str) -> list[str]:
    return [item.strip() for item in _COMMA.split(text) if item.strip()]


def _bare(item: str) -> str:
    match = _BRACKETS.fullmatch(item)
    return (match[1] or match[2] or "").strip() if match else item
