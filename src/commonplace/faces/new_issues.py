"""Lines and JSON of the issues that a write newly causes, the same in the answers of all faces."""

from __future__ import annotations

from commonplace.domain.json import Json
from commonplace.services.findings import NewIssues


def new_issue_lines(new: NewIssues | None) -> list[str]:
    """One line for each new issue, and one for the number of the others; [] if there are none."""
    if new is None:
        return []
    lines: list[str] = []
    for issue in new.shown:
        place = f"{issue.path}:{issue.line}" if issue.line else issue.path
        lines.append(f"{issue.severity.value.capitalize()} in {place}: {issue.message} [{issue.rule}]")
    return [*lines, f"{new.more:,} more findings are new; see check."] if new.more else lines


def new_issue_json(new: NewIssues | None) -> dict[str, Json]:
    """`findings` with each new issue, and `more_findings`; {} if there are none."""
    if new is None or not new.shown:
        return {}
    rows: list[Json] = [
        {
            "path": issue.path,
            "line": issue.line,
            "severity": issue.severity.value,
            "rule": issue.rule,
            "message": issue.message,
        }
        for issue in new.shown
    ]
    return {"findings": rows, **({"more_findings": new.more} if new.more else {})}
