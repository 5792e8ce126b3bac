"""Writes docs/settings.md and docs/errors.md, from the settings and the errors of the product; `--check` compares."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

from sources import ROOT

from commonplace.domain import errors
from commonplace.domain.errors import Code, KnowledgeError
from commonplace.faces.cli.failures import EXIT_CODES
from commonplace.faces.errors import ERROR_MAPPINGS
from commonplace.settings import every_setting

DOCS = ROOT / "docs"
SETTINGS_HEAD = """\
# Settings

A setting `some_name` stands in `commonplace/config.toml` under `$XDG_CONFIG_HOME` (`~/.config`) or in the file that
`COMMONPLACE_CONFIG` names, in the environment as `COMMONPLACE_SOME_NAME`, and on the command line as `--some-name`
where a command has it; the later ones win. `commonplace doctor` tells what is set and where. A key that is not known
stops every command, and the error names the nearest one.

This page is made by `python tools/list_settings.py`.
"""
ERRORS_HEAD = """\
# Errors

Every failure has one of these codes, whichever way it is met: on the command line as an exit code (and in full under
`--json`), over HTTP as a status with a JSON body, over MCP as an error of the tool or of the protocol. A message says
what was wrong and what is valid; its hint names the next useful action.

This page is made by `python tools/list_settings.py`.
"""


def main(argv: list[str] | None = None) -> int:
    """Write or check both pages; return 1 if the check finds one out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; 1 when a page is out of date")
    parser.add_argument("--docs", type=Path, default=DOCS, help="the folder of the pages")
    namespace = parser.parse_args(argv)
    stale = False
    for name, lines in (("settings.md", _settings()), ("errors.md", _errors())):
        file, made = namespace.docs / name, "\n".join(lines)
        if not namespace.check:
            file.write_text(made, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != made:
            print(f"{name} is not as the code is: run python tools/list_settings.py", file=sys.stderr)
            stale = True
    return int(stale)


def _settings() -> Iterator[str]:
    yield SETTINGS_HEAD
    yield "| setting | what it means | valid | default |"
    yield "|---|---|---|---|"
    for setting in every_setting():
        valid = f"{setting.valid}; {setting.unit}" if setting.unit else setting.valid
        also = f" Also `{setting.also}`." if setting.also else ""
        yield f"| `{setting.name}` | {_cell(setting.text + also)} | {_cell(valid)} | {_cell(setting.default)} |"
    yield ""


def _errors() -> Iterator[str]:
    yield ERRORS_HEAD
    yield "| code | what it means | exit code | HTTP | JSON-RPC | can succeed later |"
    yield "|---|---|---|---|---|---|"
    for code, form in ERROR_MAPPINGS.items():
        later = "yes" if form.retryable else "no"
        yield f"| `{code.value}` | {_cell(_meaning(code))} | {form.exit} | {form.http} | {form.jsonrpc} | {later} |"
    yield "\n## Exit codes of the command line\n"
    yield "| exit code | meaning |"
    yield "|---|---|"
    for number, meaning in EXIT_CODES:
        yield f"| {number} | {meaning} |"
    yield ""


def _meaning(code: Code) -> str:
    """The meaning of an error code, from the docstring of its class."""
    if code is Code.INTERNAL:
        return "An error of the product; its log has the details."
    kinds = (kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, KnowledgeError))
    kind = next(kind for kind in kinds if kind.code is code and kind is not KnowledgeError)
    return " ".join((inspect.getdoc(kind) or "").split())


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


if __name__ == "__main__":
    sys.exit(main())
