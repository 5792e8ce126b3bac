"""The sessions with the toolset `notes`."""

from __future__ import annotations

import re
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.sessions.outcomes import Meter, shown
from benchmarks.stdio import StdioServer

BUDGET = 100
"""Token budget of each search, the smallest that `search` takes."""
BRIEF_BUDGET = 200
"""Token budget of the brief."""
_HIT = re.compile(r"\[\d+\] ([^#\n]+)#\S* \((?:[^()\n]* > )?([^()\n]*)\)\n")
_PLACE = re.compile(r"\[\d+\] (\S+#\S*) [^\n]*\n([^\n]*)")
_COMMIT = re.compile(r"(?m)^[0-9a-f]{10} [\d-]+ [\d:]+ (\w+): .*: (\S+\.md)$")


class NotesPlayer:
    """Acts through `commonplace mcp`, as a client that has read the descriptions of the ten tools."""

    def __init__(self, folder: Path) -> None:
        self.meter = Meter()
        self._server = StdioServer("--toolset", "notes", folder, "--tier", "write", "--commit", "auto", "--no-embed")

    def __enter__(self) -> Self:
        """Return the player, whose first index is built."""
        self._server.await_index("search", query="a word")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Terminate the server."""
        self._server.__exit__(kind, error, at)

    def cite(self, question: str) -> tuple[str, str, str]:
        """The first hit of a search."""
        _, path, heading, text = _HIT.split(self._call("search", query=question, max_tokens=BUDGET))[:4]
        return path, heading, text

    def facts(self, questions: tuple[str, str]) -> str:
        """The hits of two searches."""
        return "\n".join(self._call("search", query=question, max_tokens=BUDGET) for question in questions)

    def decide(self, topic: str, title: str, text: str) -> None:
        """Create the page and list it, in one transaction."""
        page = {
            "do": "write",
            "page": f"decisions/{_slug(title)}.md",
            "text": f"# {title}\n\n{text}\n\nFor [[{topic}]].\n",
        }
        item = {"do": "append", "section": "Decisions", "text": f"- [[{title}]]"}
        self._call("transaction", steps=[page, {"do": "edit", "page": topic, "changes": [item]}])

    def rename(self, old: str, new: str) -> None:
        """Move the page with its links and change its heading; then replace labels with the old name."""
        target = f"topics/{new.lower()}.md"
        heading = {"do": "replace", "old": f"# {old}", "text": f"# {new}"}
        steps = [
            {"do": "move", "page": old, "to": target},
            {"do": "edit", "page": target, "changes": [heading]},
        ]
        self._call("transaction", steps=steps)
        links = self._call("links", page=new, kind="in")
        label = {"do": "replace", "old": f"[{old}]", "text": f"[{new}]"}
        for page in re.findall(rf"(?m)^<- (\S+\.md): .*\b{old}\b", links):
            self._call("edit", page=page, changes=[label])

    def changed(self) -> dict[str, str]:
        """The changes of the last seven days."""
        return {path: who for who, path in _COMMIT.findall(self._call("changes", since="7 days"))}

    def begin(self, task: str) -> str:
        """The brief for the task, and the changes."""
        return self._call("brief", task=task, max_tokens=BRIEF_BUDGET) + self._call("changes", since="7 days")

    def finish(self, topic: str, line: str) -> None:
        """Append the line to the section."""
        self._call("edit", page=topic, changes=[{"do": "append", "section": "Decisions", "text": line}])

    def correct(self, old: str, new: str) -> None:
        """Find the pages by the sentence, and edit all in one transaction."""
        hits = _HIT.split(self._call("search", query=f'"{old}"', max_tokens=4 * BUDGET))[1:]
        pages = [path for path, _, text in zip(hits[::3], hits[1::3], hits[2::3], strict=True) if old in text]
        change = {"do": "replace", "old": old, "text": new}
        self._call("transaction", steps=[{"do": "edit", "page": page, "changes": [change]} for page in pages])

    def answer(self, title: str, questions: tuple[str, str]) -> None:
        """Search for both, and write the page with the sections as sources."""
        hits = [_PLACE.search(self._call("search", query=question, max_tokens=BUDGET)) for question in questions]
        places = [hit for hit in hits if hit]
        text = f"# {title}\n\n" + "\n\n".join(f"{hit[2]}[^{at}]" for at, hit in enumerate(places, 1))
        sources = [hit[1] for hit in places]
        self._call("write", page="answers/backups-and-gateway.md", text=f"{text}\n", sources=sources)

    def _call(self, tool: str, **arguments: object) -> str:
        answer = shown(self._server.call(tool, **arguments))
        self.meter.count(tool, arguments, answer)
        return answer


def _slug(title: str) -> str:
    return title.lower().replace(" ", "-")
