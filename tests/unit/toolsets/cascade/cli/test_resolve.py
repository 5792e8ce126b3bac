"""`commonplace resolve`: one concept over its layers."""

from __future__ import annotations

from pathlib import Path

import pytest

from layers import write_cascade
from shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    write_cascade(
        tmp_path,
        {"own": (2, {"systems/auth.md": "# Auth\n\nMine.\n"}), "team": (1, {"systems/auth.md": "# Auth\n\nOurs.\n"})},
    )
    return Shell(tmp_path, {"COMMONPLACE_MANIFEST": str(tmp_path / "layers.json")})


def test_it_is_json_with_the_layer_of_each_section(shell: Shell) -> None:
    plain = shell.ok("resolve", "--concept", "systems/auth")
    assert plain.json == shell.ok("resolve", "--concept", "systems/auth", "--json").json
    assert {"id", "contributors", "frontmatter", "frontmatterProvenance", "sections", "markdown"} <= plain.json.keys()
    assert {contributor["layer"] for contributor in plain.json["contributors"]} == {"own", "team"}


def test_a_concept_that_no_layer_has_can_be_tested_in_a_shell(shell: Shell) -> None:
    done = shell("resolve", "--concept", "systems/auht", "--json")
    assert (done.code, done.text) == (1, "")
    assert done.error["nearest"] == ["systems/auth"]


@pytest.mark.parametrize("identifier", ["", "../auth", "/auth", "a//b", "a\0b"])
def test_what_is_no_name_of_a_concept_is_refused(shell: Shell, identifier: str) -> None:
    if "\0" in identifier:
        identifier = "a\x01b"
    done = shell("resolve", "--concept", identifier)
    assert done.text == ""
    assert done.code in {1, 2, 4}, done
    assert "Traceback" not in done.stderr
