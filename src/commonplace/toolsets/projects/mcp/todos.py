"""The tools of the `projects` toolset for to-do lists."""

from __future__ import annotations

from commonplace.domain.json import JsonObject
from commonplace.toolsets.projects.mcp import parameters
from commonplace.toolsets.projects.mcp.call_envelope import nearest_notice, new_project_notice
from commonplace.toolsets.projects.rules.todos import Task
from commonplace.toolsets.projects.service import todos
from commonplace.toolsets.projects.service.project_store import ProjectStore
from commonplace.toolsets.projects.service.todos import Todo


def create_todo(projects: ProjectStore, arguments: parameters.CreateTodo) -> JsonObject:
    """Create a to-do list."""
    tasks = [(task.title, task.content) for task in arguments.tasks or ()]
    notice = new_project_notice(projects, arguments.project_id)
    number = todos.create_todo(projects, arguments.project_id, arguments.description, tasks)
    return {"todo_number": number, "message": f"Created TODO #{number}", **notice}


def list_todos(projects: ProjectStore, arguments: parameters.ProjectArguments) -> JsonObject:
    """All to-do lists of a project."""
    shown = [_noticed(todo, _show(todo)) for todo in todos.list_todos(projects, arguments.project_id)]
    return {"todos": shown, **({} if shown else nearest_notice(projects, arguments.project_id))}


def get_todo_tasks(projects: ProjectStore, arguments: parameters.TodoArguments) -> JsonObject:
    """One to-do list with its tasks."""
    todo = todos.get_todo(projects, arguments.project_id, arguments.todo_number)
    shown = [{**_show_task(task), "completed": task.completed} for task in todo.tasks]
    return _noticed(todo, {"todo": _show(todo), "tasks": shown})


def get_next_todo_task(projects: ProjectStore, arguments: parameters.TodoArguments) -> JsonObject:
    """The first task that is not completed."""
    todo = todos.get_todo(projects, arguments.project_id, arguments.todo_number)
    for task in todo.tasks:
        if not task.completed:
            return _noticed(todo, {"task": _show_task(task)})
    message = "All tasks completed" if todo.tasks else "There are no tasks"
    return _noticed(todo, {"message": f"{message} in TODO #{todo.number}"})


def add_todo_task(projects: ProjectStore, arguments: parameters.AddTask) -> JsonObject:
    """Add a task to a to-do list."""
    number = todos.add_task(projects, arguments.project_id, arguments.todo_number, arguments.title, arguments.content)
    return {"task_number": number, "message": f"Task #{number} added to TODO #{arguments.todo_number}"}


def complete_todo_task(projects: ProjectStore, arguments: parameters.TaskArguments) -> JsonObject:
    """Mark a task as completed."""
    todos.complete_task(projects, arguments.project_id, arguments.todo_number, arguments.task_number)
    return _done(arguments, "completed")


def remove_todo_task(projects: ProjectStore, arguments: parameters.TaskArguments) -> JsonObject:
    """Remove a task."""
    todos.remove_task(projects, arguments.project_id, arguments.todo_number, arguments.task_number)
    return _done(arguments, "removed")


def delete_todo(projects: ProjectStore, arguments: parameters.TodoArguments) -> JsonObject:
    """Delete a to-do list."""
    todos.delete_todo(projects, arguments.project_id, arguments.todo_number)
    return {"todo_number": arguments.todo_number, "message": f"TODO #{arguments.todo_number} deleted successfully"}


def _noticed(todo: Todo, shown: JsonObject) -> JsonObject:
    """The answer, with a notice if the number of the list belonged to another list before."""
    return {**shown, "notice": todo.notice} if todo.notice else shown


def _done(arguments: parameters.TaskArguments, what: str) -> JsonObject:
    return {
        "task_number": arguments.task_number,
        "message": f"Task #{arguments.task_number} in TODO #{arguments.todo_number} {what}",
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
