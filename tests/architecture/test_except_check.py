"""The check of handlers finds those that catch any exception where nothing ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT

CORE = "src/commonplace/services/one.py"
EDGE = "src/commonplace/faces/cli/one.py"
ANY = "catches any exception"


def check(project: Path, where: str = CORE, handler: str = "") -> tuple[int, str]:
    """Exit code and output of the check for a project with one handler in one file."""
    file = project / where
    file.parent.mkdir(parents=True)
    file.write_text(
        f"from contextlib import suppress\ntry:\n    x = 1\n{handler}\n" if handler else "", encoding="utf-8"
    )
    return run(project)


def run(project: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "check_excepts.py"), "--root", str(project)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "handler",
    [
        "except Exception:\n    pass",
        "except:\n    pass",
        "except (OSError, BaseException) as error:\n    print(error)",
        "except builtins.Exception as error:\n    raise OSError from error",
        "except BaseException:\n    if x:\n        raise",
        "finally:\n    with suppress(Exception):\n        x = 2",
    ],
)
def test_a_handler_that_keeps_any_exception_is_named(tmp_path: Path, handler: str) -> None:
    code, said = check(tmp_path, CORE, handler)
    assert code == 1
    assert said.startswith("excepts: src/commonplace/services/one.py:")
    assert ANY in said


@pytest.mark.parametrize("where", [EDGE, "src/commonplace/plugins/one.py", "src/commonplace/toolsets/kb/mcp/one.py"])
def test_edges_may_catch_whatever_comes(tmp_path: Path, where: str) -> None:
    assert check(tmp_path, where, "except Exception:\n    pass") == (0, "")


def test_a_toolset_may_catch_whatever_comes_in_its_faces_alone(tmp_path: Path) -> None:
    where = "src/commonplace/toolsets/kb/service/one.py"
    code, said = check(tmp_path, where, "except Exception:\n    pass")
    assert code == 1
    assert said.startswith(f"excepts: {where}:")


def test_more_than_eight_broad_handlers_are_too_many_even_in_faces(tmp_path: Path) -> None:
    eight = "\ntry:\n    x = 1\n".join(["except Exception:\n    pass"] * 8)
    assert check(tmp_path, EDGE, eight) == (0, "")
    other = tmp_path / "src/commonplace/faces/cli/two.py"
    other.write_text("try:\n    x = 1\nexcept Exception:\n    pass\n", encoding="utf-8")
    code, said = run(tmp_path)
    assert code == 1
    assert "9 handlers catch any exception; at most 8 may" in said


@pytest.mark.parametrize(
    "handler",
    [
        "except OSError:\n    pass",
        "except BaseException:\n    x = 2\n    raise",
        "except (OSError, KeyError):\n    x = 2",
    ],
)
def test_what_names_its_errors_or_raises_them_again_is_clean(tmp_path: Path, handler: str) -> None:
    assert check(tmp_path, CORE, handler) == (0, "")


def test_an_entry_for_a_door_that_catches_nothing_is_a_breach(tmp_path: Path) -> None:
    code, said = check(tmp_path, "src/commonplace/embed/encoder.py", "except OSError:\n    pass")
    assert code == 1
    assert "delete its entry" in said
