"""Cases that users of such stores rely on, one line each: calls over the real process, and facts of the last answer.

Each case has a separate project. Cases that differ by choice are in docs/differences.md.
"""

# ruff: noqa: E501 - one line a case

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from agent import Agent
from knowledge import clean, failure, projects, subjects

Step = tuple[str, dict[str, Any]]
"""A tool and its arguments beside `project_id`."""
Check = Callable[[Any], bool]
"""Whether the last answer holds what the case is about."""
NUMBERS = count()

MAIN: Step = (
    "update_project_main",
    {"content": "# Main\n\nIntro.\n\n## Build\nmake\n\n### Fast\nmake -j\n\n## Test\npytest\n"},
)
DOCUMENT: Step = ("create_knowledge_file", {
    "filename": "API Guide", "title": "API Guide & more", "introduction": "How the walrus API works.", "keywords": ["api", "C++"],
    "chapters": [{"title": "Tokens", "content": "Tokens expire in C#.\n\nMore about Node.js."}, {"title": "Keys", "content": "Keys rotate: $x, (a), [b], {c}, 中文."}],
})  # fmt: skip
NESTED: Step = ("create_knowledge_file", {
    "filename": "nested", "title": "Nested", "introduction": "x", "keywords": ["n"],
    "chapters": [{"title": "One", "content": "First.\n\n### Inner\n\nInside.\n\n```\n## no chapter\n```"}, {"title": "Two", "content": "Second."}],
})  # fmt: skip
TODO: Step = (
    "create_todo",
    {"description": "Ship it", "tasks": [{"title": "Write", "content": "text"}, {"title": "Read", "content": ""}]},
)
FILE = {"filename": "api-guide.md"}
ONE = {"todo_number": 1}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cases") / "home"


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[Agent]:
    with projects(home) as connected:
        yield connected


def search(query: str, **more: Any) -> Step:
    return ("search_knowledge", {"query": query, **more})


def found(answer: Any) -> list[str]:
    return [row["file"] for row in answer["results"]]


def titles(answer: Any) -> list[str]:
    return [chapter["title"] for chapter in answer["chapters"]]


