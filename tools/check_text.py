"""Checks that tracked text contains no paths of one machine, no registry hosts and no unfinished work."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sources import ROOT, report

MAX_BYTES = 2_000_000
"""Maximum size in bytes of a tracked file; a larger file is a breach."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern that no tracked text file may contain, for the files whose path matches `files`.

    The patterns are written so that they do not match themselves.
    """

    pattern: re.Pattern[str]
    files: re.Pattern[str]
    reason: str


RULES = (
    Rule(re.compile(r"(?<![\w.~*}])/(?:work|root)/[\w.]"), re.compile(r"."), "a path of one machine"),
    # Tests use invented home folders to check that messages do not contain them.
    Rule(re.compile(r"(?<![\w.~*}])/(?:home|Users)/[\w.]"), re.compile(r"^(?!tests/)"), "a path of one machine"),
    Rule(re.compile(r"(?:extra-)?index[-]url|find[-]links"), re.compile(r"."), "a registry named as an option"),
    Rule(re.compile(r"://[^\s)\"'>]*/simple\b|files\.pythonhosted[.]org"), re.compile(r"."), "a registry host"),
    # The package is in no index: whoever registered its name there would be installed.
    Rule(
        re.compile(
            r"\b(?:pipx?|uv|poetry|pdm)\b[^`\n]* (?:add|install|run|upgrade)(?![^`\n]* --from )"
            r" (?:[^`\n]* )?['\"]?common[p]lace(?![\w./-])|\buvx ['\"]?common[p]lace|[\s'\"]common[p]lace\[[a-z,]+\]"
        ),
        re.compile(r"."),
        "this package as one of an index",
    ),
    Rule(re.compile(r"\w+://"), re.compile(r"requirements.*\.lock$"), "a host in a lock file"),
    Rule(
        re.compile(r"#\W*(?:TO[D]O|FIX[M]E|XX[X])\b|\bNotImplemented[E]rror\b|pragma: no [c]over"),
        re.compile(r"^(?:src|tools|benchmarks)/.*\.py$"),
        "unfinished or untested work",
    ),
    Rule(re.compile(r"\btype: [i]gnore(?!\[)|\bno[q]a(?!: [A-Z])"), re.compile(r"\.py$"), "a blanket exemption"),
)


def main() -> int:
    """Search the tracked files at `--root`; return 1 after writing a line for each breach to stderr."""
    parser = argparse.ArgumentParser(description="Check that tracked text is about the product only.")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project to search")
    root: Path = parser.parse_args().root
    return report("text", [*_files(root), *_changelog(root / "CHANGELOG.md")])


def _files(root: Path) -> Iterator[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=True,
    )
    for name in sorted(set(listed.stdout.decode().split("\0")) - {""}):
        path = root / name
        if path.is_file() and not path.is_symlink():
            yield from _breaches(name, path.read_bytes())


def _breaches(name: str, content: bytes) -> Iterator[str]:
    if len(content) > MAX_BYTES:
        yield f"{name}: {len(content):,} bytes, at most {MAX_BYTES:,} may be tracked in one file"
    elif b"\0" not in content:
        rules = [rule for rule in RULES if rule.files.search(name)]
        for number, line in enumerate(content.decode(errors="replace").splitlines(), 1):
            yield from (
                f"{name}:{number}: {rule.reason}: {m.group()}" for rule in rules if (m := rule.pattern.search(line))
            )


def _changelog(path: Path) -> Iterator[str]:
    if not path.is_file() or not re.search(r"^## \[Unreleased\]$", path.read_text(encoding="utf-8"), re.MULTILINE):
        yield f"{path.name}: no section '## [Unreleased]'"


if __name__ == "__main__":
    sys.exit(main())
