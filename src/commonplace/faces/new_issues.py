"""What a write newly causes, as the answers of all faces say it."""

from __future__ import annotations

from commonplace.domain.json import Json
from commonplace.services.findings import NewIssues


def new_issue_lines(new: NewIssues | None) -> list[str]:
    """One line for each new issue, and one for the number of the others; [] if there are none."""
    if new is None:
        return []
    lines: list[str] = []
    for one in new.shown:
        place = f"{one.path}:{one.line}" if one.line else one.path
        lines.append(f"{one.severity.value.capitalize()} in {place}: {one.message} [{one.rule}]")
    return [*lines, f"{new.more:,} more findings are new; see check."] if new.more else lines


def new_issue_json(new: NewIssues | None) -> dict[str, Json]:
    """`findings` with each new issue, and `more_findings`; {} if there are none."""
    if new is None or not new.shown:
        return {}
    rows: list[Json] = [
        {"path": one.path, "line": one.line, "severity": one.severity.value, "rule": one.rule, "message": one.message}
        for one in new.shown
    ]
    return {"findings": rows, **({"more_findings": new.more} if new.more else {})}
