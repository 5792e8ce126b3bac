"""Records as JSON, for every index that stores them. A new field of `Record` needs no change here if it is plain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, cast

from commonplace.domain.documents import Finding, Severity
from commonplace.domain.json import Json
from commonplace.domain.query import Record

STORED_FIELDS = tuple([field.name for field in fields(Record) if field.compare and field.name != "address"])
"""Fields that a document determines, in order. Its address is stored as its path."""

_FindingRow = tuple[str, str, str, str, int]


def record_to_json(record: Record, names: Sequence[str] = STORED_FIELDS) -> dict[str, Json]:
    """These fields of a record as values of JSON, by name."""
    return {name: _ENCODERS[name](record) if name in _ENCODERS else getattr(record, name) for name in names}


def fields_from_json(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Record` from the result of `record_to_json` after its way through JSON."""
    return {name: _DECODERS[name](value) if name in _DECODERS else value for name, value in stored.items()}


def _finding_rows(record: Record) -> list[_FindingRow]:
    return [(one.rule, one.severity.value, one.message, one.field, one.line) for one in record.findings]


def _findings(rows: Sequence[_FindingRow]) -> tuple[Finding, ...]:
    return tuple([Finding(rule, Severity(severity), said, key, line) for rule, severity, said, key, line in rows])


_ENCODERS: dict[str, Callable[[Record], Json]] = {"findings": lambda record: cast("Json", _finding_rows(record))}
_DECODERS: dict[str, Callable[[Any], object]] = {"tags": tuple, "aliases": tuple, "findings": _findings}
"""Fields that are not plain JSON."""
