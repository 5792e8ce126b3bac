"""Nothing that a writer was not shown is overwritten: what each toolset and the command line refuse, take and keep."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, Mode, agent, online
from commonplace.domain.revisions import revision_of
from knowledge import create, projects
from serving import Server, served
from shell import Shell
from support import GitRepo, new_repo

PAGE = "---\ntitle: N\n---\n\n# N\n\nfirst\n"
LONG = "# Long\n\n" + "".join(f"line {number}\n" for number in range(2_000))


@pytest.fixture(autouse=True)
def _own_state(cache_dir: Path) -> None:
    """A trash of the test's own, also for the processes that it starts."""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A folder without Git."""
    folder = tmp_path / "base"
    folder.mkdir()
    (folder / "n.md").write_text(PAGE)
    (folder / "long.md").write_text(LONG)
    return folder


def served_kb(base: Path, mode: Mode = "auto") -> Any:
    return agent("mcp", base, "--toolset", "kb", "--tier", "write", "--no-embed", mode=mode)


def by_hand(base: Path, line: str = "MINE", name: str = "n.md") -> str:
    """A line that an editor adds; the new text."""
    with (base / name).open("a") as file:
        file.write(f"{line}\n")
    return (base / name).read_text()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_body_that_was_edited_since_it_was_read_is_not_replaced(base: Path, mode: Mode) -> None:
    with served_kb(base, mode) as kb:
        kb.call("kb_get", entry_id="n", kb_name="base")
        text = by_hand(base)
        refused = kb.refusal("kb_update", entry_id="n", kb_name="base", body="agent")
        assert refused["error_code"] == "CONFLICT"
        assert refused["current_revision"] == revision_of(text.encode())
        assert refused["changes"] == ["line 8 added: MINE"]
        assert refused["suggestion"]
        assert (base / "n.md").read_text() == text
        for tool, arguments in (("kb_update", {"body": "agent"}), ("kb_delete", {})):
            stale = revision_of(PAGE.encode())
            said = kb.refusal(tool, entry_id="n", kb_name="base", revision=stale, **arguments)
            assert (said["error_code"], said["changes"]) == ("CONFLICT", ["line 8 added: MINE"])
        kb.call("kb_get", entry_id="n", kb_name="base")
        kb.call("kb_update", entry_id="n", kb_name="base", body="agent\n")
        assert (base / "n.md").read_text() == "---\ntitle: N\n---\n\nagent\n"


def test_an_entry_that_was_never_read_whole_is_neither_replaced_nor_deleted(base: Path) -> None:
    with served_kb(base) as kb:
        kb.call("kb_search", query="first")
        kb.call("kb_list_entries", kb_name="base")
        kb.call("kb_get", entry_id="n", kb_name="base", body_limit=3)
        for tool, arguments in (("kb_update", {"body": "agent"}), ("kb_delete", {})):
            refused = kb.refusal(tool, entry_id="n", kb_name="base", **arguments)
            assert refused["error_code"] == "CONFLICT"
            assert refused["current_revision"] == revision_of(PAGE.encode())
        assert (base / "n.md").read_text() == PAGE
        kb.call("kb_update", entry_id="n", kb_name="base", body="agent", revision=revision_of(PAGE.encode()))
        kb.call("kb_delete", entry_id="n", kb_name="base")


