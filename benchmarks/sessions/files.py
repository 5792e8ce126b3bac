"""The sessions with files and a shell: grep, reading, replacing a text in a file, and `git log` for changes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.sessions.outcomes import Meter

MAX_FACT_CHARS = 100
"""Maximum number of characters of a line that is taken for a fact."""


class FilesPlayer:
    """Acts as an agent without a server: searches for words, and reads the files that contain them."""

    def __init__(self, folder: Path) -> None:
        self.meter = Meter()
        self._folder = folder

    def __enter__(self) -> Self:
        """Return the player; there is nothing to start."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Do nothing: nothing was started."""

    def cite(self, question: str) -> tuple[str, str, str]:
        """Find the page by the rarest word of the question, and read it."""
        path, text = self._best(question)
        sections = re.split(r"(?m)^#+ ", text)
        words = question.split()[-2:]
        best = max(sections, key=lambda section: sum(word in section.lower() for word in words))
        return path, best.partition("\n")[0], best

    def facts(self, questions: tuple[str, str]) -> str:
        """Find and read the pages of both questions."""
        return "\n".join(self._best(question)[1] for question in questions)

    def decide(self, topic: str, title: str, text: str) -> None:
        """Create a file, and add a line after the last one of the topic's decisions, which is read first."""
        path = f"decisions/{title.lower().replace(' ', '-')}.md"
        self._write(path, f"# {title}\n\n{text}\n\nFor [[{topic}]].\n")
        page = f"topics/{topic.lower()}.md"
        last = re.findall(r"(?m)^\d+-(- .*)$", self._shell(f"grep -n -A3 '^## Decisions' {page}"))[-1]
        self._replace(page, last, f"{last}\n- [[{title}]]")

    def rename(self, old: str, new: str) -> None:
        """Find every line with the name, replace each, and move the page."""
        lines = self._shell(f"grep -rn {old} --include=*.md .")
        page = f"topics/{old.lower()}.md"
        for path, line in re.findall(r"(?m)^\./([^:]+):\d+:(.*)$", lines):
            changed = line.replace(f"[[{old}]]", f"[[{new}]]").replace(
                f"[{old}]({page}", f"[{new}](topics/{new.lower()}.md"
            )
            changed = changed.replace(f"# {old}", f"# {new}") if path == page else changed
            if changed != line:
                self._replace(path, line, changed)
        self._shell(f"git mv {page} topics/{new.lower()}.md")

    def changed(self) -> dict[str, str]:
        """Read the log of seven days."""
        log = self._shell("git log --since=7.days --format=%an --name-only")
        return {path: who for who, path in re.findall(r"(\w+)\n\n(\S+\.md)", log)}

    def begin(self, task: str) -> str:
        """Read the rules, find and read the page, and read the log."""
        log = self._shell("git log --since=7.days --format=%an --name-only")
        return "\n".join([self._read("AGENTS.md"), self._best(task)[1], log])

    def finish(self, topic: str, line: str) -> None:
        """Add the line after the last one of the topic's decisions."""
        page = f"topics/{topic.lower()}.md"
        last = re.findall(r"(?m)^\d+-(- .*)$", self._shell(f"grep -n -A3 '^## Decisions' {page}"))[-1]
        self._replace(page, last, f"{last}\n{line}")

    def correct(self, old: str, new: str) -> None:
        """Find the files, and replace the sentence in each."""
        for path in re.findall(r"(?m)^\./(.+)$", self._shell(f"grep -rl '{old}' --include=*.md .")):
            self._replace(path, old, new)

    def answer(self, title: str, questions: tuple[str, str]) -> None:
        """Find and read both pages, and write a file with links to them."""
        pages = [self._best(question) for question in questions]
        facts = [
            max(text.split("\n"), key=lambda line: _in_common(line, question))
            for (_, text), question in zip(pages, questions, strict=True)
        ]
        links = [f"[source](../{path}#purpose)" for path, _ in pages]
        text = "\n\n".join(f"{fact} {link}" for fact, link in zip(facts, links, strict=True))
        self._write("decisions/backups-and-gateway.md", f"# {title}\n\n{text}\n")

    def _best(self, question: str) -> tuple[str, str]:
        """Path and text of the page with most of the question's words in the lines that grep prints."""
        words = [word for word in question.split() if len(word) > 3]
        lines = self._shell(f"grep -rniE '{'|'.join(words)}' --include=*.md .")
        matches = re.findall(r"(?m)^\./([^:]+):\d+:(.*)$", lines)
        path, _ = max(matches, key=lambda match: sum(word in match[1].lower() for word in words))
        return path, self._read(path)

    def _shell(self, command: str) -> str:
        done = subprocess.run(["sh", "-c", command], cwd=self._folder, capture_output=True, text=True, check=True)
        self.meter.count("shell", {"command": command}, done.stdout)
        return done.stdout

    def _read(self, path: str) -> str:
        text = (self._folder / path).read_text(encoding="utf-8")
        self.meter.count("read_file", {"path": path}, text)
        return text

    def _write(self, path: str, text: str) -> None:
        (self._folder / path).write_text(text, encoding="utf-8")
        self.meter.count("write_file", {"path": path, "text": text}, "ok")

    def _replace(self, path: str, old: str, new: str) -> None:
        """Replace a text that occurs exactly once."""
        file = self._folder / path
        text = file.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise RuntimeError(f"{old!r} does not occur once in {path}")
        file.write_text(text.replace(old, new), encoding="utf-8")
        self.meter.count("edit_file", {"path": path, "old": old, "new": new}, "ok")


def _in_common(line: str, question: str) -> int:
    """Number of a question's words that a short line has."""
    return sum(word in line.lower() for word in question.split()) if len(line) < MAX_FACT_CHARS else 0
