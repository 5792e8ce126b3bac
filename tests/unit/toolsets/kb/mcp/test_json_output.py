"""Rows, types, errors and parts of lists, as the contract of `kb` names them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cases import each_case
from commonplace.domain.errors import (
    AlreadyExistsError,
    Code,
    ConflictError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    UnavailableError,
)
from commonplace.services.collections import AMBIGUOUS_HINT, FoundDocument
from commonplace.toolsets.kb.mcp.json_output import (
    checked_day,
    file_uri,
    selected,
    show_error,
    show_row,
    slice_of,
    types_matching,
    unknown_type,
    without_empty,
)
from indexed import Indexed

FILES = {
    "kb.yaml": "types:\n  decision:\n    required: [status]\n",
    "a b/näme.md": "---\nid: x\ntype: decision\nstatus: open\nmetadata: [1]\ntags: [t]\n---\n# A\n",
    "plain.md": "# Plain\n",
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    with Indexed(tmp_path_factory.mktemp("rows"), FILES) as made:
        yield made


@each_case(
    ("error", "code", "more"),
    [
        (NotFoundError("x", kind="document", hint="h", nearest=["a"]), "ENTRY_NOT_FOUND", {"did_you_mean": ["a"]}),
        (NotFoundError("x", kind="collection", hint="h"), "KB_NOT_FOUND", {}),
        (InvalidInputError("x", kind="type", hint="h"), "UNDECLARED_TYPE", {}),
        (InvalidInputError("x", kind="argument", missing=["id"]), "MISSING_PARAMETER", {}),
        (AlreadyExistsError("x", kind="document", hint="h"), "ENTRY_EXISTS", {}),
        (ConflictError("x", kind="document", hint="h", current_revision="r"), "CONFLICT", {"current_revision": "r"}),
        (UnavailableError("x", kind="model", hint="h"), "MODEL_MISSING", {}),
        (KnowledgeError("x"), "INTERNAL", {}),
    ],
)
def test_an_error_has_the_contract_s_code_and_what_to_do_next(
    error: KnowledgeError, code: str, more: dict[str, object]
) -> None:
    shown = show_error(error)
    assert (shown["error"], shown["error_code"]) == ("x", code)
    assert {key: shown[key] for key in more} == more
    assert ("suggestion" in shown) == bool(error.hint)


def test_every_code_of_an_error_has_one_of_the_contract() -> None:
    for code in set(Code) - {
        Code.CONFIG,
        Code.UNAUTHENTICATED,
        Code.INTERNAL,
        Code.PRECONDITION,
    }:
        error = KnowledgeError("x")
        error.code = code
        assert show_error(error)["error_code"] != "INTERNAL", code


def test_a_hint_that_says_more_than_its_kind_is_kept() -> None:
    for hint in (AMBIGUOUS_HINT, "It is deleted in your proposal."):
        assert show_error(NotFoundError("x", kind="document", hint=hint))["suggestion"] == hint
    assert "kb_search" in str(show_error(NotFoundError("x", kind="document", hint="other"))["suggestion"])


def test_a_row_has_null_where_an_entry_says_nothing_and_no_metadata_that_is_no_object(base: Indexed) -> None:
    record = base.collection.index.find("x")
    assert record is not None
    row = show_row(FoundDocument(base.collection, record))
    assert (row["id"], row["entry_type"], row["status"], row["importance"], row["metadata"]) == (
        "x", "decision", "open", 5, {},
    )  # fmt: skip
    assert file_uri(FoundDocument(base.collection, record)) == (
        f"commonplace://kbs/{base.collection.name}/files/a%20b%2Fn%C3%A4me.md"
    )


def test_asked_fields_stay_whatever_they_hold() -> None:
    row = {"id": "x", "kb_name": "k", "title": "", "tags": [], "date": None, "n": 0}
    assert selected(row, ["title"]) == {"id": "x", "kb_name": "k", "title": ""}
    assert selected(row, None) == selected(row, []) == row
    assert without_empty(row) == {"id": "x", "kb_name": "k", "n": 0}
    assert without_empty(row, ["tags"]) == {"id": "x", "kb_name": "k", "tags": [], "n": 0}


def test_an_unknown_type_is_told_with_the_nearest(base: Indexed) -> None:
    assert unknown_type([base.collection], None) == {}
    assert unknown_type([base.collection], "DECISION") == {}
    assert unknown_type([base.collection], "decison")["did_you_mean"][:1] == ["decision"]  # type: ignore[index]


def test_entries_without_a_type_are_notes() -> None:
    assert types_matching(None) == types_matching("") == ()
    assert types_matching("note") == ("note", "")
    assert types_matching("decision") == ("decision",)


@pytest.mark.parametrize("day", ["2024-02-30", "yesterday", "20240501", "2024-5-1"])
def test_a_day_that_is_none_is_refused(day: str) -> None:
    with pytest.raises(InvalidInputError, match="Invalid argument since: expected a date"):
        checked_day("since", day)
    assert checked_day("since", None) == ""
    assert checked_day("since", "2024-05-01") == "2024-05-01"


def test_a_part_of_a_list_says_whether_there_is_more() -> None:
    assert slice_of("abcd", 1, 2) == ("bc", True)
    assert slice_of("abcd", 2, 2) == ("cd", False)
    assert slice_of("abcd", 9, 2) == ("", False)
