"""The Skills extension: folders with a SKILL.md are listed with digests, and read byte for byte, in both eras."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from serving import RawSession, Server, served

MAIN = """\
---
name: tide-tables
description: Reads tide tables.
allowed-tools: Bash
metadata:
  level: "2"
---

Read.
"""
FILES: dict[str, str | bytes] = {
    "skills/tide-tables/SKILL.md": MAIN,
    "skills/tide-tables/references/long name é.md": "# Ports\r\n",
    "skills/tide-tables/data/table.bin": b"\x00\x01\xff",
    "skills/tide-tables/data/table.json": '{"a": 1}',
    "skills/tide-tables/.hidden": "secret",
    "skills/tide-tables/inner/SKILL.md": "---\nname: inner\ndescription: Within.\n---\n\nInner.\n",
    "skills/tide-tables/not-one/SKILL.md": "---\nname: other\ndescription: Its name is not its folder's.\n---\n",
    "skills/Bad/SKILL.md": "---\nname: Bad\ndescription: Capital letters.\n---\n",
    "skills/silent/SKILL.md": "---\nname: silent\n---\n\nNo description.\n",
    "skills/numbered/SKILL.md": "---\nname: numbered\ndescription: A number.\nmetadata:\n  version: 1.0\n---\n",
    "notes/plain.md": "# Plain\n",
}
ROOT = "skill://base/skills/tide-tables"
Ask = Callable[[str, dict[str, Any]], Any]
"""A method and its parameters, to the result or the error."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    base = tmp_path_factory.mktemp("place") / "base"
    for path, content in FILES.items():
        (base / path).parent.mkdir(parents=True, exist_ok=True)
        (base / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    env = {name: str(tmp_path_factory.mktemp("xdg")) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    with served(base, env=env) as running:
        yield running, base


@pytest.fixture(params=["legacy", "modern"])
def ask(request: pytest.FixtureRequest, server: tuple[Server, Path]) -> Ask:
    if request.param == "modern":
        return lambda method, params: server[0].rpc("kb", method, params)
    session = RawSession(server[0])

    def asked(method: str, params: dict[str, Any]) -> Any:
        answer = session.ask(1, method, params)
        return answer.get("result", answer)

    return asked


def digest(path: str) -> dict[str, Any]:
    content = FILES[path]
    raw = content if isinstance(content, bytes) else content.encode()
    return {"digest": f"sha256:{hashlib.sha256(raw).hexdigest()}", "size": len(raw)}


def test_the_extension_is_declared(server: tuple[Server, Path]) -> None:
    rpc = server[0].rpc("kb", "server/discover", {})
    assert rpc["capabilities"]["extensions"] == {"io.modelcontextprotocol/skills": {"directoryRead": True}}
    assert rpc["capabilities"]["resources"]


def test_skills_are_listed_with_their_whole_manifest_and_others_left_out(ask: Ask) -> None:
    listed = ask("skills/list", {})
    assert [skill["uri"] for skill in listed["skills"]] == [f"{ROOT}/SKILL.md", f"{ROOT}/inner/SKILL.md"]
    first = listed["skills"][0]
    assert first["frontmatter"] == {
        "name": "tide-tables",
        "description": "Reads tide tables.",
        "allowed-tools": "Bash",
        "metadata": {"level": "2"},
    }
    shown = {row["uri"]: {"digest": row["digest"], "size": row["size"]} for row in first["resources"]}
    assert shown == {
        f"{ROOT}/SKILL.md": digest("skills/tide-tables/SKILL.md"),
        f"{ROOT}/references/long%20name%20%C3%A9.md": digest("skills/tide-tables/references/long name é.md"),
        f"{ROOT}/data/table.bin": digest("skills/tide-tables/data/table.bin"),
        f"{ROOT}/data/table.json": digest("skills/tide-tables/data/table.json"),
        f"{ROOT}/inner/SKILL.md": digest("skills/tide-tables/inner/SKILL.md"),
        f"{ROOT}/not-one/SKILL.md": digest("skills/tide-tables/not-one/SKILL.md"),
    }
    assert ask("skills/get", {"uri": first["uri"]})["skill"] == first


def test_the_newer_era_is_told_for_how_long_a_list_holds(server: tuple[Server, Path]) -> None:
    for method, params in (("skills/list", {}), ("skills/get", {"uri": f"{ROOT}/SKILL.md"})):
        rpc = server[0].rpc("kb", method, params)
        assert (rpc["resultType"], rpc["ttlMs"], rpc["cacheScope"]) == ("complete", 0, "private")


def test_each_file_is_read_byte_for_byte(ask: Ask) -> None:
    for row in ask("skills/get", {"uri": f"{ROOT}/SKILL.md"})["skill"]["resources"]:
        (content,) = ask("resources/read", {"uri": row["uri"]})["contents"]
        raw = content["text"].encode() if "text" in content else base64.b64decode(content["blob"])
        assert (f"sha256:{hashlib.sha256(raw).hexdigest()}", len(raw)) == (row["digest"], row["size"])
        assert content["mimeType"] == "text/markdown" or not row["uri"].endswith(".md")


def test_a_folder_of_a_skill_is_listed_and_nothing_else_is(ask: Ask) -> None:
    def names(uri: str) -> dict[str, str]:
        return {row["name"]: row["mimeType"] for row in ask("resources/directory/read", {"uri": uri})["resources"]}

    folders = dict.fromkeys(["data", "inner", "not-one", "references"], "inode/directory")
    assert names(ROOT) == {"tide-tables": "text/markdown", **folders}
    assert names(f"{ROOT}/data") == {"table.bin": "application/octet-stream", "table.json": "application/json"}
    for uri in (f"{ROOT}/SKILL.md", f"{ROOT}/nowhere", f"{ROOT}/data/", "skill://base/notes", "skill://base/skills"):
        assert ask("resources/directory/read", {"uri": uri})["error"]["code"] == -32602, uri


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("skill://base/notes/SKILL.md", "No skill is served"),
        ("skill://base/skills/Bad/SKILL.md", "small letters"),
        ("skill://base/skills/silent/SKILL.md", "description"),
        ("skill://base/skills/numbered/SKILL.md", "quote numbers"),
        (f"{ROOT}/not-one/SKILL.md", "is not a skill"),
        (f"{ROOT}/data/table.json", "is not a skill"),
        (ROOT, "is not a skill"),
        ("skill://nowhere/x/SKILL.md", "nowhere"),
        ("skill://base/skills/tide-tables/../../notes/SKILL.md", "skill"),
        ("pyrite://kbs", "No skill is served"),
        ("", "No skill is served"),
    ],
)
def test_what_is_no_skill_is_refused_with_the_reason(uri: str, reason: str, ask: Ask) -> None:
    refused = ask("skills/get", {"uri": uri})["error"]
    assert refused["code"] == -32602
    assert reason in refused["message"]


@pytest.mark.parametrize(
    "path",
    [
        ".hidden",
        "..%2F..%2Fnotes%2Fplain.md",
        "../../notes/plain.md",
        "%2e%2e/x",
        "data",
        "",
        "x",
        "data/table.json%00",
    ],
)
def test_nothing_but_files_of_skills_is_read_under_their_scheme(path: str, ask: Ask) -> None:
    assert ask("resources/read", {"uri": f"{ROOT}/{path}"})["error"]["code"] in {-32602, -32002}


def test_a_change_shows_in_the_next_list(server: tuple[Server, Path]) -> None:
    running, base = server
    file = base / "skills" / "tide-tables" / "data" / "table.json"
    file.write_text('{"a": 2}')
    rows = running.rpc("kb", "skills/get", {"uri": f"{ROOT}/SKILL.md"})["skill"]["resources"]
    shown = {row["uri"]: row["digest"] for row in rows}[f"{ROOT}/data/table.json"]
    assert shown == f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
    file.write_bytes(b'{"a": 1}')
