"""The base of the sessions: the pages of a team in a repository, some of which changed last week."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

from benchmarks.trees import skewed_prose

SERVICES = ("billing", "gateway", "search", "mail", "login", "export", "archive", "report")
DAY = 86_400
KEPT = "Nightly backups are kept for 35 days and weekly ones for a year."
PORT = "The gateway listens on port 8443 in every region."
ON_CALL = "Gateway: Mira Okafor is on call this quarter."
RULE = "Every finished task is listed in the section Decisions of its topic."
LIMIT = "The mail queue holds 500 messages."
LIMIT_PAGES = (
    *("topics/mail.md", "runbooks/restore-mail.md", "decisions/2023-03-choice.md", "meetings/2025-02-04.md"),
)
"""The pages that state the limit."""
LAST_WEEK = {"topics/mail.md": "Ann", "runbooks/restore-login.md": "Ben", "people/rota.md": "Ann"}
"""Pages that changed in the last seven days, with their authors."""


def write_base(folder: Path) -> None:
    """Write the pages and their history. All sessions get the same, except for dates, which are relative to now."""
    chance = random.Random(19)
    prose = skewed_prose(chance)
    pages = {path: _page(chance, prose, path, said) for path, said in _pages().items()}
    for path, text in pages.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    _git(folder, "init", "--quiet", "--initial-branch=main")
    _commit(folder, "Ann", "Pages of the team", 40)
    for number, (path, who) in enumerate(LAST_WEEK.items()):
        with (folder / path).open("a", encoding="utf-8") as file:
            file.write(f"\n## Note {number}\n\nChecked again by {who}, and found in order.\n")
        _commit(folder, who, f"Check {path}", 5 - number)


def _pages() -> dict[str, list[str]]:
    """The sentences of each page besides the prose, by path."""
    pages = {f"topics/{text}.md": [f"Restore it by [the runbook](../runbooks/restore-{text}.md)."] for text in SERVICES}
    pages |= {f"runbooks/restore-{service}.md": [f"This is for [[{service.capitalize()}]]."] for service in SERVICES}
    pages |= {f"decisions/{2020 + n % 6}-{n:02}-choice.md": [f"See [[{_service(n)}]]."] for n in range(24)}
    pages |= {f"meetings/2025-{1 + n // 2:02}-{1 + n:02}.md": [f"We spoke of [[{_service(n)}]]."] for n in range(20)}
    pages["README.md"] = [f"- [{service.capitalize()}](topics/{service}.md)" for service in SERVICES]
    pages["people/rota.md"] = [ON_CALL, "Billing: Tom Reyes is on call this quarter."]
    pages["topics/gateway.md"].append(PORT)
    pages["runbooks/restore-archive.md"].append(KEPT)
    for path in LIMIT_PAGES:
        pages[path].append(LIMIT)
    return pages | {"AGENTS.md": [RULE]}


def _service(number: int) -> str:
    return SERVICES[number % len(SERVICES)].capitalize()


def _page(chance: random.Random, prose: list[str], path: str, said: list[str]) -> str:
    """A page of about six sections with these sentences among them; topics have a section for decisions."""
    title = Path(path).stem.replace("-", " ").capitalize()
    heads = ["Purpose", "How it works", "Limits", "Operation", "History", "Questions"]
    sections = [f"# {title}\n\n" + "\n\n".join(said[:1])]
    for number, head in enumerate(heads):
        at = chance.randrange(len(prose) - 100)
        texts = [*said[1 + number : 2 + number], f"{' '.join(prose[at : at + chance.randrange(40, 90)]).capitalize()}."]
        sections.append(f"## {head}\n\n" + "\n\n".join(texts))
    if path.startswith("topics/"):
        sections.append("## Decisions\n\n- Kept as it is, 2024.")
    return "\n\n".join(sections) + "\n"


def _commit(folder: Path, who: str, message: str, days_ago: int) -> None:
    stamp = f"{int(time.time()) - days_ago * DAY} +0000"
    person = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in _person(who, stamp)}
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--message", message, environment=person)


def _person(who: str, stamp: str) -> list[tuple[str, str]]:
    return [("NAME", who), ("EMAIL", f"{who.lower()}@example.org"), ("DATE", stamp)]


def _git(folder: Path, *arguments: str, environment: dict[str, str] | None = None) -> None:
    subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, env=os.environ | (environment or {})
    )