READS: dict[str, Callable[[Agent], object]] = {
    "get": lambda kb: kb.call("kb_get", entry_id="n", kb_name="base"),
    "batch": lambda kb: kb.call("kb_batch_read", entries=[{"entry_id": "n", "kb_name": "base"}]),
    "search": lambda kb: kb.call("kb_search", query="first", include_body=True),
    "list": lambda kb: kb.call("kb_list_entries", kb_name="base", fields=["body"]),
    "resource": lambda kb: kb.run(kb.client.read_resource, "commonplace://kbs/base/entries/n"),
    "file": lambda kb: kb.run(kb.client.read_resource, "commonplace://kbs/base/files/n.md"),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.sampled(6)
def test_an_answer_that_holds_the_whole_body_shows_it(base: Path, read: str) -> None:
    with served_kb(base) as kb:
        READS[read](kb)
        kb.call("kb_update", entry_id="n", kb_name="base", body="agent")
        kb.call("kb_update", entry_id="n", kb_name="base", body="again")
        by_hand(base)
        assert kb.refusal("kb_update", entry_id="n", kb_name="base", body="third")["error_code"] == "CONFLICT"


def test_a_long_body_is_shown_whole_by_its_parts_together(base: Path) -> None:
    with served_kb(base) as kb:
        change = {"entry_id": "long", "kb_name": "base", "body": "short"}
        kb.call("kb_get", entry_id="long", kb_name="base", body_offset=8_000, body_limit=50_000)
        kb.call("kb_batch_read", entries=[{"entry_id": "long"}], body_limit=7_999)
        kb.call("kb_get", entry_id="long", kb_name="base", max_tokens=500)
        assert kb.refusal("kb_update", **change)["error_code"] == "CONFLICT"
        kb.call("kb_get", entry_id="long", kb_name="base", body_offset=7_999, body_limit=5_000)
        assert kb.refusal("kb_update", **change)["error_code"] == "CONFLICT"
        kb.call("kb_get", entry_id="long", kb_name="base", body_offset=12_000, body_limit=50_000)
        kb.call("kb_update", **change)


def test_what_a_session_wrote_it_has_seen(base: Path) -> None:
    with served_kb(base) as kb:
        kb.call("kb_create", kb_name="base", entry_type="note", title="Own", body="one")
        kb.call("kb_bulk_create", kb_name="base", entries=[{"entry_type": "note", "title": "Bulk", "body": "one"}])
        for entry in ("own", "bulk"):
            kb.call("kb_update", entry_id=entry, kb_name="base", tags=["x"])
            kb.call("kb_link", source_id=entry, source_kb="base", target_id="n")
            kb.call("kb_update", entry_id=entry, kb_name="base", body="two")
            kb.call("kb_delete", entry_id=entry, kb_name="base")


def test_fields_and_links_are_set_without_reading_and_what_they_replace_unseen_is_kept(base: Path) -> None:
    (base / "n.md").write_text(text := "---\ntitle: N\nstatus: precious\n---\n\n# N\n")
    with served_kb(base) as kb:
        added = kb.call("kb_update", entry_id="n", kb_name="base", tags=["a"])
        assert "kept" not in added, "nothing was taken away"
        before = (base / "n.md").read_bytes()
        assert before.decode().replace("tags: [a]\n", "").replace("tags:\n  - a\n", "") == text
        (kept_value,) = kb.call("kb_update", entry_id="n", kb_name="base", status="done")["kept"]
        assert kept_value["revision"] == revision_of(before)
        kb.call("kb_link", source_id="n", source_kb="base", target_id="long")
        assert kb.refusal("kb_update", entry_id="n", kb_name="base", body="x")["error_code"] == "CONFLICT"
    Shell(base).ok("restore", kept_value["revision"][:12], "--to", "again.md")
    assert (base / "again.md").read_bytes() == before


PARTIAL: dict[str, tuple[str, dict[str, Any]]] = {
    "link": ("kb_link", {"source_id": "n", "source_kb": "base", "target_id": "long"}),
    "field": ("kb_update", {"entry_id": "n", "kb_name": "base", "tags": ["a"]}),
    "same field": ("kb_update", {"entry_id": "n", "kb_name": "base", "title": "N", "revision": "1" * 40}),
}


@pytest.mark.parametrize("git", [False, True], ids=["plain", "git"])
@pytest.mark.parametrize("edit", PARTIAL)
def test_the_revision_of_a_receipt_over_unseen_text_does_not_count_as_seen(base: Path, edit: str, git: bool) -> None:
    if git:
        base = new_repo(base.parent / "git" / "base", {"n.md": PAGE, "long.md": LONG}).path
    tool, arguments = PARTIAL[edit]
    with served_kb(base) as kb:
        kb.call("kb_get", entry_id="n", kb_name="base")
        by_hand(base, "UNSEEN")
        revision = kb.call(tool, **arguments)["revision"]
        for change, more in (("kb_update", {"body": "agent"}), ("kb_delete", {})):
            for passed in ({"revision": revision}, {}):
                refused = kb.refusal(change, entry_id="n", kb_name="base", **more, **passed)
                assert (refused["error_code"], refused["current_revision"]) == ("CONFLICT", revision)
                assert any("UNSEEN" in line for line in refused["changes"])
        assert "UNSEEN" in (base / "n.md").read_text()
        kb.call("kb_get", entry_id="n", kb_name="base")
        kb.call("kb_update", entry_id="n", kb_name="base", body="agent", revision=revision)


def test_a_passed_revision_that_the_session_was_never_shown_replaces_the_text_and_keeps_it(base: Path) -> None:
    with served_kb(base) as kb:
        change = {"entry_id": "n", "kb_name": "base"}
        (kept_value,) = kb.call("kb_update", **change, body="one", revision=revision_of(PAGE.encode()))["kept"]
        assert (kept_value["place"], kept_value["revision"]) == ("trash", revision_of(PAGE.encode()))
        assert kb.call("kb_update", **change, body="two")["updated"], "the body is the session's own"
        by_hand(base, "UNSEEN")
        revision = kb.refusal("kb_update", **change, body="three")["current_revision"]
        (rest,) = kb.call("kb_update", **change, body="three", revision=revision)["kept"]
        assert rest["revision"] == revision, "the refusal named it, and showed no text"


def test_a_client_without_a_session_gets_what_it_replaces_at_the_revision_of_a_receipt(base: Path) -> None:
    with served(base, "--tier", "write") as server, online(kb_of(server)) as kb:
        page = {"entry_id": "n", "kb_name": "base"}
        by_hand(base, "UNSEEN1")
        revision = kb.call("kb_update", **page, tags=["a"])["revision"]
        assert "UNSEEN1" in taken(base, kb.call("kb_update", **page, body="agent", revision=revision))
        read = server.page("GET", "n").json
        revision = server.page(
            "PATCH", "n", {"old_string": "agent", "new_string": "other", "revision": read["revision"]}
        ).json["revision"]
        assert "other" in taken(base, server.page("PUT", "n", {"content": "rest\n", "revision": revision}).json)
    shell = Shell(base)
    by_hand(base, "UNSEEN2")
    revision = shell.ok("write", "n", "--set", "x=1", "--json").json["revision"]
    assert "UNSEEN2" in taken(base, shell.ok("write", "n", "--revision", revision, "--json", stdin="new\n").json)


def test_a_note_that_is_written_at_the_revision_of_an_edit_is_kept_where_nothing_is_committed(base: Path) -> None:
    with agent("mcp", base, "--toolset", "wiki", "--no-embed") as wiki:
        by_hand(base, "UNSEEN")
        edit = {"old_string": "first", "new_string": "second", "revision": revision_of((base / "n.md").read_bytes())}
        wiki.text("edit_note", path="n", **edit)
        said = wiki.text("write_note", path="n", content="new\n")
    assert "kept until" in said
    revision = said.partition("revision ")[2].partition(":")[0]
    assert "UNSEEN" in restored(base, revision)


def taken(base: Path, answer: dict[str, Any]) -> str:
    """The text that an answer says is kept."""
    (kept_value,) = answer["kept"]
    return restored(base, kept_value["revision"])


def restored(base: Path, revision: str) -> str:
    Shell(base).ok("restore", revision[:12], "--to", f"kept-{revision[:12]}.md")
    return (base / f"kept-{revision[:12]}.md").read_text()


def test_a_write_that_is_sent_twice_finds_its_own_text(base: Path) -> None:
    with served_kb(base) as kb:
        read = kb.call("kb_get", entry_id="n", kb_name="base")["entry"]["revision"]
        change = {"entry_id": "n", "kb_name": "base", "body": "agent", "revision": read}
        first = kb.call("kb_update", **change)
        assert "unchanged" not in first
        again = kb.call("kb_update", **change)
        assert (again["unchanged"], again["revision"]) == (True, first["revision"])
        new = {"kb_name": "base", "entry_type": "note", "title": "New", "body": "Once."}
        kb.call("kb_create", **new)
        said = kb.refusal("kb_create", **new)
        assert said["error_code"] == "ENTRY_EXISTS"
        assert "exactly these bytes" in said["suggestion"]
        assert "exactly" not in kb.refusal("kb_create", **{**new, "body": "Another."})["suggestion"]
    with served_kb(base) as kb:
        assert kb.call("kb_update", **change)["unchanged"] is True
        assert kb.call("kb_update", entry_id="n", kb_name="base", body="agent")["unchanged"] is True


def kb_of(server: Server) -> str:
    return f"{server.url}/mcp/kb"


def test_over_http_each_session_has_its_own_memory_and_a_call_in_none_passes_the_revision(base: Path) -> None:
    with served(base, "--tier", "write") as server, ExitStack() as stack:
        other_agent, other = (stack.enter_context(online(kb_of(server), mode="legacy")) for _ in range(2))
        change = {"entry_id": "n", "kb_name": "base"}
        other_agent.call("kb_get", **change)
        assert other.refusal("kb_update", **change, body="other")["error_code"] == "CONFLICT"
        other_agent.call("kb_update", **change, body="one")
        with online(kb_of(server)) as stateless:
            revision = stateless.call("kb_get", **change)["entry"]["revision"]
            for tool, arguments in (("kb_update", {"body": "x"}), ("kb_delete", {})):
                refused = stateless.refusal(tool, **change, **arguments)
                assert (refused["error_code"], refused["current_revision"]) == ("CONFLICT", revision)
                assert "revision" in refused["suggestion"]
            stateless.call("kb_update", **change, body="stateless", revision=revision)
        assert other_agent.refusal("kb_update", **change, body="one")["changes"] == [
            "line 5 removed",
            "line 5 added: stateless",
        ]


def test_a_section_of_a_note_does_not_show_the_note(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "wiki", {"P.md": "# P\n\nall\n\n## A\n\na\n"})
    with agent("mcp", repo.path, "--toolset", "wiki") as wiki:
        wiki.text("read_note", path="P", section="A")
        assert wiki.raw("write_note", path="P", content="new\n").is_error
        wiki.text("read_note", path="P")
        assert wiki.text("write_note", path="P", content="new\n").startswith("Updated P")
        again = wiki.text("write_note", path="P", content="new\n")
        assert again.splitlines()[1] == "Nothing changed: the note already held this text."
        text = by_hand(repo.path, name="P.md")
        refused = wiki.raw("write_note", path="P", content="newer\n")
        assert refused.is_error
        assert (repo.path / "P.md").read_text() == text


def test_an_edit_that_is_sent_twice_is_told_that_its_text_is_there(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "wiki", {"P.md": "# P\n\nold\n"})
    with agent("mcp", repo.path, "--toolset", "wiki") as wiki:
        edit = {"path": "P", "revision": repo.git("rev-parse", "HEAD"), "old_string": "old", "new_string": "young"}
        wiki.text("edit_note", **edit)
        refused = wiki.raw("edit_note", **edit)
        assert refused.is_error
        assert "It holds the new text" in str(refused.content)


def test_the_command_line_names_what_changed_and_takes_the_same_text_twice(base: Path) -> None:
    shell = Shell(base)
    read = shell.ok("read", "n", "--json").json["revision"]
    text = by_hand(base)
    refused = shell("write", "n", "--revision", read, "--json", stdin="new\n")
    assert (refused.code, refused.error["code"]) == (5, "conflict")
    assert refused.error["current_revision"] == revision_of(text.encode())
    assert shell("write", "n", stdin="new\n").code == 5
    assert shell.ok("write", "n", "--json", stdin=text).json["action"] == "unchanged"
    (kept_value,) = shell.ok("write", "n", "--force", "--json", stdin="new\n").json["kept"]
    assert kept_value["revision"] == revision_of(text.encode())
    assert shell.ok("write", "n", "--revision", read, "--json", stdin="new\n").json["action"] == "unchanged"


def test_the_command_line_shows_the_lines_that_changed_since_a_commit(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"n.md": PAGE})
    by_hand(repo.path)
    refused = Shell(repo.path)("write", "n", "--revision", revision_of(PAGE.encode()), stdin="new\n")
    assert refused.code == 5
    assert "Changed: line 8 added: MINE" in refused.stderr


