"""Lines and JSON of the findings that writes newly cause, the same in the answers of all faces."""

from __future__ import annotations

from commonplace.domain.findings import NewFindings
from commonplace.domain.json import Json

UNCHECKED = "The write is done. Not all that it newly causes was found in time; see check."


def new_finding_lines(new: NewFindings) -> list[str]:
    """One line for each new finding, and one for the number of the others; [] if all is well."""
    lines: list[str] = []
    for finding in new.shown:
        place = f"{finding.path}:{finding.line}" if finding.line else finding.path
        lines.append(f"{finding.severity.value.capitalize()} in {place}: {finding.message} [{finding.rule}]")
    if new.more:
        lines.append(f"{new.more:,} more findings are new; see check.")
    return lines if new.complete else [*lines, UNCHECKED]


def new_finding_json(new: NewFindings) -> dict[str, Json]:
    """`findings` with each new finding, and `more_findings`; {} if there are none.

    `findings_note` is there if not all were found in time.
    """
    if not new.shown:
        return {} if new.complete else {"findings_note": UNCHECKED}
    rows: list[Json] = [
        {
            "path": finding.path,
            "line": finding.line,
            "severity": finding.severity.value,
            "rule": finding.rule,
            "message": finding.message,
        }
        for finding in new.shown
    ]
    shown: dict[str, Json] = {"findings": rows, **({"more_findings": new.more} if new.more else {})}
    return shown if new.complete else {**shown, "findings_note": UNCHECKED}
