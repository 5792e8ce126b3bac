"""Entry types of plugins, however they are written down."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from enum import Enum
from typing import Annotated, Any, ClassVar, Literal

import pytest

from commonplace.domain.schema import EntryType
from commonplace.plugins.service_extensions import entry_types
from commonplace.plugins.values import WrongValueError


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Recipe:
    """How a dish is made.

    More about it.
    """

    entry_type: ClassVar[str] = "recipe"
    title: str
    minutes: int
    color: Color = Color.BLUE
    level: Literal["easy", "hard"] = "easy"
    vegan: bool = False
    cooked: date | None = None
    at: datetime | None = None
    steps: list[str] = field(default_factory=list)
    note: Annotated[str, "free"] = ""
    _private: int = 0


class Plain:
    name = "plain"
    amount = 3
    label = "x"

    def method(self) -> str:
        return self.label


def read(value: object) -> tuple[dict[str, EntryType], list[str]]:
    faults: list[str] = []
    return entry_types(value, faults.append), faults


def fields(value: EntryType) -> dict[str, Any]:
    return {other_field: value.fields[other_field] for other_field in value.fields}


def test_a_dataclass_is_a_type_with_the_fields_that_are_its_own() -> None:
    found_entry_types, faults = read([Recipe])
    assert faults == []
    made = found_entry_types["recipe"]
    assert made.description == "How a dish is made."
    kinds = {name: other_field.type for name, other_field in fields(made).items()}
    assert kinds == {
        "minutes": "number",
        "color": "select",
        "level": "select",
        "vegan": "checkbox",
        "cooked": "date",
        "at": "datetime",
        "steps": "list",
        "note": "text",
    }
    assert fields(made)["minutes"].required
    assert not fields(made)["level"].required
    assert list(fields(made)["color"].options) == ["red", "blue"]


def test_an_object_and_a_class_of_plain_attributes_are_types() -> None:
    for value in ([Plain], [Plain()], {"plain": Plain}):
        result, faults = read(value)
        assert faults == []
        assert {name: item.type for name, item in fields(result["plain"]).items()} == {
            "amount": "number",
            "label": "text",
        }


def test_a_type_in_the_form_of_kb_yaml_is_taken_as_it_is() -> None:
    candidate, faults = read({"bug": {"description": "A fault", "fields": {"severity": {"type": "number"}}}})
    assert faults == []
    assert (candidate["bug"].description, fields(candidate["bug"])["severity"].type) == ("A fault", "number")


def test_a_bad_type_is_reported_and_the_others_are_taken() -> None:
    found_entry_types, faults = read(
        {"good": {"fields": {}}, "bad": {"fields": ["a"]}, "worse": 5, "odd": {"fields": {"x": "text"}}}
    )
    assert list(found_entry_types) == ["good"]
    assert len(faults) == 3
    assert any("'bad'" in fault for fault in faults)
    nameless, reported_texts = read([object(), Recipe])
    assert (list(nameless), len(reported_texts)) == (["recipe"], 1)


@pytest.mark.parametrize("value", [5, "text", None])
def test_what_is_no_collection_of_types_is_refused(value: object) -> None:
    with pytest.raises(WrongValueError):
        read(value)


def test_annotations_that_cannot_be_evaluated_are_read_as_written() -> None:
    namespace: dict[str, Any] = {"__annotations__": {"count": "int", "other": "Missing | None"}}
    candidate, faults = read({"late": type("Late", (), namespace)})
    assert faults == []
    assert {name: item.type for name, item in fields(candidate["late"]).items()} == {"count": "number", "other": "text"}
