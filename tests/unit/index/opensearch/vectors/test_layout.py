"""An index of chunks is used if it is this base's, of this version and as it was made."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace.domain.cluster import SharedBase
from commonplace.domain.errors import UnavailableError
from commonplace.index.opensearch.vectors import (
    SCHEMA,
    base_of,
    check_chunks,
    chunk_creation,
    vector_field,
    vector_mapping,
    vectors_of,
)

BASE = SharedBase("notes", "source", meaning=True)


def mappings(**meta: object) -> dict[str, Any]:
    made = chunk_creation(BASE)["mappings"]
    made["_meta"] |= meta
    return made


def test_the_base_is_read_back_from_the_index() -> None:
    assert base_of(mappings()) == BASE
    assert base_of(mappings(product="another")) is None
    assert base_of(mappings(chunks=SCHEMA + 1)) is None
    assert base_of({}) is None


def test_vectors_of_any_model_belong_to_the_mapping() -> None:
    made = mappings()
    made["properties"] = {**made["properties"], vector_field("0123456789ab"): vector_mapping(384)}
    check_chunks(made, BASE)
    assert vector_mapping(384)["method"]["engine"] == "lucene"


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        ({"source": "another"}, "another base"),
        ({"product": "another"}, "another base"),
        ({"chunks": SCHEMA + 1}, "another version"),
    ],
)
def test_an_index_of_something_else_is_refused(meta: dict[str, object], said: str) -> None:
    with pytest.raises(UnavailableError, match=said) as refused:
        check_chunks(mappings(**meta), BASE)
    assert refused.value.hint


def test_a_mapping_that_was_changed_by_hand_is_refused() -> None:
    made = mappings()
    made["properties"] = {**made["properties"], "extra": {"type": "keyword"}}
    with pytest.raises(UnavailableError, match="changed by hand"):
        check_chunks(made, BASE)


def test_the_index_of_chunks_is_no_generation_of_its_base() -> None:
    assert vectors_of("p-notes-12345678").startswith("p-notes-12345678")
    assert not vectors_of("p-notes-12345678").startswith("p-notes-12345678-")
