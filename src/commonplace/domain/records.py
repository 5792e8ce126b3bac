"""Records of documents for lists, sorting and filters: fields, dates, and filter terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from math import floor
from typing import Any, cast

from commonplace.domain.addresses import fold
from commonplace.domain.changes import Revision
from commonplace.domain.documents import Document, Finding, Severity
from commonplace.domain.graphs import BLOCK_IDS
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.links import NamedDocument
from commonplace.domain.query import Filter, Record
from commonplace.domain.words.moments import normal_date

DATE_KEYS = ("date", "pubDate", "publishDate")
TYPED_CREATED_KEYS = ("created_at", "created", "date_created", "pubDate", "publishDate")
"""`CREATED_KEYS` without `date`, which in a typed entry is the day of its subject, such as an event."""
CREATED_KEYS = ("created_at", "created", "date_created", *DATE_KEYS)
UPDATED_KEYS = (
    *("updated_at", "updated", "last_updated", "lastmod", "last_modified", "modified", "date_modified"),
    *("last_modified_at", "updatedDate", "lastUpdated", "last_update.date"),
)
"""Frontmatter keys of a document's last change; the first readable one counts."""
TYPE_KEYS = ("type", "category", "categories")
ALIAS_KEYS = ("aliases", "alias", "redirect_from")
"""Keys of other names of a document: a list, or one string separated by commas."""
LABEL_KEYS = ("sidebar_label", "linkTitle", "nav_title")
"""Keys of a page's name in menus of site generators."""
PLACE_KEYS = ("slug", "permalink", "url")
"""Keys of the path at which site generators publish a page. Links of the site use this path."""

STATED_KEYS = ("created_at", "updated_at")
"""Frontmatter keys whose values filters compare to the second."""

LAST_DAY = 99991231
"""The greatest `day_number`."""
MAX_TERM_CHARS = 120
"""Maximum length of a term in characters; longer values are compared by their digest."""
MAX_FIELD_DEPTH = 4
"""Maximum depth of nested mappings for `outer.inner` field names."""

_DAY_CHARS = len("2024-05-31")


def identifier_of(document: Document) -> str:
    """The name of a document for callers: its frontmatter `id` as text, otherwise its path without the suffix."""
    return _scalar(document.frontmatter.values.get("id")) or document.address.id


def type_in(values: JsonObject) -> str:
    """The type in a frontmatter; "" if there is none."""
    return next(filter(None, (_first_scalar(values.get(key)) for key in TYPE_KEYS)), "")


def description_in(values: JsonObject) -> str:
    """The `summary` or `description` in a frontmatter; "" if there is neither."""
    return _scalar(values.get("summary")) or _scalar(values.get("description"))


def build_record(document: Document, revision: Revision) -> Record:
    """The record of a document; `created` and `updated` are "" unless its frontmatter has them."""
    values = document.frontmatter.values
    return Record(
        address=document.address,
        id=identifier_of(document),
        title=document.title,
        type=type_in(values),
        tags=document.tags,
        aliases=aliases_of(values),
        description=description_in(values),
        date=next(filter(None, (normal_date(values.get(key)) for key in DATE_KEYS)), ""),
        created=_first_moment(values, TYPED_CREATED_KEYS if "type" in values else CREATED_KEYS),
        updated=_first_moment(values, UPDATED_KEYS),
        words=document.words,
        size=len(document.raw),
        revision=revision,
        frontmatter=values,
        findings=document.findings,
        blocks=tuple(f"(({block}))" for block in block_ids(document)),
    )


def block_ids(document: Document) -> Sequence[str]:
    """The ids that Logseq has given to blocks of a document, in lower case, in order and without duplicates."""
    if b"id:: " not in document.raw:
        return ()
    ids = (mark[2].decode().lower() for mark in BLOCK_IDS.finditer(document.encoded))
    return tuple(dict.fromkeys(ids))


