"""The check of sizes finds what is too large, and entries of its ratchet that are stale."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one small module and no exceptions."""
    (tmp_path / "src" / "pack").mkdir(parents=True)
    (tmp_path / "tools").mkdir()
    (tmp_path / "src" / "pack" / "small.py").write_text("def one() -> int:\n    return 1\n", encoding="utf-8")
    return tmp_path


def _check(project: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "check_sizes.py"), "--root", str(project)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stderr


def _function(lines: int, name: str = "long") -> str:
    return f"def {name}(x: int) -> int:\n" + "    x += 1\n" * (lines - 2) + "    return x\n"


def _except(project: Path, what: str, where: str, limit: int, reason: str = "It is a table.") -> None:
    entry = f'[[exception]]\nwhat = "{what}"\nwhere = "{where}"\nlimit = {limit}\nreason = "{reason}"\n'
    (project / "tools" / "ratchet.toml").write_text(entry, encoding="utf-8")


def test_a_small_project_is_clean(project: Path) -> None:
    assert _check(project) == (0, "")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("long_file.py", "x = 1\n" * 601, "long_file.py: file-lines is 601, at most 600"),
        ("long_function.py", _function(51), "long_function.py::long: function-lines is 51, at most 50"),
    ],
)
def test_what_is_too_large_is_named(project: Path, name: str, content: str, said: str) -> None:
    (project / "src" / "pack" / name).write_text(content, encoding="utf-8")
    code, errors = _check(project)
    assert code == 1
    assert said in errors


def test_a_file_at_the_limit_is_clean(project: Path) -> None:
    (project / "src" / "pack" / "edge.py").write_text("x = 1\n" * 600, encoding="utf-8")
    assert _check(project) == (0, "")


def test_complex_functions_are_a_breach_each(project: Path) -> None:
    branches = "".join(f"    if x == {number}:\n        return {number}\n" for number in range(10))
    for name in ("a", "b"):
        text = (
            f"class C:\n    def {name}(self, x: int) -> int:\n"
            + branches.replace("    ", "        ")
            + "        return x\n"
        )
        (project / "src" / "pack" / f"{name}.py").write_text(text, encoding="utf-8")
    errors = _check(project)[1]
    assert "src: complexity is 11, at most 10" in errors
    assert "src: complex-functions is 2, at most 0" in errors


def test_long_functions_on_the_whole_are_a_breach(project: Path) -> None:
    (project / "src" / "pack" / "small.py").write_text(_function(11, "a") + _function(12, "b"), encoding="utf-8")
    assert "the median function has 11.5 lines" in _check(project)[1]


def test_an_exception_with_a_reason_is_heeded(project: Path) -> None:
    (project / "src" / "pack" / "long_file.py").write_text("x = 1\n" * 620, encoding="utf-8")
    _except(project, "file-lines", "src/pack/long_file.py", 620)
    assert _check(project) == (0, "")


@pytest.mark.parametrize(
    ("lines", "limit", "reason", "said"),
    [
        (630, 620, "It is a table.", "file-lines is 630, at most 620"),
        (599, 620, "It is a table.", "within the limit; delete the entry"),
        (610, 700, "It is a table.", "tighten its limit of 700"),
        (610, 620, " ", "gives no reason"),
    ],
)
def test_a_stale_or_bare_exception_is_a_breach(project: Path, lines: int, limit: int, reason: str, said: str) -> None:
    (project / "src" / "pack" / "long_file.py").write_text("x = 1\n" * lines, encoding="utf-8")
    _except(project, "file-lines", "src/pack/long_file.py", limit, reason)
    code, errors = _check(project)
    assert code == 1
    assert said in errors


def test_an_exception_for_what_is_gone_is_a_breach(project: Path) -> None:
    _except(project, "file-lines", "src/pack/gone.py", 500)
    code, errors = _check(project)
    assert code == 1
    assert "there is no such thing" in errors
