"""Captures over the real process: staged, shown, written into the live layer when confirmed, and listed for a while."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, RefusedError, agent
from layers import write_cascade, write_layer
from support import eventually, new_repo

GOTCHA: dict[str, Any] = {"kind": "gotcha", "title": "Port 9092 is taken", "sections": {"body": "Use 9093."}}


def manifest(folder: Path, **live: Any) -> Path:
    write_layer(folder / "live", {"notes.md": "# Notes\n"})
    entry = {"name": "live", "level": 1, "path": "live", "live": True, **live}
    return write_cascade(folder, {"own": (2, {"a.md": "# A\n"})}, entry)


def listed(client: Agent) -> list[str]:
    return [element["id"] for element in client.call("list_concepts")["result"]]


def test_a_capture_is_written_when_it_is_confirmed_and_only_once(tmp_path: Path) -> None:
    with agent("mcp", "--manifest", manifest(tmp_path, git={"profileName": "Ada L."}), "--tier", "write") as client:
        more = {"confidence": "high", "links": ["a", "#12"]}
        staged = client.call("log_capture", **GOTCHA, **more)
        assert (staged["staged"], staged["id"], staged["layer"]) == (
            True, "captures/gotcha/ada-l--port-9092-is-taken", "live",
        )  # fmt: skip
        assert sorted(path.name for path in (tmp_path / "live").iterdir()) == ["notes.md"], "nothing is written yet"
        assert client.call("confirm_capture", token=staged["token"]) == {
            "id": staged["id"], "layer": "live", "pushed": False,
        }  # fmt: skip
        assert (tmp_path / "live" / f"{staged['id']}.md").read_text() == staged["preview"]
        shown = client.call("read_file", concept_id=staged["id"])
        captured = shown["frontmatter"].pop("captured")
        assert captured.endswith("Z")
        assert shown["frontmatter"] == {
            "type": "capture", "kind": "gotcha", "title": "Port 9092 is taken", "author": "Ada L.",
            "status": "unreviewed", "confidence": "high", "links": ["a", "#12"],
        }  # fmt: skip
        assert shown["sections"][-1]["key"] == "body"
        assert client.call("search", query="9093")["result"][0]["id"] == staged["id"]
        assert "waits" in client.raw("confirm_capture", token=staged["token"]).content[0].text  # type: ignore[union-attr]
        again = client.call("log_capture", **GOTCHA)
        assert again["id"].endswith("-2")


def test_a_name_that_is_taken_meanwhile_is_not_overwritten_and_commits_hold_the_capture_alone(tmp_path: Path) -> None:
    path = manifest(tmp_path)
    new_repo(tmp_path / "other")
    (tmp_path / "other/.git").rename(tmp_path / "live/.git")
    (tmp_path / "live/untracked.md").write_text("# Mine\n")
    with agent("mcp", "--manifest", path, "--tier", "write") as client:
        first, second = (client.call("log_capture", **GOTCHA) for _ in range(2))
        assert first["id"] == second["id"] == "captures/gotcha/port-9092-is-taken"
        ids = [client.call("confirm_capture", token=other_second["token"])["id"] for other_second in (first, second)]
        assert ids == [first["id"], f"{first['id']}-2"]
    status = subprocess.run(
        ["git", "-C", str(tmp_path / "live"), "log", "--all", "--name-only", "--format="],
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert "untracked.md" not in status.stdout


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"title": " "}, "it has no title"),
        ({"title": "---"}, "no letter"),
        ({"sections": {}}, "needs the section 'body'"),
        ({"sections": {"body": " "}}, "needs the section 'body'"),
        ({"sections": {"body": "x", "Odd key": "y"}}, "is not a name such as"),
        ({"sections": {"body": "x" * 70_000}}, "more than 65,536 characters"),
        ({"sections": {"body": "Authorization: Bearer abcdefghijklmnopqrstuvwxyz"}}, "credential"),
        ({"links": ["https://user:secret@example.org/"]}, "credential"),
        ({"title": "ghp_abcdefghijklmnopqrst"}, "credential"),
        ({"kind": "poem"}, "kind"),
        ({"kind": "decision", "sections": {"choice": "x"}}, "needs the section 'why'"),
    ],
)
def test_a_capture_that_is_not_valid_is_refused(writer: Agent, change: dict[str, Any], said: str) -> None:
    with pytest.raises(RefusedError) as refused:
        writer.call("log_capture", **{**GOTCHA, **change})
    assert said in refused.value.text
    assert "abcdefghijkl" not in refused.value.text


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = manifest(tmp_path_factory.mktemp("captures"))
    with agent("mcp", "--manifest", path, "--tier", "write") as client:
        yield client


TITLES = ["../../escape", "/etc/passwd", "a\nb: c", ".git/config", "日本 第3章", "日" * 500, "🚀"]


@pytest.mark.parametrize("title", TITLES)
def test_any_title_is_a_file_in_its_folder(writer: Agent, title: str) -> None:
    staged = writer.call("log_capture", **{**GOTCHA, "title": title})
    written = writer.call("confirm_capture", token=staged["token"])["id"]
    assert written.startswith("captures/gotcha/")
    assert "/" not in written.removeprefix("captures/gotcha/")
    assert ".." not in written
    assert writer.call("read_file", concept_id=written)["frontmatter"]["title"] == " ".join(title.split())


def test_readers_and_layers_without_a_live_one_take_no_captures(tmp_path: Path) -> None:
    with agent("mcp", "--manifest", manifest(tmp_path)) as client:
        assert "log_capture" not in client.tools()
    with agent("mcp", "--manifest", manifest(tmp_path, live=False), "--tier", "write") as client:
        assert "confirm_capture" in client.tools()
        with pytest.raises(RefusedError, match=r'Set "live": true'):
            client.call("log_capture", **GOTCHA)


def test_old_captures_are_read_but_not_listed(tmp_path: Path) -> None:
    old, new = (f"---\ncaptured: {day}\n---\n## Body\nquokka\n" for day in ("2020-01-01T00:00:00Z", "2999-01-01"))
    path = manifest(tmp_path, git={"retentionDays": 30})
    write_layer(tmp_path / "live/captures/gotcha", {"old.md": old, "new.md": new, "undated.md": "quokka\n"})
    with agent("mcp", "--manifest", path) as client:
        eventually(lambda: "captures/gotcha/new" in listed(client))
        assert "captures/gotcha/old" not in listed(client)
        ids = {element["id"] for element in client.call("search", query="quokka")["result"]}
        assert ids == {"captures/gotcha/new", "captures/gotcha/undated"}
        assert "quokka" in json.dumps(client.call("read_file", concept_id="captures/gotcha/old"))
