"""Files of to-do lists."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError
from commonplace.toolsets.projects.rules.todos import (
    Task,
    TodoInfo,
    completed_bytes,
    list_bytes,
    read_list,
    read_task,
    task_bytes,
    task_file,
    task_number,
)

NOW, LATER = "2026-05-01T10:00:00.000Z", "2026-06-01T10:00:00.000Z"
AT = Address("projects/a/TODO/1/TASK-007-x.md")


def test_a_list_reads_back_as_it_was_written() -> None:
    assert read_list(list_bytes('Ünd "more"\n', NOW)) == TodoInfo('Ünd "more"\n', NOW)


@each_case("raw", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"description": null}', b"5"])
def test_a_damaged_list_is_an_empty_one(raw: bytes) -> None:
    assert read_list(raw) == TodoInfo("", "")


@each_case(
    ("name", "number"),
    [
        ("TASK-001-x.md", 1),
        ("TASK-12.md", 12),
        ("TASK-1234-a-b.md", 1234),
        ("TASK-001x.md", 0),
        ("task-001-x.md", 0),
        ("TASK--x.md", 0),
        ("TASK-1-x.txt", 0),
        ("TASK-9999999999.md", 0),
        ("index.json", 0),
    ],
)
def test_a_file_name_tells_the_number(name: str, number: int) -> None:
    assert task_number(name) == number


@each_case("title", ["Fix it", "茶 & more", "../x", "!", "x" * 500])
def test_the_name_of_a_new_task_tells_its_number_again(title: str) -> None:
    name = task_file(42, title)
    assert task_number(name) == 42
    assert "/" not in name
    assert task_number(task_file(12_345, title)) == 12_345


@pytest.mark.parametrize(
    ("title", "content"),
    [
        ("Fix it", "Do this.\n\n## Steps\n\n1. x"),
        ("C #", ""),
        ("# odd *title*", "---\nno: frontmatter\n---"),
        ("茶", "```\nopen"),
    ],
)
def test_a_task_reads_back_as_it_was_written(title: str, content: str) -> None:
    raw = task_bytes(title, f"\r\n{content}\r\n".replace("\n", "\r\n").replace("\r\r", "\r"), NOW)
    assert read_task(AT, raw) == Task(7, title, content, completed=False, address=AT)


@pytest.mark.parametrize(
    ("text", "title", "content"),
    [
        ("Just text.\n\nMore.\n", "Just text.", "Just text.\n\nMore."),
        ("", "TASK-007-x", ""),
        ("text\n\n# Later\n", "text", "text\n\n# Later"),
        ("## Second level\n\nx\n", "Second level", "x"),
    ],
)
def test_a_task_of_another_hand_has_a_title_too(text: str, title: str, content: str) -> None:
    task = read_task(AT, text.encode())
    assert (task.title, task.content) == (title, content)


@each_case(
    ("value", "completed"),
    [
        ("true", True),
        ("yes", True),
        ("Yes", True),
        ("false", False),
        ("no", False),
        ("'true '", False),
        ("[true]", False),
        ("{a: 1}", False),
        ("null", False),
        ("2026-01-01", False),
    ],
)
def test_whether_a_task_is_completed_is_read_from_whatever_stands_there(value: str, completed: bool) -> None:
    assert read_task(AT, f"---\ncompleted: {value}\n---\n# T\n".encode()).completed is completed


def test_a_task_is_completed_once_and_nothing_else_changes() -> None:
    raw = b"---\nmine: 1 # keep\ncompleted: false\nupdated: 'x'\n---\n# T\r\n"
    done = completed_bytes(AT, raw, LATER)
    assert done == f"---\nmine: 1 # keep\ncompleted: true\nupdated: '{LATER}'\n---\n# T\r\n".encode()
    assert completed_bytes(AT, done, NOW) == done
    assert read_task(AT, completed_bytes(AT, b"# T\n", LATER)).completed


def test_a_task_whose_frontmatter_is_broken_says_so() -> None:
    with pytest.raises(InvalidInputError, match="front matter cannot be changed: it is not valid YAML"):
        completed_bytes(AT, b"---\ncompleted: [\n---\n# T\n", LATER)
