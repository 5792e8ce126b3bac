"""Extensions by plugins: hooks in order, violations of all validators, and entries in the form for plugins."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.records import build_record
from commonplace.domain.validation import Violation
from commonplace.services.extensions import DEFAULT_TYPE, NO_EXTENSIONS, Deadline, Extensions, entry_fields, type_of
from pages import page


def test_hooks_of_a_point_run_in_order_until_one_rejects() -> None:
    called: list[tuple[str, str]] = []

    def note(entry: JsonObject, answer_by: Deadline | None, operation: str) -> None:
        assert answer_by is None
        called.append((str(entry["id"]), operation))
        if len(called) == 2:
            raise InvalidInputError("No.", kind="hook")

    extensions = Extensions(hooks={"before_save": (note, note, note)})
    extensions.run_hooks("after_save", {"id": "a"})
    assert called == []
    with pytest.raises(InvalidInputError):
        extensions.run_hooks("before_save", {"id": "a"}, operation="create")
    assert called == [("a", "create")] * 2


def test_all_validators_are_asked_and_without_plugins_nothing_is_found() -> None:
    def one(entry_type: str, values: JsonObject, collection: str) -> list[Violation]:
        return [Violation(collection, entry_type, "more", str(values["n"]))]

    violations = Extensions(validators=(one, one)).violations("note", {"n": 1}, "kb")
    assert [(violation.field, violation.rule) for violation in violations] == [("kb", "note")] * 2
    assert NO_EXTENSIONS.violations("note", {}, "kb") == []
    assert NO_EXTENSIONS.supplement("kb", "generic") == {}


def test_additions_to_an_orientation_are_merged() -> None:
    extensions = Extensions(supplements=(lambda name, kb_type: {"a": name, "kind": kb_type}, lambda _, __: {"b": 1}))
    assert extensions.supplement("kb", "generic") == {"a": "kb", "kind": "generic", "b": 1}


@each_case(
    ("values", "expected"),
    [
        ({}, "note"),
        ({"type": "task"}, "task"),
        ({"category": "trend"}, "trend"),
        ({"type": "", "category": "trend"}, "trend"),
        ({"type": ["a"]}, "a"),
        ({"type": 5}, "5"),
        ({"categories": ["x", "y"]}, "x"),
        ({"type": {"a": "b"}}, "note"),
        ({"type": None}, "note"),
    ],
)
def test_the_type_of_an_entry_is_the_named_one_or_the_default(values: dict[str, Json], expected: str) -> None:
    assert type_of(values) == expected
    named = build_record(page(f"---\n{json.dumps(values)}\n---\n"), "0" * 40).type
    assert (named or DEFAULT_TYPE) == expected


@pytest.mark.parametrize(
    ("given", "shown"), [("mine", "mine"), ("5", "5"), ("''", "notes/page"), ("[a]", "notes/page")]
)
def test_plugins_see_an_entry_by_the_id_by_which_callers_name_it(given: str, shown: str) -> None:
    assert entry_fields("kb", page(f"---\nid: {given}\n---\n"))["id"] == shown


def test_plugins_see_the_text_and_the_facts_of_an_entry_whatever_its_frontmatter_claims() -> None:
    text = "---\ntitle: Titel\ntype: task\nbody: fake\nkb_name: fake\nfile_path: /etc\nsize: 3\n---\nText 文.\r\n"
    assert entry_fields("kb", page(text)) == {
        "title": "Titel",
        "type": "task",
        "size": 3,
        "id": "notes/page",
        "kb_name": "kb",
        "entry_type": "task",
        "tags": [],
        "file_path": "notes/page.md",
        "body": "Text 文.\r\n",
    }
