"""Writers of a store of projects for `ways.ledger`: agents, an editor, and somebody who pushes to its remote."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agent import Agent, text_of
from support import GitRepo
from ways.ledger import WORD
from ways.writers import LINES, Act, Face, commit_all

PROJECTS = 4
ATTEMPTS = 20
"""Number of attempts to push while the store pushes, too."""
CHAPTERS = ("Ebb", "Flow", "Slack")


@dataclass
class Projects(Face):
    """The toolset `projects`, whose tools ask for no revision."""

    agent: Agent = field(kw_only=True)

    def acts(self) -> dict[Act, int]:
        return {
            self._read: 8, self._read_chapter: 6, self._update_chapter: 16, self._update_main: 6,
            self._update_section: 8, self._add_chapter: 4, self._remove_chapter: 3, self._create: 4,
            self._delete: 2, self._delete_project: 1, self._sync: 2,
        }  # fmt: skip

    def _read(self) -> str:
        if self.chance.random() < 0.5:
            return self._ask("get_project_main")
        return self._ask("get_knowledge_file", filename="tides.md")

    def _read_chapter(self) -> str:
        return self._ask("get_chapter", filename="tides.md", chapter_title=self._title())

    def _update_chapter(self) -> str:
        return self._ask("update_chapter", filename="tides.md", chapter_title=self._title(), new_content=self.line())

    def _update_main(self) -> str:
        return self._ask("update_project_main", content=main_with(self.line()))

    def _update_section(self) -> str:
        return self._ask("update_project_section", section_header=f"## {self._title()}", new_content=self.line())

    def _add_chapter(self) -> str:
        return self._ask("add_chapter", filename="tides.md", chapter_title=self._title(), content=self.line())

    def _remove_chapter(self) -> str:
        return self._ask("remove_chapter", filename="tides.md", chapter_title=self._title())

    def _create(self) -> str:
        chapters = [{"title": title, "content": self.line()} for title in CHAPTERS]
        given_values = {"title": "Tides", "introduction": self.line(), "keywords": ["tide"], "chapters": chapters}
        return self._ask("create_knowledge_file", filename="tides", **given_values)

    def _delete(self) -> str:
        return self._ask("delete_knowledge_file", filename="tides.md")

    def _delete_project(self) -> str:
        return self._ask("delete_project")

    def _sync(self) -> str:
        result = self.agent.raw("sync_storage")
        return self.told(text_of(result), refused=result.is_error)

    def _title(self) -> str:
        return self.chance.choice(CHAPTERS)

    def _ask(self, tool: str, **arguments: Any) -> str:
        result = self.agent.raw(tool, project_id=f"p{self.chance.randrange(PROJECTS)}", **arguments)
        return self.told(text_of(result), refused=result.is_error)


@dataclass
class StoreEditor(Face):
    """A person who edits files of the store by hand, and sees the file that is saved."""

    def acts(self) -> dict[Act, int]:
        return {self._change: 1}

    def _change(self) -> str:
        files = sorted((self.ledger.repo.path / "projects").rglob("*.md"))
        if files:
            file = self.chance.choice(files)
            text = file.read_text()
            self.told(text, refused=False)
            file.write_text(with_line(text, self.line(), self.chance.random()))
        return ""


@dataclass
class Colleague(Face):
    """Somebody else who pushes to the remote; the store takes it over when it looks there."""

    clone: GitRepo = field(kw_only=True)

    def acts(self) -> dict[Act, int]:
        return {self._push: 1}

    def _push(self) -> str:
        for _ in range(ATTEMPTS):
            self.clone.git("fetch", "--quiet")
            self.clone.git("reset", "--quiet", "--hard", "origin/main")
            files = sorted((self.clone.path / "projects").rglob("*.md"))
            for file in self.chance.sample(files, min(len(files), 2)):
                file.write_text(with_line(file.read_text(), self.line(), self.chance.random()))
            commit_all(self.clone)
            try:
                self.clone.git("push", "--quiet", "origin", "HEAD:main")
            except AssertionError:  # the store has pushed in the meantime
                continue
            self.ledger.counts["pushed by a colleague"] += 1
            break
        return ""


def main_with(line: str) -> str:
    """Instructions with a section for each chapter's title."""
    return f"# Rules\n\n{line}\n\n" + "".join(f"## {title}\n\nnone\n\n" for title in CHAPTERS)


def with_line(text: str, line: str, where: float) -> str:
    """A text with a line more below its frontmatter, or only that one where there are many."""
    head, mark, body = text.partition("\n---\n") if text.startswith("---\n") else ("", "", text)
    lines = body.splitlines()
    if len(lines) > LINES * 3:
        lines = [other_line for other_line in lines if not WORD.search(other_line)]
    at = 1 + int(where * len(lines))
    return head + mark + "".join(f"{other_line}\n" for other_line in [*lines[:at], "", line, "", *lines[at:]])
