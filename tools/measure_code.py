"""Counts what a reader of the product meets: modules, functions, concepts, imports, complexity.

python tools/measure_code.py [FOLDER]     FOLDER is `src/commonplace` by default
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from radon.complexity import cc_visit  # type: ignore[import-untyped]
from sources import ROOT

Function = ast.FunctionDef | ast.AsyncFunctionDef
HIGH = 10
"""Complexity above which a function is counted as complex."""


def main() -> int:
    """Print one line for each figure."""
    parser = argparse.ArgumentParser(description="Count what a reader of the product meets.")
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "src" / "commonplace")
    folder: Path = parser.parse_args().folder.resolve()
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    modules = {_name(folder, path): tree for path, tree in trees.items()}
    functions = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, Function)]
    private = sum(1 for tree in trees.values() for _ in _used_once(tree))
    importers = _importers(modules)
    values = [value for text in texts.values() for _, value in complexities(text)]
    concepts = len(modules) + len(functions) + sum(_declared(tree) for tree in trees.values())
    lines = sum(text.count("\n") for text in texts.values())
    code = sum(1 for text in texts.values() for line in text.splitlines() if line.strip())
    imports = sum(_import_lines(tree) for tree in trees.values())
    figures = {
        "modules": f"{len(modules):,}",
        "modules with one importer": f"{sum(len(names) == 1 for names in importers.values()):,}",
        "lines": f"{lines:,}",
        "functions": f"{len(functions):,}",
        "private functions used once": f"{private:,} ({private / len(functions):.1%})",
        "concepts (modules, classes, functions, constants)": f"{concepts:,}",
        "complexity, mean": f"{sum(values) / len(values):.2f}",
        f"functions with a complexity above {HIGH}": f"{sum(value > HIGH for value in values):,}",
        "import lines per line of code": f"{imports / code:.1%}",
    }
    sys.stdout.writelines(f"{name}: {figure}\n" for name, figure in figures.items())
    return 0


def _name(folder: Path, path: Path) -> str:
    parts = path.relative_to(folder.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _used_once(tree: ast.Module) -> Iterator[str]:
    """Private functions and methods of a module whose name occurs once outside their definition."""
    names = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    names.update(node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    functions = (node.name for node in ast.walk(tree) if isinstance(node, Function))
    yield from (name for name in functions if names[name] == 1 and name.startswith("_") and not name.startswith("__"))


def _importers(modules: dict[str, ast.Module]) -> dict[str, set[str]]:
    """The modules that import each module; packages without code are left out."""
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for importer, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    importers[inner if inner in modules else node.module].add(importer)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    importers[alias.name].add(importer)
    return {name: importers[name] - {name} for name, tree in modules.items() if len(tree.body) > 1}


def complexities(text: str) -> Iterator[tuple[str, int]]:
    """The name and the complexity of each function and method, as radon counts it; a method counts once."""
    for block in cast("list[Any]", cc_visit(text)):
        if not hasattr(block, "methods"):
            yield f"{block.classname}.{block.name}" if block.classname else block.name, int(block.complexity)


def _declared(tree: ast.Module) -> int:
    """Number of classes, and of names that the module assigns at its top."""
    classes = sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree))
    return classes + sum(isinstance(node, (ast.Assign, ast.AnnAssign)) for node in tree.body)


def _import_lines(tree: ast.Module) -> int:
    return sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    )


if __name__ == "__main__":
    raise SystemExit(main())
