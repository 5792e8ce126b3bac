"""Writes by agents: what they are told, and that they reach the folder that was meant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commonplace.domain.errors import ConflictError, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.revisions import revision_of
from commonplace.faces.mcp.toolset import Call
from commonplace.services.collections import Collections
from commonplace.services.services import Services
from commonplace.toolsets.notes.mcp import writes
from commonplace.toolsets.notes.mcp.parameters import NotesDelete, NotesEdit, NotesMove, NotesTransaction, NotesWrite
from indexed import Indexed

FILES = {"notes/a.md": "# A\n\nOne. [[b]]\n", "notes/b.md": "# B\n", "notes/p.png": "x", "top.md": "[[a]]\n"}


@pytest.fixture
def bases(tmp_path: Path) -> Iterator[dict[str, Indexed]]:
    """Two folders with the same files."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(Indexed(tmp_path / name, FILES)) for name in ("one", "two")}


def call_on(*bases: tuple[str, Indexed]) -> Call:
    members = [replace(base.collection, name=name) for name, base in bases]
    services = Services(collections=Collections(lambda: members))
    return Call(services=services, tier="write", progress=lambda *_: None)


@pytest.fixture
def call(bases: dict[str, Indexed]) -> Call:
    return call_on(("one", bases["one"]))


@pytest.fixture
def both(bases: dict[str, Indexed]) -> Call:
    return call_on(*bases.items())


def paths(base: Indexed) -> list[str]:
    return sorted(file.relative_to(base.folder).as_posix() for file in base.folder.rglob("*") if file.is_file())


def edit(call: Call, page: str, **change: Any) -> str:
    return str(writes.edit(call, NotesEdit.model_validate({"page": page, "changes": [change]})))


def test_a_new_page_is_created_and_a_replaced_one_says_which_lines(call: Call, bases: dict[str, Indexed]) -> None:
    reported_text = str(writes.write(call, NotesWrite(page="notes/new", text="# New\n")))
    assert reported_text.startswith(f"Created notes/new.md rev {revision_of(b'# New' + bytes([10]))[:12]}")
    again = str(writes.write(call, NotesWrite(page="notes/new", text="# New\n", message="again")))
    assert again.startswith("Unchanged")
    seen = revision_of(FILES["notes/a.md"].encode())
    replaced = str(writes.write(call, NotesWrite(page="notes/a.md", text="# A\n\nTwo.\n", revision=seen)))
    assert "Replaced notes/a.md" in replaced
    assert "+1 -1 lines, at 3-3" in replaced
    assert (bases["one"].folder / "notes/a.md").read_text() == "# A\n\nTwo.\n"


def test_a_page_is_not_replaced_or_deleted_unseen(call: Call) -> None:
    for write in (
        lambda: writes.write(call, NotesWrite(page="notes/a.md", text="blind\n")),
        lambda: writes.delete(call, NotesDelete(page="notes/a.md")),
    ):
        with pytest.raises(ConflictError):
            write()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"do": "replace", "text": "x"}, "needs 'old'"),
        ({"do": "task"}, "needs 'task'"),
        ({"do": "block", "text": "x"}, "needs 'block'"),
        ({"do": "section", "section": "A"}, "needs 'text'"),
        ({"do": "block", "block": "a"}, "needs 'text'"),
        ({"do": "section", "section": "A", "old": "x", "text": "y"}, "does not look for 'old'"),
    ],
)
def test_a_change_without_what_it_is_about_is_refused(call: Call, change: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said) as refused:
        edit(call, "notes/a.md", **change)
    assert refused.value.hint


def test_an_edit_is_told_and_its_repetition_is_not_made_again(call: Call, bases: dict[str, Indexed]) -> None:
    first = edit(call, "A", do="replace", old="One.", text="Two.")
    assert "Edited notes/a.md" in first
    assert edit(call, "A", do="replace", old="One.", text="Two.").endswith(f"give a request_id):\n{first}")
    assert (bases["one"].folder / "notes/a.md").read_text().count("Two.") == 1


def test_a_request_id_is_known_in_another_session_of_the_same_caller_and_to_no_other_caller(
    call: Call, bases: dict[str, Indexed]
) -> None:
    given_values = {
        "page": "notes/a.md",
        "changes": [{"do": "append", "text": "- once"}],
        "request_id": "id-of-this-call",
    }
    sessions = [("s1", "key"), ("s2", "key"), ("s3", "another")]
    for client, caller in sessions:
        writes.edit(replace(call, client=client, caller=caller), NotesEdit.model_validate(given_values))
    assert (bases["one"].folder / "notes/a.md").read_text().count("- once") == 2


