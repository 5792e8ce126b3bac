"""Tools of instructions and to-do lists."""

from __future__ import annotations

from commonplace import __version__
from commonplace.domain.json import JsonObject
from commonplace.domain.ports import Progress
from commonplace.toolsets.projects.mcp import parameters
from commonplace.toolsets.projects.mcp.call_envelope import nearest_notice, new_project_notice, with_subsections
from commonplace.toolsets.projects.rules.todos import Task
from commonplace.toolsets.projects.service import instructions, todos
from commonplace.toolsets.projects.service.instructions import InsertPosition
from commonplace.toolsets.projects.service.project_store import ProjectStore
from commonplace.toolsets.projects.service.todos import Todo

# The tools of the `projects` toolset for instructions and for the projects themselves.


SERVER_NAME = "Knowledge MCP Server"
DESCRIPTION = "Centralized project knowledge management via Model Context Protocol"


def get_project_main(projects: ProjectStore, arguments: parameters.ProjectArguments) -> JsonObject:
    """The instructions of a project."""
    main = instructions.get_main(projects, arguments.project_id)
    shown: JsonObject = {"content": main.content, "exists": main.exists}
    return shown if main.exists else {**shown, **nearest_notice(projects, arguments.project_id)}


def update_project_main(projects: ProjectStore, arguments: parameters.UpdateMain) -> JsonObject:
    """Replace the instructions."""
    notice = new_project_notice(projects, arguments.project_id)
    instructions.update_main(projects, arguments.project_id, arguments.content)
    return {"message": f"Project '{arguments.project_id}' main content updated successfully", **notice}


def update_project_section(projects: ProjectStore, arguments: parameters.UpdateSection) -> JsonObject:
    """Replace the text of a section."""
    gone = instructions.update_section(projects, arguments.project_id, arguments.section_header, arguments.new_content)
    return {"message": f"Section '{arguments.section_header.strip()}' updated successfully{with_subsections(gone)}"}


def add_project_section(projects: ProjectStore, arguments: parameters.AddSection) -> JsonObject:
    """Add a section."""
    place = InsertPosition(arguments.position, arguments.reference_header or "")
    instructions.add_section(projects, arguments.project_id, arguments.section_header, arguments.content, place)
    return {"message": f"Section '{arguments.section_header.strip()}' added successfully"}


def remove_project_section(projects: ProjectStore, arguments: parameters.SectionArguments) -> JsonObject:
    """Remove a section."""
    gone = instructions.remove_section(projects, arguments.project_id, arguments.section_header)
    return {"message": f"Section '{arguments.section_header.strip()}' removed successfully{with_subsections(gone)}"}


def delete_project(projects: ProjectStore, arguments: parameters.ProjectArguments) -> JsonObject:
    """Delete a project with all its files."""
    instructions.delete_project(projects, arguments.project_id)
    return {"project_id": arguments.project_id, "message": f"Project '{arguments.project_id}' successfully deleted"}


def list_projects(projects: ProjectStore, arguments: parameters.ListProjects) -> JsonObject:
    """A page of the list of projects, sorted by id."""
    everything = instructions.list_projects(projects)
    end = arguments.offset + arguments.limit
    shown: JsonObject = {
        "projects": [
            {
                "project_id": project.id,
                "has_main": project.main is not None,
                "file_count": project.documents,
                "updated": project.updated or None,
            }
            for project in everything[arguments.offset : end]
        ]
    }
    return {**shown, "total": len(everything), "next_offset": end} if end < len(everything) else shown


def get_server_info(projects: ProjectStore, _: parameters.NoArguments) -> JsonObject:
    """The server's name, version and folder."""
    return {"name": SERVER_NAME, "version": __version__, "storage_path": projects.path, "description": DESCRIPTION}


def get_storage_status(projects: ProjectStore, _: parameters.NoArguments) -> JsonObject:
    """Status of the store with respect to Git and its remote."""
    status = projects.upstream.status()
    return {
        "storage_path": projects.path,
        "has_changes": bool(status.uncommitted),
        "current_branch": status.branch,
        "last_commit": status.last_commit,
        "remote_status": status.remote,
        "uncommitted_files": len(status.uncommitted),
        "status_details": "\n".join(status.uncommitted),
        "rescue_branches": list(status.rescued),
        **({"push_error": status.withheld} if status.withheld else {}),
    }


def sync_storage(projects: ProjectStore, _: parameters.NoArguments, progress: Progress) -> JsonObject:
    """Commit manual changes, integrate the remote's commits, and push."""
    done = projects.upstream.sync(progress)
    return {
        "message": done.told,
        "files_committed": done.files,
        "pushed": done.pushed,
        "commit_message": done.message or None,
        **({} if done.pushed else {"push_error": done.error}),
    }


# The tools of the `projects` toolset for to-do lists.


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
