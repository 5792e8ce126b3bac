"""The toolset `projects` over the real process: any id, search, resources, storage and the log of calls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import Agent, agent, text_of
from knowledge import CHAPTERS, clean, create, empty, failure, index, projects, repository, subjects
from support import eventually


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Agent]]:
    """One server for the tests of this file, and its store."""
    store = tmp_path_factory.mktemp("shared") / "home"
    with projects(store) as connected:
        yield store, connected


@pytest.fixture
def home(shared: tuple[Path, Agent]) -> Path:
    return shared[0]


@pytest.fixture
def client(shared: tuple[Path, Agent]) -> Iterator[Agent]:
    yield shared[1]
    empty(shared[1])


def test_search_finds_names_with_signs_and_other_scripts(client: Agent) -> None:
    create(client, filename="a", title="Languages", introduction="Of C++ and 中文.", chapters=[
        {"title": "C#", "content": "Written (a) or [b] or {c} for $x."},
        {"title": "Node.js", "content": "zebra"},
    ])  # fmt: skip
    create(client, filename="b", title="Zebra", introduction="", keywords=["node"], chapters=CHAPTERS)
    for query in ("C++", "c#", "Node.js", "$x", "(a)", "[b]", "{c}", "中文", "z"):
        found_value = client.call("search_knowledge", project_id="app", query=query)
        assert "a.md" in [row["file"] for row in found_value["results"]], query
    row = client.call("search_knowledge", project_id="app", query="c++ ZEBRA")
    assert (row["total_documents"], row["total_matches"]) == (2, 2)
    best = row["results"][0]
    assert best["file"] == best["document"] == "a.md"
    assert best["match_count"] == 2
    assert [c["chapter"] for c in best["matching_chapters"]] == ["Node.js", "(Document Introduction)"]
    intro = best["matching_chapters"][1]
    assert intro["keywords_found"] == ["c++"]
    assert "C++" in intro["match_context"]["c++"][0]
    assert set(intro) == {"chapter", "keywords_found", "match_context", "chapter_summary"}
    assert best["chapters"] == [{"title": "Node.js", "matches": 1}, {"title": "(Document Introduction)", "matches": 1}]
    assert row["results"][1]["match_count"] == 0
    assert row["results"][1]["chapters"] == []
    assert len(client.call("search_knowledge", project_id="app", query="zebra", limit=1)["results"]) == 1
    assert client.call("search_knowledge", project_id="app", query="absent") == {
        "success": True,
        "total_documents": 0,
        "total_matches": 0,
        "results": [],
    }


def test_search_sees_every_write_and_every_edit_by_hand(home: Path, client: Agent) -> None:
    create(client)
    search = {"project_id": "app", "query": "unmistakable"}
    assert client.call("search_knowledge", **search)["total_documents"] == 0
    client.call("update_chapter", project_id="app", filename="auth", chapter_title="Keys", new_content="unmistakable")
    assert client.call("search_knowledge", **search)["total_matches"] == 1
    (home / "projects/app/knowledge/hand.md").write_text("# By hand\n\n## One\n\nUnmistakable.\n")
    assert client.call("search_knowledge", **search)["total_documents"] == 2


@pytest.mark.parametrize(
    "project_id",
    [
        "R&D costs $5; `x` & y",
        "-rf",
        "constructor",
        "__proto__",
        "🚀",
        "日本語",
        "it's",
        "$(touch pwned)",
        "a" * 100,
        "--",
    ],
)
def test_any_id_is_stored_committed_found_read_and_deleted(home: Path, client: Agent, project_id: str) -> None:
    title = 'T | "x" `y`'
    client.call("update_project_main", project_id=project_id, content="main")
    create(client, project_id, chapters=[{"title": title, "content": "findme"}])
    where = {"project_id": project_id, "filename": "Auth"}
    client.call("update_chapter", **where, chapter_title=title, new_content="findme too")
    assert subjects(home)[:3] == [
        f"Update knowledge for {project_id}: Updated chapter '{title}' in auth.md",
        f"Update knowledge for {project_id}: Created auth.md",
        f"Update knowledge for {project_id}: Updated main.md",
    ]
    assert list(index(home)) == [project_id]
    assert client.call("search_knowledge", project_id=project_id, query="findme")["results"][0]["chapters"][0] == {
        "title": title,
        "matches": 1,
    }
    assert client.call("list_projects")["projects"][0]["project_id"] == project_id
    clean(home)
    assert client.call("delete_project", project_id=project_id) == {
        "success": True,
        "project_id": project_id,
        "message": f"Project '{project_id}' successfully deleted",
    }
    assert index(home) == {}
    assert not (home / "projects").exists()
    assert failure(client, "delete_project", project_id=project_id) == "PROJECT_NOT_FOUND"
    clean(home)


def test_ids_that_slug_alike_get_folders_of_their_own(home: Path, client: Agent) -> None:
    for project_id in ("My Project", "my project", "My-Project"):
        client.call("update_project_main", project_id=project_id, content=project_id)
    assert index(home) == {"My Project": "my-project", "my project": "my-project-2", "My-Project": "my-project-3"}
    assert client.call("get_project_main", project_id="my project")["content"] == "my project"
    assert client.call("get_project_main", project_id="MY PROJECT")["exists"] is False


def test_resources(client: Agent) -> None:
    client.call("update_project_main", project_id="R&D 日本", content="# Main")
    create(client, "R&D 日本")
    base = "knowledge://projects/R%26D%20%E6%97%A5%E6%9C%AC"
    listed = [str(resource.uri) for resource in client.run(client.client.list_resources).resources]
    assert listed == [f"{base}/main", f"{base}/files"]
    templates = client.run(client.client.list_resource_templates).resource_templates
    assert [template.uri_template for template in templates] == [
        "knowledge://projects/{project_id}/main",
        "knowledge://projects/{project_id}/files",
        "knowledge://projects/{project_id}/chapters/{filename}",
    ]
    texts = [client.run(client.client.read_resource, f"{base}/{rest}").contents[0].text for rest in
             ("main", "files", "chapters/auth.md")]  # fmt: skip
    assert texts[0] == "# Main"
    files = json.loads(texts[1])
    assert files["count"] == 1
    assert set(files["files"][0]) == {"filename", "title", "keywords", "created", "updated"}
    chapters = json.loads(texts[2])
    assert chapters["filename"] == "auth.md"
    assert chapters["chapters"][0] == {"title": "Tokens", "level": 2, "summary": "Tokens expire."}
    assert chapters["count"] == 2
    with pytest.raises(Exception, match="not found"):
        client.run(client.client.read_resource, "knowledge://projects/none/main")


def test_storage_status_and_sync_without_a_remote(home: Path, client: Agent) -> None:
    client.call("update_project_main", project_id="p", content="x")
    status = client.call("get_storage_status")
    assert status["has_changes"] is False
    assert status["current_branch"] == "main"
    assert status["last_commit"] == "Update knowledge for p: Updated main.md"
    assert status["remote_status"] == "No remote configured"
    assert status["uncommitted_files"] == 0
    assert status["status_details"] == ""
    assert status["storage_path"] == str(home)
    (home / "projects/p/main.md").write_text("by hand")
    (home / "projects/p/notes.md").write_text("new")
    status = client.call("get_storage_status")
    assert status["has_changes"] is True
    assert status["uncommitted_files"] == 2
    assert status["status_details"] == " M projects/p/main.md\n?? projects/p/notes.md"
    done = client.call("sync_storage")
    assert done["files_committed"] == 2
    assert done["commit_message"] == "Sync storage: 2 files updated"
    assert done["pushed"] is False
    assert done["message"] == "2 files committed; not pushed: No remote configured"
    assert subjects(home)[0] == "Sync storage: 2 files updated"
    clean(home)
    again = client.call("sync_storage")
    assert again["files_committed"] == 0
    assert again["commit_message"] is None


def test_unknown_extra_arguments_are_ignored(client: Agent) -> None:
    assert client.call("list_projects", verbose=True)["success"]
    assert client.call("get_project_main", project_id="p", include="all")["exists"] is False


def test_the_activity_log_has_a_line_a_call_and_never_content(home: Path, client: Agent) -> None:
    client.call("update_project_main", project_id="p", content="canary-content")
    create(client, "p")
    where = {"project_id": "p", "filename": "auth"}
    client.call("update_chapter", **where, chapter_title="Keys", new_content="canary-content")
    client.call("search_knowledge", project_id="p", query="canary-query")
    refused = client.refusal("get_chapter", **where, chapter_title="Nope")
    log = home / "activity.log"
    eventually(lambda: refused["context"]["traceId"] in log.read_text())
    text = log.read_text()
    assert "canary" not in text
    lines = [json.loads(line) for line in text.splitlines()][-5:]
    assert [line["method"] for line in lines] == [
        "update_project_main",
        "create_knowledge_file",
        "update_chapter",
        "search_knowledge",
        "get_chapter",
    ]
    assert set(lines[0]) == {"timestamp", "method", "success", "traceId", "duration", "project_id"}
    assert lines[2]["chapter_title"] == "Keys"
    last = lines[-1]
    assert last["success"] is False
    assert last["errorCode"] == "CHAPTER_NOT_FOUND"
    assert last["traceId"] == refused["context"]["traceId"]
    assert last["errorContext"]["filename"] == "auth"
    assert last["duration"] > 0
    assert repository(home).git("status", "--porcelain", "--ignored") == "!! activity.log"


def test_errors_are_told_on_standard_error_without_content(tmp_path: Path) -> None:
    home = tmp_path / "home"
    log = tmp_path / "stderr"
    with projects(home, log=log) as client:
        client.refusal("update_chapter", project_id="p", filename="f", chapter_title="T", new_content="canary" * 9)
        assert failure(client, "get_chapter", project_id="p", filename="f", chapter_index="1") == "INVALID_INPUT"
    text = log.read_text()
    assert "PROJECT_NOT_FOUND" in text
    assert "canary" not in text
    assert "Traceback" not in text
    with projects(home, {"KNOWLEDGE_MCP_LOG_LEVEL": "DEBUG"}, log=log) as client:
        client.refusal("get_chapter", project_id="p", filename="f", chapter_title="T")
    assert "Traceback" in log.read_text()


def test_function_words_do_not_match_and_the_best_document_comes_first(client: Agent) -> None:
    plan = [{"title": f"How are we {n}", "content": "How are we, and how are they? " * 5} for n in range(5)]
    create(client, filename="test-plan", title="How and are", introduction="How are and and.", chapters=plan)
    handling = [{"title": "Errors", "content": "Errors are handled in one place and traced by id."}]
    create(client, filename="errors", title="Error handling", introduction="x", chapters=handling)
    found_value = client.call("search_knowledge", project_id="app", query="how are errors handled and traced")
    assert [row["file"] for row in found_value["results"]] == ["errors.md"]
    assert found_value["results"][0]["matching_chapters"][0]["keywords_found"] == ["errors", "handled", "traced"]
    assert client.call("search_knowledge", project_id="app", query="how")["results"][0]["file"] == "test-plan.md"


def test_an_answer_of_a_search_is_bounded_unless_more_is_asked_for(client: Agent) -> None:
    chapters = [{"title": f"Walrus chapter {n}", "content": "The walrus sleeps on the ice. " * 40} for n in range(12)]
    for number in range(25):
        create(client, filename=f"walrus-{number:02}", title=f"Walrus {number}", chapters=chapters, keywords=["walrus"])
    usual = client.raw("search_knowledge", project_id="app", query="walrus")
    text = text_of(usual)
    shown = usual.structured_content
    assert shown is not None
    assert len(text) + len(json.dumps(shown, separators=(",", ":"))) < 6_800, "1,700 tokens"
    assert json.loads(text) == shown
    assert [json.loads(line.rstrip(",")) for line in text.splitlines()[5:-3]] == shown["results"], "a line each"
    assert shown["total_documents"] == 25
    assert shown["message"] == f"Showing {len(shown['results'])} of 25 documents; pass limit=20 for more."
    assert shown["results"][0]["matching_chapters"]
    assert shown["results"][0]["match_count"] == 12
    ten = client.raw("search_knowledge", project_id="app", query="walrus", limit=10)
    assert ten.structured_content is not None
    assert len(ten.structured_content["results"]) == 10
    assert len(text_of(ten)) + len(json.dumps(ten.structured_content, separators=(",", ":"))) < 6_800
    requested_value = client.call("search_knowledge", project_id="app", query="walrus", limit=25)
    assert len(requested_value["results"]) == 25
    assert "message" not in requested_value


def test_chapters_of_a_file_that_is_not_utf_8_have_their_titles(client: Agent, home: Path) -> None:
    create(client, filename="latin")
    (file,) = home.glob("projects/*/knowledge/latin.md")
    file.write_bytes(
        "---\ntitle: Caf\u00e9\n---\nIntro \u00e9\u00e8\u00ea.\n\n## First\n\none\n\n## Second\n\ntwo\n".encode(
            "latin-1"
        )
    )
    listed = client.call("list_chapters", project_id="app", filename="latin")
    assert [chapter["title"] for chapter in listed["chapters"]] == ["First", "Second"]
    assert client.call("get_chapter", project_id="app", filename="latin", chapter_title="Second")["title"] == "Second"


def test_projects_are_listed_a_page_at_a_time(client: Agent) -> None:
    for name in ("a", "b", "c"):
        client.call("update_project_main", project_id=name, content="x")
    first = client.call("list_projects", limit=2)
    assert ([project["project_id"] for project in first["projects"]], first["total"], first["next_offset"]) == (
        ["a", "b"],
        3,
        2,
    )
    last = client.call("list_projects", limit=2, offset=2)
    assert [project["project_id"] for project in last["projects"]] == ["c"]
    assert "next_offset" not in last


def test_a_call_that_makes_a_project_beside_one_of_almost_the_same_id_says_so(client: Agent) -> None:
    client.call("update_project_main", project_id="Web Shop", content="Text.\n")
    beside = client.call("create_todo", project_id="Web Shpo", description="Launch")
    assert beside["notice"].startswith("Project 'Web Shpo' is new; there was 'Web Shop' already.")
    assert "delete_project" in beside["notice"]
    text = {"title": "T", "introduction": "I", "keywords": ["k"], "chapters": []}
    assert "notice" in client.call("create_knowledge_file", project_id="Web Shopp", filename="a", **text)
    assert "notice" in client.call("update_project_main", project_id="Web  Shops", content="x")
    for project_id in ("Web Shpo", "Web Shop", "Payroll"):
        assert "notice" not in client.call("create_todo", project_id=project_id, description="Launch"), project_id


def test_a_document_of_an_older_windows_editor_has_its_letters(client: Agent, home: Path) -> None:
    given_values = {"title": "T", "introduction": "I", "keywords": ["k"], "chapters": [{"title": "C", "content": "x"}]}
    client.call("create_knowledge_file", project_id="app", filename="old", **given_values)
    file = next(home.rglob("old.md"))
    raw = file.read_bytes().replace(b"## C\n", "## Ärger\n\nGrößer und “so”\n".encode("cp1252"))
    file.write_bytes(raw)
    shown = client.call("get_chapter", project_id="app", filename="old", chapter_title="Ärger")
    assert "Größer" in shown["content"]
    eventually(lambda: client.call("search_knowledge", project_id="app", query="Ärger")["results"])
    whole = client.call("get_knowledge_file", project_id="app", filename="old")["document"]
    assert "Größer und “so”" in whole["full_content"]
    client.refusal("update_chapter", project_id="app", filename="old", chapter_title="Ärger", new_content="y")
    assert file.read_bytes() == raw


def test_limits_repeat_numbers_and_short_names(client: Agent) -> None:
    client.call("update_project_main", project_id="app", content="# A\n")
    assert "got 0" in client.refusal("list_projects", limit=0)["error"]
    assert "got '../x'" in client.refusal("get_project_main", project_id="../x")["error"]
    assert "yyyy" not in client.refusal("get_project_main", project_id="y" * 200)["error"]


def test_answers_about_an_unknown_project_name_the_nearest(client: Agent) -> None:
    client.call("update_project_main", project_id="walrus-app", content="x")
    for tool in ("get_project_main", "list_todos"):
        assert "Did you mean 'walrus-app'?" in client.call(tool, project_id="walrus-ap")["notice"]
        assert "notice" not in client.call(tool, project_id="quite another")
        assert "notice" not in client.call(tool, project_id="walrus-app")


def test_a_store_of_projects_is_served_as_one_without_a_toolset(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with projects(home) as client:
        create(client, project_id="x", filename="d", chapters=[{"title": "A", "content": "text"}])
    with agent("mcp", home) as client:
        assert [project["project_id"] for project in client.call("list_projects")["projects"]] == ["x"]
        assert "text" in client.call("get_chapter", project_id="x", filename="d.md", chapter_title="A")["content"]
    with agent("mcp", home, "--toolset", "kb") as client:
        assert client.call("kb_list")["knowledge_bases"]
