"""An Otterwiki in title case: every path of an answer is named so, whatever holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from commonplace.domain.errors import NotFoundError
from commonplace.toolsets.wiki.rules import Wiki
from commonplace.toolsets.wiki.service.local import titled


@dataclass(frozen=True)
class Row:
    path: str
    name: str = ""
    links_to: tuple[str, ...] = ()
    text: str = "some text"


class Port:
    def path(self) -> str:
        return "home/my tea"

    def pair(self) -> tuple[str, int]:
        return "my tea", 3

    def names(self) -> set[str]:
        return {"a b"}

    def rows(self) -> list[object]:
        return [Row("my tea", "my tea", ("other tea",)), ("a b", "c d"), 7]

    def missing(self) -> None:
        raise NotFoundError("There is no such page.", kind="document", nearest=["my tea"])


def test_paths_are_in_title_case_wherever_they_stand_and_texts_stay() -> None:
    port = cast("Any", Port())
    notes = cast("Any", titled(Wiki(port, port, port, port)).notes)
    assert notes.path() == "Home/My Tea"
    assert notes.pair() == ("My Tea", 3)
    assert notes.names() == {"A B"}
    assert notes.rows() == [Row("My Tea", "My Tea", ("Other Tea",)), ("A B", "C D"), 7]
    with pytest.raises(NotFoundError) as failure:
        notes.missing()
    assert failure.value.context["nearest"] == ["My Tea"]
