"""Sessions, writes and undo as lines and as JSON: bounded, on one line, without control characters."""

from __future__ import annotations

from dataclasses import replace

from commonplace.domain.activity import Access, Actor
from commonplace.domain.addresses import Address
from commonplace.faces.activity_output import session_line, undo_json, undo_lines, write_json, write_lines
from commonplace.services.activity import SessionActivity, WriteActivity
from commonplace.services.undo import UndoReceipt

ACTOR = Actor(face="mcp", session="0" * 16, name="laptop", client="agent\x1b[31m\n2.0", tool="edit")


def test_a_session_is_one_line_whatever_its_program_calls_itself() -> None:
    session = SessionActivity(ACTOR, ("notes",), 0.0, 60.0, 1_200, 3, 25, 7, {"edit": 1_199, "": 1})
    line = session_line(session)
    assert line.isprintable()
    assert line.startswith("0000000000000000  1970-01-01 00:01  agent")
    assert line.endswith("(laptop)  1,200 writes, 3 of them proposed (edit 1199) of 25 files, 7 pages read")

    for client, face, shown in (
        ("", "mcp", "an unnamed client"),
        (" \n", "mcp", "an unnamed client"),
        ("", "cli", "cli"),
    ):
        actor = replace(ACTOR, client=client, face=face)  # type: ignore[arg-type]
        assert f"  {shown} (laptop)  " in session_line(replace(session, actor=actor))


def test_a_write_says_where_it_went_and_what_was_read_before() -> None:
    paths = tuple(f"{at}.md" for at in range(12))
    access = Access(when=0.0, actor=ACTOR, base="b", commit="c" * 40)
    first, second = write_lines(WriteActivity("notes", access, "", paths, ("x.md",)))
    assert first == f"1970-01-01 00:00  cccccccccc  edit  {', '.join(paths[:10])} and 2 more"
    assert second == "    after reading x.md"
    proposed = Access(when=0.0, actor=ACTOR, base="b", proposal="p1")
    assert write_lines(WriteActivity("notes", proposed, "Edit\x07 it", (), ()))[0].endswith(
        "proposal p1  edit  Edit  it"
    )
    unsaved = WriteActivity("notes", Access(when=0.0, actor=ACTOR, base="b"), "Edit", (), ())
    assert "not committed" in write_lines(unsaved)[0]
    assert "diff" not in write_json(unsaved)
    assert write_json(unsaved, "")["diff"] == ""


def test_an_undo_says_what_it_took_back() -> None:
    whole = UndoReceipt("d" * 40, ("c" * 40,), (Address("a.md"),), (Address("b.md"),))
    assert undo_lines({"notes": whole}) == ["Undone cccccccccccc: a.md, b.md  commit dddddddddddd"]
    assert undo_lines({"notes": UndoReceipt("", ("c" * 40,))}) == ["Nothing of it is left to undo."]
    loose = UndoReceipt("", (), (Address("a.md"),), (), 2)
    assert undo_lines({"notes": loose}) == ["Undone 2 writes: a.md"]
    assert undo_json({"notes": whole}) == {
        "undone": [
            {
                "collection": "notes",
                "commit": "d" * 40,
                "commits": ["c" * 40],
                "written": ["a.md"],
                "removed": ["b.md"],
                "uncommitted": 0,
            }
        ]
    }
