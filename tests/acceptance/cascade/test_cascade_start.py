"""Starting with layers, refusing what is no manifest, and the commands on layers, in real processes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest

from agent import agent, ids
from commonplace.main import main
from forks.preloaded import started
from layers import write_cascade, write_layer

CONCEPT = "---\ntype: T\n---\n# H\ntext\n"


def run(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    process = started([*map(str, arguments)], os.environ, cwd, (DEVNULL, PIPE, PIPE))
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(arguments, process.wait(), out.decode(), err.decode())


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ("{", "it is not valid JSON"),
        ("[]", 'it has no list "layers"'),
        ('{"layers": {}}', 'it has no list "layers"'),
        ('{"layers": [5]}', "layer 1 is not an object"),
        ('{"layers": [{"level": 1, "path": "a"}]}', 'layer 1 has no "name"'),
        ('{"layers": [{"name": " ", "level": 1, "path": "a"}]}', 'layer 1 has no "name"'),
        (
            '{"layers": [{"name": "a", "level": 1, "path": "a"}, {"name": "a", "level": 2, "path": "b"}]}',
            "the name 'a' is given to two layers",
        ),
        ('{"layers": [{"name": "a", "path": "a"}]}', "the \"level\" of layer 'a' is not an integer"),
        ('{"layers": [{"name": "a", "level": true, "path": "a"}]}', "the \"level\" of layer 'a' is not an integer"),
        ('{"layers": [{"name": "a", "level": 1.5, "path": "a"}]}', "the \"level\" of layer 'a' is not an integer"),
        (
            '{"layers": [{"name": "a", "level": 1, "source": "svn", "path": "a"}]}',
            "not one of okf-local, files, live, git, github, mcp",
        ),
        ('{"layers": [{"name": "a", "level": 1}]}', "layer 'a' has no \"path\""),
        ('{"layers": [{"name": "a", "level": 1, "source": "mcp"}]}', "layer 'a' has no \"command\""),
        ('{"layers": [{"name": "a", "level": 1, "source": "mcp", "command": "x", "args": "y"}]}', '"args"'),
    ],
)
def test_what_is_no_manifest_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], manifest: str, reason: str
) -> None:
    file = tmp_path / "layers.json"
    file.write_text(manifest)
    assert main(["mcp", "--manifest", str(file)]) == 2
    readouterr = capsys.readouterr()
    assert readouterr.out == ""
    assert len(readouterr.err.splitlines()) == 1
    assert reason in readouterr.err
    assert str(tmp_path) not in readouterr.err


def test_a_manifest_that_cannot_be_read_and_half_of_two_folders_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bytes.json").write_bytes(b"\xff")
    for arguments in (
        ["--manifest", tmp_path / "none.json"],
        ["--manifest", tmp_path],
        ["--manifest", tmp_path / "bytes.json"],
        ["--personal", tmp_path],
        ["--shared", tmp_path],
    ):
        assert main(["mcp", *map(str, arguments)]) == 2
        readouterr = capsys.readouterr()
        assert (readouterr.out, len(readouterr.err.splitlines())) == ("", 1), readouterr.err
    done = run("mcp", "--manifest", tmp_path / "none.json")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr


def test_two_folders_are_two_layers(tmp_path: Path) -> None:
    write_layer(tmp_path / "mine", {"a.md": CONCEPT})
    write_layer(tmp_path / "ours", {"a.md": "# H\nother\n", "b.md": CONCEPT})
    with agent("mcp", "--personal", tmp_path / "mine", "--shared", tmp_path / "ours") as connected:
        shown = connected.call("read_file", concept_id="a")
        assert shown["contributors"] == [
            {"layer": "personal", "level": 3, "updated": None},
            {"layer": "shared", "level": 0, "updated": None},
        ]
        assert ids(connected.call("list_concepts")["result"]) == ["a", "b"]


@pytest.mark.soak
def test_paths_are_from_the_manifest_or_from_home_and_a_missing_folder_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    write_layer(tmp_path / "home" / "notes", {"a.md": CONCEPT})
    write_layer(tmp_path / "beside", {"a.md": CONCEPT})
    (tmp_path / "here").mkdir()
    manifest = write_cascade(
        tmp_path / "here",
        {},
        {"name": "home", "level": 2, "path": "~/notes"},
        {"name": "beside", "level": 1, "path": "../beside", "source": "okf-local"},
        {"name": "absent", "level": 9, "path": "nowhere"},
    )
    done = run("resolve", "--manifest", manifest, "--concept", "a", cwd=tmp_path)
    assert [contributor["layer"] for contributor in json.loads(done.stdout)["contributors"]] == ["home", "beside"]
    assert done.stderr.count("\n") == 1
    assert "layer 'absent' is empty: there is no folder 'nowhere'" in done.stderr
    with agent("mcp", "--manifest", manifest) as connected:
        assert connected.call("search", query="text")["result"][0]["layers"] == ["home", "beside"]


@pytest.mark.soak
def test_a_concept_is_resolved_at_the_command_line(tmp_path: Path) -> None:
    manifest = write_cascade(tmp_path, {"a": (1, {"x/y.md": CONCEPT}), "b": (2, {"x/y.md": "# H\nother\n"})})
    done = run("resolve", "--manifest", manifest, "--concept", "x/y.md")
    assert done.returncode == 0
    shown = json.loads(done.stdout)
    assert shown["sections"][0]["conflicts"] == [{"layer": "a", "updated": None, "content": "text"}]
    absent = run("resolve", "--manifest", manifest, "--concept", "x/z")
    assert (absent.returncode, absent.stdout) == (1, "")
    assert "There is no concept 'x/z'" in absent.stderr
    assert run("resolve", "--manifest", manifest, "--concept", "../x").returncode == 4
    assert run("resolve", "--concept", "x").returncode == 2


def test_conflicts_are_listed_newest_dissent_first(tmp_path: Path) -> None:
    top = {
        "a.md": "---\ntype: A\n---\n# One\n1\n# Same\ns\n",
        "b.md": "# Two\n2\n# Gone {override=none}\n",
        "c.md": "---\nupdated: 2026-01-01\n---\n# Three\n3\n",
    }
    low = {
        "a.md": "---\ntype: B\n---\n# One {updated=2026-02-02}\nx\n# Same\ns\n",
        "b.md": "# Two {updated=2026-09-09}\ny\n# Gone\nthere\n",
        "c.md": "# Three\nz\n",
        "d.md": "only here",
    }
    manifest = write_cascade(tmp_path, {"top": (1, top), "low": (0, low)})
    done = run("conflicts", "--manifest", manifest, "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert [(conflict["id"], conflict["kind"], conflict["key"]) for conflict in shown["conflicts"]] == [
        ("b", "section", "two"),
        ("a", "section", "one"),
        ("a", "frontmatter", "type"),
        ("c", "section", "three"),
    ]
    assert shown["count"] == 4
    assert shown["conflicts"][0]["winner"] == {"layer": "top", "updated": None, "value": "2"}
    assert shown["conflicts"][0]["dissents"] == [{"layer": "low", "updated": "2026-09-09", "value": "y"}]
    lines = run("conflicts", "--manifest", manifest).stdout.splitlines()
    assert lines[:3] == ["b  section 'two'", "    top (?): 2", "    low (2026-09-09): y"]


@pytest.mark.soak
def test_a_bundle_is_checked_and_only_what_does_not_conform_is_told(tmp_path: Path) -> None:
    good = {
        "index.md": '---\nokf_version: "0.2"\n---\n# All\n* [a](a.md)\n',
        "log.md": "# Log\n\n## 2026-05-22\n* **Update**: x\n\n## 2026-05-15: begun\n\n### Notes\n",
        "sub/index.md": "# Sub\n",
        "a.md": "---\ntype: Thing\nunknown: {x: [1]}\nstatus: odd\n---\n[broken](none.md) [[none]]\n",
        "sub/b.md": "\ufeff---\r\ntype: x\r\n---\r\n",
    }
    done = run("check", "--okf", write_layer(tmp_path / "good", good), "--json")
    assert (done.returncode, json.loads(done.stdout)["findings"]) == (0, [])
    bad = {
        "no-block.md": "# Title\n",
        "no-type.md": "---\ntitle: x\n---\n",
        "empty-type.md": "---\ntype: ''\n---\n",
        "list-type.md": "---\ntype: [a]\n---\n",
        "yaml.md": "---\ntype: [a\n---\n",
        "sub/index.md": '---\nokf_version: "0.2"\n---\n',
        "index.md": "---\ntype: Index\n---\n",
        "log.md": "# Log\n\n## May 2026\n* x\n",
        "README.md": "# Read me\n",
    }
    done = run("check", "--okf", write_layer(tmp_path / "bad", bad), "--json")
    assert done.returncode == 1
    assert {finding["path"]: finding["rule"] for finding in json.loads(done.stdout)["findings"]} == {
        "no-block.md": "okf_frontmatter",
        "no-type.md": "okf_type",
        "empty-type.md": "okf_type",
        "list-type.md": "okf_type",
        "yaml.md": "bad_yaml",
        "sub/index.md": "okf_index",
        "index.md": "okf_index",
        "log.md": "okf_log",
        "README.md": "okf_frontmatter",
    }
