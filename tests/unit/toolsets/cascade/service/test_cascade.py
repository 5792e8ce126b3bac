"""All layers as one: which text of a concept counts, and what is said of one that no layer has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.toolsets.cascade.rules.values import LayerRank
from commonplace.toolsets.cascade.service import concept_search
from commonplace.toolsets.cascade.service.cascade import Cascade, ManifestFault, conflicts
from commonplace.toolsets.cascade.service.layers import FolderLayer
from indexed import Indexed

LAYERS: Mapping[str, Mapping[str, str]] = {
    "own": {
        "systems/auth.md": "---\ntitle: Auth service\n---\n# Owner\n\nMe.\n\n# Notes\n\nMine.\n",
        "v1.2.md": "# Version\n",
        "full.md": "---\noverride: full\n---\n# Only\n\nThis.\n",
    },
    "team": {
        "systems/auth.md": "---\ntitle: Auth\naliases: [Login]\n---\n# Owner\n\nTeam.\n\n# Limits\n\nTen.\n",
        "full.md": "# Other\n\nHidden.\n",
    },
}


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Indexed]]:
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(Indexed(tmp_path_factory.mktemp(name), files)) for name, files in LAYERS.items()
        }


@pytest.fixture
def cascade(bases: dict[str, Indexed]) -> Cascade:
    return Cascade(layers(bases))


def layers(bases: dict[str, Indexed]) -> list[FolderLayer]:
    made: list[FolderLayer] = []
    for order, (name, base) in enumerate(bases.items()):
        collection = base.collection
        made.append(FolderLayer(LayerRank(name, 2 - order, order), base.folder, lambda element=collection: element))
    return made


def test_the_highest_layer_wins_section_by_section(cascade: Cascade) -> None:
    resolved = cascade.resolve("systems/auth")
    assert {section.section.key: section.layer for section in resolved.sections} == {
        "owner": "own",
        "notes": "own",
        "limits": "team",
    }
    row = cascade.overview().rows["systems/auth"]
    assert (row.title, row.layers, row.aliases) == ("Auth service", ("own", "team"), ("Login",))
    assert [section.key for section in cascade.effective(row)] == ["owner", "notes", "limits"]


def test_a_layer_s_own_version_is_read_alone(cascade: Cascade) -> None:
    assert [section.key for section in cascade.raw("systems/auth", "team").sections] == ["owner", "limits"]
    with pytest.raises(NotFoundError, match="these do: own") as refused:
        cascade.raw("v1.2", "team")
    assert refused.value.kind == "concept"
    with pytest.raises(NotFoundError, match="Layers: own, team") as no_layer:
        cascade.raw("systems/auth", "none")
    assert no_layer.value.kind == "layer"
    with pytest.raises(NotFoundError, match="no concept"):
        cascade.raw("nothing", "team")


def test_what_an_override_takes_out_is_known(cascade: Cascade) -> None:
    assert cascade.suppressed_keys("full", "team") == {"other"}
    assert cascade.suppressed_keys("full", "own") == frozenset()
    assert cascade.suppressed_keys("systems/auth", "team") == frozenset()


def test_a_missing_concept_is_told_with_what_is_alike(cascade: Cascade) -> None:
    with pytest.raises(NotFoundError) as refused:
        cascade.resolve("other/AUTH")
    nearest = refused.value.context["nearest"]
    assert isinstance(nearest, list)
    assert nearest[0] == "systems/auth"
    with pytest.raises(NotFoundError) as typo:
        cascade.resolve("systems/auht")
    nearest = typo.value.context["nearest"]
    assert isinstance(nearest, list)
    assert "systems/auth" in nearest


def test_an_argument_is_an_id_with_or_without_a_suffix(cascade: Cascade) -> None:
    assert cascade.identify("systems/auth.md") == "systems/auth"
    assert cascade.identify("v1.2") == "v1.2"
    assert cascade.identify("none.md") == "none"
    with pytest.raises(InvalidInputError):
        cascade.identify("../up")


def test_layers_that_are_not_what_the_manifest_says_now_are_stale(bases: dict[str, Indexed]) -> None:
    fault = ManifestFault("the manifest has no layers", "2026-01-01T00:00:00Z")
    states = Cascade(layers(bases), fault).health()
    assert {(health.state, health.reason, health.since) for health in states} == {
        ("stale", "the manifest has no layers", "2026-01-01T00:00:00Z")
    }
    assert all(health.state == "ok" for health in Cascade(layers(bases)).health())


def test_a_concept_that_only_a_missing_layer_may_have_is_not_said_to_be_nowhere(
    bases: dict[str, Indexed], tmp_path: Path
) -> None:
    gone = FolderLayer(LayerRank("gone", 1, 2), tmp_path / "gone", lambda: None)
    cascade = Cascade([*layers(bases), gone])
    with pytest.raises(NotFoundError, match="not asked: gone"):
        cascade.resolve("nothing")
    with pytest.raises(NotFoundError, match="cannot be read"):
        cascade.raw("systems/auth", "gone")


def test_a_cascade_without_layers_has_nothing_and_says_so() -> None:
    empty = Cascade([])
    assert (empty.overview().rows, empty.health(), conflicts(empty)) == ({}, [], [])
    assert concept_search.search(empty, "x", 5) == []
    assert concept_search.incoming(empty, "a") == []
    with pytest.raises(NotFoundError, match="Layers: none"):
        empty.layer("own")
