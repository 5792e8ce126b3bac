"""The meaning of a scalar, which is the same for other readers."""

from __future__ import annotations

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from cases import each_case
from commonplace.domain.json import Json
from commonplace.domain.yaml_loader import Scalar, is_plain, load, plain_value, scalar_text


@each_case(
    ("text", "value"),
    [
        ("", None), ("~", None), ("null", None), ("NULL", None), ("true", True), ("False", False), ("12", 12),
        ("-3", -3), ("+4", 4), ("0", 0), ("1.5", 1.5), ("-.5", -0.5), ("5.", 5.0), ("1.5e+3", 1500.0),
        ("9223372036854775807", 2**63 - 1),
    ],
)  # fmt: skip
def test_what_every_reader_takes_alike_is_typed(text: str, value: Json) -> None:
    assert plain_value(text) == value
    assert type(plain_value(text)) is type(value)


@each_case(
    "text",
    [
        "yes", "No", "on", "OFF", "y", "010", "007", "0x1F", "0o7", "0b1", "12:30", "1_000", "1e3", "1.5e3", ".inf",
        "-.INF", ".nan", "2026-01-02", "2026-01-02T03:04:05Z", "09/21/2023", "1.2.3", "9223372036854775808",
        "1" * 5_000, "1.0e+999", "TrUe", "<<", "=", "word",
    ],
)  # fmt: skip
def test_what_readers_disagree_about_stays_as_it_is_written(text: str) -> None:
    assert plain_value(text) == text


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)


@given(SCALARS, st.sampled_from(["", '"', "'"]), st.booleans())
@example("2026-01-02", "", False)
@example("no", "", False)
@example("a: b", "", False)
@example("a #b", "", False)
@example("x,y", "", True)
@example("\x85\u2028\ufeff\x7f\ufffe", "", False)
@example('it\'s "so" \\', "'", False)
@example("\U0001f680", "", False)
@example(1e16, "", False)
@example(5e-324, "", False)
def test_a_written_scalar_reads_back_the_same(value: Scalar, quote: str, flow: bool) -> None:
    text = scalar_text(value, quote=quote, flow=flow)
    assert "\n" not in text
    loaded = load(f"a: [{text}, b]\n" if flow else f"a: {text} # c\n")
    assert loaded.value == {"a": [value, "b"] if flow else value}


@given(st.text(st.characters(codec="utf-8"), max_size=12))
@example("yes")
@example("0o17")
@example("12:30:45")
@example("1e3")
@example("=")
def test_a_text_without_quotes_is_text_or_a_date_to_a_reader_of_yaml_1_1(text: str) -> None:
    if is_plain(text):
        read = yaml.safe_load(f"a: {text}\n")["a"]
        assert isinstance(read, str) is (read == text)
        assert isinstance(read, str) or hasattr(read, "isoformat")


@each_case("text", ["word", "two words", "Größe", "a, b", "it's", "2026-01-02", "v1.2-rc", "C++", "a:b", "x#y"])
def test_ordinary_texts_need_no_quotes(text: str) -> None:
    assert scalar_text(text) == text
