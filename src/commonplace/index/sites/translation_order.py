"""The order of translations in a ranking: the copy of a text in the reader's language comes first."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from commonplace.domain.sites.translations import translations_behind

TRANSLATION_WINDOW = 100
"""Number of the best documents that are searched for translations; the same for every page of results."""


def readers_language_first(
    scores: Mapping[int, float], paths: Mapping[int, str], language: str, folders: Collection[str]
) -> dict[int, float]:
    """A ranking in which one copy of each text has the rank of the best copy, and the others are behind the window.

    The scores remain in descending order: documents change places, scores do not.

    Args:
        scores: Scores by document, best first.
        paths: Paths of the first `TRANSLATION_WINDOW` documents.
        language: The reader's language.
        folders: The folders that hold translations.
    """
    keys = {paths[key]: key for key in scores if key in paths}
    order = [keys[path] for path in translations_behind(list(keys), language, folders)]
    return dict(zip([*order, *(key for key in scores if key not in paths)], scores.values(), strict=True))
