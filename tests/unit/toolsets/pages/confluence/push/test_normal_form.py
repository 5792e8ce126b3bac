"""Two spellings of the same body are equal."""

from __future__ import annotations

from commonplace.toolsets.pages.confluence.push import normal_form
from confluence.bodies import BLOCKS
from confluence.site import Site


def test_what_the_site_stores_is_the_same_in_normal_form() -> None:
    site = Site()
    for kind, body in BLOCKS.items():
        assert normal_form(site.store(body).encode()) == normal_form(body.encode()), kind
        assert normal_form(body.replace("alpha", "omega").encode()) != normal_form(body.encode()) or "alpha" not in body
