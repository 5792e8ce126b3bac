"""Bytes that tools and requests delete or replace: a commit has them, or the answer names where they are retained."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent import agent
from commonplace.domain.revisions import revision_of
from knowledge import create, projects
from serving import served
from shell import Shell
from support import GitRepo, eventually, new_repo
from wiki_base import PLACES, Site, site

EDITED = "# N\n\nedited by hand, no line end"
REVISION = revision_of(EDITED.encode())
KINDS = ["plain", "never committed", "edited since", "committed", "auto: never committed", "auto: edited since"]


@pytest.fixture(autouse=True)
def _own_state(cache_dir: Path) -> None:
    """A trash of the test's own, also for the processes that it starts."""


def folder_of(kind: str, place: Path) -> Path:
    """A folder with a page `n` in the state that is asked for, and two that link to it."""
    repo = GitRepo(place) if kind == "plain" else new_repo(place, {"other.md": "[[n]] [again](n.md)\n"})
    repo.write("other.md", "[[n]] [again](n.md)\n")
    if kind.endswith(("edited since", "committed")) and "never" not in kind:
        repo.commit(**{"n.md": EDITED if kind == "committed" else "# N\n"})
    repo.write("n.md", EDITED)
    repo.write("third.md", "---\nlinks:\n  - {target: n, relation: supports}\n---\n[[n]]\n")
    return place


@pytest.mark.parametrize("kind", KINDS)
def test_a_deleted_entry_is_where_the_answer_says(kind: str, tmp_path: Path) -> None:
    folder = folder_of(kind, tmp_path / "base")
    mode = ["--commit", "auto"] if kind.startswith("auto") else []
    with agent("mcp", folder, "--toolset", "kb", "--tier", "write", *mode) as writer:
        stale = writer.refusal("kb_delete", entry_id="n", kb_name="base", revision="0" * 40)
        assert (stale["error_code"], stale["current_revision"]) == ("CONFLICT", REVISION)
        assert (folder / "n.md").read_text() == EDITED
        revision = writer.call("kb_get", entry_id="n", kb_name="base")["entry"]["revision"]
        answer = writer.call("kb_delete", entry_id="n", kb_name="base", revision=revision)
    assert [(value["id"], value["kb_name"]) for value in answer["linked_from"]] == [
        ("other", "base"),
        ("third", "base"),
    ]
    assert answer["link_count"] == 2
    (kept_value,) = answer["kept"]
    assert (kept_value["path"], kept_value["revision"]) == ("n.md", REVISION)
    assert not (folder / "n.md").exists()
    shell = Shell(folder)
    if kind == "committed":
        assert kept_value["place"] == "commit"
        assert GitRepo(folder).git("show", f"{kept_value['commit']}:n.md") == EDITED
        assert shell.ok("restore", "--json").json["items"] == []
    else:
        assert kept_value["place"] == "trash"
        assert [item["revision"] for item in shell.ok("restore", "--json").json["items"]] == [REVISION]
    if kind not in {"plain", "committed"}:
        assert GitRepo(folder).git("cat-file", "blob", REVISION) == EDITED
        GitRepo(folder).git("gc", "--quiet", "--prune=now")
    shell.ok(*kept_value["restore"].split()[1:])
    assert (folder / "n.md").read_text() == EDITED


def test_the_description_of_kb_delete_promises_no_commit(tmp_path: Path) -> None:
    with agent("mcp", folder_of("plain", tmp_path / "base"), "--toolset", "kb", "--tier", "write") as writer:
        tool = writer.tools()["kb_delete"]
        assert tool.description is not None
        assert "Git keeps" not in tool.description
        assert "trash" in tool.description
        assert "revision" in tool.input_schema["properties"]
        writer.call("kb_get", entry_id="third", kb_name="base")
        answer = writer.call("kb_delete", entry_id="third", kb_name="base")
    assert (answer["linked_from"], answer["link_count"]) == ([], 0)


