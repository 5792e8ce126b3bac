"""The translation in the reader's language comes first among the translations of a text."""

from __future__ import annotations

from commonplace.index.sites import readers_language_first

PATHS = {1: "de/a.md", 2: "en/a.md", 3: "de/b.md", 4: "fr/a.md"}
SCORES = {1: 0.9, 2: 0.8, 3: 0.7, 4: 0.6, 9: 0.5}
FOLDERS = ["de", "en", "fr"]


def test_the_copy_in_the_language_keeps_its_place_and_the_others_are_behind_the_window() -> None:
    assert list(readers_language_first(SCORES, PATHS, "en", FOLDERS)) == [2, 3, 1, 4, 9]


def test_each_document_has_its_own_score_and_those_behind_no_more_than_the_last_before_them() -> None:
    assert readers_language_first(SCORES, PATHS, "en", FOLDERS) == {2: 0.8, 3: 0.7, 1: 0.7, 4: 0.6, 9: 0.5}


def test_without_translations_the_order_stays() -> None:
    assert readers_language_first(SCORES, PATHS, "en", []) == SCORES
    assert readers_language_first({}, {}, "en", FOLDERS) == {}
