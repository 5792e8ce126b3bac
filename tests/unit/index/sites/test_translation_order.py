"""The translation in the reader's language comes first among the translations of a text."""

from __future__ import annotations

from commonplace.index.sites.translation_order import readers_language_first

PATHS = {1: "de/a.md", 2: "en/a.md", 3: "de/b.md", 4: "fr/a.md"}
SCORES = {1: 0.9, 2: 0.8, 3: 0.7, 4: 0.6, 9: 0.5}
FOLDERS = ["de", "en", "fr"]


def test_the_copy_in_the_language_stands_where_the_best_one_stood() -> None:
    found = readers_language_first(SCORES, PATHS, "en", FOLDERS)
    assert list(found)[:2] == [2, 3]
    assert set(found) == set(SCORES)


def test_scores_fall_from_the_first_to_the_last_and_what_has_no_path_stays_behind() -> None:
    found = readers_language_first(SCORES, PATHS, "fr", FOLDERS)
    assert list(found.values()) == list(SCORES.values())
    assert list(found)[-1] == 9
    assert next(iter(found)) == 4


def test_without_translations_the_order_stays() -> None:
    assert readers_language_first(SCORES, PATHS, "en", []) == SCORES
    assert readers_language_first({}, {}, "en", FOLDERS) == {}
