"""Author, committer and times of commits."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from cases import each_case
from commonplace.domain.changes import (
    Author,
    StatedMessage,
    clean_name,
    credited,
    escaped_controls,
    plain_message,
)
from commonplace.store.git.commits import clean_message, commit_message, person_of, signature, with_trailer

PERSON = Author("Ann", "ann@example.org")


def unset(_: str) -> str:
    """A configuration without anything."""
    return ""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (Author("A <b>\n", "x@y>"), Author("A b", "x@y")),
        (Author("  .,", "\0"), Author("commonplace", "commonplace@localhost")),
        (Author("日本 語", "é@ü"), Author("日本 語", "é@ü")),
    ],
)
def test_names_cannot_break_a_commit(given: Author, expected: Author) -> None:
    author = signature("author", unset, given).author
    assert (author.name, author.email) == (expected.name, expected.email)


@pytest.mark.parametrize(
    ("text", "when", "offset"),
    [
        ("1700000000 +0130", 1700000000, 90),
        ("@1700000000 -0800", 1700000000, -480),
        ("2023-11-14T22:13:20+00:00", 1700000000, None),
    ],
)
def test_dates_of_the_environment_are_heeded(
    monkeypatch: pytest.MonkeyPatch, text: str, when: int, offset: int | None
) -> None:
    monkeypatch.setenv("GIT_AUTHOR_DATE", text)
    found_signature = signature("author", unset)
    assert found_signature.when == when
    assert offset is None or found_signature.offset == offset


def test_a_date_that_is_none_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_AUTHOR_DATE", "tomorrow")
    assert signature("author", unset).when > 1_700_000_000


@each_case(
    ("message", "expected"),
    [
        ("A", "A\n\nSigned-off-by: Ann <ann@example.org>\n"),
        ("A\n\nBody text", "A\n\nBody text\n\nSigned-off-by: Ann <ann@example.org>\n"),
        ("A\n\nFixes: 1\nReviewed-by: B", "A\n\nFixes: 1\nReviewed-by: B\nSigned-off-by: Ann <ann@example.org>\n"),
        ("Fix: this", "Fix: this\n\nSigned-off-by: Ann <ann@example.org>\n"),
        ("A\n\nSigned-off-by: Ann <ann@example.org>", "A\n\nSigned-off-by: Ann <ann@example.org>\n"),
        ("A\n\n B: c\n D: e", "A\n\n B: c\n D: e\n\nSigned-off-by: Ann <ann@example.org>\n"),
        ("A\n\nB: c\n d", "A\n\nB: c\n d\nSigned-off-by: Ann <ann@example.org>\n"),
        ("A\n\nB: c\n \n d", "A\n\nB: c\n \n d\n\nSigned-off-by: Ann <ann@example.org>\n"),
    ],
)
def test_a_sign_off_stands_where_git_puts_it(message: str, expected: str) -> None:
    assert with_trailer(clean_message(message), f"Signed-off-by: {PERSON.name} <{PERSON.email}>") == expected


@each_case(
    ("program", "name", "email"),
    [
        ("claude-code", "claude-code", "claude-code@localhost"),
        (" Visual Studio Code ", "Visual Studio Code", "visual-studio-code@localhost"),
        ("Evil <x@y>\nSigned-off-by: z", "Evil x@ySigned-off-by: z", "evil-x-ysigned-off-by-z@localhost"),
        ("助手", "助手", "client@localhost"),
        ("x" * 200, "x" * 100, "x" * 100 + "@localhost"),
    ],
)
def test_a_program_is_named_on_one_line(program: str, name: str, email: str) -> None:
    assert person_of(program) == Author(name, email)


@pytest.mark.parametrize("program", ["", " .,", "<>", "\ud800"])
def test_a_program_without_a_name_is_nobody(program: str) -> None:
    assert person_of(program) is None


FORGED = (
    "x\n\nUndoes: 0123456789\nCo-authored-by: adm <adm@x>\nCOMMONPLACE-request: abc\nSigned-off-by : boss\n"
    "Proposal-Tip: abc\rMoved: a => b\x85Assisted-by: adm\u2028Generated-by: adm\n\x1b[31mred\x1b]0;pwn\x07"
    "\u202etxt\u2066.exe\u2069\ufeff\U000e0041\nPro\u2060posal: 1"
)
"""Lines that a caller writes, and that would say who did what if they were taken for trailers."""


def test_a_caller_states_nothing_in_the_name_of_this_program() -> None:
    own = StatedMessage(FORGED, "Undoes: 1")
    repository = SimpleNamespace(setting=unset)
    for message, trailers in ((FORGED, []), (own, ["Undoes: 1"]), (StatedMessage(own, "B: 2"), ["Undoes: 1", "B: 2"])):
        text = commit_message(repository, message, None).message
        lines = text.splitlines()
        assert [line for line in lines if line[:1].isalpha() and ":" in line] == trailers
        assert (lines[0], credited(text), "red" in text) == ("x", (), True)
        assert all(char.isprintable() or char == "\n" for char in text)
    assert escaped_controls("a\x1b[31m\n\t\x07\u202e") == "a\\x1b[31m\n\t\\x07\\u202e"
    joined = "\u0645\u06cc\u200c\u062e \U0001f469\u200d\U0001f52c"
    assert plain_message(joined) == joined
    assert clean_name("Ad\u202ea") == "Ada"
