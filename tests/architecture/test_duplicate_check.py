"""The check of duplicates finds copies, renamed copies too, and leaves alike but different code alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support import ROOT

SIX_LINES = """
def {name}(values: list[int]) -> int:
    {total} = 0
    for {value} in values:
        if {value} > 3:
            {total} += {value} * 2
        else:
            {total} -= {value} // 5
    while {total} > 100:
        {total} -= 7
    if {total} < 0:
        raise ValueError(f"no {{total}}")
    return {total}
"""


def _check(tmp_path: Path, **files: str) -> tuple[int, str]:
    folder = tmp_path / "src" / "pack"
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / f"{name}.py").write_text(content, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "check_duplicates.py"), "--root", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stderr


def test_copied_lines_are_found_under_another_function_name(tmp_path: Path) -> None:
    element = SIX_LINES.format(name="one", total="total", value="value")
    two = SIX_LINES.format(name="two", total="total", value="value")
    code, errors = _check(tmp_path, a=element, b=two)
    assert code == 1
    assert "src/pack/b.py:3-13 repeats src/pack/a.py:3" in errors


def test_a_copy_with_other_names_is_found(tmp_path: Path) -> None:
    element = SIX_LINES.format(name="one", total="total", value="value")
    two = SIX_LINES.format(name="other", total="rest", value="item")
    code, errors = _check(tmp_path, a=element, b=two)
    assert code == 1
    assert "src/pack/b.py:2-13 repeats src/pack/a.py:2" in errors


def test_a_copy_is_found_through_comments_and_blank_lines(tmp_path: Path) -> None:
    element = SIX_LINES.format(name="one", total="total", value="value")
    two = SIX_LINES.format(name="two", total="total", value="value").replace("    while", "\n    # Why.\n    while")
    assert _check(tmp_path, a=element, b=two)[0] == 1


def test_a_copy_within_one_file_is_found(tmp_path: Path) -> None:
    element = SIX_LINES.format(name="one", total="total", value="value")
    two = SIX_LINES.format(name="two", total="total", value="value")
    assert _check(tmp_path, a=element + two)[0] == 1


def test_five_equal_lines_are_no_copy(tmp_path: Path) -> None:
    shared = "    a = 1\n    b = a + 2\n    c = b * 3\n    d = c - 4\n    e = d / 5\n"
    element = f"def one() -> float:\n{shared}    return e\n"
    two = f"def two() -> float:\n{shared}    return e + a + b\n"
    assert _check(tmp_path, a=element, b=two) == (0, "")


def test_docstrings_imports_and_lists_of_names_are_no_code_to_repeat(tmp_path: Path) -> None:
    docstring = '"""One.\n\nTwo.\nThree.\nFour.\nFive.\nSix.\nSeven.\n"""\n'
    head = docstring + "".join(f"import {name}\n" for name in ("ast", "io", "os", "re", "sys", "tokenize"))
    rows = "".join(f"class E{n}(Exception):\n    code = {n}\n" for n in range(20))
    others = "".join(f"class F{n}(Exception):\n    kind = {n}\n" for n in range(20))
    assert _check(tmp_path, a=head + rows, b=head + others) == (0, "")
