"""`commonplace conflicts`: where layers differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from layers import write_cascade
from shell import Shell

OWN = "---\ntype: system\nowner: me\n---\n# Auth\n\n## Ports\n\nPort 80.\n"
TEAM = "---\ntype: system\nowner: team\n---\n# Auth\n\n## Ports\n\nPort 443" + ", and so on" * 30 + ".\n"


@pytest.fixture
def shell(tmp_path: Path, cache_dir: Path) -> Shell:
    del cache_dir
    write_cascade(tmp_path, {"own": (2, {"auth.md": OWN}), "team": (1, {"auth.md": TEAM, "same.md": "# Same\n"})})
    return Shell(tmp_path)


def test_each_key_and_section_is_told_with_what_counts_first(shell: Shell) -> None:
    json = shell.ok("conflicts", "--manifest", "layers.json", "--json").json
    assert json["count"] == 2
    by_kind = {conflict["kind"]: conflict for conflict in json["conflicts"]}
    assert by_kind["frontmatter"]["key"] == "owner"
    winner, (dissent,) = by_kind["frontmatter"]["winner"], by_kind["frontmatter"]["dissents"]
    assert {winner["value"], dissent["value"]} == {"me", "team"}
    assert {winner["layer"], dissent["layer"]} == {"own", "team"}


def test_a_person_sees_long_values_cut(shell: Shell) -> None:
    done = shell.ok("conflicts", "--manifest", "layers.json")
    assert done.stderr == "2 conflicts.\n"
    assert "auth  key 'owner'" in done.lines
    values = [line for line in done.lines if line.startswith("    ")]
    assert len(values) == 4
    assert sum(line.endswith("…") for line in values) == 1


def test_without_layers_it_says_how_they_are_named(shell: Shell) -> None:
    done = shell("conflicts")
    assert (done.code, done.text) == (2, "")
    assert "--manifest FILE" in done.stderr


def test_a_layer_that_is_not_there_is_told(shell: Shell) -> None:
    manifest = shell.folder / "layers.json"
    manifest.write_text(manifest.read_text().replace('"path": "team"', '"path": "gone"'))
    json = shell.ok("conflicts", "--manifest", "layers.json", "--json").json
    assert (json["count"], [layer["layer"] for layer in json["layers"] if layer["state"] != "ok"]) == (0, ["team"])
    assert "Not asked: layer " in shell.ok("conflicts", "--manifest", "layers.json").stderr
