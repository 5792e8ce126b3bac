"""The order of translations in a ranking: the copy of a text in the reader's language comes first."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from commonplace.domain.sites.translations import translations_behind

TRANSLATION_WINDOW = 100
"""Number of the best documents that are searched for translations; the same for every page of results."""


def readers_language_first(
    scores: Mapping[int, float], paths: Mapping[int, str], language: str, folders: Collection[str]
) -> dict[int, float]:
    """A ranking in which one copy of each text keeps its place, and the others are behind the window.

    Each document keeps its score, so that a filter by folder does not change the order; those behind have at most the
    score of the last one before them.

    Args:
        scores: Scores by document, best first.
        paths: Paths of the first `TRANSLATION_WINDOW` documents.
        language: The reader's language.
        folders: The folders that hold translations.
    """
    by_path = {paths[key]: score for key, score in scores.items() if key in paths}
    behind = translations_behind(by_path, language, folders)
    front = {key: score for key, score in scores.items() if key in paths and paths[key] not in behind}
    least = min(front.values(), default=0.0)
    moved = {key: min(score, least) for key, score in scores.items() if key in paths and key not in front}
    return {**front, **moved, **{key: score for key, score in scores.items() if key not in paths}}
