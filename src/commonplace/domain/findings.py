"""The rules by which a base is checked, each with its severity. Every face names a finding by its rule."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from commonplace.domain.documents import Finding, Severity

RULES: Mapping[str, Severity] = {
    # Reading a file.
    "bad_yaml": Severity.ERROR,
    "bad_toml": Severity.ERROR,
    "not_utf8": Severity.ERROR,
    "unreadable": Severity.ERROR,
    "merge_conflict": Severity.ERROR,
    "unclosed_block": Severity.WARNING,
    "too_many_headings": Severity.WARNING,
    "unterminated_frontmatter": Severity.WARNING,
    "duplicate_key": Severity.WARNING,
    "yaml_alias": Severity.WARNING,
    "lfs_pointer": Severity.WARNING,
    "skipped": Severity.WARNING,
    # One page.
    "missing_title": Severity.ERROR,
    "event_missing_date": Severity.ERROR,
    "invalid_date": Severity.ERROR,
    "empty_body": Severity.WARNING,
    "importance_range": Severity.WARNING,
    "rubric_violation": Severity.WARNING,
    "schema_violation": Severity.WARNING,
    "stale": Severity.WARNING,
    "secret": Severity.ERROR,
    "addresses_agent": Severity.WARNING,
    "invisible_character": Severity.WARNING,
    "unportable_name": Severity.INFO,
    # Links of a page.
    "broken_link": Severity.WARNING,
    "dead_anchor": Severity.WARNING,
    "contradiction": Severity.WARNING,
    # Citations of a page.
    "quotation_missing": Severity.WARNING,
    "source_missing": Severity.WARNING,
    "source_superseded": Severity.WARNING,
    "replacement_missing": Severity.WARNING,
    "source_changed": Severity.INFO,
    "source_moved": Severity.INFO,
    # A page among the others.
    "other_value": Severity.INFO,
    "duplicate_id": Severity.ERROR,
    "duplicate_title": Severity.WARNING,
    "same_text": Severity.WARNING,
    "near_duplicate": Severity.INFO,
    "orphan_entry": Severity.INFO,
    "unused_attachment": Severity.INFO,
    # Files of the base.
    "bad_declaration": Severity.WARNING,
    "unknown_declaration": Severity.INFO,
    "unanswered_question": Severity.ERROR,
    # Concepts of OKF.
    "okf_frontmatter": Severity.ERROR,
    "okf_type": Severity.ERROR,
    "okf_index": Severity.ERROR,
    "okf_log": Severity.ERROR,
}
"""Severity of each rule."""
SEVERITIES: tuple[Severity, ...] = (Severity.ERROR, Severity.WARNING, Severity.INFO)
"""All severities, most severe first."""
REVIEW_RULES = (
    *("unanswered_question", "quotation_missing", "source_missing", "source_superseded", "replacement_missing"),
    *("contradiction", "other_value", "stale", "source_changed", "source_moved"),
)
"""The rules whose findings are reviewed, the gravest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFinding:
    """A finding that a write newly causes, with its page."""

    path: str
    line: int = 0
    """Line number from 1; 0 for the whole file, and for a page other than the written one."""
    severity: Severity
    rule: str
    """A key of `RULES`."""
    message: str


@dataclass(frozen=True, slots=True)
class NewFindings:
    """The findings that writes newly cause: the first ones, and the number of the others."""

    shown: tuple[NewFinding, ...] = ()
    more: int = 0
    complete: bool = True
    """Whether all were found in time."""


MAX_REPEATED = 300
"""Maximum number of characters of a page's text that a finding repeats; nearly all links and titles are shorter."""


def shortened(text: str) -> str:
    """A text as a finding repeats it: whole, or its first `MAX_REPEATED` characters and `…`."""
    return text if len(text) <= MAX_REPEATED else f"{text[:MAX_REPEATED]}…"


_MILDER = {Severity.ERROR: Severity.WARNING, Severity.WARNING: Severity.INFO, Severity.INFO: Severity.INFO}


def finding_of(rule: str, message: str, field: str = "", line: int = 0, *, milder: bool = False) -> Finding:
    """A finding with its rule's severity.

    Args:
        rule: A key of `RULES`.
        message: What is wrong, and the remedy.
        field: The frontmatter key with the problem; "" for none.
        line: Line number from 1; 0 for the whole file.
        milder: Whether the severity is one step less, for rules of typed bases that a plain page does not meet.
    """
    severity = RULES[rule]
    return Finding(rule, _MILDER[severity] if milder else severity, message, field, line)


# The results of `doctor`: checked subjects and their problems.


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One result of a check: in order, or a problem."""

    check: str
    """A stable name: `git`, `fsync`, `lock`, `disk`, `index`, `setting`, `port`, `client`, ..."""
    severity: Severity | None
    """Severity of the problem; None if the result is in order."""
    subject: str
    """The checked subject: the name of a collection, plugin or client, or a part of the machine."""
    message: str
    hint: str = ""
    """The next step for the user."""
    command: str = ""
    """The command that solves the problem, ready to run; "" if there is none."""

    @property
    def is_problem(self) -> bool:
        """Whether the result is an error or a warning."""
        return self.severity in {Severity.ERROR, Severity.WARNING}


_CONFLICT_MARKS = (re.compile(r"<{7}(?: |\Z)"), re.compile(r"={7}\Z"), re.compile(r">{7}(?: |\Z)"))
"""The lines with which git-merge(1) marks the two sides of a conflict, in order."""


def merge_conflicts(text: str) -> Iterator[Finding]:
    """A finding for each conflict that a merge has left in a text."""
    expected, began = 0, 0
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if _CONFLICT_MARKS[0].match(line):
            expected, began = 1, number
        elif expected and _CONFLICT_MARKS[expected].match(line):
            expected += 1
            if expected == len(_CONFLICT_MARKS):
                message = "A merge has left both sides of a conflict here. Choose one, and remove the marker lines."
                yield finding_of("merge_conflict", message, line=began)
                expected = 0
