"""To-do lists of a project and their tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.errors import NotFoundError
from commonplace.domain.ports import Transaction
from commonplace.domain.projects import limits
from commonplace.domain.projects import todos as rules
from commonplace.domain.projects.knowledge import now_text
from commonplace.domain.projects.todos import About, Task
from commonplace.services.projects.home import Home

TODO = "TODO"


@dataclass(frozen=True, slots=True)
class Todo:
    """A list with its tasks in order."""

    number: int
    about: About
    tasks: tuple[Task, ...]

    @property
    def done(self) -> int:
        """How many of its tasks are completed."""
        return sum(task.completed for task in self.tasks)

    @property
    def completed(self) -> bool:
        """Whether there are tasks and all of them are completed."""
        return bool(self.tasks) and self.done == len(self.tasks)


def create(home: Home, project_id: str, description: str, tasks: Sequence[tuple[str, str]]) -> int:
    """A new list, in a new project where there is none; its number."""
    limits.check_project_id(project_id)
    limits.check_description(description)
    checked = [_checked(title, content) for title, content in tasks]

    def act(transaction: Transaction) -> int:
        folder = home.folder_for_writing(transaction, project_id, create=True)
        number = max(_numbers(home, folder), default=0) + 1
        now = now_text()
        transaction.put(
            parse_address(f"{folder}/{TODO}/{number}/{rules.LIST_FILE}"), rules.list_bytes(description, now)
        )
        for at, (title, content) in enumerate(checked, 1):
            file = f"{folder}/{TODO}/{number}/{rules.task_file(at, title)}"
            transaction.put(parse_address(file), rules.task_bytes(title, content, now))
        return number

    return home.write(project_id, f"Created TODO '{' '.join(description.split())[:80]}'", act)


def list_todos(home: Home, project_id: str) -> list[Todo]:
    """All lists of a project by number; none for an unknown project.

    Raises:
        InvalidInputError: kind "project_id": it is no id.
    """
    try:
        folder = home.folder(project_id)
    except NotFoundError:
        return []
    return [_read(home, folder, number, home.store.read) for number in _numbers(home, folder)]


def get(home: Home, project_id: str, number: int) -> Todo:
    """One list.

    Raises:
        NotFoundError: kind "project" or "todo".
    """
    folder = home.folder(project_id)
    _require(home, folder, number)
    return _read(home, folder, number, home.store.read)


def add_task(home: Home, project_id: str, number: int, title: str, content: str) -> int:
    """One more task; its number."""
    heading, text = _checked(title, content)

    def act(transaction: Transaction) -> int:
        folder = _folder(home, transaction, project_id, number)
        at = max((rules.task_number(address.name) for address in _files(home, folder)), default=0) + 1
        transaction.put(
            parse_address(f"{folder}/{rules.task_file(at, heading)}"), rules.task_bytes(heading, text, now_text())
        )
        return at

    return _write(home, project_id, f"Added task '{heading}' to TODO #{number}", act)


def complete_task(home: Home, project_id: str, number: int, task: int) -> None:
    """Mark a task as completed; one that is stays as it is.

    Raises:
        NotFoundError: kind "project", "todo" or "task".
    """

    def act(transaction: Transaction) -> None:
        address = _task(home, _folder(home, transaction, project_id, number), task)
        transaction.put(address, rules.completed_bytes(address, transaction.read(address), now_text()), keep=True)

    _write(home, project_id, f"Completed task #{task} in TODO #{number}", act)


def remove_task(home: Home, project_id: str, number: int, task: int) -> None:
    """Take a task away; the others keep their numbers. Raises as `complete_task` does."""

    def act(transaction: Transaction) -> None:
        transaction.remove(_task(home, _folder(home, transaction, project_id, number), task))

    _write(home, project_id, f"Removed task #{task} from TODO #{number}", act)


def delete(home: Home, project_id: str, number: int) -> None:
    """Take a list away with its tasks. Raises as `get` does."""

    def act(transaction: Transaction) -> None:
        for path in home.folders.files(_folder(home, transaction, project_id, number)):
            transaction.remove(Address(path))

    _write(home, project_id, f"Deleted TODO #{number}", act)


def _write(home: Home, project_id: str, operation: str, act: Callable[[Transaction], int | None]) -> int:
    limits.check_project_id(project_id)
    return home.write(project_id, operation, act) or 0


def _folder(home: Home, transaction: Transaction, project_id: str, number: int) -> str:
    folder = home.folder_for_writing(transaction, project_id)
    _require(home, folder, number)
    return f"{folder}/{TODO}/{number}"


def _require(home: Home, folder: str, number: int) -> None:
    if number not in _numbers(home, folder):
        raise NotFoundError(f"TODO #{number} not found", kind="todo", hint="See list_todos.")


def _numbers(home: Home, folder: str) -> list[int]:
    names = home.folders.below(f"{folder}/{TODO}")
    return sorted(int(name) for name in names if name.isascii() and name.isdigit() and str(int(name)) == name)


def _files(home: Home, folder: str) -> list[Address]:
    return [address for address, _ in home.store.files(folder) if rules.task_number(address.name)]


def _task(home: Home, folder: str, number: int) -> Address:
    for address in sorted(_files(home, folder)):
        if rules.task_number(address.name) == number:
            return address
    raise NotFoundError(f"Task #{number} not found", kind="task", hint="See get_todo_tasks.")


def _read(home: Home, folder: str, number: int, read: Callable[[Address], bytes]) -> Todo:
    tasks = [rules.read_task(address, read(address)) for address in _files(home, f"{folder}/{TODO}/{number}")]
    try:
        about = rules.read_list(read(parse_address(f"{folder}/{TODO}/{number}/{rules.LIST_FILE}")))
    except NotFoundError:
        about = About("", "")
    return Todo(number, about, tuple(sorted(tasks, key=lambda task: (task.number, task.address))))


def _checked(title: str, content: str) -> tuple[str, str]:
    return limits.check_title("Task title", title), limits.check_task(content)
