"""One word for one thing: given-up names and phrases are found, and no two modules have a class of the same name."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import ROOT

FILE = "src/commonplace/services/one.py"
PACKAGE = ROOT / "src" / "commonplace"
SCHEMAS = ("rest/models.py", "rest/proposals.py", "cascade/rest.py")
"""End of the paths of modules whose classes have the names of an API's schemas; they are written `models.Page`."""


def check(project: Path, text: str, where: str = FILE) -> tuple[int, str]:
    """Exit code and output of the check for a project with one file."""
    file = project / where
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return run(project)


def run(project: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "check_words.py"), "--root", str(project)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "class Wishes:\n    pass\n",
        "from commonplace.domain.query import Wishes\n",
        "x = one.Wishes\n",
        "def f(wishes):\n    pass\n",
        "f(wishes=1)\n",
        "async def poke():\n    pass\n",
        "self._halves = 1\n",
        'x = f"{Wishes}"\n',
        "from commonplace.index.halves import IndexFiles\n",
    ],
)
def test_an_old_name_is_reported_with_its_new_one(tmp_path: Path, text: str) -> None:
    code, said = check(tmp_path, text)
    assert code == 1
    assert said.startswith("words: src/commonplace/services/one.py:1: ")
    assert "is an old word: " in said


@pytest.mark.parametrize(
    "text",
    [
        '"""Of the wiki."""\n',
        'LIMIT = 1\n"""How many pages are shown."""\n',
        'class A:\n    """What is shown."""\n',
        'class A:\n    size: int\n    """In bytes."""\n',
        'async def f() -> None:\n    """\n    Where it lies.\n    """\n',
    ],
)
def test_a_docstring_that_only_completes_its_declaration_is_reported(tmp_path: Path, text: str) -> None:
    code, said = check(tmp_path, text)
    assert code == 1
    assert "a docstring names its subject first, not " in said


def test_a_docstring_below_another_one_is_reported(tmp_path: Path) -> None:
    code, said = check(tmp_path, 'A = 1\nB = 2\n"""A limit."""\n\n"""Another one."""\n')
    assert code == 1
    assert said.startswith(f"words: {FILE}:5: a docstring stands below what it describes")


@pytest.mark.parametrize("where", [FILE, "tests/unit/test_one.py"])
def test_docstrings_that_name_their_subject_and_those_of_tests_pass(tmp_path: Path, where: str) -> None:
    text = '"""Ofelia, Whatever, a noun."""\nSIZE = 1\n"""Bytes."""\nf("What is this?")\n'
    assert check(tmp_path, text, where) == (0, "")


@pytest.mark.parametrize("where", ["src/commonplace/services/searching.py", "src/commonplace/completing/words.py"])
def test_a_module_that_is_named_by_a_gerund_is_reported(tmp_path: Path, where: str) -> None:
    code, said = check(tmp_path, "", where)
    assert code == 1
    assert "a module is named by a noun" in said


@pytest.mark.parametrize("where", ["src/commonplace/faces/rest/app.py", "src/commonplace/services/listing.py"])
def test_nouns_of_the_field_that_end_in_ing_are_clean(tmp_path: Path, where: str) -> None:
    assert check(tmp_path, "", where) == (0, "")


def test_an_old_phrase_is_reported_in_code_and_in_documentation(tmp_path: Path) -> None:
    said = check(tmp_path, '"""What this process wrote a moment ago, too."""\n')[1]
    assert "including unsynced edits by others" in said
    said = check(tmp_path, "A search reads the wishes.\n", "docs/page.md")[1]
    assert "docs/page.md:1: 'wishes' is an old word: the expanded query" in said


def test_a_variable_that_does_not_say_what_it_holds_is_reported(tmp_path: Path) -> None:
    vague = (
        "for one in pages:\n    pass\n",
        "def f(found: int) -> None:\n    pass\n",
        "pages = [known for known in pages]\n",
        "if (wanted := f()):\n    pass\n",
        "f = lambda given: given\n",
        "with f() as (kept, x):\n    pass\n",
        "match x:\n    case [asked]:\n        pass\n",
    )
    for text in vague:
        code, said = check(tmp_path, text)
        assert code == 1, text
        assert "a variable is named by a noun that says what it holds, not " in said, text
    fields = "class A:\n    found: int = 0\n    kept = 1\n\n    def one(self) -> int:\n        return self.found\n"
    assert check(tmp_path, fields) == (0, "")
    (tmp_path / FILE).unlink()
    assert check(tmp_path, vague[0], "tests/unit/test_one.py") == (0, "")


def test_earlier_releases_may_be_told_in_their_own_words(tmp_path: Path) -> None:
    assert check(tmp_path, "- A search read its wishes.\n", "CHANGELOG.md") == (0, "")


def public_classes(module: Path) -> Iterator[str]:
    """Names of a module's own public classes."""
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def repeated(package: Path) -> dict[str, list[str]]:
    """The modules of each class name that several modules have."""
    found_values: defaultdict[str, list[str]] = defaultdict(list)
    for module in sorted(package.rglob("*.py")):
        relative = module.relative_to(package).as_posix()
        if not relative.endswith(SCHEMAS):
            for name in public_classes(module):
                found_values[name].append(relative)
    return {name: modules for name, modules in found_values.items() if len(modules) > 1}


def test_each_public_class_has_a_name_of_its_own() -> None:
    assert repeated(PACKAGE) == {}


def test_a_repeated_name_is_found_except_in_the_models_of_a_rest_api(tmp_path: Path) -> None:
    (tmp_path / "rest").mkdir()
    for path in ("a.py", "b.py", "rest/models.py"):
        (tmp_path / path).write_text("class Page: ...\n", encoding="utf-8")
    assert repeated(tmp_path) == {"Page": ["a.py", "b.py"]}
    (tmp_path / "b.py").unlink()
    assert repeated(tmp_path) == {}
