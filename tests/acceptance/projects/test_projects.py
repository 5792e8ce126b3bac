"""The toolset `projects` over the real process: what each tool answers, commits and refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import Agent, agent
from commonplace import __version__
from knowledge import clean, create, empty, failure, index, projects, repository, subjects

TOOLS = frozenset(
    {
        "get_project_main",
        "update_project_main",
        "search_knowledge",
        "create_knowledge_file",
        "update_chapter",
        "get_knowledge_file",
        "delete_knowledge_file",
        "delete_project",
        "get_server_info",
        "get_storage_status",
        "sync_storage",
        "update_project_section",
        "add_project_section",
        "remove_project_section",
        "add_chapter",
        "remove_chapter",
        "list_chapters",
        "get_chapter",
        "get_next_chapter",
        "create_todo",
        "list_todos",
        "get_todo_tasks",
        "get_next_todo_task",
        "add_todo_task",
        "remove_todo_task",
        "complete_todo_task",
        "delete_todo",
        "list_projects",
        "list_knowledge_files",
    }
)


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


@pytest.mark.soak
def test_the_first_start_makes_a_store_and_the_identity_of_commits_is_the_servers(tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = {"GIT_AUTHOR_NAME": "Somebody", "GIT_COMMITTER_EMAIL": "else@example.org"}
    with projects(home, env) as client:
        assert client.call("list_projects") == {"success": True, "projects": []}
        repo = repository(home)
        assert repo.git("branch", "--show-current") == "main"
        assert len(subjects(home)) == 1
        assert "activity.log" in (home / ".gitignore").read_text()
        assert json.loads((home / "index.json").read_text()) == {"projects": {}}
        clean(home)
        client.call("update_project_main", project_id="p", content="x")
    who = repo.git("log", "--format=%an <%ae> %cn <%ce>").splitlines()
    assert who == [" ".join(["Knowledge MCP Server <knowledge-mcp@localhost>"] * 2)] * 2


def test_the_server_says_who_it_is_and_how_to_begin(home: Path, client: Agent) -> None:
    init = client.client.server_info
    assert init is not None
    assert init.name == "Knowledge MCP Server"
    instructions = client.client.instructions
    assert instructions is not None
    assert "CLAUDE.local.md" in instructions
    assert "~/.claude/CLAUDE.md stay in use" in instructions
    assert init.description == "Centralized project knowledge management via Model Context Protocol"
    assert "get_project_main" in instructions
    assert client.call("get_server_info") == {
        "success": True,
        "name": "Knowledge MCP Server",
        "version": __version__,
        "storage_path": str(home),
        "description": "Centralized project knowledge management via Model Context Protocol",
    }


def test_every_tool_is_listed_with_title_annotations_and_schemas(client: Agent) -> None:
    tools = client.tools()

    assert set(tools) == TOOLS
    for tool in tools.values():
        assert tool.title
        assert tool.annotations is not None
        assert tool.output_schema is not None
        assert not {"oneOf", "anyOf", "allOf"} & set(tool.input_schema)
    assert tools["get_project_main"].annotations.read_only_hint
    assert tools["delete_project"].annotations.destructive_hint
    assert tools["update_project_section"].input_schema["required"] == ["project_id", "section_header", "new_content"]


def test_the_environment_names_the_store(tmp_path: Path) -> None:
    named = tmp_path / "named by environment"
    with agent("mcp", "--toolset", "projects", env={"KNOWLEDGE_MCP_HOME": str(named)}) as client:
        assert client.call("get_server_info")["storage_path"] == str(named)
    with agent("mcp", "--toolset", "projects", env={"HOME": str(tmp_path)}) as client:
        assert client.call("get_server_info")["storage_path"] == str(tmp_path / ".knowledge-mcp")


def test_instructions_are_written_read_and_committed(home: Path, client: Agent) -> None:
    assert client.call("get_project_main", project_id="My App") == {"success": True, "content": "", "exists": False}
    done = client.call("update_project_main", project_id="My App", content="# Rules\n\nBe kind.\n")
    assert set(done) == {"success", "message"}
    assert client.call("get_project_main", project_id="My App") == {
        "success": True,
        "content": "# Rules\n\nBe kind.\n",
        "exists": True,
    }
    assert index(home) == {"My App": "my-app"}
    repo = repository(home)
    assert subjects(home)[0] == "Update knowledge for My App: Updated main.md"
    assert repo.git("log", "-1", "--format=%an <%ae> %cn <%ce>") == " ".join(
        ["Knowledge MCP Server <knowledge-mcp@localhost>"] * 2
    )
    clean(home)


def test_the_text_block_is_json_with_two_blanks_of_indent(client: Agent) -> None:
    assert client.text("list_projects") == '{\n  "success": true,\n  "projects": []\n}'
    refused = client.raw("get_knowledge_file", project_id="none", filename="x")
    assert refused.is_error
    assert refused.structured_content is None
    assert refused.content[0].text.startswith('{\n  "success": false,\n  "error": ')  # type: ignore[union-attr]


def test_sections_of_the_instructions(home: Path, client: Agent) -> None:
    text = "# App\r\n\r\n## Build\r\n\r\nmake\r\n\r\n```\r\n## Testing\r\n```\r\n\r\n## Testing\r\n\r\npytest\r\n"
    client.call("update_project_main", project_id="app", content=text)
    client.call("update_project_section", project_id="app", section_header="## Testing", new_content="make test")
    client.call("update_project_section", project_id="app", section_header="## Build", content="make all")
    client.call(
        "add_project_section",
        project_id="app",
        section_header="## Style",
        content="ruff",
        position="before",
        reference_header="## Testing",
    )
    client.call("add_project_section", project_id="app", section_header="### Last", content="end")
    now = client.call("get_project_main", project_id="app")["content"]
    # The fence stood in the section that was replaced; nothing else is gone.
    assert now == (
        "# App\r\n\r\n## Build\r\n\r\nmake all\r\n\r\n## Style\r\n\r\nruff\r\n\r\n"
        "## Testing\r\n\r\nmake test\r\n\r\n### Last\r\n\r\nend\r\n"
    )
    client.call("remove_project_section", project_id="app", section_header="## Style")
    assert "Style" not in client.call("get_project_main", project_id="app")["content"]
    assert subjects(home)[0] == "Update knowledge for app: Removed section 'Style' in main.md"
    again = {"project_id": "app", "section_header": "## Build"}
    assert failure(client, "add_project_section", **again, content="x") == "SECTION_ALREADY_EXISTS"
    assert failure(client, "remove_project_section", project_id="app", section_header="## build") == "SECTION_NOT_FOUND"
    assert failure(client, "update_project_section", **again) == "INVALID_INPUT"
    beside = {"project_id": "app", "section_header": "## New", "content": "x", "position": "after"}
    assert failure(client, "add_project_section", **beside) == "INVALID_INPUT"
    assert failure(client, "add_project_section", **beside, reference_header="## No") == "SECTION_NOT_FOUND"
    unknown = {"project_id": "none", "section_header": "## A", "content": "x"}
    assert failure(client, "add_project_section", **unknown) == "PROJECT_NOT_FOUND"
    clean(home)


def test_a_document_is_created_read_and_deleted(home: Path, client: Agent) -> None:
    done = create(client, filename="User's Guide & FAQ")
    assert done["filepath"] == "knowledge/users-guide-and-faq.md"
    for name in ("users-guide-and-faq.md", "users-guide-and-faq", "User's Guide & FAQ"):
        document = client.call("get_knowledge_file", project_id="app", filename=name)["document"]
        assert document["filename"] == "users-guide-and-faq.md"
    assert document["introduction"] == "How users sign in."
    assert document["chapters"] == [
        {"title": "Tokens", "content": "Tokens expire.\n\nMore.", "summary": "Tokens expire."},
        {"title": "Keys", "content": "Keys rotate.", "summary": "Keys rotate."},
    ]
    metadata = document["metadata"]
    assert metadata["title"] == "Authentication"
    assert metadata["keywords"] == ["auth", "login"]
    assert metadata["created"] == metadata["updated"]
    assert len(metadata["created"]) == len("2026-01-01T00:00:00.000Z")
    stored = home / "projects/app/knowledge/users-guide-and-faq.md"
    assert document["full_content"] == stored.read_text()
    assert subjects(home)[0] == "Update knowledge for app: Created users-guide-and-faq.md"
    listed = client.call("list_knowledge_files", project_id="app")["files"]
    assert listed == [{"filename": "users-guide-and-faq.md", **metadata}]
    assert client.call("delete_knowledge_file", project_id="app", filename="User's Guide & FAQ")["message"]
    assert subjects(home)[0] == "Update knowledge for app: Deleted users-guide-and-faq.md"
    assert (
        failure(client, "get_knowledge_file", project_id="app", filename="users-guide-and-faq") == "DOCUMENT_NOT_FOUND"
    )
    clean(home)


@pytest.mark.parametrize(
    ("filename", "stored"),
    [("C++", "cplusplus.md"), ("C#", "csharp.md"), ("日本語", "日本語.md"), ("API.md", "api.md")],
)
def test_filenames_become_slugs(client: Agent, filename: str, stored: str) -> None:
    assert create(client, filename=filename)["filepath"] == f"knowledge/{stored}"
    assert (
        failure(
            client,
            "create_knowledge_file",
            project_id="app",
            filename=stored.upper(),
            title="T",
            introduction="",
            keywords=["k"],
            chapters=[],
        )
        == "FILE_ALREADY_EXISTS"
    )
    assert client.call("get_knowledge_file", project_id="app", filename=filename)["document"]["filename"] == stored


@pytest.mark.parametrize("level", ["DEBUG", "Info", "WARN", "warning", "error"])
def test_the_log_level_is_known_by_its_usual_names(tmp_path: Path, level: str) -> None:
    with projects(tmp_path / "home", {"KNOWLEDGE_MCP_LOG_LEVEL": level}) as client:
        assert client.call("list_projects")["projects"] == []


def test_todo_lists(home: Path, client: Agent) -> None:
    tasks = [{"title": 'First | "thing"', "content": "Do it."}, {"title": "Second"}]
    made = client.call("create_todo", project_id="app", description="Ship it", tasks=tasks)
    assert made["todo_number"] == 1
    assert client.call("create_todo", project_id="app", description="Later")["todo_number"] == 2
    folder = home / "projects/app/TODO/1"
    assert sorted(file.name for file in folder.iterdir()) == [
        "TASK-001-first-thing.md",
        "TASK-002-second.md",
        "index.json",
    ]
    assert set(json.loads((folder / "index.json").read_text())) == {"created", "description"}
    of = {"project_id": "app", "todo_number": 1}
    shown = client.call("get_todo_tasks", **of)
    assert [(t["number"], t["description"], t["completed"]) for t in shown["tasks"]] == [
        (1, 'First | "thing"', False),
        (2, "Second", False),
    ]
    assert client.call("get_next_todo_task", **of)["task"] == {
        "number": 1,
        "description": 'First | "thing"',
        "content": "Do it.",
    }
    client.call("complete_todo_task", **of, task_number=1)
    client.call("complete_todo_task", **of, task_number=1)
    assert "completed: true" in (folder / "TASK-001-first-thing.md").read_text()
    assert client.call("get_next_todo_task", **of)["task"]["number"] == 2
    assert client.call("add_todo_task", **of, title="Third", content="c")["task_number"] == 3
    client.call("remove_todo_task", **of, task_number=2)
    client.call("complete_todo_task", **of, task_number=3)
    done = client.call("get_next_todo_task", **of)
    assert "task" not in done
    assert done["message"] == "All tasks completed in TODO #1"
    listed = client.call("list_todos", project_id="app")["todos"]
    assert [(t["number"], t["description"], t["completed"], t["task_count"], t["completed_count"]) for t in listed] == [
        (1, "Ship it", True, 2, 2),
        (2, "Later", False, 0, 0),
    ]
    client.call("delete_todo", **of)
    assert not folder.exists()
    assert failure(client, "get_todo_tasks", **of) == "TODO_NOT_FOUND"
    assert failure(client, "complete_todo_task", project_id="app", todo_number=2, task_number=9) == "TASK_NOT_FOUND"
    assert failure(client, "delete_todo", project_id="app", todo_number=99) == "TODO_NOT_FOUND"
    assert client.call("list_todos", project_id="none")["todos"] == []
    clean(home)