@pytest.fixture(scope="module", params=PLACES)
def used(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A wiki on a folder, and one on a server of it."""
    yield from site(request.param, tmp_path_factory.mktemp("used"))


def edited(used: Site, name: str, text: str) -> str:
    """A note that was committed and then edited by hand; the revision of the edit."""
    wiki, repo = used
    repo.commit("Elsewhere", **{f"{name}.md": "# Committed\n"})
    repo.write(f"{name}.md", text)
    eventually(lambda: text.splitlines()[0] in str(wiki.raw("read_note", path=name)))
    return revision_of(text.encode())


def test_a_wiki_names_uncommitted_text_that_a_deletion_takes_away(used: Site) -> None:
    wiki, repo = used
    revision = edited(used, "Doomed", "# Mine A\n")
    said = wiki.text("delete_note", path="Doomed").splitlines()
    assert said[0] == "Deleted Doomed"
    assert f"revision {revision}: commonplace restore Doomed.md --at {revision[:12]}" in said[-1]
    assert repo.git("cat-file", "blob", revision) == "# Mine A"
    assert repo.git("status", "--porcelain", "Doomed.md") == ""


def test_a_wiki_names_uncommitted_text_that_an_edit_takes_away(used: Site) -> None:
    wiki, repo = used
    revision = edited(used, "Changed", "# Mine B\n\nline\n")
    said = wiki.text("edit_note", path="Changed", revision=revision, old_string="Mine B", new_string="Ours")
    assert said.startswith("Edited Changed (revision: ")
    assert revision in said
    assert repo.git("cat-file", "blob", revision) == "# Mine B\n\nline"


def test_a_wiki_says_nothing_of_what_a_commit_has(used: Site) -> None:
    wiki, repo = used
    repo.commit("Elsewhere", **{"Plain.md": "# Plain\n"})
    eventually(lambda: "# Plain" in str(wiki.raw("read_note", path="Plain")))
    assert wiki.text("delete_note", path="Plain") == "Deleted Plain"


def test_a_wiki_names_an_attachment_that_no_commit_has(used: Site) -> None:
    wiki, repo = used
    repo.write("Hub/by hand.png", b"\x89PNG mine")
    revision = revision_of(b"\x89PNG mine")
    said = wiki.text("delete_attachment", path="Hub", filename="by hand.png")
    assert said.startswith("Deleted by hand.png from Hub")
    assert f"revision {revision}: commonplace restore 'Hub/by hand.png' --at" in said


def test_rest_names_what_a_deletion_takes_away_and_no_commit_has(tmp_path: Path) -> None:
    folder = folder_of("edited since", tmp_path / "base")
    GitRepo(folder).write("third/a.bin", b"\0mine")
    with served(folder) as server:
        (kept_value,) = server.page("DELETE", "n").json["kept"]
        assert (kept_value["path"], kept_value["revision"], kept_value["place"]) == ("n.md", REVISION, "trash")
        (rest,) = server.page("DELETE", "third", below="/attachments/a.bin").json["kept"]
        assert (rest["path"], rest["revision"]) == ("third/a.bin", revision_of(b"\0mine"))
        assert server.page("DELETE", "other").json == {"deleted": True, "path": "other"}
    shell = Shell(folder)
    shell.ok("restore", "n")
    shell.ok("restore", "third/a.bin")
    assert (folder / "n.md").read_text() == EDITED
    assert (folder / "third/a.bin").read_bytes() == b"\0mine"


def _kept(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(element["path"], element["revision"]) for element in answer["kept"]]


def test_a_store_of_projects_names_what_no_commit_has(tmp_path: Path) -> None:
    home = tmp_path / "home"
    texts = {"main.md": "# Mine\n", "knowledge/d.md": "---\ntitle: D\n---\n\n## A\n\nby hand\n", "notes.txt": "loose\n"}
    with projects(home) as client:
        create(client, project_id="x", filename="d")
        client.call("update_project_main", project_id="x", content="# Committed\n")
        for name, text in texts.items():
            (home / "projects/x" / name).write_text(text)
        revisions = {name: revision_of(text.encode()) for name, text in texts.items()}
        answer = client.call("update_project_main", project_id="x", content="# Agent\n")
        assert _kept(answer) == [("projects/x/main.md", revisions["main.md"])]
        answer = client.call("delete_knowledge_file", project_id="x", filename="d.md")
        assert _kept(answer) == [("projects/x/knowledge/d.md", revisions["knowledge/d.md"])]
        answer = client.call("delete_project", project_id="x")
        assert _kept(answer) == [("projects/x/notes.txt", revisions["notes.txt"])]
    found_revisions = {item["path"]: item["revision"] for item in Shell(home).ok("restore", "--json").json["items"]}
    assert found_revisions == {f"projects/x/{name}": revision for name, revision in revisions.items()}


def test_an_attachment_of_a_note_in_a_plain_folder_comes_back(tmp_path: Path) -> None:
    folder = folder_of("plain", tmp_path / "base")
    with agent("mcp", folder, "--toolset", "wiki") as wiki:
        content = base64.b64encode(b"\0\1\2").decode()
        wiki.text("upload_attachment", path="n", filename="a.bin", content=content)
        assert "commonplace restore n/a.bin" in wiki.text("delete_attachment", path="n", filename="a.bin")
    Shell(folder).ok("restore", "a.bin")
    assert (folder / "n/a.bin").read_bytes() == b"\0\1\2"
