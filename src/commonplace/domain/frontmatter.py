"""The block at the top of a document: finding, parsing, and changing single keys.

Reading never raises. Invalid YAML is a finding; keys that can be parsed separately are still read. Blocks of TOML, as
in Hugo and Zola, are read and never changed. Lines `key:: value`, as in Logseq, are read and changed as such.
"""

from __future__ import annotations

import codecs
import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from itertools import pairwise
from typing import cast

from commonplace.domain.documents import Document, Finding, Frontmatter, Span
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.findings import finding_of
from commonplace.domain.json import Json, equal_json
from commonplace.domain.yaml_edits import as_json_types, change_keys
from commonplace.domain.yaml_loader import MAX_YAML_CHARS, LoadedYaml, YamlProblem, load

MAX_SALVAGED_KEYS = 200
"""Maximum number of keys that are parsed separately in a broken block."""

_OPENING = re.compile(rb"---[ \t]*(?:\r\n|\n)")
_CLOSING = re.compile(rb"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_TOML = re.compile(rb"\+\+\+[ \t]*\r?\n(.*?)^\+\+\+[ \t]*(?:\r?\n|\Z)", re.MULTILINE | re.DOTALL)
_KEY_LINE = re.compile(r"^[^\W\d][^:\n]*:(?=\s)", re.MULTILINE)


def read_frontmatter(raw: bytes, start: int = 0) -> Frontmatter:
    """Locate and parse the block that begins at `start` (after the BOM, if there is one).

    A block begins with a line `---` and ends with the next line `---` or `...`. Two thematic breaks with prose between
    them, the first followed by a blank line, are not a block.
    """
    opening = _OPENING.match(raw, start)
    if not opening:
        return Frontmatter({}, Span(start, start), present=False)
    closing = _CLOSING.search(raw, opening.end())
    if not closing:
        return Frontmatter({}, Span(start, start), present=False, findings=_unterminated(raw, opening.end()))
    text = raw[opening.end() : closing.start()].decode("utf-8", "replace")
    loaded = load(text)
    if isinstance(loaded.value, dict):
        values: Mapping[str, Json] = loaded.value
    elif loaded.value is None and not loaded.failed:
        values = {}
    elif text.lstrip(" \t").startswith(("\n", "\r\n")):
        return Frontmatter({}, Span(start, start), present=False)
    else:
        loaded = (
            loaded if loaded.failed else LoadedYaml(None, (YamlProblem("bad_yaml", "it is no list of `key: value`"),))
        )
        values = _salvaged(text)
    findings = tuple(_finding(problem) for problem in loaded.problems)
    return Frontmatter(values, Span(start, closing.end()), present=True, findings=findings)


def read_any_frontmatter(raw: bytes, start: int = 0) -> Frontmatter:
    """Locate and parse a block of YAML as `read_frontmatter` does, a block of TOML, or properties of Logseq."""
    if properties := PROPERTIES.match(raw, start):
        span = Span(*properties.span())
        return Frontmatter(read_properties(properties[0]), span, present=True, is_properties=True)
    match = _TOML.match(raw, start)
    if not match:
        return read_frontmatter(raw, start)
    span = Span(start, match.end())
    try:
        values = tomllib.loads(match[1].decode("utf-8", "replace").replace("\r\n", "\n"))
        return Frontmatter({key: _toml_value(value) for key, value in values.items()}, span, present=True, is_toml=True)
    except (ValueError, RecursionError, InvalidInputError) as error:
        message = f"The front matter is not valid TOML: {str(error)[:200].rstrip('.')}."
        finding = finding_of("bad_toml", message, line=1)
        return Frontmatter({}, span, present=True, findings=(finding,), is_toml=True)


def block_end(raw: bytes) -> int:
    """Offset of the text after a block at the very top, without parsing the block; 0 without a block."""
    if other := _TOML.match(raw) or PROPERTIES.match(raw):
        return other.end()
    opening = _OPENING.match(raw)
    closing = _CLOSING.search(raw, opening.end()) if opening else None
    return closing.end() if closing else 0


def block_range(raw: bytes, block: Frontmatter) -> Span:
    """Span of the lines between the fences of a block, if it has any. The block must be present."""
    if block.is_properties:
        return block.span
    whole = raw[block.span.start : block.span.end]
    return Span(block.span.start + whole.index(b"\n") + 1, block.span.start + len(whole.rstrip()) - len(b"---"))


def set_fields(document: Document | bytes, changes: Mapping[str, Json | None]) -> bytes:
    """Set, add and remove keys of the frontmatter. All other bytes are unchanged, including the quotes of other keys.

    A document without a block gets one. New keys are appended, lists and mappings as block YAML. An equal value changes
    nothing. A changed value preserves its comment, quotation marks, brackets and unchanged items.

    Args:
        document: The document or its bytes.
        changes: New values by top-level key; None removes the key.

    Raises:
        InvalidInputError: kind "frontmatter": the block is unreadable, its keys are not on separate lines, or a value
            cannot be written; kind "document": the bytes are not UTF-8.
    """
    raw = document if isinstance(document, bytes) else document.raw
    _require_utf8(raw)
    start = len(codecs.BOM_UTF8) if raw.startswith(codecs.BOM_UTF8) else 0
    block = read_any_frontmatter(raw, start)
    own = document.frontmatter if isinstance(document, Document) else block
    if own.is_fields or own.beside or (own.is_properties and not block.present):
        block = own
    _require_readable(block)
    types = {key: as_json_types(value) for key, value in changes.items()}
    target = {key: value for key, value in types.items() if not _holds(block.values, key, value)}
    if not target:
        return raw
    if block.is_properties:
        return with_properties(raw, block.span, target)
    changed = _with_block(raw, block, target)
    values = {key: value for key, value in {**block.values, **target}.items() if value is not None or key not in target}
    again = read_frontmatter(changed, start)
    if not equal_json(again.values, values) or len(again.findings) > len(block.findings):
        raise InvalidInputError(
            "The front matter cannot be changed by key: it would not read back the same.",
            kind="frontmatter",
            hint="Replace the document's whole text instead.",
        )
    return changed


def text_items(value: Json) -> tuple[str, ...]:
    """The items of a YAML list, or of a string split at commas (without commas, at blanks). "" and null are omitted."""
    if isinstance(value, str):
        parts = value.split(",") if "," in value else value.split()
    else:
        items = value if isinstance(value, (list, tuple)) else (value,)
        parts = [str(item) for item in items if isinstance(item, (str, int, float)) and not isinstance(item, bool)]
    return tuple(filter(None, map(str.strip, parts)))


def _with_block(raw: bytes, block: Frontmatter, changes: Mapping[str, Json]) -> bytes:
    start = block.span.start
    if not block.present:
        newline = "\r\n" if raw.count(b"\r\n") * 2 > raw.count(b"\n") else "\n"
        lines = change_keys("", {}, changes, newline)
        return raw[:start] + f"---{newline}{lines}---{newline}".encode() + raw[start:]
    inner = block_range(raw, block)
    newline = "\r\n" if raw[: inner.start].endswith(b"\r\n") else "\n"
    lines = change_keys(raw[inner.start : inner.end].decode(), block.values, changes, newline)
    return raw[: inner.start] + lines.encode() + raw[inner.end :]


def _require_utf8(raw: bytes) -> None:
    try:
        raw.decode()
    except UnicodeDecodeError:
        raise InvalidInputError(
            "The document is not UTF-8 and is never changed.",
            kind="document",
            hint="Convert the file to UTF-8 first.",
        ) from None


def _require_readable(block: Frontmatter) -> None:
    if block.beside:
        raise InvalidInputError(
            f"The fields of the page are in {block.beside}, of which no key is changed.",
            kind="frontmatter",
            hint="Change that file with Git, or in TiddlyWiki.",
        )
    if not block.is_yaml:
        form = "TOML" if block.is_toml else "fields of a tiddler"
        other = ", or rewrite the block as YAML between two lines '---'" if block.is_toml else ""
        raise InvalidInputError(
            f"The front matter is {form}, of which no key is changed.",
            kind="frontmatter",
            hint=f"Replace the text of the key{other}.",
        )
    for finding in block.findings:
        if finding.rule in {"bad_yaml", "unterminated_frontmatter"}:
            raise InvalidInputError(
                f"The front matter cannot be read (line {finding.line}), so no key of it can be changed.",
                kind="frontmatter",
                hint="Repair it first: read the document and replace the text that is wrong.",
            )


def _holds(values: Mapping[str, Json], key: str, value: Json) -> bool:
    """Whether the key already has the value; for None, whether the key is absent."""
    return key not in values if value is None else key in values and equal_json(values[key], value)


def _toml_value(value: object) -> Json:
    """A value of TOML as JSON, with dates as ISO strings."""
    if isinstance(value, dict):
        return {key: _toml_value(item) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_toml_value(item) for item in cast("list[object]", value)]
    return value.isoformat() if isinstance(value, (date, datetime, time)) else as_json_types(cast("Json", value))


def _salvaged(text: str) -> dict[str, Json]:
    """The top-level keys of a broken block whose own lines can be parsed, as YAML or as plain text."""
    whole = text if len(text) <= MAX_YAML_CHARS else text[: text.rfind("\n", 0, MAX_YAML_CHARS) + 1]
    edges = [*(match.start() for match in _KEY_LINE.finditer(whole)), len(whole)]
    values: dict[str, Json] = {}
    for start, end in pairwise(edges[: MAX_SALVAGED_KEYS + 1]):
        lines = whole[start:end]
        loaded = load(lines)
        if isinstance(loaded.value, dict):
            values.update(loaded.value)
        elif "\n" not in lines.rstrip():
            key, _, value = lines.partition(":")
            if value.strip().isprintable() and value.lstrip()[:1] not in "[{&*!|>%@`\"'":
                values[key.strip()] = value.strip()
    return values


def _unterminated(raw: bytes, start: int) -> tuple[Finding, ...]:
    line = raw[start : start + 200].partition(b"\n")[0].decode("utf-8", "replace")
    if not _KEY_LINE.match(f"{line}\n"):
        return ()
    message = "The front matter has no closing line '---'; it is read as text."
    return (finding_of("unterminated_frontmatter", message, line=1),)


def _finding(problem: YamlProblem) -> Finding:
    line = problem.line + 2
    where = f"line {line}, column {problem.column + 1}"
    if problem.rule == "bad_yaml":
        message = f"The front matter is not valid YAML: {problem.message} ({where})."
        if "mapping values" in problem.message:
            message += " A value that contains ': ' needs quotes."
    else:
        message = f"In the front matter {problem.message} ({where})."
    return finding_of(problem.rule, message, field=problem.key, line=line)


# Properties of Logseq's pages: lines `key:: value` above the first block of a page, as its frontmatter.
#
# Sources: `parse-property`, `separated-by-commas?` and `parse-non-string-property-value` in
# https://github.com/logseq/logseq/blob/fab27740/deps/graph-parser/src/logseq/graph_parser/text.cljs, and
# `property.cljs` beside it. The page's own `id::` is the id of a block (`domain.graphs`), and no property here.


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
