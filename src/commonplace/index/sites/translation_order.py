"""The order of translations in a ranking: of the copies of a text, the one in the reader's language comes first."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from commonplace.domain.sites.translations import translations_behind

TRANSLATION_WINDOW = 100
"""Number of the best documents among which copies are looked for; the same for every page of results."""


def readers_language_first(
    scores: Mapping[int, float], paths: Mapping[int, str], language: str, folders: Collection[str]
) -> dict[int, float]:
    """A ranking with each text once where its best copy stood, and the other copies at the end of the window.

    The scores stay in their places, so that they fall from the first to the last.

    Args:
        scores: Scores by document, best first.
        paths: Paths of the first `TRANSLATION_WINDOW` of them.
        language: The reader's language.
        folders: The folders that hold translations.
    """
    keys = {paths[key]: key for key in scores if key in paths}
    order = [keys[path] for path in translations_behind(list(keys), language, folders)]
    return dict(zip([*order, *(key for key in scores if key not in paths)], scores.values(), strict=True))
