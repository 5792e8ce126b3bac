"""Checks that names and prose use the glossary's words: old words are forbidden, and modules have nouns as names.

A docstring names its subject first: an opening such as "What" or "Of" makes a fragment.
Names are searched as identifiers: classes, functions, variables, parameters, attributes and modules. Words of plain
English (`kept`, `late`) are allowed; the old class or module of that name is not, and neither is a variable or a
parameter that is called `found` or `one` instead of by what it holds.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from sources import ROOT, python_files, report

FOLDERS = ("src", "tools", "benchmarks", "tests", "examples")

IDENTIFIERS = {
    "Asked": "RestRequest or ConceptQuery",
    "Chooser": "PageFilterIndex",
    "Customs": "WikiOptions",
    "Dating": "DateUpdater",
    "Decided": "LinkDecisionCache",
    "Dialect": "Toolset",
    "Followed": "ResourceSource",
    "Following": "SubscriptionManager",
    "Gathering": "PageReader",
    "Halves": "IndexFiles",
    "Haystack": "SubstringIndex",
    "Home": "IndexLocation or ProjectStore",
    "Intake": "Ingest",
    "Kept": "GenerationCache or VectorStore",
    "KnownFacts": "StatCache",
    "Late": "LazyModule",
    "Likeness": "NameSimilarity",
    "Lost": "BrokenLinks",
    "Meant": "FusedRanking",
    "Moving": "FlushWorker",
    "Nearness": "SimilarityScores",
    "Nobody": "NullClient",
    "Noticed": "InotifyEvents",
    "Notices": "ChangeFeed or InotifyQueue",
    "Presence": "PathExistenceCache",
    "Rebuilt": "RebuildReport",
    "Reindexing": "ReindexJob",
    "Remembered": "RecordCache or SearchTextCache",
    "Repaired": "RecoveryReport",
    "Shelf": "Segment",
    "Sight": "Snapshot",
    "Sights": "SnapshotCache",
    "Standing": "CollectionState",
    "Telling": "ChangeNotifier",
    "Trouble": "Diagnostic",
    "Unusable": "UnusablePage",
    "Wanted": "HighlightTerms or NoteFilter",
    "Whole": "PageText",
    "Wish": "EngineRequest",
    "Wishes": "ExpandedQuery",
    "Wording": "CommitMessage",
    "Workplace": "Application",
    "_Taking": "_IngestTransaction",
    "comings": "membership_version",
    "customs": "options",
    "dialect": "toolset",
    "halves": "files",
    "pages_stand_last": "label_first",
    "poke": "wake",
    "wishes": "expanded",
    "workplace": "application",
}
"""Replacements by forbidden identifier."""

VAGUE = frozenset({"asked", "found", "given", "kept", "known", "one", "told", "wanted"})
"""Names that variables and parameters may not have: each says that something is there, and not what it is."""

GERUNDS = frozenset({"binding", "framing", "listing", "ranking", "routing", "scoring", "staging"})
"""Names of modules in -ing that are established nouns: data binding, HTTP framing, Git's staging area."""

PHRASES = {
    r"\bWhose parameters\b": "say what the parameter is",
    r"\bas it is meant when\b": "unescaped if the raw text does not match",
    r"\bof which was said that\b": "that were already logged",
    r"\bas it takes as long as\b": "compiled lazily to keep start-up fast",
    r"\bwhat no revision is\b": "a sentinel",
    r"\bthe current commit has otherwise\b": "that differ from HEAD",
    r"\bgives? a lock back\b": "unlocks",
    r"\bit did not tell of\b": "that were not reported",
    r"\bthe time that looking may\b": "maximum fraction of time spent sweeping",
    r"\bwrote a moment ago, too\b": "including unsynced edits by others",
    r"\bwishes\b": "the expanded query",
    r"\b(is|are|was|were) to be had\b|\bcan be had\b": "is available",
    r"\b[Ww]here it is none\b": "if it is not one",
    r"\b(is|are) told (so|as such)\b": "is reported",
    r"\bas far as it is known\b": "if it is known",
    r"\b(a write|a push|a fetch) is made anew\b|\bbegun anew\b": "is repeated",
    r"\bis in no Git repository\b": "is not in a Git repository",
    r"(?<![Tt]here )\bis no (regular file|file|folder|page|skill|collection|tool)\b": "is not a",
    r"\bThem in memory\b|\bsays it in the log\b": "name the subject",
    r"\b[Mm]end (it|the|or)\b": "correct or repair",
}
"""Replacements by pattern of forbidden prose; for comments, docstrings and documentation."""

