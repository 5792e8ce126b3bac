"""Names of indexes, and which index a server may use."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace.domain.cluster import SharedBase
from commonplace.domain.errors import UnavailableError
from commonplace.index.opensearch.indexes import (
    MAX_TOKEN_CHARS,
    PROPERTIES,
    SCHEMA,
    STORED,
    alias_of,
    check,
    check_replaceable,
    creation,
    generation_of,
    index_of,
    page_key,
    token,
)

BASE = SharedBase("Team Notes (2024)", "source")


def mappings(**meta: object) -> dict[str, Any]:
    """The mappings of an index that was made for the base, with other facts about it."""
    made = creation(BASE)["mappings"]
    return {**made, "_meta": {**made["_meta"], **meta}}


def test_the_name_of_an_index_is_readable_valid_and_each_base_s_own() -> None:
    alias = alias_of("commonplace", BASE)
    assert alias.startswith("commonplace-team-notes-2024-")
    assert alias == alias.lower()
    assert alias != alias_of("commonplace", SharedBase("team notes 2024", "source"))
    assert alias == alias_of("commonplace", SharedBase(BASE.name, "another source"))
    assert len(alias_of("p" * 60, SharedBase("x" * 100, ""))) < 255 - len("-000001")
    assert alias_of("commonplace", SharedBase("文書\ud800", "")).startswith("commonplace-")


def test_a_generation_is_read_from_the_name_of_its_index_only() -> None:
    alias = alias_of("commonplace", BASE)
    assert generation_of(alias, index_of(alias, 12)) == 12
    assert generation_of(alias, index_of(alias, 1_234_567)) == 1_234_567
    for other in (alias, f"{alias}-", f"{alias}-x", f"{alias}-000001-x", f"{alias}2-000001", f"{alias}-\u0661"):
        assert generation_of(alias, other) is None


def test_ids_and_tokens_are_as_short_as_the_engine_takes_them() -> None:
    assert len(page_key("a" * 4000 + ".md")) == 32
    assert page_key("a.md") != page_key("A.md")
    assert page_key("\udcff.md")
    assert token("word") == "word"
    long = "x" * (MAX_TOKEN_CHARS + 1)
    assert len(token(long)) <= MAX_TOKEN_CHARS
    assert token(long) != token(f"{long}y")


def test_every_stored_field_is_mapped() -> None:
    assert set(STORED) <= set(PROPERTIES)


def test_an_index_as_it_is_made_is_one_that_is_used() -> None:
    check(mappings(), BASE)
    check_replaceable(mappings(), BASE)


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        ({"product": "other"}, "not one of this program"),
        ({"source": "another"}, "belongs to another base"),
        ({"schema": SCHEMA + 1}, "newer version"),
        ({"schema": "1"}, "newer version"),
    ],
)
def test_an_index_of_others_is_neither_used_nor_replaced(meta: dict[str, object], said: str) -> None:
    for ask in (check, check_replaceable):
        with pytest.raises(UnavailableError, match=said) as refused:
            ask(mappings(**meta), BASE)
        assert refused.value.hint
        assert refused.value.context["retryable"] == 0
    with pytest.raises(UnavailableError):
        check({}, BASE)


def test_an_older_index_is_built_anew_and_one_changed_by_hand_is_refused() -> None:
    with pytest.raises(UnavailableError) as refused:
        check(mappings(schema=SCHEMA - 1), BASE)
    assert refused.value.context["rebuild"] == 1
    check_replaceable(mappings(schema=SCHEMA - 1), BASE)
    changed = {**mappings(), "properties": {**PROPERTIES, "more": {"type": "keyword"}}}
    with pytest.raises(UnavailableError, match="changed by hand"):
        check(changed, BASE)
    with pytest.raises(UnavailableError, match="changed by hand"):
        check({**mappings(), "dynamic": "true"}, BASE)
