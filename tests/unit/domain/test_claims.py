"""The values that a text states for a subject."""

from __future__ import annotations

import random

from commonplace.domain.claims import claims_of, claims_of_change, differs


def test_the_claims_of_a_text() -> None:
    text = (
        "# Shop\n\nThe gateway of the shop listens on port 8080.\nIt is new.\n\n"
        "## Shop gateway\n\n- **Default port**: 8080\n\n"
        "| Service | Default port |\n|---|---|\n| Shop gateway | 8080 |\n\n"
        "```\nThe gateway of the shop listens on port 1.\n```\n"
    )
    claims = claims_of(text)
    assert [(claim.line, claim.value) for claim in claims] == [(3, "8080"), (8, "8080"), (12, "8080")]
    other = claims_of("The gateway of the shop listens on port 9090.")[0]
    assert other.key == claims[0].key
    assert differs(claims[0], other)
    assert not differs(claims[0], claims[0])
    assert claims_of("") == claims_of("It listens on the port 8080 of the shop.") == []


LINES = (
    *("", "", "", "# Port of the shop", "## Gate of the house", "Size of box: 80", "- Limit of keys: 90", "```", "~~~"),
    *("The gateway of the shop listens on port 9090.", "The long cache of pages", "holds 300 entries a day."),
    *("    Port: 1", "| name of row | size of box |", "| --- | --- |", "| big red row | 4000 |", "> A quote of 5"),
    *("Term of the list", ": 8080"),
)


def test_the_claims_of_a_change_are_those_of_the_whole_page_that_are_new() -> None:
    choices = random.Random(5)
    for _ in range(2_000):
        old = choices.choices(LINES, k=choices.randrange(30))
        start = choices.randrange(len(old) + 1)
        new = [*old[:start], *choices.choices(LINES, k=choices.randrange(4)), *old[start + choices.randrange(4) :]]
        before = {claim[:2] for claim in claims_of("\n".join(old))}
        expected = [claim for claim in claims_of("\n".join(new)) if claim[:2] not in before]
        claims = claims_of_change("\n".join(old), "\n".join(new))
        assert [claim for claim in claims if claim[:2] not in before] == expected, (old, new)
        assert set(claims) <= set(claims_of("\n".join(new)))
