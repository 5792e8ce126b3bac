"""Configuration of the process's event loop."""

from __future__ import annotations

import pytest

from commonplace.faces.http.server import Indexed


@pytest.mark.parametrize("listens_first", [True, False])
def test_the_end_of_the_first_comparison_is_told_once(*, listens_first: bool) -> None:
    reported_texts: list[str] = []
    indexed = Indexed()
    steps = [lambda: indexed.listen(lambda: reported_texts.append("indexed")), indexed.done]
    for step in steps if listens_first else reversed(steps):
        step()
    assert reported_texts == ["indexed"]
