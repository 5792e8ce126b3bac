"""Pages that are about the same, for readers; and a warning for who writes what is written already."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, agent
from shell import Shell
from support import ROOT

BODY = "Open the valve by a quarter turn, wait for the gauge to settle, note the pressure, then close the valve again."


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kb") / "harbour"
    shutil.copytree(ROOT / "examples" / "kb", folder)
    return folder


@pytest.fixture(scope="module")
def writer(harbour: Path) -> Iterator[Agent]:
    with agent("mcp", "--toolset", "kb", harbour, "--tier", "write") as connected:
        yield connected


def create(client: Agent, title: str, body: str) -> dict[str, Any]:
    return client.call("kb_create", kb_name="harbour", entry_type="note", title=title, body=body)


def duplicates(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [warning for warning in answer.get("warnings", ()) if warning["rule"] == "near_duplicate"]


def test_a_near_identical_entry_is_named_when_another_is_created(writer: Agent) -> None:
    assert not duplicates(create(writer, "Valve check", BODY))
    again = create(writer, "Checking the valve", f"{BODY} Done.")
    assert again["created"]
    (warning,) = duplicates(again)
    assert (
        warning["message"] == "The entry 'valve-check' says nearly the same: update that one instead, or link the two."
    )


def test_an_entry_on_the_same_matter_in_other_words_is_no_duplicate(writer: Agent) -> None:
    other = "The gauge shows the pressure. Turn the valve slowly, and shut it when you have written the number down."
    assert not duplicates(create(writer, "Valve and gauge", other))


def test_short_entries_are_no_duplicates(writer: Agent) -> None:
    create(writer, "Short one", "See above.")
    assert not duplicates(create(writer, "Short two", "See above."))


def test_related_pages_are_about_the_same_and_never_the_page_itself(harbour: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    shell = Shell(harbour)
    json = shell("related", "runbooks/restore-database", "--limit", "8", "--json").json
    paths = [element["path"] for element in json["related"]]
    assert json["page"] == "runbooks/restore-database"
    assert "runbooks/restore-database.md" not in paths
    assert "events/2026-02-14-database-outage.md" in paths
    assert any(element["linked"] for element in json["related"])
    assert "no-such-page" in shell("related", "no-such-page").stderr
