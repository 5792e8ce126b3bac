"""A year of a team in Git, made from a seed: pages, corrections, superseded decisions, citations, due reviews."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from support import GitRepo, new_repo

FIRST_DAY = date(2025, 1, 1)
DAYS = 365
LAST_DAY = (FIRST_DAY + timedelta(days=DAYS)).isoformat()
AUTHORS = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ivo", "Jana", "Kim", "Leo")
_SYLLABLES = ("ba", "ko", "ri", "ve", "su", "mo", "ta", "ni", "lu", "pe", "za", "do", "fi", "ge", "ha", "jo")
_LABELS = ("storage", "queue", "login", "backup", "gateway")
CODE_LINES = 60


@dataclass
class Year:
    """The year while it is written.

    Args:
        seed: The same year for the same seed.
        pages: Number of pages at its beginning, without decisions.
        superseded: Number of decisions that are superseded.
        corrections: Number of corrections of facts.
        citations: Number of citations.
    """

    seed: int
    pages: int
    superseded: int
    corrections: int
    citations: int
    files: dict[str, str] = field(default_factory=dict[str, str])
    held: dict[str, list[tuple[int, str]]] = field(default_factory=dict[str, list[tuple[int, str]]])
    """For each question the days, counted from the first, with the page that holds from then on."""
    faults: set[tuple[str, str, int]] = field(default_factory=set[tuple[str, str, int]])
    """Path, rule and line of each fault at the end of the year."""

    def stream(self) -> Iterator[bytes]:
        """The history as `git fast-import` takes it."""
        self._random = random.Random(self.seed)
        self._names = [f"{a}{b}{c}" for a in _SYLLABLES for b in _SYLLABLES for c in _SYLLABLES]
        self._random.shuffle(self._names)
        yield from self._begin()
        events = ["correct"] * self.corrections + ["supersede"] * self.superseded + ["code"] * 5
        self._random.shuffle(events)
        for number, event in enumerate(events):
            day = 2 + number * (DAYS - 4) // len(events)
            changed = getattr(self, f"_{event}")(day)
            if changed:
                yield from self._commit(day, changed)
        self._note_faults()

    def _begin(self) -> Iterator[bytes]:
        self._facts: dict[str, dict[str, int]] = {}
        for number in range(self.pages):
            name = self._names[number]
            path = f"services/{name}.md"
            self._facts[path] = {f"{name} {label}": self._random.randrange(10, 900) for label in _LABELS}
            self._write_service(path)
        self._open: list[tuple[str, str]] = []
        for number in range(self.superseded):
            name = self._names[self.pages + number]
            path = f"decisions/{number:04}-ledger-of-{name}.md"
            self.files[path] = (
                f"# Ledger of {name}\n\nThe ledger of {name} is kept in the first system. Ledger {name}.\n"
            )
            question = f"ledger of {name}"
            self.held[question] = [(0, path)]
            self._open.append((question, path))
        for number in range(max(2, self.pages // 4)):
            path, is_due = f"policies/policy-{number:03}.md", number % 2 == 0
            day = LAST_DAY if is_due else "2999-01-01"
            self.files[path] = f"---\nreview_by: {day}\n---\n# Policy {number}\n\nIt is policy {number} of the team.\n"
            if is_due:
                self.faults.add((path, "stale", 0))
        for number in range(3):
            lines = [f"value_{number}_{line} = compute({line * 7 + number})" for line in range(CODE_LINES)]
            self.files[f"src/part{number}.py"] = "\n".join(lines) + "\n"
        yield from self._commit(0, dict(self.files))
        self._cite()
        yield from self._commit(1, {path: text for path, text in self.files.items() if path.startswith("reports/")})

    def _write_service(self, path: str) -> None:
        name = path.removeprefix("services/").removesuffix(".md")
        facts = "".join(
            f"## {label.title()}\n\nThe {label} of {name} answers within {self._facts[path][f'{name} {label}']} ms.\n\n"
            for label in _LABELS
        )
        self.files[path] = f"# Service {name}\n\n{facts}"

    def _cite(self) -> None:
        """The reports of the second day; each footnote is one citation."""
        self._cited: list[tuple[str, int, str, str]] = []
        services, decisions = sorted(self._facts), [path for _, path in self._open]
        per_page = 10
        for number in range(max(1, self.citations // per_page)):
            path, notes = f"reports/report-{number:03}.md", list[str]()
            for at in range(per_page):
                kind = self._random.random()
                line = 5 + at
                if kind < 0.7:
                    source = self._random.choice(services)
                    label = self._random.choice(_LABELS)
                    name = source.removeprefix("services/").removesuffix(".md")
                    quoted = f"The {label} of {name} answers within {self._facts[source][f'{name} {label}']} ms."
                    notes.append(f'[^{at}]: [{name}](../{source}#{label}): "{quoted}"')
                    self._cited.append((path, line, "quotation", f"{source}\n{quoted}"))
                elif kind < 0.85:
                    source = self._random.choice(decisions)
                    notes.append(f"[^{at}]: [decision](../{source})")
                    self._cited.append((path, line, "decision", source))
                else:
                    part, first = self._random.randrange(3), self._random.randrange(1, CODE_LINES - 4)
                    code = self.files[f"src/part{part}.py"].split("\n")
                    quoted = code[first - 1]
                    notes.append(f'[^{at}]: `src/part{part}.py#L{first}`: "{quoted}"')
                    self._cited.append((path, line, "code", f"{part}\n{first}\n{quoted}"))
            references = "".join(f"[^{at}]" for at in range(per_page))
            self.files[path] = f"# Report {number}\n\nIt rests on much.{references}\n\n" + "\n".join(notes) + "\n"

    def _correct(self, _: int) -> dict[str, str]:
        path = self._random.choice(sorted(self._facts))
        fact = self._random.choice(sorted(self._facts[path]))
        self._facts[path][fact] += self._random.randrange(1, 50)
        self._write_service(path)
        return {path: self.files[path]}

    def _supersede(self, day: int) -> dict[str, str]:
        question, old = self._open.pop(self._random.randrange(len(self._open)))
        new = old.replace(".md", "-2.md")
        self.files[new] = f"# Move of books\n\nFrom now on, after much talk, the {question} is in the second system.\n"
        self.files[old] = f"---\nsuperseded_by: {new}\n---\n{self.files[old]}"
        self.held[question].append((day, new))
        return {old: self.files[old], new: self.files[new]}

    def _code(self, day: int) -> dict[str, str]:
        path = f"src/part{day % 3}.py"
        lines = self.files[path].split("\n")
        lines.insert(self._random.randrange(len(lines)), f"added_{day} = True")
        self.files[path] = "\n".join(lines)
        return {path: self.files[path]}

    def _note_faults(self) -> None:
        superseded = {path for path, text in self.files.items() if text.startswith("---\nsuperseded_by")}
        for path, line, kind, what in self._cited:
            if kind == "quotation":
                source, quoted = what.split("\n")
                if quoted not in self.files[source]:
                    self.faults.add((path, "quotation_missing", line))
            elif kind == "decision" and what in superseded:
                self.faults.add((path, "source_superseded", line))
            elif kind == "code":
                part, first, quoted = what.split("\n")
                if self.files[f"src/part{part}.py"].split("\n")[int(first) - 1] != quoted:
                    self.faults.add((path, "source_moved", line))

    def _commit(self, day: int, changed: dict[str, str]) -> Iterator[bytes]:
        when = int(datetime.combine(FIRST_DAY + timedelta(days=day), datetime.min.time(), UTC).timestamp()) + 3600
        author = self._random.choice(AUTHORS)
        who = f"{author} <{author.lower()}@example.org> {when} +0000"
        yield f"commit refs/heads/main\nauthor {who}\ncommitter {who}\ndata 6\nChange\n".encode()
        for path, text in changed.items():
            content = text.encode()
            yield f"M 100644 inline {path}\ndata {len(content)}\n".encode() + content + b"\n"


def made_year(path: Path, year: Year) -> GitRepo:
    """The repository of a year."""
    repo = new_repo(path)
    subprocess.run(
        ["git", "fast-import", "--quiet", "--force"],
        cwd=repo.path,
        input=b"".join(year.stream()),
        check=True,
        timeout=120,
    )
    repo.git("checkout", "--quiet", "--force", "main")
    return repo


def day_of(number: int) -> str:
    """A day of the year, counted from the first."""
    return (FIRST_DAY + timedelta(days=number)).isoformat()