OPENINGS = frozenset(
    {
        "As", "At", "By", "For", "From", "How", "If", "In", "It", "Its", "Of", "On", "So", "Such", "Than", "That",
        "Them", "These", "They", "Those", "To", "Unless", "What", "When", "Where", "Which", "Who", "Whose", "With",
        "Without",
    }
)  # fmt: skip
"""First words that docstrings may not have."""
DOCUMENTED = ("src", "tools", "benchmarks")
"""Folders whose docstrings are checked."""

PROSE = ("*.md", "docs/**/*.md", "examples/README.md")
EXCEPT = frozenset(
    {
        "CHANGELOG.md",
        "docs/glossary.md",
        "docs/style.md",
        "tools/check_words.py",
        "tests/architecture/test_words_check.py",
    }
)
"""Files that are not checked: texts about earlier releases, and files that list the forbidden words."""


def main() -> int:
    """Check the project at `--root`; return 1 after writing a line for each breach to stderr."""
    parser = argparse.ArgumentParser(description="Check that names and prose keep to the glossary's words.")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project to look at")
    root: Path = parser.parse_args().root
    return report("words", [*_code(root), *_documents(root)])


def _code(root: Path) -> Iterator[str]:
    for path in python_files(root, FOLDERS):
        where = path.relative_to(root).as_posix()
        if where in EXCEPT:
            continue
        yield from _module_name(where)
        text = path.read_text(encoding="utf-8")
        nodes = list(ast.walk(ast.parse(text)))
        if where.startswith(DOCUMENTED):
            yield from _openings(where, nodes)
            for line, name in sorted(set(_variables(nodes))):
                if name in VAGUE:
                    yield f"{where}:{line}: a variable is named by a noun that says what it holds, not {name!r}"
        for line, name in sorted(set(_names(nodes))):
            if instead := IDENTIFIERS.get(name) or IDENTIFIERS.get(name.lstrip("_")):
                yield f"{where}:{line}: {name} is an old word: {instead}"
        yield from _phrases(where, text)


def _module_name(where: str) -> Iterator[str]:
    """A breach for each part of a product module's name that ends in -ing and is not an established noun."""
    if where.startswith("src/"):
        for part in Path(where).with_suffix("").parts:
            last = part.rpartition("_")[2]
            if last.endswith("ing") and last not in GERUNDS:
                yield f"{where}: a module is named by a noun that says what is in it, not {part!r}"


def _names(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Every identifier with its line."""
    for node in nodes:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield node.lineno, name
            case ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.keyword(arg=str(name)):
                yield node.lineno, name
            case ast.alias(name=name, asname=other):
                yield from ((node.lineno, part) for part in (*name.split("."), other) if part)
            case ast.ImportFrom(module=str(module)):
                yield from ((node.lineno, part) for part in module.split("."))
            case _:
                pass


def _variables(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Every variable and parameter with its line; without attributes and the fields of classes."""
    bodies = [node.body for node in nodes if isinstance(node, ast.ClassDef)]
    fields = {id(target) for body in bodies for statement in body for target in ast.iter_child_nodes(statement)}
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) if id(node) not in fields:
                yield node.lineno, name
            case ast.arg(arg=name):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name
            case _:
                pass


def _openings(where: str, nodes: list[ast.AST]) -> Iterator[str]:
    """A breach for each docstring, also of a constant or a field, without its subject first, or after another one."""
    for node in nodes:
        word = re.match(r"\s*([\w-]*)", _docstring(node))
        if isinstance(node, ast.Expr) and word and word[1] in OPENINGS:
            yield f"{where}:{node.lineno}: a docstring names its subject first, not {word[1]!r}"
        for first, second in pairwise(ast.iter_child_nodes(node)):
            if isinstance(second, ast.Expr) and _docstring(first) and _docstring(second):
                yield f"{where}:{second.lineno}: a docstring stands below what it describes, not another docstring"


def _docstring(node: ast.AST) -> str:
    """The text of a statement that is nothing but a text; "" for any other node."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value
    return ""


def _phrases(where: str, text: str) -> Iterator[str]:
    """A breach for each phrase; patterns match within a line."""
    for pattern, instead in PHRASES.items():
        for match in re.finditer(pattern, text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{where}:{line}: {match.group()!r} is an old word: {instead}"


def _documents(root: Path) -> Iterator[str]:
    for path in sorted({path for pattern in PROSE for path in root.glob(pattern)}):
        where = path.relative_to(root).as_posix()
        if where not in EXCEPT:
            yield from _phrases(where, path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main())
