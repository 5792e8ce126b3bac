"""To-do lists: their numbers stay, and a number that has come to stand for another list is not acted upon."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.toolsets.projects.remote.setup import open_project_store
from commonplace.toolsets.projects.service import todos
from commonplace.toolsets.projects.service.project_store import IDENTITY, ProjectStore
from support import GitRepo

TASKS = [("Find it", "Look everywhere."), ("Close it", "")]


@pytest.fixture
def projects(tmp_path: Path) -> Iterator[ProjectStore]:
    opened = open_project_store(tmp_path / "store", tmp_path / "state", IDENTITY)
    yield ProjectStore(str(opened.path), opened.store, opened.folders, opened.origin, opened.activity)
    opened.origin.close()
    opened.activity.close()


def numbers(projects: ProjectStore, todo: int = 1) -> dict[int, bool]:
    return {task.number: task.completed for task in todos.get_todo(projects, "app", todo).tasks}


def test_a_list_is_made_with_its_tasks_in_order(projects: ProjectStore) -> None:
    assert todos.create_todo(projects, "app", "Close the\ngate", TASKS) == 1
    assert todos.create_todo(projects, "app", "Second", []) == 2
    todo = todos.get_todo(projects, "app", 1)
    assert (todo.about.description, [task.title for task in todo.tasks]) == ("Close the\ngate", ["Find it", "Close it"])
    assert (todo.done, todo.completed, todo.notice) == (0, False, "")
    assert [todo.number for todo in todos.list_todos(projects, "app")] == [1, 2]
    assert not todos.get_todo(projects, "app", 2).completed, "a list without tasks is not done"


def test_a_task_keeps_its_number_when_others_go(projects: ProjectStore) -> None:
    todos.create_todo(projects, "app", "Gate", TASKS)
    todos.remove_task(projects, "app", 1, 1)
    assert numbers(projects) == {2: False}
    assert todos.add_task(projects, "app", 1, "Paint it", "Green.") == 3
    todos.complete_task(projects, "app", 1, 2)
    todos.complete_task(projects, "app", 1, 2)
    assert numbers(projects) == {2: True, 3: False}
    todos.complete_task(projects, "app", 1, 3)
    assert todos.get_todo(projects, "app", 1).completed


def test_a_deleted_list_is_gone_and_its_number_is_free_if_it_was_the_last(projects: ProjectStore) -> None:
    for name in ("One", "Two"):
        todos.create_todo(projects, "app", name, TASKS)
    todos.delete_todo(projects, "app", 1)
    assert [todo.number for todo in todos.list_todos(projects, "app")] == [2]
    assert todos.create_todo(projects, "app", "Three", []) == 3
    assert GitRepo(Path(projects.path)).git("status", "--porcelain") == ""


def test_what_is_not_there_is_told_by_its_kind(projects: ProjectStore) -> None:
    assert todos.list_todos(projects, "none") == []
    todos.create_todo(projects, "app", "Gate", TASKS)
    for act, kind in (
        (lambda: todos.get_todo(projects, "none", 1), "project"),
        (lambda: todos.get_todo(projects, "app", 7), "todo"),
        (lambda: todos.delete_todo(projects, "app", -1), "todo"),
        (lambda: todos.complete_task(projects, "app", 1, 7), "task"),
        (lambda: todos.remove_task(projects, "app", 1, 0), "task"),
    ):
        with pytest.raises(NotFoundError) as refused:
            act()
        assert refused.value.kind == kind
    with pytest.raises(InvalidInputError):
        todos.add_task(projects, "app", 1, "", "x")
    with pytest.raises(InvalidInputError):
        todos.create_todo(projects, "../x", "Gate", [])


def test_a_number_that_another_machine_gave_to_another_list_is_not_acted_upon_unseen(projects: ProjectStore) -> None:
    todos.create_todo(projects, "app", "Gate", TASKS)
    file = next(Path(projects.path).glob("projects/*/TODO/1/index.json"))
    file.write_text('{"created": "2026-01-01", "description": "Another list"}')
    with pytest.raises(NotFoundError, match="It was 'Gate'") as refused:
        todos.complete_task(projects, "app", 1, 1)
    assert "Call again" in refused.value.hint
    todos.complete_task(projects, "app", 1, 1)
    assert numbers(projects)[1]


def test_a_list_whose_description_is_damaged_has_its_tasks(projects: ProjectStore) -> None:
    todos.create_todo(projects, "app", "Gate", TASKS)
    file = next(Path(projects.path).glob("projects/*/TODO/1/index.json"))
    file.write_text("{")
    (file.parent.parent / "07").mkdir()
    (file.parent.parent / "x").mkdir()
    (todo,) = todos.list_todos(projects, "app")
    assert (todo.about.description, len(todo.tasks)) == ("", 2)


def test_parallel_calls_get_numbers_of_their_own_and_lose_nothing(projects: ProjectStore) -> None:
    todos.create_todo(projects, "app", "First", [])

    def created(name: str) -> int:
        return todos.create_todo(projects, "app", name, [(name, name)])

    def added(name: str) -> int:
        return todos.add_task(projects, "app", 1, "Same title", name)

    names = [f"List {number}" for number in range(16)]
    with ThreadPoolExecutor(2 * len(names)) as pool:
        lists, tasks = pool.map(created, names), pool.map(added, names)
    assert sorted(lists) == list(range(2, 18))
    assert sorted(tasks) == list(range(1, 17))
    kept_todos = todos.list_todos(projects, "app")
    assert sorted(todo.about.description for todo in kept_todos[1:]) == sorted(names)
    assert all([task.content for task in todo.tasks] == [todo.about.description] for todo in kept_todos[1:])
    assert sorted(task.content for task in kept_todos[0].tasks) == sorted(names)


def test_of_two_tasks_to_which_two_machines_gave_one_number_each_is_completed_and_removed(
    projects: ProjectStore,
) -> None:
    todos.create_todo(projects, "app", "List", TASKS)
    folder = Path(projects.path) / "projects/app/TODO/1"
    twin = next(folder.glob("TASK-002*"))
    (folder / "TASK-002-by-another-machine.md").write_bytes(twin.read_bytes())
    for done in (1, 2, 2):
        todos.complete_task(projects, "app", 1, 2)
        assert sum(task.completed for task in todos.get_todo(projects, "app", 1).tasks) == done
    assert todos.add_task(projects, "app", 1, "Third", "") == 3
    for left in (3, 2):
        todos.remove_task(projects, "app", 1, 2)
        assert len(todos.get_todo(projects, "app", 1).tasks) == left
