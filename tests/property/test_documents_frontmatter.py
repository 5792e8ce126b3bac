"""Front matters at random: reading never fails, and what is set reads back with all else untouched."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.frontmatter import read_frontmatter, set_fields
from commonplace.domain.json import Json
from pages import page
from support import Amount

SEEDS = (
    b'---\ntitle: "A title"\ndate: 2026-01-02\ntags: [a, "b"]\nnested:\n  k: v\n  list:\n    - 1\n    - x: y\n---\n',
    b"---\r\ntitle: 'it''s'\r\ndescription: >-\r\n  folded\r\n  text\r\ntags:\r\n- a\r\n- b\r\n---\r\nbody\r\n",
    b"\xef\xbb\xbf---\na: &x [1, 2.5, -3, .inf, 0x1f, 1_000, ~, true]\nb: *x\n? complex\n: value\n...\n",
    b"---\n!!map {a: !!str 1, b: !custom [x], !!binary c: ZGF0YQ==}\n---\n",
    b'---\nlinks:\n  - target: kb:idea # c\n    relation: supports\nup: "[[P|x]]"\ntext: |+\n  kept\n\n---\n',
)
TOKENS = (
    b":", b": ", b"- ", b"\n", b"\r\n", b"\n  ", b"---\n", b"...\n", b"#", b" #", b"'", b'"', b"[", b"]", b"{", b"}",
    b",", b"&a", b"*a", b"!!", b"!x ", b"|\n", b">-\n", b"? ", b"%", b"@", b"`", b"\t", b"\x00", b"\xff", b"\xc3",
    b"\xe2\x80\xa8", b"\\", b"~", b"null", b"1e999", b"9" * 30, b"<<: ", b"=",
)  # fmt: skip


def mutated(chance: random.Random) -> bytes:
    """A seed with a few bytes taken out, doubled, changed, or put in."""
    raw = bytearray(chance.choice(SEEDS))
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(raw) + 1)
        kind = chance.randrange(4)
        if kind == 0:
            del raw[at : at + chance.randint(1, 8)]
        elif kind == 1:
            raw[at:at] = raw[at : at + chance.randint(1, 20)]
        elif kind == 2:
            raw[at : at + 1] = bytes([chance.randrange(256)])
        else:
            raw[at:at] = chance.choice(TOKENS)
    return bytes(raw)


def test_no_mutation_of_a_front_matter_breaks_reading_or_json(amount: Amount) -> None:
    chance = random.Random(20_260_728)
    present = 0
    for _ in range(amount(8_000, 1_000_000)):
        raw = mutated(chance)
        document = page(raw)
        json.dumps(dict(document.frontmatter.values), allow_nan=False).encode()
        present += document.frontmatter.present
    assert present, "most mutations leave a front matter"


def test_no_mutation_of_a_front_matter_is_damaged_by_a_change(amount: Amount) -> None:
    chance = random.Random(728)
    changed = 0
    for _ in range(amount(2_000, 200_000)):
        raw = mutated(chance)
        before = page(raw).frontmatter
        changes: dict[str, Json] = {"title": "New: title", "tags": ["b", "x y"], "nested": None, "text": "a\nb\n"}
        try:
            result = set_fields(raw, changes)
        except InvalidInputError:
            continue
        after = page(result).frontmatter
        expected = {
            key: value for key, value in {**before.values, **changes}.items() if changes.get(key, 0) is not None
        }
        assert strict(after.values) == strict(expected), raw
        assert result.endswith(raw[before.span.end :])
        changed += 1
    assert changed, "most of them can be changed"


def test_a_key_without_a_colon_is_refused_and_breaks_nothing() -> None:
    with pytest.raises(InvalidInputError):
        set_fields(
            b"---\r\ntitle: x\r\nfolded: >-\r\n  a\r? \n  text\r\n---\nbody\n",
            {"text": "a\nb\n", "title": "New: title"},
        )


def strict(value: object) -> str:
    """A form in which 1, 1.0 and true differ."""
    return json.dumps(value, sort_keys=True)


KEYS = st.sampled_from(
    ["title", "tags", "a", "b c", "yes", "1", "Größe", "date", "null", "x: y", "# c", "- d", "[e", ""]
)
TRAPS = ("yes", "no", "2026-01-02", "12:30", "0o7", "1e3", "a: b", "a #b", "a\nb", "a\nb\n", "\n", " a", "a ", "\ta")
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=12)
    | st.sampled_from(TRAPS)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
RAWS = st.sampled_from(
    [
        b"",
        b"# Body\n",
        b"\xef\xbb\xbfx\r\n",
        b"---\n---\n",
        b"---\n# c\ntitle: 'T' # t\ntags:\n- a # x\n- b\n\n# d\ndate: 2020-01-01\n---\nbody\n",
        b"---\r\ntitle: T\r\ntags: [a, b] # t\r\nb c: |\r\n  x\r\n\r\n  y\r\n---\r\nbody",
        b"---\na:\n  - x: 1\n    y: 2 # c\n  - z\n1: one\nyes: no\n...\n",
    ]
)


@given(RAWS, st.dictionaries(KEYS, VALUES, max_size=4))
@settings(max_examples=150)
@example(b"", {"a": [[], {}, [[]], [{}], {"x": []}]})
@example(b"", {"a": "\x85\u2028\ufeff"})
@example(b"---\ntags:\n- a\n- b\n---\n", {"tags": ["b", "a", "a", "\n"]})
def test_what_is_set_reads_back_and_all_else_stays(raw: bytes, changes: dict[str, Json]) -> None:
    before = read_frontmatter(raw, 3 if raw.startswith(b"\xef\xbb\xbf") else 0)
    result = set_fields(raw, changes)
    after = read_frontmatter(result, before.span.start)
    expected = {key: value for key, value in {**before.values, **changes}.items() if changes.get(key, 0) is not None}
    assert strict(after.values) == strict(expected)
    assert result.endswith(raw[before.span.end :])
    assert result.count(b"\r\n") == (result.count(b"\n") if b"\r\n" in raw else 0)
    assert set_fields(result, changes) == result, "setting the same again changes nothing"
    if before.present:
        gone: dict[str, Json] = dict.fromkeys(changes)
        assert set_fields(result, gone) == set_fields(raw, gone), "no line of another key has changed"


@given(RAWS)
def test_setting_what_is_there_changes_nothing(raw: bytes) -> None:
    document = page(raw)
    assert set_fields(document, document.frontmatter.values) == raw