@pytest.mark.parametrize("tool", ["update_chapter", "update_project_section", "update_project_main"])
def test_a_store_of_projects_keeps_what_its_tools_replace_unseen(tmp_path: Path, tool: str) -> None:
    home = tmp_path / "home"
    with projects(home) as client:
        create(client, project_id="x", filename="d")
        client.call("update_project_main", project_id="x", content="# Main\n\n## Rules\n\nnone\n")
        arguments = {
            "update_chapter": {"filename": "d.md", "chapter_title": "Keys", "new_content": "New."},
            "update_project_section": {"section_header": "## Rules", "new_content": "New."},
            "update_project_main": {"content": "# New\n"},
        }[tool]
        path = "projects/x/knowledge/d.md" if tool == "update_chapter" else "projects/x/main.md"
        mine = by_hand(home, "by hand", path)
        (kept_value,) = client.call(tool, project_id="x", **arguments)["kept"]
        assert (kept_value["path"], kept_value["revision"]) == (path, revision_of(mine.encode()))
        assert GitRepo(home).git("cat-file", "blob", kept_value["revision"]) == mine.rstrip("\n")
        again = client.call(tool, project_id="x", **arguments)
        assert "kept" not in again, "a commit has it"


def test_a_schema_that_is_set_keeps_what_was_written_by_hand(base: Path) -> None:
    (base / "kb.yaml").write_text("name: base\ntypes:\n  memo:\n    description: by hand\n")
    before = (base / "kb.yaml").read_bytes()
    with agent("mcp", base, "--toolset", "kb", "--tier", "admin", "--no-embed") as kb:
        types = {"memo": {"fields": {}}}
        answer = kb.call("kb_manage", action="set_schema", kb_name="base", schema={"types": types})
    assert [element["revision"] for element in answer["kept"]] == [revision_of(before)]


def test_a_rename_keeps_lines_with_links_that_the_writer_has_not_seen(base: Path) -> None:
    (base / "a.md").write_text(own := "# A\n\n[n](n.md)\n")
    (base / "n.md").write_text(linking := "# N\n\nMINE [a](./a.md)\n")
    kept_value = Shell(base).ok("mv", "a", "sub/a", "--json").json["kept"]
    assert {value["path"]: restored(base, value["revision"]) for value in kept_value} == {"n.md": linking, "a.md": own}
    with agent("mcp", base, "--toolset", "wiki") as wiki:
        assert "old text of n.md" in wiki.text("rename_note", path="sub/a", new_path="b")
