"""`commonplace doctor`: what is wrong with the installation and the folders.

As JSON: `{"count", "findings": [{"check", "severity", "subject", "message", "hint"}]}`.
"""

from __future__ import annotations

from commonplace.domain.documents import Severity
from commonplace.domain.errors import KnowledgeError
from commonplace.domain.json import Json
from commonplace.faces.cli.failures import FINDINGS
from commonplace.faces.cli.output import BOLD, RED, one_line
from commonplace.faces.cli.session import Session
from commonplace.services.diagnosing import Trouble, collection, opening, plugins


def command(session: Session) -> int:
    """Find out why something does not work.

    Examples:
        commonplace doctor
        commonplace doctor -C ~/notes --json

    Found are plugins that are not used, a kb.yaml that is broken, and folders that cannot be opened or written. The
    exit code is 1 when there is anything. Nothing is changed. What is wrong with the pages, `check` finds.
    """
    found = [*plugins(session.parts.set_aside())]
    try:
        with session.opened_as_is() as collections:
            found += [trouble for one in collections for trouble in collection(one)]
    except KnowledgeError as error:
        found.append(opening(error))
    _show(session, found)
    return FINDINGS if found else 0


def _show(session: Session, found: list[Trouble]) -> None:
    out = session.out
    if out.as_json:
        findings: list[Json] = [_json(one) for one in found]
        out.json({"count": len(found), "findings": findings})
        return
    for one in found:
        severity = out.styled(RED if one.severity is Severity.ERROR else BOLD, one.severity.value)
        out.line(f"{out.styled(BOLD, one.subject)}: {severity}: {one_line(one.message)} [{one.check}]")
        if one.hint:
            out.line(f"    {one.hint}")
    out.talk(f"{len(found):,} findings." if found else "Nothing is wrong.")


def _json(one: Trouble) -> dict[str, Json]:
    return {
        "check": one.check,
        "severity": one.severity.value,
        "subject": one.subject,
        "message": one.message,
        "hint": one.hint,
    }