CASES: list[tuple[str, list[Step], Check]] = [
    # Instructions.
    ("an unknown project has none", [("get_project_main", {})], lambda a: (a["success"], a["exists"], a["content"]) == (True, False, "")),
    ("instructions come back", [MAIN, ("get_project_main", {})], lambda a: (a["exists"], a["content"]) == (True, MAIN[1]["content"])),
    ("instructions are replaced", [MAIN, ("update_project_main", {"content": "# New"}), ("get_project_main", {})], lambda a: a["content"] == "# New"),
    ("a section is replaced", [MAIN, ("update_project_section", {"section_header": "## Test", "new_content": "tox"}), ("get_project_main", {})], lambda a: "## Test\n\ntox" in a["content"] or "## Test\ntox" in a["content"]),
    ("content is taken for new_content", [MAIN, ("update_project_section", {"section_header": "## Test", "content": "tox"}), ("get_project_main", {})], lambda a: "tox" in a["content"] and "pytest" not in a["content"]),
    ("a section at the end", [MAIN, ("add_project_section", {"section_header": "## Deploy", "content": "ship"}), ("get_project_main", {})], lambda a: a["content"].rstrip().endswith("ship")),
    ("a section before another", [MAIN, ("add_project_section", {"section_header": "## Setup", "content": "venv", "position": "before", "reference_header": "## Build"}), ("get_project_main", {})], lambda a: a["content"].index("## Setup") < a["content"].index("## Build")),
    ("a section after another", [MAIN, ("add_project_section", {"section_header": "## Lint", "content": "ruff", "position": "after", "reference_header": "## Build"}), ("get_project_main", {})], lambda a: a["content"].index("### Fast") < a["content"].index("## Lint") < a["content"].index("## Test")),
    ("a section is removed with what is below", [MAIN, ("remove_project_section", {"section_header": "## Build"}), ("get_project_main", {})], lambda a: "make" not in a["content"] and "## Test" in a["content"]),
    ("instructions may be empty", [("update_project_main", {"content": ""}), ("get_project_main", {})], lambda a: (a["exists"], a["content"]) == (True, "")),
    # Documents.
    ("a document is made", [DOCUMENT], lambda a: (a["filepath"], a["success"]) == ("knowledge/api-guide.md", True)),
    ("its message", [DOCUMENT], lambda a: "api-guide.md" in a["message"]),
    ("its parts", [DOCUMENT, ("get_knowledge_file", FILE)], lambda a: set(a["document"]) == {"filename", "metadata", "introduction", "chapters", "full_content"}),
    ("its metadata", [DOCUMENT, ("get_knowledge_file", FILE)], lambda a: (a["document"]["metadata"]["title"], a["document"]["metadata"]["keywords"]) == ("API Guide & more", ["api", "C++"])),
    ("its dates have milliseconds", [DOCUMENT, ("get_knowledge_file", FILE)], lambda a: len(a["document"]["metadata"]["created"]) == len("2026-01-02T03:04:05.678Z")),
    ("its chapters", [DOCUMENT, ("get_knowledge_file", FILE)], lambda a: titles(a["document"]) == ["Tokens", "Keys"]),
    ("its introduction", [DOCUMENT, ("get_knowledge_file", FILE)], lambda a: a["document"]["introduction"] == "How the walrus API works."),
    ("the raw file", [DOCUMENT, ("get_knowledge_file", FILE)], lambda a: a["document"]["full_content"].startswith("---\n")),
    ("by the name that it was made with", [DOCUMENT, ("get_knowledge_file", {"filename": "API Guide"})], lambda a: a["document"]["filename"] == "api-guide.md"),
    ("C++ is cplusplus", [("create_knowledge_file", {**DOCUMENT[1], "filename": "C++"})], lambda a: a["filepath"] == "knowledge/cplusplus.md"),
    ("C# is csharp", [("create_knowledge_file", {**DOCUMENT[1], "filename": "C#"})], lambda a: a["filepath"] == "knowledge/csharp.md"),
    ("marks are dropped", [("create_knowledge_file", {**DOCUMENT[1], "filename": "User's Guide & FAQ"})], lambda a: a["filepath"] == "knowledge/users-guide-and-faq.md"),
    ("other scripts stay", [("create_knowledge_file", {**DOCUMENT[1], "filename": "日本語"})], lambda a: a["filepath"] == "knowledge/日本語.md"),
    ("one .md", [("create_knowledge_file", {**DOCUMENT[1], "filename": "x.md"})], lambda a: a["filepath"] == "knowledge/x.md"),
    ("a document is deleted", [DOCUMENT, ("delete_knowledge_file", FILE), ("list_knowledge_files", {})], lambda a: a["files"] == []),
    ("documents are listed", [DOCUMENT, NESTED, ("list_knowledge_files", {})], lambda a: [set(file) for file in a["files"]] == [{"filename", "title", "keywords", "created", "updated"}] * 2),
    # Chapters.
    ("chapters are listed", [DOCUMENT, ("list_chapters", FILE)], lambda a: (a["total_chapters"], [item["index"] for item in a["chapters"]]) == (2, [0, 1])),
    ("inner chapters, too", [NESTED, ("list_chapters", {"filename": "nested"})], lambda a: titles(a) == ["One", "Inner", "Two"]),
    ("a fence is no chapter", [NESTED, ("list_chapters", {"filename": "nested"})], lambda a: "no chapter" not in titles(a)),
    ("a chapter by title", [DOCUMENT, ("get_chapter", {**FILE, "chapter_title": "Keys"})], lambda a: (a["index"], a["total_chapters"], a["has_next"], a["has_previous"]) == (1, 2, False, True)),
    ("a chapter by index", [DOCUMENT, ("get_chapter", {**FILE, "chapter_index": 0})], lambda a: (a["title"], a["has_next"], a["has_previous"]) == ("Tokens", True, False)),
    ("with its heading line", [DOCUMENT, ("get_chapter", {**FILE, "chapter_index": 0})], lambda a: a["content"].startswith("## Tokens")),
    ("its summary is its first paragraph", [DOCUMENT, ("get_chapter", {**FILE, "chapter_index": 0})], lambda a: a["summary"] == "Tokens expire in C#."),
    ("the next chapter", [DOCUMENT, ("get_next_chapter", {**FILE, "current_chapter_title": "Tokens"})], lambda a: a["title"] == "Keys"),
    ("the next by index", [DOCUMENT, ("get_next_chapter", {**FILE, "current_index": 0})], lambda a: a["title"] == "Keys"),
    ("behind the last", [DOCUMENT, ("get_next_chapter", {**FILE, "current_index": 1})], lambda a: (a["has_next"], bool(a["message"])) == (False, True)),
    ("a chapter is replaced", [DOCUMENT, ("update_chapter", {**FILE, "chapter_title": "Keys", "new_content": "Never."}), ("get_chapter", {**FILE, "chapter_title": "Keys"})], lambda a: a["content"].endswith("Never.")),
    ("and the others stay", [DOCUMENT, ("update_chapter", {**FILE, "chapter_title": "Keys", "new_content": "Never."}), ("get_chapter", {**FILE, "chapter_title": "Tokens"})], lambda a: "More about Node.js." in a["content"]),
    ("a summary is set", [DOCUMENT, ("update_chapter", {**FILE, "chapter_title": "Keys", "new_content": "Never.", "new_summary": "In short."}), ("get_chapter", {**FILE, "chapter_title": "Keys"})], lambda a: a["summary"] == "In short."),
    ("subsections stay", [NESTED, ("update_chapter", {"filename": "nested", "chapter_title": "One", "new_content": "Other."}), ("list_chapters", {"filename": "nested"})], lambda a: titles(a) == ["One", "Inner", "Two"]),
    ("a chapter at the end", [DOCUMENT, ("add_chapter", {**FILE, "chapter_title": "Last", "content": "x"}), ("list_chapters", FILE)], lambda a: titles(a) == ["Tokens", "Keys", "Last"]),
    ("a chapter before another", [DOCUMENT, ("add_chapter", {**FILE, "chapter_title": "Zero", "content": "x", "position": "before", "reference_chapter": "Tokens"}), ("list_chapters", FILE)], lambda a: titles(a) == ["Zero", "Tokens", "Keys"]),
    ("a chapter after another", [DOCUMENT, ("add_chapter", {**FILE, "chapter_title": "Half", "content": "x", "position": "after", "reference_chapter": "Tokens"}), ("list_chapters", FILE)], lambda a: titles(a) == ["Tokens", "Half", "Keys"]),
    ("a chapter is removed", [DOCUMENT, ("remove_chapter", {**FILE, "chapter_title": "Tokens"}), ("list_chapters", FILE)], lambda a: titles(a) == ["Keys"]),
    ("with its subsections, which are named", [NESTED, ("remove_chapter", {"filename": "nested", "chapter_title": "One"})], lambda a: "'Inner'" in a["message"]),
    # Search.
    ("a hit's keys", [DOCUMENT, search("expire")], lambda a: {"file", "match_count", "metadata", "matching_chapters", "document", "chapters"} == set(a["results"][0])),
    ("a chapter's keys", [DOCUMENT, search("expire")], lambda a: set(a["results"][0]["matching_chapters"][0]) == {"chapter", "keywords_found", "match_context", "chapter_summary"}),
    ("the shorter form", [DOCUMENT, search("expire")], lambda a: (a["results"][0]["document"], a["results"][0]["chapters"]) == ("api-guide.md", [{"title": "Tokens", "matches": 1}])),
    ("counts", [DOCUMENT, search("expire rotate")], lambda a: (a["total_documents"], a["total_matches"], a["results"][0]["match_count"]) == (1, 2, 2)),
    ("an excerpt", [DOCUMENT, search("expire")], lambda a: "expire" in a["results"][0]["matching_chapters"][0]["match_context"]["expire"][0]),
    ("keywords in lower case", [DOCUMENT, search("EXPIRE")], lambda a: [(item["keywords_found"], [*item["match_context"]]) for item in a["results"][0]["matching_chapters"]] == [(["expire"], ["expire"])]),
    ("the introduction after the chapters", [DOCUMENT, search("walrus expire")], lambda a: [item["chapter"] for item in a["results"][0]["matching_chapters"]] == ["Tokens", "(Document Introduction)"]),
    ("the introduction", [DOCUMENT, search("walrus")], lambda a: a["results"][0]["matching_chapters"][0]["chapter"] == "(Document Introduction)"),
    ("a title alone has no chapters", [DOCUMENT, search("more")], lambda a: found(a) == ["api-guide.md"]),
    ("a keyword alone", [NESTED, search("n")], lambda a: found(a) == ["nested.md"]),
    ("in another case", [DOCUMENT, search("WALRUS")], lambda a: found(a) == ["api-guide.md"]),
    ("a part of a word", [DOCUMENT, search("walr")], lambda a: found(a) == ["api-guide.md"]),
    ("either word", [DOCUMENT, NESTED, search("walrus second")], lambda a: set(found(a)) == {"api-guide.md", "nested.md"}),
    ("the innermost chapter", [NESTED, search("inside")], lambda a: [item["chapter"] for item in a["results"][0]["matching_chapters"]] == ["Inner"]),
    ("C++", [DOCUMENT, search("C++")], lambda a: found(a) == ["api-guide.md"]),
    ("C#", [DOCUMENT, search("C#")], lambda a: found(a) == ["api-guide.md"]),
    ("Node.js", [DOCUMENT, search("Node.js")], lambda a: found(a) == ["api-guide.md"]),
    ("a dollar", [DOCUMENT, search("$x")], lambda a: found(a) == ["api-guide.md"]),
    ("parentheses", [DOCUMENT, search("(a)")], lambda a: found(a) == ["api-guide.md"]),
    ("brackets", [DOCUMENT, search("[b]")], lambda a: found(a) == ["api-guide.md"]),
    ("braces", [DOCUMENT, search("{c}")], lambda a: found(a) == ["api-guide.md"]),
    ("another script", [DOCUMENT, search("中文")], lambda a: found(a) == ["api-guide.md"]),
    ("one letter", [DOCUMENT, search("z")], lambda a: a["total_documents"] == 0),
    ("function words do not match", [DOCUMENT, search("how are tokens handled")], lambda a: a["results"][0]["matching_chapters"][0]["keywords_found"] == ["tokens"]),
    ("no match", [DOCUMENT, search("zebra")], lambda a: (a["success"], a["total_documents"], a["total_matches"], a["results"]) == (True, 0, 0, [])),
    ("a limit", [DOCUMENT, NESTED, search("walrus second", limit=1)], lambda a: (len(a["results"]), a["total_documents"]) == (1, 2)),
    # To-do lists.
    ("a list is made", [TODO], lambda a: (a["todo_number"], a["message"]) == (1, "Created TODO #1")),
    ("lists of an unknown project", [("list_todos", {})], lambda a: a["todos"] == []),
    ("a list's row", [TODO, ("list_todos", {})], lambda a: {key: a["todos"][0][key] for key in ("number", "description", "completed", "task_count", "completed_count")} == {"number": 1, "description": "Ship it", "completed": False, "task_count": 2, "completed_count": 0}),
    ("numbers go on", [TODO, TODO], lambda a: a["todo_number"] == 2),
    ("tasks", [TODO, ("get_todo_tasks", ONE)], lambda a: [(task["number"], task["description"], task["completed"]) for task in a["tasks"]] == [(1, "Write", False), (2, "Read", False)]),
    ("the next task", [TODO, ("get_next_todo_task", ONE)], lambda a: (a["task"]["number"], a["task"]["description"].startswith("Write")) == (1, True)),
    ("a task is completed", [TODO, ("complete_todo_task", {**ONE, "task_number": 1}), ("get_next_todo_task", ONE)], lambda a: a["task"]["number"] == 2),
    ("all are completed", [TODO, ("complete_todo_task", {**ONE, "task_number": 1}), ("complete_todo_task", {**ONE, "task_number": 2}), ("get_next_todo_task", ONE)], lambda a: a["message"] == "All tasks completed in TODO #1"),
    ("the list is completed then", [TODO, ("complete_todo_task", {**ONE, "task_number": 1}), ("complete_todo_task", {**ONE, "task_number": 2}), ("list_todos", {})], lambda a: (a["todos"][0]["completed"], a["todos"][0]["completed_count"]) == (True, 2)),
    ("a task is added", [TODO, ("add_todo_task", {**ONE, "title": "Rest", "content": "sleep"})], lambda a: a["task_number"] == 3),
    ("a task is removed", [TODO, ("remove_todo_task", {**ONE, "task_number": 1}), ("get_todo_tasks", ONE)], lambda a: [task["description"] for task in a["tasks"]] == ["Read"]),
    ("a list is deleted", [TODO, ("delete_todo", ONE), ("list_todos", {})], lambda a: a["todos"] == []),
    ("a list without tasks", [("create_todo", {"description": "Later"}), ("list_todos", {})], lambda a: a["todos"][0]["task_count"] == 0),
    # The store.
    ("a project is deleted", [MAIN, ("delete_project", {})], lambda a: a["message"] == f"Project '{a['project_id']}' successfully deleted"),
    ("and is gone", [MAIN, ("delete_project", {}), ("get_project_main", {})], lambda a: a["exists"] is False),
]  # fmt: skip


