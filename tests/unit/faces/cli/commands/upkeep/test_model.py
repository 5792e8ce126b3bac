"""`commonplace model`: what is installed and what is embedded."""

from __future__ import annotations

from pathlib import Path

import pytest

from shell import Shell


@pytest.fixture
def without(shell: Shell, tmp_path: Path) -> Shell:
    """A command line that finds no model."""
    return Shell(shell.folder, {"COMMONPLACE_MODEL_DIR": str(tmp_path / "models")})


def test_without_a_model_the_status_says_so_and_how_to_get_one(without: Shell) -> None:
    (state,) = without.ok("model", "status", "--json").json["collections"]
    assert (state["collection"], state["status"], state["model"], state["chunks"]) == ("notes", "missing", None, 0)
    assert "model install" in state["reason"]
    assert without.ok("model", "status").text == f"notes: missing. {state['reason']}\n"


def test_search_by_words_alone_is_told_as_a_choice(shell: Shell) -> None:
    chosen = Shell(shell.folder, {"COMMONPLACE_EMBED": "false"})
    assert chosen.ok("model", "status", "--json").json["collections"][0]["status"] == "off"


@pytest.mark.parametrize(("name", "made"), [("nowhere.whl", None), ("empty.whl", b""), ("text.whl", b"no archive")])
def test_what_is_no_model_is_refused_and_nothing_is_installed(
    without: Shell, tmp_path: Path, name: str, made: bytes | None
) -> None:
    if made is not None:
        (tmp_path / name).write_bytes(made)
    done = without("model", "install", "--from", tmp_path / name, "--json")
    assert done.code != 0
    assert name in done.error["message"]
    assert done.error["hint"]
    assert not [path for path in (tmp_path / "models").rglob("*") if path.is_file()]


def test_an_unknown_action_is_refused(shell: Shell) -> None:
    assert shell("model", "remove").code == 2
