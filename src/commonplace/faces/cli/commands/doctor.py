"""`commonplace doctor`: what is wrong with the installation and the folders."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from typing import Annotated

import typer

from commonplace import build
from commonplace.domain.documents import Severity
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.findings import Diagnostic
from commonplace.domain.json import Json
from commonplace.domain.words.amounts import amount
from commonplace.faces.cli.failures import FINDINGS
from commonplace.faces.cli.output import BOLD, FAINT, GREEN, INDENT, RED, one_line, progress_bar
from commonplace.faces.cli.session import Session, require_files
from commonplace.services import diagnostics

DOCTOR_JSON = """As JSON: `{"count", "findings": [{"check", "severity", "subject", "message", "hint", "command"}],
"looked_at": [..]}`; `count` is of errors and warnings, `findings` also has what is worth knowing (`info`),
`looked_at` what is in order."""


def doctor_command(
    session: Session,
    *,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Leave out what is in order.")] = False,
) -> int:
    """Find out why something does not work.

    Examples:
        commonplace doctor
        commonplace doctor --quiet
        commonplace doctor -C ~/notes --json

    Looked at are Git, whether it flushes commits, its packs, permissions, free disk space, locks that a killed git
    left, every page's bytes against the index, the settings and where each was given, kb.yaml, commonplace.yaml,
    plugins, the port of serve, and the entries of MCP clients. What mends a finding stands below it. The exit code is
    1 when there is an error or a warning. Nothing is changed but the index, which takes in what is new. What is wrong
    in pages, `check` finds.
    """
    require_files(session, "The doctor")
    shown = [diagnostic for diagnostic in _looked_at(session) if diagnostic.severity or not quiet]
    count = sum(diagnostic.is_problem for diagnostic in shown)
    _show(session, shown, count)
    return FINDINGS if count else 0


def _looked_at(session: Session) -> Iterator[Diagnostic]:
    from commonplace.faces.cli import doctor_checks
    from commonplace.faces.cli.app import usable_commands

    yield Diagnostic("program", None, "commonplace", f"{build()} on Python {platform.python_version()}.")
    yield session.dependencies.git_command()
    yield from doctor_checks.settings(session.flags)
    yield from doctor_checks.folders(session.settings)
    yield from doctor_checks.residents(session.settings)
    yield from session.dependencies.diagnose_clones(session.settings)
    usable_commands(session.dependencies)
    yield from diagnostics.plugin_diagnostics(session.dependencies.plugin_faults(session.settings))
    yield from _folders(session)
    yield doctor_checks.port(session.settings)
    yield from doctor_checks.client_entries(session.settings.kb)


def _folders(session: Session) -> Iterator[Diagnostic]:
    try:
        for folder in session.settings.kb:
            if os.path.isdir(folder):
                yield from session.dependencies.diagnose(folder, session.settings)
        with session.opened_as_is() as collections:
            for collection in collections:
                yield from diagnostics.collection_diagnostics(collection)
                with progress_bar(f"Comparing {collection.name}", session.out.terminal) as progress:
                    yield from diagnostics.index_diagnostics(collection, progress)
                yield from diagnostics.embedding(collection)
    except KnowledgeError as error:
        yield diagnostics.opening_diagnostics(error)


def _show(session: Session, shown: list[Diagnostic], count: int) -> None:
    """Print the diagnostics, and how many of them are errors or warnings."""
    out = session.out
    if out.as_json:
        findings: list[Json] = [_json(diagnostic) for diagnostic in shown if diagnostic.severity]
        fine: list[Json] = [_json(diagnostic) for diagnostic in shown if not diagnostic.severity]
        out.json({"count": count, "findings": findings, "looked_at": fine})
        return
    for diagnostic in shown:
        _show_one(session, diagnostic)
    out.message(f"{amount(count, 'finding')}." if count else "Nothing is wrong.")


def _show_one(session: Session, item: Diagnostic) -> None:
    out = session.out
    style = RED if item.severity is Severity.ERROR else BOLD if item.severity else GREEN
    word = item.severity.value if item.severity else "ok"
    check = out.styled(FAINT, f"[{item.check}]")
    out.line(f"{out.styled(BOLD, item.subject)}: {out.styled(style, word)}: {one_line(item.message)} {check}", INDENT)
    if item.hint:
        out.line(f"    {one_line(item.hint)}")
    if item.command:
        out.line(f"    $ {one_line(item.command)}", whole=True)


def _json(diagnostic: Diagnostic) -> dict[str, Json]:
    return {
        "check": diagnostic.check,
        "severity": diagnostic.severity.value if diagnostic.severity else "ok",
        "subject": diagnostic.subject,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
        "command": diagnostic.command,
    }
