"""Every answer names a layer that does not count, and a changed manifest is taken, over the real process."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, RefusedError, agent
from commonplace.main import main
from layers import foreign, write_cascade, write_layer
from support import eventually

ROOT = Path(__file__).resolve().parents[3]
OWNED = {"payments.md": "---\ntype: System\n---\n## Owner\nTeam Payments\n"}
FINANCE = {"payments.md": "---\ntype: System\n---\n## Owner\nFinance IT\n", "other.md": "# H\ntext\n"}
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
CALLS: dict[str, dict[str, Any]] = {
    "read_file": {"concept_id": "payments"},
    "get_links": {"concept_id": "payments"},
    "search": {"query": "owner"},
    "list_concepts": {},
}


def structured(reader: Agent, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = reader.raw(tool, **arguments)
    assert not result.is_error, result
    assert result.structured_content is not None
    return result.structured_content


def states(shown: dict[str, Any]) -> dict[str, str]:
    for layer in shown.get("layers", ()):
        assert layer["state"] == "ok" or (layer["reason"] and MOMENT.fullmatch(layer["since"])), layer
    return {layer["layer"]: layer["state"] for layer in shown.get("layers", ())}


def test_nothing_is_said_of_layers_that_are_well(tmp_path: Path) -> None:
    manifest = write_cascade(tmp_path, {"team": (1, OWNED), "company": (0, FINANCE)})
    with agent("mcp", "--manifest", manifest) as reader:
        for tool, arguments in CALLS.items():
            assert "layers" not in structured(reader, tool, arguments)


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.soak
def test_a_folder_that_is_gone_is_named_in_every_answer_until_it_is_back(tmp_path: Path, tool: str) -> None:
    manifest = write_cascade(tmp_path, {"team": (1, OWNED), "company": (0, FINANCE)})
    with agent("mcp", "--manifest", manifest) as reader:
        structured(reader, tool, CALLS[tool])
        shutil.move(tmp_path / "team", tmp_path / "away")
        shown = structured(reader, tool, CALLS[tool])
        assert states(shown) == {"team": "missing", "company": "ok"}
        assert shown["layers"][0]["reason"] == "there is no folder 'team'"
        assert structured(reader, tool, CALLS[tool])["layers"] == shown["layers"], "since when does not move"
        if "concept_id" in CALLS[tool]:
            assert shown["notAsked"] == ["team"]
        shutil.move(tmp_path / "away", tmp_path / "team")
        eventually(lambda: "layers" not in structured(reader, tool, CALLS[tool]))


def test_the_text_of_a_list_stays_a_bare_array_and_a_second_block_names_the_layers(tmp_path: Path) -> None:
    manifest = write_cascade(tmp_path, {"company": (0, FINANCE)}, {"name": "team", "level": 1, "path": "team"})
    with agent("mcp", "--manifest", manifest) as reader:
        result = reader.raw("list_concepts")
        first, second = (json.loads(block.model_dump()["text"]) for block in result.content)
        assert [row["id"] for row in first] == ["other", "payments"]
        assert list(second) == ["layers"]
        assert result.structured_content == {"result": first, **second}


def test_a_folder_that_has_lost_everything_and_one_that_is_a_file_are_named(tmp_path: Path) -> None:
    layers = {"team": (2, OWNED), "company": (0, FINANCE), "third": (1, {"a.md": "# A\n"})}
    manifest = write_cascade(tmp_path, layers)
    with agent("mcp", "--manifest", manifest) as reader:
        structured(reader, "list_concepts", {})
        shutil.rmtree(tmp_path / "third")
        (tmp_path / "third").write_text("a file")
        for path in (tmp_path / "team").iterdir():
            path.unlink()
        shown = structured(reader, "read_file", CALLS["read_file"])
        assert states(shown) == {"team": "missing", "third": "broken", "company": "ok"}
        assert shown["layers"][0]["reason"] == "the folder 'team' has lost everything that it held"
        assert shown["layers"][1]["reason"] == "'third' is not a folder"


def test_what_is_not_found_says_which_layers_were_not_asked(tmp_path: Path) -> None:
    manifest = write_cascade(tmp_path, {"company": (0, FINANCE)}, {"name": "team", "level": 1, "path": "team"})
    with agent("mcp", "--manifest", manifest) as reader:
        with pytest.raises(RefusedError, match=r"not asked: team \(missing since .*: there is no folder 'team'\)"):
            reader.call("read_file", concept_id="nothing")
        with pytest.raises(RefusedError, match=r"layer team \(missing since .*\) cannot be read"):
            reader.call("read_file", concept_id="payments", layer="team")


GRAPHS = {
    "no-tool": (
        "broken",
        r"list_nodes: it offers no such tool, but find, read",
        """
if message["method"] == "tools/list":
    reply(message, {"result": {"tools": [{"name": "find"}, {"name": "read"}]}})
elif message["method"] == "tools/call":
    reply(message, {"error": {"code": -32602, "message": "Unknown tool: list_nodes"}})
else:
    reply(message, {"result": {}})
""",
    ),
    "exit": (
        "left_out",
        r"list_nodes: it has ended with exit code 3; its last line on standard error: 'OSError: .* token=\[hidden\]'",
        """
if message["method"] == "tools/call":
    sys.stderr.write("Traceback\\nOSError: cannot open /srv/secret/place/graph.json with token=abcdef0123\\n\\n")
    sys.stderr.flush()
    sys.exit(3)
