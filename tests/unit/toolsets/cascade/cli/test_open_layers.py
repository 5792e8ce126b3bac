"""Commands on layers open those that the command line or the environment names."""

from __future__ import annotations

from pathlib import Path

import pytest

from layers import write_cascade, write_layer
from shell import Shell


def test_two_folders_are_layers_without_a_manifest(tmp_path: Path) -> None:
    write_layer(tmp_path / "mine", {"tea.md": "# Tea\n\nMine.\n"})
    write_layer(tmp_path / "ours", {"tea.md": "# Tea\n\nOurs.\n"})
    both = ("--personal", "mine", "--shared", "ours")
    json = Shell(tmp_path).ok("resolve", *both, "--concept", "tea").json
    assert len(json["contributors"]) == 2
    assert "Mine." in json["markdown"]


def test_the_environment_may_name_the_manifest(tmp_path: Path) -> None:
    manifest = write_cascade(tmp_path, {"own": (1, {"tea.md": "# Tea\n"})})
    named = Shell(tmp_path, {"COMMONPLACE_MANIFEST": str(manifest)})
    assert named.ok("resolve", "--concept", "tea").json["id"] == "tea"


@pytest.mark.parametrize(
    ("text", "says"),
    [("{", "layers.json"), ('{"layers": 3}', "layers"), ('{"layers": [{"name": "a"}]}', "level")],
)
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "layers.json").write_text(text)
    done = Shell(tmp_path)("resolve", "--manifest", "layers.json", "--concept", "tea")
    assert (done.code, done.text) == (2, ""), done
    assert says in done.stderr
