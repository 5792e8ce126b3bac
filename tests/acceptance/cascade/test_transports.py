"""Layers over HTTP, and what is refused beside them, with real processes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from commonplace.main import main
from layers import write_cascade, write_layer
from serving import served

TOP = {"systems/pay.md": "---\ntype: System\ntitle: Pay\n---\n## Owner\nTeam\n\n## Phones {#phones override=none}\n"}
LOW = {
    "systems/pay.md": "## Owner\nFinance [[other]]\n\n## Phones {#phones}\nkookaburra\n",
    "other.md": "See [[systems/pay]].\n",
}


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    return write_cascade(tmp_path, {"top": (1, TOP), "low": (0, LOW)})


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_http_serves_the_toolset_of_layers_alone(manifest: Path, command: str) -> None:
    more = ["--transport", "http"] if command == "mcp" else []
    with served("--manifest", manifest, *more, command=command) as server:
        result = server.call("", "read_file", {"concept_id": "systems/pay"})
        assert [contributor["layer"] for contributor in result["structuredContent"]["contributors"]] == ["top", "low"]
        assert server.call("cascade", "list_concepts", {})["structuredContent"]["result"]
        assert server.ask("POST", "/mcp/kb", {}).status == 404


def test_rest_answers_from_the_effective_graph(manifest: Path) -> None:
    with served("--manifest", manifest) as server:
        page = server.page("GET", "systems/pay").json
        assert (page["name"], page["path"]) == ("Pay", "systems/pay")
        assert "> ⚠ low disagrees" in page["content"]
        assert page["links_to"] == []
        assert page["linked_from"] == ["other"]
        assert page["concept"]["sections"][0]["sourceLayer"] == "top"
        listed = server.ask("GET", "/api/v1/pages?category=system").json
        assert [(page["path"], page["held_by"]) for page in listed["pages"]] == [("systems/pay", ["top", "low"])]
        everything = b"".join(
            server.ask("GET", f"/api/v1{path}").body
            for path in ("/pages", "/pages/systems%2Fpay", "/search?q=kookaburra", "/links/systems%2Fpay")
        )
        assert b"kookaburra\\n" not in everything
        assert everything.count(b"kookaburra") == 1, "the query alone"
        (hit,) = server.ask("GET", "/api/v1/search?q=kookaburra&layer=low").json["results"]
        assert (hit["snippet"], hit["suppressed"]) == ("kookaburra", True)
        raw = server.ask("GET", "/api/v1/pages/systems%2Fpay?layer=low").json
        assert raw["concept"]["sections"][1]["suppressed"] is True
        assert server.page("GET", "none").status == 404
        assert server.page("PUT", "none", {"content": "x"}).status == 405


def test_rest_names_a_layer_that_is_gone(manifest: Path) -> None:
    entries = json.loads(manifest.read_text())["layers"]
    manifest.write_text(json.dumps({"layers": [*entries, {"name": "gone", "level": 5, "path": "gone"}]}))
    with served("--manifest", manifest) as server:
        for path in ("/pages", "/pages/other", "/search?q=see", "/links/other"):
            layers = server.ask("GET", f"/api/v1{path}").json["layers"]
            assert [(layer["layer"], layer["state"]) for layer in layers] == [
                ("gone", "missing"),
                ("top", "ok"),
                ("low", "ok"),
            ]


def test_two_folders_are_served_over_http_too(tmp_path: Path) -> None:
    write_layer(tmp_path / "mine", TOP)
    write_layer(tmp_path / "ours", LOW)
    with served("--personal", tmp_path / "mine", "--shared", tmp_path / "ours") as server:
        assert server.page("GET", "systems/pay").json["concept"]["contributors"][0]["layer"] == "personal"


@pytest.mark.parametrize("command", ["mcp", "serve"])
@pytest.mark.parametrize("beside", [["."], ["--toolset", "kb"]])
def test_other_sources_beside_layers_are_refused(
    manifest: Path, capsys: pytest.CaptureFixture[str], command: str, beside: list[str]
) -> None:
    assert main([command, "--manifest", str(manifest), *beside]) == 2
    err = capsys.readouterr().err
    assert "--manifest" in err
    assert beside[-1] in err


def test_connect_writes_an_entry_that_works_without_variables(
    manifest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(manifest.parent)
    target = tmp_path / "config.json"
    line = ["connect", "claude-code", "--manifest", manifest.name, "--file", str(target), "--yes", "--json"]
    assert main(line) == 0
    shown = json.loads(capsys.readouterr().out)
    (entry,) = json.loads(target.read_text())["mcpServers"].values()
    assert entry["args"] == ["mcp", "--manifest", str(manifest)]
    assert shown["names"] == list(json.loads(target.read_text())["mcpServers"])
    done = subprocess.run(
        [entry["command"], *entry["args"]], input="", capture_output=True, text=True, check=False, cwd="/", timeout=60
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
