"""Converts records to and from JSON, for all indexes. A new plain field of `Record` needs no change here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, cast

from commonplace.domain.documents import Finding, Severity
from commonplace.domain.json import Json
from commonplace.domain.query import Record

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
    return [(one.rule, one.severity.value, one.message, one.field, one.line) for one in record.findings]


def _findings(rows: Sequence[_FindingRow]) -> tuple[Finding, ...]:
    return tuple([Finding(rule, Severity(severity), said, key, line) for rule, severity, said, key, line in rows])


_ENCODERS: dict[str, Callable[[Record], Json]] = {"findings": lambda record: cast("Json", _finding_rows(record))}
_DECODERS: dict[str, Callable[[Any], object]] = {"tags": tuple, "aliases": tuple, "findings": _findings}
"""Decoders of the fields that are not plain JSON, by name."""
