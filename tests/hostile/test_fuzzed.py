"""Inputs that fuzzing began with or found: what is fuzzed stands all of them."""

from __future__ import annotations

import pytest

from hostile.fuzzed import CORPUS, TARGETS, yaml


@pytest.mark.parametrize("name", TARGETS)
def test_every_input_of_the_corpus_is_stood(name: str) -> None:
    inputs = sorted((CORPUS / name).iterdir())
    assert inputs
    for path in inputs:
        TARGETS[name](path.read_bytes())


def test_a_target_says_what_is_wrong() -> None:
    with pytest.raises((AssertionError, KeyError)):
        yaml(b"other\n---\ntitle: a\n---\n", lambda raw, _changes: raw)
