"""Text from a file or from standard input."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from commonplace.domain.errors import InvalidInputError, NotFoundError, StorageError, TooLargeError
from commonplace.faces.cli import text_input
from commonplace.faces.cli.output import Output, terminal
from commonplace.faces.cli.text_input import read_text


@pytest.fixture
def out() -> Output:
    return Output(terminal(io.TextIOWrapper(io.BytesIO()), io.StringIO(), {}, no_color=False), as_json=False)


def test_a_file_is_read_byte_for_byte(out: Output, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("\ufeff# A\r\n".encode())
    assert read_text(str(tmp_path / "a"), out) == "\ufeff# A\r\n".encode()


def test_a_dash_is_standard_input(out: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"tea\r\n")))
    assert read_text("-", out) == b"tea\r\n"


def test_a_file_that_is_not_there_or_cannot_be_read_is_named(out: Output, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no file 'gone.md'"):
        read_text(str(tmp_path / "gone.md"), out)
    with pytest.raises(StorageError, match="cannot be read: Is a directory") as caught:
        read_text(str(tmp_path), out)
    assert str(tmp_path) not in str(caught.value)


def test_what_is_no_utf8_is_refused(out: Output, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"caf\xe9")
    with pytest.raises(InvalidInputError, match="byte 3 fits no character"):
        read_text(str(tmp_path / "a"), out)


def test_what_is_too_long_is_refused(out: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_input, "MAX_DOCUMENT_BYTES", 10)
    (tmp_path / "a").write_bytes(b"x" * 11)
    with pytest.raises(TooLargeError, match="longer than 10 bytes"):
        read_text(str(tmp_path / "a"), out)