reply(message, {"result": {}})
""",
    ),
    "chatty": (
        "broken",
        r'list_nodes: its answer to list_nodes has no list "nodes"|its answer to list_nodes has no list "nodes"',
        """
sys.stderr.write("x" * 300_000 + "\\n")
sys.stderr.flush()
reply(message, {"result": {"content": [{"type": "text", "text": "{}"}]}})
""",
    ),
}
HEAD = """
import json, sys
def reply(message, fields):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **fields}) + "\\n")
    sys.stdout.flush()
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
"""


@pytest.mark.parametrize("kind", GRAPHS)
def test_a_foreign_server_is_named_with_what_was_missing(tmp_path: Path, kind: str) -> None:
    state, reason, body = GRAPHS[kind]
    server = tmp_path / "graph.py"
    server.write_text(HEAD + "".join(f"    {line}\n" for line in body.strip().splitlines()))
    manifest = write_cascade(tmp_path, {"company": (0, FINANCE)}, foreign("graph", 1, server))
    with agent("mcp", "--manifest", manifest) as reader:
        shown = structured(reader, "list_concepts", {})
        assert states(shown) == {"graph": state, "company": "ok"}
        assert re.fullmatch(reason, shown["layers"][0]["reason"]), shown["layers"][0]
        assert str(tmp_path) not in json.dumps(shown)


def test_a_command_that_cannot_be_started_breaks_its_layer(tmp_path: Path) -> None:
    entry = {"name": "graph", "level": 1, "source": "mcp", "command": str(tmp_path / "none")}
    manifest = write_cascade(tmp_path, {"company": (0, FINANCE)}, entry)
    with agent("mcp", "--manifest", manifest) as reader:
        shown = structured(reader, "search", {"query": "owner"})
        assert shown["layers"][0]["state"] == "broken"
        assert shown["layers"][0]["reason"] == "its command cannot be started: No such file or directory"


def test_a_manifest_that_changes_is_taken_and_a_broken_one_is_named(tmp_path: Path) -> None:
    manifest = write_cascade(tmp_path, {"company": (0, FINANCE)})
    write_layer(tmp_path / "team", OWNED)
    entries = json.loads(manifest.read_text())["layers"]
    with agent("mcp", "--manifest", manifest) as reader:
        assert reader.call("read_file", concept_id="payments")["sections"][0]["content"] == "Finance IT"
        manifest.write_text(json.dumps({"layers": [*entries, {"name": "team", "level": 1, "path": "team"}]}))
        assert reader.call("read_file", concept_id="payments")["sections"][0]["content"] == "Team Payments"
        manifest.write_text(json.dumps({"layers": [*entries, {"name": "team", "levl": 1, "path": "team"}]}))
        shown = structured(reader, "read_file", CALLS["read_file"])
        assert shown["sections"][0]["content"] == "Team Payments", "the layers stay as they were"
        assert states(shown) == {"team": "stale", "company": "stale"}
        assert "unknown key 'levl'; did you mean 'level'?" in shown["layers"][0]["reason"]
        manifest.unlink()
        assert states(structured(reader, "list_concepts", {})) == {"team": "stale", "company": "stale"}
        manifest.write_text(json.dumps({"layers": entries}))
        shown = reader.call("read_file", concept_id="payments")
        assert shown["sections"][0]["content"] == "Finance IT"
        assert "layers" not in shown


def test_the_server_of_a_layer_that_is_taken_out_ends(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    graph = foreign("graph", 1, ROOT / "tests" / "helpers" / "bad_graph.py", "ok", starts)
    manifest = write_cascade(tmp_path, {"company": (0, FINANCE)}, graph)
    entries = json.loads(manifest.read_text())["layers"]
    with agent("mcp", "--manifest", manifest) as reader:
        assert len(structured(reader, "list_concepts", {})["result"]) == 4
        process = Path("/proc", starts.read_text().strip())
        assert process.exists()
        manifest.write_text(json.dumps({"layers": entries[:1]}))
        assert len(structured(reader, "list_concepts", {})["result"]) == 2
        assert not process.exists()


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (
            {"layers": [{"name": "a", "levle": 1, "path": "a"}]},
            "layer 'a' has an unknown key 'levle'; did you mean 'level'?",
        ),
        ({"layers": [], "Layer": []}, "it has an unknown key 'Layer'; did you mean 'layers'?"),
        ({"layer": []}, "it has no list \"layers\", but a key 'layer'"),
        ({"layers": [{"name": "a", "level": 1, "path": "a", "zzz": 1}]}, "unknown key 'zzz'; known are name, level"),
    ],
)
def test_a_misspelt_key_is_refused_with_the_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], manifest: dict[str, Any], reason: str
) -> None:
    file = tmp_path / "layers.json"
    file.write_text(json.dumps(manifest))
    assert main(["mcp", "--manifest", str(file)]) == 2
    err = capsys.readouterr().err
    assert reason in err
    assert len(err.splitlines()) == 1


def test_the_commands_name_the_layers_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = write_cascade(tmp_path, {"company": (0, FINANCE)}, {"name": "team", "level": 1, "path": "team"})
    assert main(["resolve", "--manifest", str(manifest), "--concept", "payments"]) == 0
    assert states(json.loads(capsys.readouterr().out)) == {"team": "missing", "company": "ok"}
    assert main(["conflicts", "--manifest", str(manifest), "--json"]) == 0
    assert states(json.loads(capsys.readouterr().out)) == {"team": "missing", "company": "ok"}
