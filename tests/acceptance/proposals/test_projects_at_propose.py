"""The cases of `projects` at `propose`: nothing that is served moves, and accepting leaves what writing leaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acceptance.projects import test_contract_cases as suite
from agent import Agent, agent
from at_propose import proposing_agent
from at_propose import served as served_state
from forms import page
from knowledge import CHAPTERS, index, subjects
from serving import Server, served
from support import GitRepo

test_project_ids_are_kept_as_they_are = suite.test_project_ids_are_kept_as_they_are_and_have_folders_of_their_own


@pytest.mark.parametrize(("steps", "holds"), [row[1:] for row in suite.CASES], ids=[row[0] for row in suite.CASES])
@pytest.mark.sampled(12)
def test_calls_answer_as_at_write(client: Agent, steps: list[suite.Step], holds: suite.Check) -> None:
    suite.test_calls_answer_as_their_users_know_them(client, steps, holds)


def test_every_acceptance_is_one_commit_with_the_subject_of_the_write(client: Agent, home: Path) -> None:
    for (tool, arguments), operation in suite.COMMITS:
        before = len(subjects(home))
        client.call(tool, project_id="commits", **arguments)
        after = subjects(home)
        assert (len(after), after[0]) == (before + 1, f"Update knowledge for commits: {operation}")
    assert GitRepo(home).git("status", "--porcelain") == ""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cases") / "home"


@pytest.fixture(scope="module")
def person(home: Path) -> Iterator[Server]:
    """A server of the store, over which a person decides."""
    with served(home, "--toolset", "projects", "--tier", "write") as server:
        yield server


@pytest.fixture(scope="module")
def client(home: Path, person: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """An agent at `propose`; each proposal is accepted at once."""
    assert person.ask("GET", "/api/v1/proposals").status == 200  # the store is there

    def accept(_: Path) -> None:
        for proposal in waiting(person):
            answer = person.ask("POST", f"/api/v1/proposals/{proposal}/accept", {})
            assert answer.status == 200, answer.body

    connect = proposing_agent(agent, tmp_path_factory.mktemp("state"), accept)
    with connect("mcp", home, "--toolset", "projects", "--tier", "write") as connected:
        yield connected


def waiting(person: Server) -> list[str]:
    """Ids of the open proposals, the oldest first."""
    return [row["id"] for row in reversed(person.ask("GET", "/api/v1/proposals").json["proposals"])]


def test_two_agents_propose_to_one_document_and_one_list_and_all_is_merged(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with agent("mcp", home, "--toolset", "projects") as writer:
        document: dict[str, Any] = {"title": "Guide", "introduction": "x", "keywords": ["k"], "chapters": CHAPTERS}
        writer.call("create_knowledge_file", project_id="tea", filename="guide", **document)
        writer.call("create_todo", project_id="tea", description="first")
    before = served_state(home)
    for name, chapter in (("Ada", "Tokens"), ("Ben", "Keys")):
        with agent("mcp", home, "--toolset", "projects", "--tier", "propose", fresh=True) as proposer:
            change = {"chapter_title": chapter, "new_content": f"By {name}."}
            answer = proposer.call("update_chapter", project_id="tea", filename="guide", **change)
            assert "PROPOSED" in answer["proposal"]
            proposer.call("create_todo", project_id="tea", description=name, tasks=[{"title": "t", "content": ""}])
            proposer.call("add_todo_task", project_id="tea", todo_number=1, title=name, content="x")
            proposer.call("update_project_main", project_id=f"of {name}", content=f"# {name}\n")
            shown = proposer.call("search_knowledge", project_id="tea", query=name)
            assert [row["file"] for row in shown["results"]] == ["guide.md"]
            assert {row["description"] for row in proposer.call("list_todos", project_id="tea")["todos"]} == {
                "first",
                name,
            }
            assert "sync_storage" not in proposer.tools()
    assert served_state(home) == before
    with served(home, "--toolset", "projects", "--tier", "write") as person:
        for proposal in waiting(person):
            shown = page(person, f"/proposals/{proposal}")
            assert "projects/tea/knowledge/guide.md" in shown
            answer = person.ask("POST", f"/api/v1/proposals/{proposal}/accept", {})
            assert answer.status == 200, answer.body
        assert "accepted" in page(person, "/proposals")
    with agent("mcp", home, "--toolset", "projects") as reader:
        todos = reader.call("list_todos", project_id="tea")["todos"]
        assert [(row["number"], row["description"], row["task_count"]) for row in todos] == [
            (1, "first", 2),
            (2, "Ada", 1),
            (3, "Ben", 1),
        ]
        tasks = reader.call("get_todo_tasks", project_id="tea", todo_number=1)["tasks"]
        assert [(task["number"], task["description"].partition("\n")[0]) for task in tasks] == [(1, "Ada"), (2, "Ben")]
        text = reader.call("get_knowledge_file", project_id="tea", filename="guide")["document"]["full_content"]
        assert "By Ada." in text
        assert "By Ben." in text
    assert set(index(home)) == {"tea", "of Ada", "of Ben"}
    assert GitRepo(home).git("log", "-1", "--format=%an").strip() == "Knowledge MCP Server"
    assert GitRepo(home).git("status", "--porcelain") == ""
