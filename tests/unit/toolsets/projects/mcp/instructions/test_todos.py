"""The answers of the tools for to-do lists."""

from __future__ import annotations

from commonplace.toolsets.projects.mcp import instructions, parameters
from commonplace.toolsets.projects.service.project_store import ProjectStore

FIRST = parameters.TodoArguments(project_id="shop", todo_number=1)


def made(projects: ProjectStore, *titles: str, project_id: str = "shop") -> object:
    tasks = [parameters.NewTask(title=title) for title in titles] or None
    todo = parameters.CreateTodo(project_id=project_id, description="Open the shop", tasks=tasks)
    return instructions.create_todo(projects, todo)


def test_tasks_are_taken_from_the_first_to_the_last(projects: ProjectStore) -> None:
    assert made(projects, "Doors", "Lights") == {"todo_number": 1, "message": "Created TODO #1"}
    for number, title in ((1, "Doors"), (2, "Lights")):
        following = instructions.get_next_todo_task(projects, FIRST)
        assert following == {"task": {"number": number, "description": title, "content": ""}}
        done = parameters.TaskArguments(project_id="shop", todo_number=1, task_number=number)
        assert instructions.complete_todo_task(projects, done)["message"] == f"Task #{number} in TODO #1 completed"
    assert instructions.get_next_todo_task(projects, FIRST) == {"message": "All tasks completed in TODO #1"}
    (listed,) = instructions.list_todos(projects, parameters.ProjectArguments(project_id="shop"))["todos"]  # type: ignore[misc]
    assert (listed["completed"], listed["task_count"], listed["completed_count"]) == (True, 2, 2)  # type: ignore[index]


def test_a_list_without_tasks_is_not_done(projects: ProjectStore) -> None:
    made(projects)
    assert instructions.get_next_todo_task(projects, FIRST) == {"message": "There are no tasks in TODO #1"}
    added = instructions.add_todo_task(projects, parameters.AddTask(project_id="shop", todo_number=1, title="Doors"))
    assert added == {"task_number": 1, "message": "Task #1 added to TODO #1"}
    whole = instructions.get_todo_tasks(projects, FIRST)
    assert whole["tasks"] == [{"number": 1, "description": "Doors", "content": "", "completed": False}]
    gone = parameters.TaskArguments(project_id="shop", todo_number=1, task_number=1)
    assert instructions.remove_todo_task(projects, gone)["message"] == "Task #1 in TODO #1 removed"
    assert instructions.delete_todo(projects, FIRST)["message"] == "TODO #1 deleted successfully"


def test_a_project_that_is_almost_another_one_is_told(projects: ProjectStore) -> None:
    made(projects, project_id="web-shop")
    near = instructions.list_todos(projects, parameters.ProjectArguments(project_id="web-shpo"))
    assert near["todos"] == []
    assert "web-shop" in str(near["notice"])
    assert "notice" in str(made(projects, project_id="web-shpo"))