def names_of_record(record: Record) -> NamedDocument:
    """The names by which links can refer to a document."""
    states_title = "title" in record.frontmatter
    return NamedDocument(record.address, record.id, record.title, record.aliases, record.blocks, states_title)


def normal_timestamp(value: Json) -> str:
    """A date or timestamp as ISO 8601 UTC with seconds (`2024-05-01T00:00:00Z`); "" if the value is neither."""
    text = normal_date(value)
    if not text:
        return ""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        when = datetime.fromisoformat(text[:10])
    try:
        utc = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    except OverflowError:
        return ""
    return _utc_text(utc)


def unix_seconds(value: Json) -> int | None:
    """A date or timestamp in Unix seconds; None if the value is neither."""
    if isinstance(value, str) and len(value) > _DAY_CHARS and value[4] == value[7] == "-":
        try:  # programs write this form; other forms take the slower path
            when = datetime.fromisoformat(value)
        except ValueError:
            pass
        else:
            if when.tzinfo is UTC:
                return floor(when.timestamp())
    moment = normal_timestamp(value)
    return int(datetime.fromisoformat(moment).timestamp()) if moment else None


def iso_timestamp(seconds: float) -> str:
    """Unix seconds as ISO 8601 UTC, limited to the years 1 to 9999."""
    return _moment_of(floor(min(max(seconds, _FIRST_SECOND), _LAST_SECOND)))


@lru_cache(maxsize=256)
def _moment_of(whole: int) -> str:
    """ISO 8601 form of Unix seconds. Results are cached, because files written together have equal times."""
    return f"{datetime.fromtimestamp(whole, UTC).isoformat()[:_MOMENT_CHARS]}Z"


_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
_MOMENT_CHARS = len("2024-05-01T00:00:00")


def _utc_text(when: datetime) -> str:
    return f"{when.isoformat()[:_MOMENT_CHARS]}Z"


def day_number(text: str) -> int:
    """The day of a text as a number: `20240501` for `2024-05-01…`; 0 if the text does not begin with a day."""
    return _day_number(text[:_DAY_CHARS])


@lru_cache(maxsize=256)
def _day_number(day: str) -> int:
    digits = f"{day[:4]}{day[5:7]}{day[8:]}"
    return int(digits) if len(digits) == len("20240501") and digits.isdecimal() and digits.isascii() else 0


def filter_terms(record: Record) -> frozenset[str]:
    """Every filter term of a record; the counterpart of `wanted_terms`."""
    terms = {_type_term(record.type)}
    for tag in record.tags:
        terms.add(_tag_term(tag))
        terms.update(_nested_tag_term(outer) for outer in _outer_tags(tag))
    for key, value in record.frontmatter.items():
        terms.update(_field_terms(key, value, MAX_FIELD_DEPTH))
    return frozenset(terms)


def wanted_terms(filter_: Filter) -> tuple[frozenset[str], ...]:
    """Groups of terms; a record matches if it has at least one term of every group."""
    groups = [frozenset({_nested_tag_term(tag)}) for tag in filter_.tags]
    groups += [frozenset({_field_term(key, value)}) for key, value in filter_.fields]
    if filter_.types:
        groups.append(frozenset(_type_term(type_) for type_ in filter_.types))
    if filter_.any_tags:
        groups.append(frozenset(_tag_term(tag) for tag in filter_.any_tags))
    return tuple(groups)


def aliases_of(values: Mapping[str, Json]) -> tuple[str, ...]:
    """Other names in a frontmatter: aliases, names in menus, and published paths."""
    names: list[str] = []
    for key in ALIAS_KEYS:
        value = values.get(key)
        items = value.split(",") if isinstance(value, str) else value
        names += map(_scalar, items if isinstance(items, (list, tuple)) else (items,))
    names += [_scalar(values.get(key)) for key in LABEL_KEYS]
    places = [_scalar(values.get(key)).rstrip("/") for key in PLACE_KEYS]
    names += [place for place in places if "://" not in place]
    return tuple(dict.fromkeys(filter(None, names)))


