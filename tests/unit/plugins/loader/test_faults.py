"""Faults of plugins are logged once, and another process can list those of calls."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path

import pytest

from commonplace.plugins.loader import (
    FAULTS_FILE,
    MAX_PER_PLUGIN,
    MAX_STORED_FAULTS,
    MAX_TEXT_CHARS,
    RETENTION_SECONDS,
    Fault,
    Faults,
)


def stamped(stamp: str = "1") -> Faults:
    faults = Faults()
    faults.stamps["mine"] = stamp
    return faults


def test_a_fault_is_recorded_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    faults = Faults()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            faults.note("mine", "get_hooks", "a list; expected a dict")
        faults.note("mine", "", "cannot be loaded")
    assert [str(fault) for fault in faults.all] == ["get_hooks: a list; expected a dict", "cannot be loaded"]
    assert [record.getMessage() for record in caplog.records] == [
        "plugin mine: get_hooks: a list; expected a dict",
        "plugin mine: cannot be loaded",
    ]


def test_a_plugin_has_a_largest_number_of_faults_and_a_message_a_largest_length() -> None:
    faults = Faults()
    for number in range(MAX_PER_PLUGIN + 5):
        faults.note("mine", "", f"{number} " + "漢" * 1000)
    faults.note("other", "", "one")
    assert len(faults.all) == MAX_PER_PLUGIN + 1
    assert {len(fault.message) for fault in faults.all if fault.plugin == "mine"} == {MAX_TEXT_CHARS}


def test_faults_of_calls_are_listed_by_another_process_while_the_code_is_the_same(tmp_path: Path) -> None:
    faults = stamped()
    faults.note("mine", "", "before there is a folder", in_call=True)
    faults.store_in(tmp_path / "state")
    faults.note("mine", "f", "in a call 漢字", in_call=True)
    faults.note("mine", "f", "while loading")
    assert stamped().stored_in(tmp_path / "state") == [Fault("mine", "f", "in a call 漢字")]
    assert stamped("2").stored_in(tmp_path / "state") == []
    assert Faults().stored_in(tmp_path / "state") == []
    assert [file.name for file in (tmp_path / "state").iterdir()] == [FAULTS_FILE]


@pytest.mark.parametrize(
    "content",
    ["", "{}", "null", "[1, null, []]", "[" * 100_000, '[{"plugin": "mine"}]', "\udcff", '[{"plugin": 1, "hook": ""}]'],
)
def test_a_file_that_is_none_of_ours_holds_no_faults_and_is_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / FAULTS_FILE).write_bytes(content.encode("utf-8", "surrogateescape"))
    faults = stamped()
    assert faults.stored_in(tmp_path) == []
    faults.store_in(tmp_path)
    faults.note("mine", "f", "new", in_call=True)
    assert stamped().stored_in(tmp_path) == [Fault("mine", "f", "new")]


def test_old_faults_are_forgotten_and_the_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    now = time.time()
    rows = [
        {"plugin": "mine", "hook": "", "message": str(number), "stamp": "1", "met": now - 60}
        for number in range(MAX_STORED_FAULTS)
    ]
    rows[0]["met"] = now - RETENTION_SECONDS - 60
    (tmp_path / FAULTS_FILE).write_text(json.dumps(rows))
    faults = stamped()
    assert len(faults.stored_in(tmp_path)) == MAX_STORED_FAULTS - 1
    faults.store_in(tmp_path)
    for message in ("one more", "and another"):
        faults.note("mine", "", message, in_call=True)
    messages = [fault.message for fault in stamped().stored_in(tmp_path)]
    assert len(messages) == MAX_STORED_FAULTS
    assert (messages[0], messages[-1]) == ("2", "and another")


def test_a_folder_that_cannot_be_written_keeps_the_fault_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    faults = stamped()
    faults.store_in(tmp_path / "file")
    faults.note("mine", "", "in a call", in_call=True)
    assert faults.all == (Fault("mine", "", "in a call"),)
