"""Changes of `kb.yaml`: what is not named stays, comments included, and nothing wrong is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.changes import recording_retained
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.toolsets.kb.service import add_type, remove_type, set_schema
from indexed import Indexed

TEXT = (
    "# ours\nname: Notes\ntypes:\n  decision:\n    description: What was decided\n    required: [status]\nother: kept\n"
)


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    with Indexed(tmp_path, {"kb.yaml": TEXT}) as made:
        yield made


def text(base: Indexed) -> str:
    return (base.folder / "kb.yaml").read_text()


def test_a_type_is_added_and_taken_out_and_the_rest_stays(base: Indexed) -> None:
    schema = add_type(base.collection, "recipe", {"description": "How to cook", "required": ["serves"]})
    assert schema.types["recipe"].required == ("serves",)
    assert text(base).startswith("# ours\nname: Notes\n")
    assert "other: kept\n" in text(base)
    assert "recipe" not in remove_type(base.collection, "recipe").types
    assert remove_type(base.collection, "decision").types.keys() == set_schema(base.collection, {}).types.keys()
    assert "types:" not in text(base)


def test_a_core_type_or_an_unknown_one_cannot_be_taken_out(base: Indexed) -> None:
    with pytest.raises(NotFoundError, match=r"It is a core type\. Declared: decision"):
        remove_type(base.collection, "note")
    with pytest.raises(NotFoundError, match="'recipe' is not declared"):
        remove_type(base.collection, "recipe")
    assert text(base) == TEXT


def test_a_definition_that_is_wrong_is_not_written(base: Indexed) -> None:
    with pytest.raises(InvalidInputError):
        add_type(base.collection, "recipe", {"fields": "serves"})
    with pytest.raises(InvalidInputError, match=r"Unknown keys of kb\.yaml: colour"):
        set_schema(base.collection, {"colour": "red"})
    with pytest.raises(NotFoundError, match=r"There is no preset .cooking.\. Presets: none"):
        set_schema(base.collection, {"preset": "cooking"})
    assert text(base) == TEXT


def test_where_there_is_no_file_it_is_made(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "# A\n"}) as base:
        assert "recipe" in add_type(base.collection, "recipe", {"description": "How to cook"}).types
        assert "recipe:" in text(base)


def test_what_a_change_takes_away_is_kept(base: Indexed) -> None:
    with recording_retained() as copies:
        add_type(base.collection, "recipe", {"description": "How to cook"})
    assert [copy.address.path for copy in copies] == []
    with recording_retained() as retained_copies:
        remove_type(base.collection, "decision")
    assert [copy.address.path for copy in retained_copies] == ["kb.yaml"]


def test_a_declared_type_is_not_replaced_by_another_declaration(base: Indexed) -> None:
    with pytest.raises(InvalidInputError, match="'decision' has another declaration") as refused:
        add_type(base.collection, "decision", {"description": "Else"})
    assert "set_schema" in refused.value.hint
    assert text(base) == TEXT
    add_type(base.collection, "decision", {"description": "What was decided", "required": ["status"]})
    assert text(base) == TEXT
