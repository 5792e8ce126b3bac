"""JSON text with numbers that are not finite, from clients and from other programs."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.json import NotFiniteError, finite_json, require_finite

NO_JSON = ["NaN", "[Infinity]", '{"a":{"b":-Infinity}}', '["NaN",NaN]']
TOO_LARGE = ["1e999", "[-1E+400]", '{"a":1.0e308,"b":2e308}', "1" * 250 + "e99", "1" * 400 + ".5"]
FINITE = ["1e308", "[-1.5E-400]", '"NaN"', '{"Infinity":"1e999"}', "1" * 400, "null"]


@pytest.mark.parametrize("text", NO_JSON)
def test_nan_and_infinity_are_no_json(text: str) -> None:
    for read in (require_finite, finite_json):
        with pytest.raises(NotFiniteError) as caught:
            read(text.encode())
        assert not caught.value.is_json


@each_case("text", TOO_LARGE)
def test_a_number_beyond_the_range_is_refused(text: str) -> None:
    for read in (require_finite, finite_json):
        with pytest.raises(NotFiniteError) as caught:
            read(text.encode())
        assert caught.value.is_json


@each_case("text", FINITE)
def test_finite_numbers_and_texts_that_look_like_others_pass(text: str) -> None:
    require_finite(text.encode())
    finite_json(text)


@pytest.mark.parametrize("raw", [b"", b"[" * 100_000 + b"NaN", b"\xff NaN", b'{"a":'])
def test_text_that_is_no_json_at_all_is_left_to_its_parser(raw: bytes) -> None:
    require_finite(raw)
    with pytest.raises(ValueError, match=r"."):
        finite_json(raw)
