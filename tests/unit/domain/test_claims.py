"""The values that a text states for a subject."""

from __future__ import annotations

from commonplace.domain.claims import claims_of, differs


def test_the_claims_of_a_text() -> None:
    text = (
        "# Shop\n\nThe gateway of the shop listens on port 8080.\nIt is new.\n\n"
        "## Shop gateway\n\n- **Default port**: 8080\n\n"
        "| Service | Default port |\n|---|---|\n| Shop gateway | 8080 |\n\n"
        "```\nThe gateway of the shop listens on port 1.\n```\n"
    )
    claims = claims_of(text)
    assert [(claim.line, claim.values) for claim in claims] == [(3, ("8080",)), (8, ("8080",)), (12, ("8080",))]
    other = claims_of("The gateway of the shop listens on port 9090.")[0]
    assert other.key == claims[0].key
    assert differs(claims[0], other)
    assert not differs(claims[0], claims[0])
    assert claims_of("") == claims_of("It listens on the port 8080 of the shop.") == []