def test_a_deleted_page_is_told_with_those_that_lead_nowhere_now(call: Call) -> None:
    seen = revision_of(FILES["notes/b.md"].encode())
    delete = str(writes.delete(call, NotesDelete(page="notes/b.md", revision=seen)))
    assert "Deleted notes/b.md" in delete
    assert "Links to notes/b.md now lead nowhere in notes/a.md" in delete


def test_a_page_moves_with_its_links_into_a_folder_or_under_a_new_name(call: Call, bases: dict[str, Indexed]) -> None:
    report = str(writes.move(call, NotesMove(page="notes/b.md", to="archive/")))
    assert report.startswith("Moved notes/b.md -> archive/b.md rev ")
    assert "links follow in notes/a.md" in report or "archive/b" not in (bases["one"].folder / "notes/a.md").read_text()
    assert "archive/b.md" in paths(bases["one"])
    writes.move(call, NotesMove(page="top", to="[[renamed]]"))
    assert "renamed.md" in paths(bases["one"])


def test_a_folder_moves_with_all_that_is_in_it(call: Call, bases: dict[str, Indexed]) -> None:
    preview = str(writes.move(call, NotesMove(page="notes/", to="old/notes", dry_run=True)))
    assert "Would move 3 files" in preview
    assert paths(bases["one"]) == sorted(FILES)
    reported_text = str(writes.move(call, NotesMove(page="notes/", to="old/notes")))
    assert "Moved notes/ -> old/notes/ (3 files)" in reported_text
    assert paths(bases["one"]) == ["old/notes/a.md", "old/notes/b.md", "old/notes/p.png", "top.md"]
    with pytest.raises(InvalidInputError, match="itself"):
        writes.move(call, NotesMove(page="old/", to="old/deeper"))


def test_the_folder_of_pages_that_moves_is_the_one_that_was_named(both: Call, bases: dict[str, Indexed]) -> None:
    writes.move(both, NotesMove(page="two:notes/", to="archive"))
    assert paths(bases["one"]) == sorted(FILES)
    assert "archive/a.md" in paths(bases["two"])
    writes.move(both, NotesMove(page="two:archive/", to="two:back"))
    assert "back/a.md" in paths(bases["two"])


def test_nothing_moves_from_one_folder_into_another(both: Call, bases: dict[str, Indexed]) -> None:
    for page, to in (("two:notes/", "one:moved"), ("two:notes/a.md", "one:moved.md")):
        with pytest.raises(InvalidInputError, match="within its folder only"):
            writes.move(both, NotesMove(page=page, to=to))
    writes.move(both, NotesMove(page="two:notes/a.md", to="moved.md"))
    assert "moved.md" in paths(bases["two"])
    assert paths(bases["one"]) == sorted(FILES)


def transaction(call: Call, *steps: dict[str, Any]) -> str:
    return str(writes.transaction(call, NotesTransaction(steps=list(steps))))


def test_the_steps_of_a_transaction_see_what_earlier_ones_made(call: Call, bases: dict[str, Indexed]) -> None:
    reported_transaction = transaction(
        call,
        {"do": "write", "page": "new.md", "text": "# New\n"},
        {"do": "edit", "page": "new", "changes": [{"do": "append", "text": "More.\n"}]},
        {"do": "move", "page": "notes/b.md", "to": "moved.md"},
        {"do": "edit", "page": "moved", "changes": [{"do": "append", "text": "There.\n"}]},
    )
    assert reported_transaction.count("\n") >= 4
    assert (bases["one"].folder / "new.md").read_text() == "# New\n\nMore.\n"
    assert "There." in (bases["one"].folder / "moved.md").read_text()


def test_a_bad_step_is_named_by_its_number_and_nothing_is_made(both: Call, bases: dict[str, Indexed]) -> None:
    good = {"do": "write", "page": "one:new.md", "text": "x"}
    for bad, kind in (
        ({"do": "burn", "page": "a"}, InvalidInputError),
        ({"do": "edit", "page": "none", "changes": [{"do": "append", "text": "x"}]}, NotFoundError),
        ({"do": "write", "page": "x.md", "text": "x", "other": 1}, InvalidInputError),
    ):
        with pytest.raises(kind) as refused:
            transaction(both, good, bad)
        assert "Step 2 of 2" in str(refused.value)
    with pytest.raises(KnowledgeError, match="several folders"):
        transaction(both, good, {"do": "write", "page": "two:new.md", "text": "x"})
    assert paths(bases["one"]) == paths(bases["two"]) == sorted(FILES)


def test_a_page_that_says_the_same_as_another_is_told(call: Call) -> None:
    text = "# Tides\n\n" + "The tide rises twice a day and falls twice a day in the old harbour. " * 10
    writes.write(call, NotesWrite(page="tides.md", text=text))
    reported_text = str(writes.write(call, NotesWrite(page="tides-2.md", text=text + "\n")))
    assert "says nearly the same" in reported_text
