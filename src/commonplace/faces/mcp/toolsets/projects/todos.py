"""The tools of the `projects` toolset for to-do lists."""

from __future__ import annotations

from commonplace.domain.json import JsonObject
from commonplace.domain.projects.todos import Task
from commonplace.faces.mcp.toolsets.projects import parameters
from commonplace.services.projects import todos
from commonplace.services.projects.home import Home
from commonplace.services.projects.todos import Todo


def create_todo(home: Home, given: parameters.CreateTodo) -> JsonObject:
    """A new list."""
    tasks = [(task.title, task.content) for task in given.tasks or ()]
    number = todos.create(home, given.project_id, given.description, tasks)
    return {"todo_number": number, "message": f"Created TODO #{number}"}


def list_todos(home: Home, given: parameters.OfProject) -> JsonObject:
    """All lists."""
    return {"todos": [_show(todo) for todo in todos.list_todos(home, given.project_id)]}


def get_todo_tasks(home: Home, given: parameters.OfTodo) -> JsonObject:
    """One list."""
    todo = todos.get(home, given.project_id, given.todo_number)
    shown = [{**_show_task(task), "completed": task.completed} for task in todo.tasks]
    return {"todo": _show(todo), "tasks": shown}


def get_next_todo_task(home: Home, given: parameters.OfTodo) -> JsonObject:
    """The first task that is not completed."""
    todo = todos.get(home, given.project_id, given.todo_number)
    for task in todo.tasks:
        if not task.completed:
            return {"task": _show_task(task)}
    message = "All tasks completed" if todo.tasks else "There are no tasks"
    return {"message": f"{message} in TODO #{todo.number}"}


def add_todo_task(home: Home, given: parameters.AddTask) -> JsonObject:
    """One more task."""
    number = todos.add_task(home, given.project_id, given.todo_number, given.title, given.content)
    return {"task_number": number, "message": f"Task #{number} added to TODO #{given.todo_number}"}


def complete_todo_task(home: Home, given: parameters.OfTask) -> JsonObject:
    """A task done."""
    todos.complete_task(home, given.project_id, given.todo_number, given.task_number)
    return _done(given, "completed")


def remove_todo_task(home: Home, given: parameters.OfTask) -> JsonObject:
    """One task less."""
    todos.remove_task(home, given.project_id, given.todo_number, given.task_number)
    return _done(given, "removed")


def delete_todo(home: Home, given: parameters.OfTodo) -> JsonObject:
    """One list less."""
    todos.delete(home, given.project_id, given.todo_number)
    return {"todo_number": given.todo_number, "message": f"TODO #{given.todo_number} deleted successfully"}


def _done(given: parameters.OfTask, what: str) -> JsonObject:
    return {
        "task_number": given.task_number,
        "message": f"Task #{given.task_number} in TODO #{given.todo_number} {what}",
    }


def _show(todo: Todo) -> JsonObject:
    return {
        "number": todo.number,
        "description": todo.about.description,
        "created": todo.about.created or None,
        "completed": todo.completed,
        "task_count": len(todo.tasks),
        "completed_count": todo.done,
    }


def _show_task(task: Task) -> JsonObject:
    return {"number": task.number, "description": task.title, "content": task.content}