def run(client: Agent, steps: list[Step]) -> tuple[Any, str]:
    """The last step's answer, and the project of all."""
    project = f"case {next(NUMBERS)}"
    answer: Any = None
    for tool, arguments in steps:
        answer = client.call(tool, project_id=project, **arguments)
    return answer, project


@pytest.mark.parametrize(("steps", "holds"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_calls_answer_as_their_users_know_them(client: Agent, steps: list[Step], holds: Check) -> None:
    answer, _ = run(client, steps)
    assert answer["success"] is True
    assert holds(answer), json.dumps(answer, indent=1, ensure_ascii=False)


LONG = "x" * 201
REFUSED: list[tuple[str, list[Step], Step, str, str]] = [
    ("an empty project id", [], ("get_project_main", {"project_id": ""}), "INVALID_PROJECT_ID", "Project ID cannot be empty"),
    ("no project id", [], ("get_project_main", {"project_id": None}), "INVALID_INPUT", "Project ID"),
    ("a project id that is a number", [], ("get_project_main", {"project_id": 5}), "INVALID_INPUT", "Project ID"),
    ("no filename", [], ("get_knowledge_file", {}), "INVALID_INPUT", "Filename is required"),
    ("a filename that is a list", [], ("get_knowledge_file", {"filename": ["x"]}), "INVALID_INPUT", "Filename"),
    ("no content", [], ("update_project_main", {}), "INVALID_INPUT", "Content is required"),
    ("content that is a number", [], ("update_project_main", {"content": 5}), "INVALID_INPUT", "Content"),
    ("no query", [], ("search_knowledge", {}), "INVALID_INPUT", "Query is required"),
    ("a query that is true", [], ("search_knowledge", {"query": True}), "INVALID_INPUT", "Query"),
    ("a project id that leads out", [], ("get_project_main", {"project_id": "../x"}), "INVALID_PROJECT_ID", "Project ID"),
    ("a slash in a project id", [], ("get_project_main", {"project_id": "a/b"}), "INVALID_PROJECT_ID", "Project ID"),
    ("a project id of 101 characters", [], ("get_project_main", {"project_id": "p" * 101}), "INVALID_PROJECT_ID", "Project ID"),
    ("an unknown project to delete", [], ("delete_project", {}), "PROJECT_NOT_FOUND", "case"),
    ("an unknown document", [DOCUMENT], ("get_knowledge_file", {"filename": "api-gide"}), "DOCUMENT_NOT_FOUND", "api-g"),
    ("a filename that leads out", [DOCUMENT], ("get_knowledge_file", {"filename": "../x"}), "INVALID_FILENAME", "Filename"),
    ("a slash in a filename", [], ("create_knowledge_file", {**DOCUMENT[1], "filename": "a/b"}), "INVALID_FILENAME", "Filename"),
    ("a document that is there", [DOCUMENT], DOCUMENT, "FILE_ALREADY_EXISTS", "api-guide.md"),
    ("another name with the same slug", [DOCUMENT], ("create_knowledge_file", {**DOCUMENT[1], "filename": "api guide"}), "FILE_ALREADY_EXISTS", "api-guide.md"),
    ("no keywords", [], ("create_knowledge_file", {**DOCUMENT[1], "keywords": []}), "INVALID_INPUT", "eyword"),
    ("a long title", [], ("create_knowledge_file", {**DOCUMENT[1], "title": LONG}), "INVALID_INPUT", "200"),
    ("51 chapters", [], ("create_knowledge_file", {**DOCUMENT[1], "chapters": [{"title": f"t{n}", "content": "x"} for n in range(51)]}), "INVALID_INPUT", "50"),
    ("an unknown chapter", [DOCUMENT], ("get_chapter", {**FILE, "chapter_title": "Nix"}), "CHAPTER_NOT_FOUND", "Nix"),
    ("chapters are case-sensitive", [DOCUMENT], ("update_chapter", {**FILE, "chapter_title": "tokens", "new_content": "x"}), "CHAPTER_NOT_FOUND", "tokens"),
    ("an index out of range", [DOCUMENT], ("get_chapter", {**FILE, "chapter_index": 9}), "CHAPTER_NOT_FOUND", "out of range"),
    ("a chapter that is there", [DOCUMENT], ("add_chapter", {**FILE, "chapter_title": "Keys", "content": "x"}), "FILE_ALREADY_EXISTS", "Keys"),
    ("an unknown section", [MAIN], ("update_project_section", {"section_header": "## Nix", "new_content": "x"}), "SECTION_NOT_FOUND", "Nix"),
    ("a section that is there", [MAIN], ("add_project_section", {"section_header": "## Test", "content": "x"}), "SECTION_ALREADY_EXISTS", "Test"),
    ("an unknown list", [TODO], ("get_todo_tasks", {"todo_number": 9}), "TODO_NOT_FOUND", "9"),
    ("an unknown task", [TODO], ("complete_todo_task", {**ONE, "task_number": 9}), "TASK_NOT_FOUND", "9"),
    ("a blank query", [DOCUMENT], search(" "), "INVALID_SEARCH_QUERY", "query"),
    ("a query of 201 characters", [DOCUMENT], search(LONG), "INVALID_SEARCH_QUERY", "200"),
    ("a query of 21 words", [DOCUMENT], search("w " * 21), "INVALID_SEARCH_QUERY", "20"),
    ("a long description", [], ("create_todo", {"description": "x" * 501}), "INVALID_INPUT", "500"),
    ("a search in an unknown project", [], search("zebra"), "PROJECT_NOT_FOUND", "case"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "step", "code", "said"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_a_refusal_has_its_code_and_names_what_was_wrong(
    client: Agent, before: list[Step], step: Step, code: str, said: str
) -> None:
    _, project = run(client, before)
    tool, arguments = step
    given_values = {"project_id": project, **arguments}
    assert failure(client, tool, **given_values) == code
    assert said in client.refusal(tool, **given_values)["error"]


IDS = ["My Project", "R&D costs $5; `x` & y", "日本語", "R&D costs 5 x and y", "my project", "C++", "C#"]


def test_project_ids_are_kept_as_they_are_and_have_folders_of_their_own(client: Agent, home: Path) -> None:
    for name in IDS:
        client.call("update_project_main", project_id=name, content=f"# {name}")
    for name in IDS:
        assert client.call("get_project_main", project_id=name)["content"] == f"# {name}"
    listed = {row["project_id"] for row in client.call("list_projects", limit=500)["projects"]}
    assert set(IDS) <= listed
    folders = json.loads((home / "index.json").read_text())["projects"]
    assert len({folders[name] for name in IDS}) == len(IDS)


COMMITS: list[tuple[Step, str]] = [
    (DOCUMENT, "Created api-guide.md"),
    (("update_chapter", {**FILE, "chapter_title": "Keys", "new_content": "x"}), "Updated chapter 'Keys' in api-guide.md"),
    (("delete_knowledge_file", FILE), "Deleted api-guide.md"),
    (MAIN, "Updated main.md"),
]  # fmt: skip


def test_every_write_is_one_commit_with_its_subject(client: Agent, home: Path) -> None:
    project = f"commits {next(NUMBERS)}"
    for (tool, arguments), operation in COMMITS:
        before = len(subjects(home))
        client.call(tool, project_id=project, **arguments)
        known_subjects = subjects(home)
        assert (len(known_subjects), known_subjects[0]) == (before + 1, f"Update knowledge for {project}: {operation}")
    clean(home)


def test_the_server_and_the_store_say_what_they_are(client: Agent) -> None:
    about = client.call("get_server_info")
    assert about["name"] == "Knowledge MCP Server"
    assert about["description"] == "Centralized project knowledge management via Model Context Protocol"
    status = client.call("get_storage_status")
    assert (status["has_changes"], status["remote_status"], status["status_details"]) == (
        False,
        "No remote configured",
        "",
    )
    synced = client.call("sync_storage")
    assert (synced["files_committed"], synced["pushed"], synced["commit_message"]) == (0, False, None)
    assert "not pushed: No remote configured" in synced["message"]