def _first_moment(values: Mapping[str, Json], keys: Iterable[str]) -> str:
    for key in keys:
        value = _inner(values, key)
        moment = normal_timestamp(value) if value is not None else ""
        if moment:
            return moment
    return ""


def _inner(values: Mapping[str, Json], key: str) -> Json:
    """The value of `outer.inner`, or of a plain key."""
    if "." not in key:
        return values.get(key)
    outer, _, inner = key.partition(".")
    value = values.get(outer)
    return value.get(inner) if isinstance(value, Mapping) else None


def _first_scalar(value: Json) -> str:
    """A scalar, or the first item of a list, as `_scalar` returns it."""
    return _scalar(value[0] if isinstance(value, (list, tuple)) and value else value)


def _scalar(value: Json) -> str:
    """A scalar as written in YAML; "" for null, lists and mappings."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).strip() if isinstance(value, (str, int, float)) else ""


def _outer_tags(tag: str) -> Iterator[str]:
    parts = fold(tag.lstrip("#")).split("/")
    for count in range(1, len(parts) + 1):
        yield "/".join(parts[:count])


def _field_terms(key: str, value: Json, depth: int) -> Sequence[str]:
    if isinstance(value, str):
        return (_field_term(key, value),)
    if isinstance(value, (list, tuple)):
        # `isinstance` with an abstract type costs more than creating the term, so it is checked last.
        plain = (item for item in value if isinstance(item, str) or not isinstance(item, (list, tuple, Mapping)))
        return [_field_term(key, item if isinstance(item, str) else _scalar(item)) for item in plain]
    if not isinstance(value, Mapping):
        return (_field_term(key, _scalar(value)),)
    inner = value.items() if depth else ()
    return [term for name, item in inner for term in _field_terms(f"{key}.{name}", item, depth - 1)]


def _type_term(type_: str) -> str:
    return _term("type", type_)


def _tag_term(tag: str) -> str:
    return _term("tag", tag.lstrip("#"))


def _nested_tag_term(tag: str) -> str:
    return _term("under", tag.lstrip("#"))


def _field_term(key: str, value: str) -> str:
    return _term("field", f"{key}={value.strip()}")


def _term(kind: str, value: str) -> str:
    folded = fold(value)
    if len(folded) > MAX_TERM_CHARS:
        folded = sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{kind}:{folded}"


# Converts records to and from JSON, for all indexes. A new plain field of `Record` needs no change here.


STORED_FIELDS = tuple([field.name for field in fields(Record) if field.compare and field.name != "address"])
"""Fields of a record that the document determines, in order, except the address."""

_FindingRow = tuple[str, str, str, str, int]


def record_to_json(record: Record, names: Sequence[str] = STORED_FIELDS) -> dict[str, Json]:
    """Values of a record's fields as JSON, by name.

    Args:
        record: The record.
        names: Names of the fields; by default all `STORED_FIELDS`.
    """
    return {name: _ENCODERS[name](record) if name in _ENCODERS else getattr(record, name) for name in names}


def fields_from_json(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Record`, from the result of `record_to_json` after a round trip through JSON."""
    return {name: _DECODERS[name](value) if name in _DECODERS else value for name, value in stored.items()}


def _finding_rows(record: Record) -> list[_FindingRow]:
    return [
        (finding.rule, finding.severity.value, finding.message, finding.field, finding.line)
        for finding in record.findings
    ]


def _findings(rows: Sequence[_FindingRow]) -> tuple[Finding, ...]:
    return tuple([Finding(rule, Severity(severity), said, key, line) for rule, severity, said, key, line in rows])


_ENCODERS: dict[str, Callable[[Record], Json]] = {"findings": lambda record: cast("Json", _finding_rows(record))}
_DECODERS: dict[str, Callable[[Any], object]] = {
    "tags": tuple,
    "aliases": tuple,
    "blocks": tuple,
    "findings": _findings,
}
"""Decoders of the fields that are not plain JSON, by name."""
