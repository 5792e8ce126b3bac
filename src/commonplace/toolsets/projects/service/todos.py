"""To-do lists of a project and their tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.errors import NotFoundError
from commonplace.domain.ports import Transaction
from commonplace.toolsets.projects.rules import limits
from commonplace.toolsets.projects.rules import todos as rules
from commonplace.toolsets.projects.rules.chapters import now_text
from commonplace.toolsets.projects.rules.todos import Task, TodoInfo
from commonplace.toolsets.projects.service.project_store import ProjectStore

TODO = "TODO"


@dataclass(frozen=True, slots=True)
class Todo:
    """A list with its tasks in order."""

    number: int
    about: TodoInfo
    tasks: tuple[Task, ...]
    notice: str = ""
    """A notice for callers to whom another list was shown under this number; "" if there was none."""

    @property
    def done(self) -> int:
        """Number of completed tasks."""
        return sum(task.completed for task in self.tasks)

    @property
    def completed(self) -> bool:
        """Whether all tasks are completed and there is at least one."""
        return bool(self.tasks) and self.done == len(self.tasks)


def create_todo(projects: ProjectStore, project_id: str, description: str, tasks: Sequence[tuple[str, str]]) -> int:
    """Create a list, and the project if it does not exist; return the number of the list."""
    limits.check_project_id(project_id)
    limits.check_description(description)
    checked = [_checked(title, content) for title, content in tasks]

    def act(transaction: Transaction) -> int:
        folder = projects.folder_for_writing(transaction, project_id, create=True)
        number = max((*_numbers(projects, folder), *_proposed_numbers(projects, f"{folder}/{TODO}/")), default=0) + 1
        now = now_text()
        transaction.put(
            parse_address(f"{folder}/{TODO}/{number}/{rules.LIST_FILE}"), rules.list_bytes(description, now)
        )
        for at, (title, content) in enumerate(checked, 1):
            file = f"{folder}/{TODO}/{number}/{rules.task_file(at, title)}"
            transaction.put(parse_address(file), rules.task_bytes(title, content, now))
        return number

    number = projects.write(project_id, f"Created TODO '{' '.join(description.split())[:80]}'", act)
    _remember(projects, project_id, _read(projects, projects.folder(project_id), number, projects.store.read))
    return number


def list_todos(projects: ProjectStore, project_id: str) -> list[Todo]:
    """All lists of a project, sorted by number; [] for an unknown project.

    Raises:
        InvalidInputError: kind "project_id": the id is invalid.
    """
    try:
        folder = projects.folder(project_id)
    except NotFoundError:
        return []
    todos = [_read(projects, folder, number, projects.store.read) for number in _numbers(projects, folder)]
    return [_remember(projects, project_id, todo) for todo in todos]


def get_todo(projects: ProjectStore, project_id: str, number: int) -> Todo:
    """Return one list.

    Raises:
        NotFoundError: kind "project" or "todo": there is no such project or list.
    """
    folder = projects.folder(project_id)
    _require(projects, folder, number)
    return _remember(projects, project_id, _read(projects, folder, number, projects.store.read))


def add_task(projects: ProjectStore, project_id: str, number: int, title: str, content: str) -> int:
    """Add a task; return its number."""
    heading, text = _checked(title, content)

    def act(transaction: Transaction) -> int:
        folder = _folder(projects, transaction, project_id, number)
        waiting = (address for address in projects.proposed_files() if address.path.startswith(f"{folder}/"))
        files = (*_files(projects, folder), *waiting)
        at = max((rules.task_number(address.name) for address in files), default=0) + 1
        transaction.put(
            parse_address(f"{folder}/{rules.task_file(at, heading)}"), rules.task_bytes(heading, text, now_text())
        )
        return at

    return _write(projects, project_id, f"Added task '{heading}' to TODO #{number}", act)


def complete_task(projects: ProjectStore, project_id: str, number: int, task: int) -> None:
    """Mark a task as completed. A completed task does not change; of several with this number, the next one does.

    Raises:
        NotFoundError: kind "project", "todo" or "task": there is no such project, list or task.
    """

    def act(transaction: Transaction) -> None:
        addresses = _tasks(projects, _folder(projects, transaction, project_id, number), task)
        now = now_text()
        contents = {address: rules.completed_bytes(address, transaction.read(address), now) for address in addresses}
        is_open = (address for address in addresses if contents[address] != transaction.read(address))
        address = next(is_open, addresses[0])
        transaction.put(address, contents[address], keep=True)

    _write(projects, project_id, f"Completed task #{task} in TODO #{number}", act)


def remove_task(projects: ProjectStore, project_id: str, number: int, task: int) -> None:
    """Remove a task; the others keep their numbers. Raises the same errors as `complete_task`."""

    def act(transaction: Transaction) -> None:
        transaction.remove(_tasks(projects, _folder(projects, transaction, project_id, number), task)[0])

    _write(projects, project_id, f"Removed task #{task} from TODO #{number}", act)


def delete_todo(projects: ProjectStore, project_id: str, number: int) -> None:
    """Delete a list with its tasks. Raises the same errors as `get_todo`."""

    def act(transaction: Transaction) -> None:
        for path in projects.folders.files(_folder(projects, transaction, project_id, number)):
            transaction.remove(Address(path))

    _write(projects, project_id, f"Deleted TODO #{number}", act)


def _write(projects: ProjectStore, project_id: str, operation: str, act: Callable[[Transaction], int | None]) -> int:
    limits.check_project_id(project_id)
    return projects.write(project_id, operation, act) or 0


def _remember(projects: ProjectStore, project_id: str, todo: Todo) -> Todo:
    """Record which list has this number. The list gets a notice if another list had the number before."""
    before = projects.shown_todos.get((project_id, todo.number))
    projects.shown_todos[project_id, todo.number] = todo.about
    return replace(todo, notice=_changed(todo, before)) if before not in {None, todo.about} else todo


def _changed(todo: Todo, before: TodoInfo | None) -> str:
    was = f" It was '{before.description}'." if before else ""
    return (
        f"Numbers have changed: TODO #{todo.number} is now '{todo.about.description}', which another machine made."
        f"{was} See list_todos, and get_storage_status for commits that were rescued."
    )


def _require_same(projects: ProjectStore, project_id: str, folder: str, number: int) -> None:
    """Raise an error if the number now belongs to another list than the one shown by this process."""
    todo = _remember(projects, project_id, _read(projects, folder, number, projects.store.read))
    if todo.notice:
        raise NotFoundError(todo.notice, kind="todo", hint="Call again if this list is the one that is meant.")


def _folder(projects: ProjectStore, transaction: Transaction, project_id: str, number: int) -> str:
    folder = projects.folder_for_writing(transaction, project_id)
    _require(projects, folder, number)
    _require_same(projects, project_id, folder, number)
    return f"{folder}/{TODO}/{number}"


def _require(projects: ProjectStore, folder: str, number: int) -> None:
    if number not in _numbers(projects, folder):
        raise NotFoundError(f"TODO #{number} not found", kind="todo", hint="List the TODOs to see which there are.")


def _numbers(projects: ProjectStore, folder: str) -> list[int]:
    names = projects.folders.subfolders(f"{folder}/{TODO}")
    return sorted(int(name) for name in names if name.isascii() and name.isdigit() and str(int(name)) == name)


def _proposed_numbers(projects: ProjectStore, start: str) -> Iterator[int]:
    """The numbers of the lists that proposals add below a path."""
    for address in projects.proposed_files():
        number = address.path.removeprefix(start).partition("/")[0]
        if address.path.startswith(start) and number.isascii() and number.isdigit():
            yield int(number)


def _files(projects: ProjectStore, folder: str) -> list[Address]:
    return [address for address, _ in projects.store.files(folder) if rules.task_number(address.name)]


def _tasks(projects: ProjectStore, folder: str, number: int) -> list[Address]:
    """The tasks with a number: one, unless two machines gave it while neither saw the other."""
    addresses = [address for address in sorted(_files(projects, folder)) if rules.task_number(address.name) == number]
    if addresses:
        return addresses
    raise NotFoundError(f"Task #{number} not found", kind="task", hint="Get the tasks to see which there are.")


def _read(projects: ProjectStore, folder: str, number: int, read: Callable[[Address], bytes]) -> Todo:
    tasks = [rules.read_task(address, read(address)) for address in _files(projects, f"{folder}/{TODO}/{number}")]
    try:
        about = rules.read_list(read(parse_address(f"{folder}/{TODO}/{number}/{rules.LIST_FILE}")))
    except NotFoundError:
        about = TodoInfo("", "")
    return Todo(number, about, tuple(sorted(tasks, key=lambda task: (task.number, task.address))))


def _checked(title: str, content: str) -> tuple[str, str]:
    return limits.check_title("Task title", title), limits.check_task(content)
