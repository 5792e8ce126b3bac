"""Links between concepts: where the effective text leads, and who leads here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from commonplace.domain.markdown.link_sides import PageSide
from commonplace.toolsets.cascade.rules.values import LayerRank
from commonplace.toolsets.cascade.service.cascade import Cascade
from commonplace.toolsets.cascade.service.concept_search import incoming, outgoing
from commonplace.toolsets.cascade.service.layers import FolderLayer
from indexed import Indexed

LAYERS: Mapping[str, Mapping[str, str]] = {
    "own": {
        "systems/auth.md": "# A\n\n[db](db.md) [[Login page]] [[TEAM:systems/db]] [[none]] [[db|Login page]] "
        "[x](db.md)\n",
        "login.md": "---\ntitle: Login page\n---\n# L\n",
    },
    "team": {
        "systems/db.md": "# D\n\n[[systems/auth]] and [[own:systems/auth]]\n",
        "login.md": "# L\n\n[[systems/auth#A]] [[login]]\n",
        "other.md": "# Another\n\n[auth](/systems/auth.md)\n",
    },
}


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[FolderLayer]]:
    with ExitStack() as stack:
        made: list[FolderLayer] = []
        for order, (name, files) in enumerate(LAYERS.items()):
            base = stack.enter_context(Indexed(tmp_path_factory.mktemp(name), files))
            collection = base.collection
            made.append(FolderLayer(LayerRank(name, 2 - order, order), base.folder, lambda element=collection: element))
        yield made


def test_a_link_leads_to_a_concept_by_path_title_or_layer_and_a_broken_one_to_nothing(
    layers: list[FolderLayer],
) -> None:
    cascade = Cascade(layers)
    found_values = {link.raw: (link.id, link.layers) for link in outgoing(cascade, cascade.resolve("systems/auth"))}
    assert found_values == {
        "[db](db.md)": ("systems/db", ("team",)),
        "[x](db.md)": ("systems/db", ("team",)),
        "[[Login page]]": ("login", ("own", "team")),
        "[[TEAM:systems/db]]": ("systems/db", ("team",)),
        "[[none]]": (None, ()),
        "[[db|Login page]]": ("systems/db", ("team",)),
    }


@pytest.mark.parametrize(("side", "target"), [(PageSide.FIRST, "systems/db"), (PageSide.LAST, "login")])
def test_the_side_of_a_link_that_is_the_concept_is_the_reader_s(
    layers: list[FolderLayer], side: PageSide, target: str
) -> None:
    cascade = Cascade(layers, page_side=side)
    ids = {link.raw: link.id for link in outgoing(cascade, cascade.resolve("systems/auth"))}
    assert ids["[[db|Login page]]"] == target


def test_links_to_a_concept_are_those_of_each_layer_s_text_but_not_its_own(layers: list[FolderLayer]) -> None:
    cascade = Cascade(layers)
    found_pairs = [(link.id, link.layer) for link in incoming(cascade, "systems/auth")]
    assert found_pairs == [("login", "team"), ("other", "team"), ("systems/db", "team")]
    assert [(link.id, link.layer, link.raw) for link in incoming(cascade, "login")] == [
        ("systems/auth", "own", "[[Login page]]")
    ]
    assert incoming(cascade, "none") == [] or all(link.id == "systems/auth" for link in incoming(cascade, "none"))


def test_a_name_with_a_number_sign_is_read_whole_before_it_is_cut(tmp_path: Path) -> None:
    files = {
        "lang/C#.md": "# C sharp\n\n## Types\n",
        "lang/C.md": "# C\n",
        "a.md": "# A\n\n[[lang/C#]] [[lang/C##Types]] [[lang/C#Types]] [[own:lang/C#]] [s](lang/C%23.md) [[lang/F#]]\n",
    }
    with Indexed(tmp_path / "own", files) as base:
        cascade = Cascade([FolderLayer(LayerRank("own", 1, 0), base.folder, lambda: base.collection)])
        assert {link.raw: link.id for link in outgoing(cascade, cascade.resolve("a"))} == {
            "[[lang/C#]]": "lang/C#",
            "[[lang/C##Types]]": "lang/C#",
            "[[lang/C#Types]]": "lang/C",
            "[[own:lang/C#]]": "lang/C#",
            "[s](lang/C%23.md)": "lang/C#",
            "[[lang/F#]]": None,
        }
        assert [link.id for link in incoming(cascade, "lang/C#")] == ["a"]
        assert [link.raw for link in incoming(cascade, "lang/C")] == ["[[lang/C#Types]]"]
