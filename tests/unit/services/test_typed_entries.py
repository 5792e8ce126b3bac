"""Typed entries: what `kb.yaml` declares decides what is written, and messages name what is valid."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
)
from commonplace.domain.json import JsonObject
from commonplace.services import typed_entries
from commonplace.services.typed_entries import NewEntry, SavedEntry
from commonplace.services.writes import WriteRequest
from indexed import Indexed

KB = """\
name: base
types:
  runbook:
    subdirectory: runbooks
    fields:
      severity: {type: select, options: [low, high], default: low}
      pages: {type: number}
      owner: {type: object-ref, target_type: person}
validation: {enforce: true}
"""
OWNER = "---\nid: ann\ntype: person\ntitle: Ann\n---\nHerself.\n"


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    with Indexed(tmp_path, {"kb.yaml": KB, "people/ann.md": OWNER}) as indexed:
        yield indexed


def entry(
    title: str, body: str = "", kind: str = "runbook", metadata: JsonObject | None = None, **fields: object
) -> NewEntry:
    return NewEntry(entry_type=kind, title=title, body=body, fields=fields, metadata=metadata or {})  # pyright: ignore[reportArgumentType]


def text(base: Indexed, saved: SavedEntry) -> str:
    return (base.folder / saved.written.address.path).read_text()


def test_an_entry_is_written_into_the_folder_of_its_type_with_the_defaults(base: Indexed) -> None:
    saved = typed_entries.create_entry(
        base.collection, entry("Über: restore «x»", "Do it.\n", metadata={"pages": 3, "free": "y"})
    )
    assert saved.written.address.path.startswith("runbooks/")
    record = base.index.record(saved.written.address)
    assert record is not None
    assert (record.id, record.type, record.title) == (saved.entry_id, "runbook", "Über: restore «x»")
    assert record.frontmatter["severity"] == "low"
    assert (record.frontmatter["pages"], record.frontmatter["metadata"]) == (3, {"free": "y"})
    assert text(base, saved).endswith("---\n\nDo it.\n")


def test_common_fields_stand_at_the_top_level_where_filters_find_them_also_when_given_as_metadata(
    base: Indexed,
) -> None:
    new = entry("Plan", date="2026-01-02", summary=None, metadata={"status": "draft", "date": "2025", "free": 1})
    address = typed_entries.create_entry(base.collection, new).written.address
    values = base.index.document(address).frontmatter.values
    assert (values["status"], values["date"], values["metadata"]) == (
        "draft",
        "2026-01-02",
        {"date": "2025", "free": 1},
    )
    typed_entries.update_entry(base.collection, address, {"metadata": {"location": "Bonn", "free": 2}})
    values = base.index.document(address).frontmatter.values
    assert (values["location"], values["metadata"]) == ("Bonn", {"date": "2025", "free": 2})


@pytest.mark.parametrize(
    ("new", "kind", "says"),
    [
        (entry("A", kind="runbok"), "type", "runbook"),
        (entry("A", severity="extreme"), "schema", "severity"),
        (entry("A", metadata={"pages": "many"}), "schema", "pages"),
        (entry("A", colour="red"), "argument", "Put it into metadata"),
        (entry("!!!"), "title", ""),
        (entry(""), "title", ""),
    ],
)
def test_an_entry_that_breaks_its_type_is_refused_and_says_what_is_valid(
    base: Indexed, new: NewEntry, kind: str, says: str
) -> None:
    with pytest.raises(InvalidInputError) as error:
        typed_entries.create_entry(base.collection, new)
    assert error.value.kind == kind
    assert says in f"{error.value} {error.value.hint}"
    assert not (base.folder / "runbooks").exists()


def test_an_id_that_is_taken_is_refused_and_one_invalid_entry_stops_no_other(base: Indexed) -> None:
    entries = typed_entries.create_entries(
        base.collection,
        [entry("One", owner="ann"), entry("Two", severity="no"), entry("One"), entry("Three"), entry("Ann")],
    )
    assert [type(saved_entry) for saved_entry in entries] == [
        SavedEntry,
        InvalidInputError,
        AlreadyExistsError,
        SavedEntry,
        AlreadyExistsError,
    ]
    again = typed_entries.create_entries(base.collection, [entry("Three")])
    assert isinstance(again[0], KnowledgeError)
    assert again[0].hint.startswith("It holds exactly these bytes")
    assert typed_entries.create_entries(base.collection, []) == []


def test_an_update_changes_the_named_fields_and_leaves_every_other_byte(base: Indexed) -> None:
    base.update("runbooks/r.md", "---\nid: r   # mine\ntype: runbook\npages: 3\nseverity: low\n---\nText 文.\r\n")
    address = Address("runbooks/r.md")
    typed_entries.update_entry(base.collection, address, {"severity": "high", "pages": None})
    expected = b"---\nid: r   # mine\ntype: runbook\nseverity: high\n---\nText \xe6\x96\x87.\r\n"
    assert (base.folder / "runbooks/r.md").read_bytes() == expected
    with pytest.raises(InvalidInputError):
        typed_entries.update_entry(base.collection, address, {"severity": "extreme"})
    with pytest.raises(ConflictError):
        typed_entries.update_entry(base.collection, address, {"pages": 4}, intent=WriteRequest(expected="0" * 40))
    with pytest.raises(InvalidInputError, match="colour"):
        typed_entries.update_entry(base.collection, address, {"colour": "x"}, declared_only=["colour"])
    assert (base.folder / "runbooks/r.md").read_bytes() == expected


def test_metadata_is_changed_key_by_key_and_removed_as_a_whole(base: Indexed) -> None:
    base.update("m.md", "---\nid: m\nmetadata: {a: 1, b: 2}\n---\n")
    address = Address("m.md")

    def update(changes: JsonObject) -> object:
        typed_entries.update_entry(base.collection, address, changes)
        return base.index.document(address).frontmatter.values.get("metadata", "none")

    assert update({"metadata": {"b": None, "c": 3}}) == {"a": 1, "c": 3}
    assert update({"metadata": {}}) == {"a": 1, "c": 3}
    assert update({"metadata": {"a": None, "c": None}}) == "none"
    assert update({"metadata": {"a": 1}}) == {"a": 1}
    assert update({"metadata": None}) == "none"
    assert update({"metadata": "a text"}) == "a text"


def test_a_new_body_replaces_the_text_and_not_the_frontmatter(base: Indexed) -> None:
    address = Address("people/ann.md")
    saved = typed_entries.update_entry(base.collection, address, {}, "New.\n")
    assert saved.entry_id == "ann"
    assert text(base, saved) == OWNER.replace("Herself.", "New.")
    assert saved.written.retained is not None


def test_a_link_is_added_once_for_each_relation(base: Indexed) -> None:
    address = Address("people/ann.md")
    for link in (("knows", None), ("knows", "again"), ("related_to", "why"), ("related_to", None)):
        typed_entries.link_entries(base.collection, address, "bob", link)
    assert base.index.document(address).frontmatter.values["links"] == [
        {"target": "bob", "relation": "knows"},
        {"target": "bob", "relation": "related_to", "note": "why"},
    ]
    base.update("one.md", "---\nlinks: bob\n---\n")
    typed_entries.link_entries(base.collection, Address("one.md"), "bob", ("related_to", None))
    assert base.index.document(Address("one.md")).text == "---\nlinks: bob\n---\n"


def test_a_deleted_entry_is_gone_and_a_missing_one_is_not_found(base: Indexed) -> None:
    typed_entries.delete_entry(base.collection, Address("people/ann.md"))
    assert base.index.record(Address("people/ann.md")) is None
    with pytest.raises(NotFoundError):
        typed_entries.delete_entry(base.collection, Address("people/ann.md"))


def test_a_broken_schema_is_said_where_a_type_is_missing(base: Indexed) -> None:
    base.write("kb.yaml", "types: [\n")
    with pytest.raises(InvalidInputError) as error:
        typed_entries.create_entry(base.collection, entry("A"))
    assert "Repair kb.yaml first" in error.value.hint
    assert typed_entries.schema_findings(typed_entries.current_schema(base.collection))


def test_a_reference_is_looked_up_in_its_own_collection_only(base: Indexed) -> None:
    type_of = typed_entries.reference_types(base.collection)
    base.update("plain.md", "# Plain\n")
    assert [type_of(name) for name in ("ann", "plain", "other:x", "nobody")] == ["person", "note", "", None]
