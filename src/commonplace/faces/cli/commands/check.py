"""Commands that judge pages: what is wrong with them, and what is to be reviewed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from commonplace.domain.documents import Severity
from commonplace.domain.errors import ConfigError
from commonplace.domain.findings import SEVERITIES
from commonplace.domain.json import Json
from commonplace.domain.status import due_review, next_review
from commonplace.domain.words.amounts import amount
from commonplace.faces.cli.failures import FINDINGS
from commonplace.faces.cli.options import exclusive
from commonplace.faces.cli.output import BOLD, FAINT, INDENT, RED, Output, one_line
from commonplace.faces.cli.pages import addressed
from commonplace.faces.cli.session import Session
from commonplace.services.checks import HISTORY_SECONDS, QUESTIONS_FILE, check_pages, check_questions, history_gaps
from commonplace.services.collections import Collections
from commonplace.services.findings import Issue
from commonplace.services.reviews import ReviewItem, mark_reviewed, queue_of, shown_item

MAX_PLACES = 10
"""Maximum number of places that are named for one sentence to a person at a terminal."""


CHECK_JSON = """As JSON: `{"documents", "counts": {"error", "warning", "info"}, "findings": [{"collection", "path",
"line", "severity", "rule", "message", "lines"}]}`; `line` is 0 for what is about the whole file, and `lines` has the
lines of all places. With `--questions` it begins with `"questions"` instead of `"documents"`."""


def check_command(
    session: Session,
    *,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Leave out what is only worth knowing.")] = False,
    okf: Annotated[
        str | None, typer.Option(metavar="PATH", help="Check a folder as an OKF v0.2 bundle instead.")
    ] = None,
    questions: Annotated[
        bool, typer.Option("--questions", help="Ask the golden questions of questions.yaml instead.")
    ] = False,
) -> int:
    """Find what is wrong with the pages.

    Examples:
        commonplace check
        commonplace check -C ~/docs --quiet
        commonplace check --json | jq .counts
        commonplace check --okf ~/bundle
        commonplace check --questions

    Found are bad YAML, files that are no UTF-8, broken links and anchors, double ids, texts that stand twice, pages
    past their review_by or older than what they describe, declared contradictions, secrets, invisible characters, text
    that addresses agents, code fences that are not closed, conflicts that a merge left, and files that cannot be
    served, one a line: PATH:LINE: severity: message [rule]; on a terminal by rule, the gravest first. Near-duplicates,
    file names that Windows does not allow, and pages and attachments that nothing links to, are worth knowing and no
    more. The exit code is 1 when there is an error or a warning. Nothing is changed.

    questions.yaml in the folder is a list of {question, pages, budget}. With --questions the exit code is 1 when a
    search for a question does not find all of its pages within its budget of tokens (1000 without one).
    """
    exclusive(**{"--okf": okf, "--questions": questions})
    if okf is not None:
        with session.opened_bundle(okf) as bundle:
            report = session.dependencies.check_bundle(bundle)
            return _report(session, report.problems, _Counted(report.files), quiet=quiet)
    with session.opened() as collections:
        if questions:
            return _ask(session, collections)
        gaps = history_gaps(collections.members, HISTORY_SECONDS)
        problems = [issue for collection in collections for issue in check_pages(collections, collection)]
        documents = sum(collection.index.counts().documents for collection in collections)
        code = _report(session, problems, _Counted(documents, folders=len(collections.members)), quiet=quiet)
        session.out.message("\n".join(gaps))
        return code


def _ask(session: Session, collections: Collections) -> int:
    answers = [check_questions(collection) for collection in collections]
    count = sum(number for number, _ in answers)
    if not count:
        raise ConfigError(
            f"There is no {QUESTIONS_FILE} in the folder.",
            kind="questions",
            hint="Write one: a list of entries such as {question: How hot for tea?, pages: [green.md], budget: 1000}.",
        )
    problems = [problem for _, issues in answers for problem in issues]
    return _report(session, problems, _Counted(count, "question", len(collections.members)), quiet=False)


@dataclass(frozen=True, slots=True)
class _Counted:
    """The result of a check."""

    number: int
    noun: str = "page"
    folders: int = 1


def _report(session: Session, problems: Sequence[Issue], counted: _Counted, *, quiet: bool) -> int:
    out = session.out
    counts = {severity: sum(problem.severity == severity for problem in problems) for severity in Severity}
    shown = [issue for issue in problems if not quiet or issue.severity is not Severity.INFO]
    if out.as_json:
        out.json(
            {
                "documents" if counted.noun == "page" else f"{counted.noun}s": counted.number,
                "counts": {severity.value: count for severity, count in counts.items()},
                "findings": list[Json](map(_json, shown)),
            }
        )
    else:
        _show(session, shown, several=counted.folders > 1)
        errors, warnings = amount(counts[Severity.ERROR], "error"), amount(counts[Severity.WARNING], "warning")
        out.message(f"{amount(counted.number, counted.noun)}: {errors}, {warnings}, {counts[Severity.INFO]:,} info.")
    return FINDINGS if counts[Severity.ERROR] + counts[Severity.WARNING] else 0


def _show(session: Session, problems: Sequence[Issue], *, several: bool) -> None:
    """List the problems: on a terminal by rule, the gravest first, each sentence once with its places."""
    out = session.out
    if not out.terminal.interactive:
        for problem in problems:
            place, severity = _places(problem, several=several)[0], _styled(out, problem.severity)
            rule = out.styled(FAINT, f"[{problem.rule}]")
            out.line(f"{out.styled(BOLD, place)}: {severity}: {one_line(problem.sentence)} {rule}", INDENT)
        return
    places: dict[tuple[Severity, str], dict[str, list[str]]] = {}
    counts = Counter((problem.severity, problem.rule) for problem in problems)
    for problem in sorted(problems, key=lambda issue: (SEVERITIES.index(issue.severity), issue.rule)):
        group = places.setdefault((problem.severity, problem.rule), {})
        group.setdefault(problem.message, []).extend(_places(problem, several=several))
    for (severity, rule), sentences in places.items():
        count = counts[severity, rule]
        out.line(f"{_styled(out, severity)}: {out.styled(BOLD, rule)} ({count:,})")
        for message, found_texts in sentences.items():
            more = f" and {len(found_texts) - MAX_PLACES:,} more" if len(found_texts) > MAX_PLACES else ""
            out.line(f"  {one_line(message)} {out.styled(FAINT, ', '.join(found_texts[:MAX_PLACES]) + more)}", INDENT)


def _places(problem: Issue, *, several: bool) -> list[str]:
    """Every place of a problem, its first place first."""
    name = f"{problem.collection.name}:" if several else ""
    lines = dict.fromkeys([problem.line, *problem.lines])
    return [f"{name}{problem.path}{f':{line}' if line else ''}" for line in lines]


def _styled(out: Output, severity: Severity) -> str:
    return out.styled(RED if severity is Severity.ERROR else BOLD, severity.value)


def _json(problem: Issue) -> dict[str, Json]:
    return {
        "collection": problem.collection.name,
        "path": problem.path,
        "line": problem.line,
        "severity": problem.severity.value,
        "rule": problem.rule,
        "message": problem.message,
        "lines": [*(problem.lines or (problem.line,))],
    }


REVIEW_JSON = """As JSON: `{"items": [{"collection", "path", "line", "rule", "reason", "owners": [..], "call":
{"tool", "page", ..}}]}`; with `--done` `{"collection", "path", "revision", "commit", "next_review"}`."""


def review_command(
    session: Session,
    *,
    owner: Annotated[str, typer.Option("--owner", metavar="NAME", help="Only pages of this owner.")] = "",
    done: Annotated[str, typer.Option("--done", metavar="PAGE", help="Note that this page was reviewed today.")] = "",
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="With --done: who reviewed it.")] = "",
    until: Annotated[str, typer.Option("--until", metavar="DAY", help="With --done: day of the next review.")] = "",
) -> None:
    """List what is to be reviewed, with the reason.

    Examples:
        commonplace review
        commonplace review --owner @docs-team
        commonplace review --done runbooks/restore.md --by Ada
        commonplace review --json | jq '.items[].call'

    Listed are quotations that their source does not have any more, sources that are gone, superseded or changed,
    replacements that are not there, contradictions, pages past their day of review, and unanswered golden questions.
    The owner of a page is `owner` in its front matter, else what CODEOWNERS says. --done sets last_reviewed_on, and
    review_by to --until, else by the page's own review_in, else to a day in half a year.
    """
    exclusive(**{"--owner": owner or None, "--done": done or None})
    if done:
        with session.opened_for_writing(commit=True) as collections:
            collection, address = addressed(collections, session.relative(done))
            receipt = mark_reviewed(collection, address, by, until)
            values = collection.index.document(address).frontmatter.values
            if session.out.as_json:
                written: dict[str, Json] = {
                    "path": address.path,
                    "revision": receipt.revision,
                    "commit": receipt.commit,
                    "next_review": due_review(values)[0],
                }
                session.out.json({"collection": collection.name, **written})
                return
            session.out.line(one_line(f"Reviewed: {address.path}; {next_review(values)}"))
        return
    with session.opened() as collections:
        gaps = history_gaps(collections.members, HISTORY_SECONDS)
        items = queue_of(collections.members, owner)
        session.out.message("\n".join(gaps))
        if session.out.as_json:
            session.out.json({"items": [_item_json(item) for item in items]})
            return
        for item in items:
            name = f"{item.collection.name}:" if len(collections.members) > 1 else ""
            session.out.line(one_line(name + shown_item(item)), INDENT)
        session.out.message(f"{amount(len(items), 'item')} to review.")


def _item_json(item: ReviewItem) -> dict[str, Json]:
    return {
        "collection": item.collection.name,
        "path": item.path,
        "line": item.line,
        "rule": item.rule,
        "reason": item.reason,
        "owners": list(item.owners),
        "call": dict(item.call),
    }
