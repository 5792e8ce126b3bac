"""Values of another kind are read as none."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.json import Json, bool_of, list_of, mapping_of, number_of, scalar_text, text_of

ODD: list[Json] = [None, "", "text", 0, 1.5, True, [], [1], {}, {"a": 1}, "漢字"]


@each_case("value", ODD)
def test_a_reader_returns_the_value_or_nothing(value: Json) -> None:
    assert mapping_of(value) == (value if isinstance(value, dict) else {})
    assert list(list_of(value)) == (value if isinstance(value, list) else [])
    assert bool_of(value) is (value if isinstance(value, bool) else None)


@each_case(
    ("value", "text", "as_yaml"),
    [
        (None, "", ""),
        ("a", "a", "a"),
        (0, "0", "0"),
        (1.5, "1.5", "1.5"),
        (True, "True", "true"),
        (False, "False", "false"),
        (["a"], "", ""),
        ({"a": 1}, "", ""),
        ((), "", ""),
    ],
)
def test_a_scalar_has_a_text_and_a_collection_has_none(value: Json, text: str, as_yaml: str) -> None:
    assert (text_of(value), scalar_text(value)) == (text, as_yaml)


@each_case(
    ("value", "number"),
    [(0, 0.0), (-3, -3.0), (2.5, 2.5), (2**63, 2.0**63), (True, None), ("5", None), (None, None), ([5], None)],
)
def test_a_number_is_no_text_and_no_truth(value: Json, number: float | None) -> None:
    assert number_of(value) == number
