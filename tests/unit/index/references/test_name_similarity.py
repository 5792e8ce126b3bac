"""Names are compared with a text by shared pairs of letters, whatever way they are counted."""

from __future__ import annotations

import random
from collections import Counter

from commonplace.index.references import NameEntry, NameSimilarity, dice_similarity, pairs_of

SEED = 20261121


def test_the_first_names_are_those_of_a_plain_comparison_with_each() -> None:
    chance = random.Random(SEED)
    entries = [(f"id {chance.randrange(60)}", _text(chance)) for _ in range(400)]
    likeness = NameSimilarity(entries)
    for _ in range(150):
        wanted_text = _text(chance)
        limit = chance.choice([1, 7, 40, 1000])
        assert likeness.most_similar(wanted_text, limit, likeness.without(())) == _plainly(entries, wanted_text)[:limit]


def test_names_that_are_gone_are_left_out_as_often_as_they_went() -> None:
    entries = [("a", "banana"), ("a", "banana"), ("b", "bandana"), ("c", "")]
    likeness = NameSimilarity(entries)
    rows = likeness.most_similar("banana", 10, likeness.without([("a", "banana"), ("b", "bandana")]))
    assert [entry[1:] for entry in rows] == [("a", "banana"), ("c", "")]


def _text(chance: random.Random) -> str:
    return "".join(chance.choices("aab-é", k=chance.randrange(9)))


def _plainly(entries: list[NameEntry], wanted_text: str) -> list[tuple[float, str, str]]:
    pairs = Counter(pairs_of(wanted_text))

    def likeness(name: str) -> float:
        if len(wanted_text) + len(name) <= 2:
            return float(wanted_text == name)
        return dice_similarity(
            sum(min(count, name.count(pair)) for pair, count in pairs.items()), len(wanted_text), len(name)
        )

    return sorted((-likeness(name), ident, name) for ident, name in entries)
