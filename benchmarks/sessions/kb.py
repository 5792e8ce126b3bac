"""The sessions with the toolset `kb`."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.sessions.base import DAY
from benchmarks.sessions.outcomes import Meter, shown
from benchmarks.stdio import StdioServer

BUDGET = 200
"""Token budget of each search, the smallest that `kb_search` takes."""


class KbPlayer:
    """Acts through `commonplace mcp --toolset kb`. Knows the ids of the topics."""

    def __init__(self, folder: Path) -> None:
        self.meter = Meter()
        self._name = folder.name
        self._server = StdioServer("--toolset", "kb", folder, "--tier", "write", "--commit", "auto", "--no-embed")

    def __enter__(self) -> Self:
        """Return the player, whose first index is built."""
        self._server.await_index("kb_search", query="a word")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Terminate the server."""
        self._server.__exit__(kind, error, at)

    def cite(self, question: str) -> tuple[str, str, str]:
        """The first hit's sections within a budget, because a snippet does not name its section."""
        first = self._sections(question)[0]
        return f"{first['id']}.md", first["section"].rpartition(" > ")[2], first["text"]

    def facts(self, questions: tuple[str, str]) -> str:
        """The sections of two searches."""
        return "\n".join(section["text"] for question in questions for section in self._sections(question))

    def decide(self, topic: str, title: str, text: str) -> None:
        """Create an entry, and add a line to the topic's body."""
        body = f"{text}\n\nFor [[{topic}]].\n"
        self._call("kb_create", kb_name=self._name, entry_type="document", title=title, body=body)
        entry = f"topics/{topic.lower()}"
        old = self._body(entry)
        head, decisions, rest = old.partition("## Decisions\n")
        listed, gap, after = rest.partition("\n\n## ")
        new = f"{head}{decisions}{listed.rstrip()}\n- [[{title}]]{gap or chr(10)}{after}"
        self._call("kb_update", kb_name=self._name, entry_id=entry, body=new)

    def rename(self, old: str, new: str) -> None:
        """Update the title and the body of the topic, and the body of each entry that links to it."""
        entry = f"topics/{old.lower()}"
        links = self._call("kb_backlinks", kb_name=self._name, entry_id=entry)["backlinks"]
        body = self._body(entry).replace(f"# {old}\n", f"# {new}\n", 1)
        self._call("kb_update", kb_name=self._name, entry_id=entry, body=body)
        for link in links:
            body = re.sub(rf"\[\[{old}\]\]", f"[[{new}]]", self._body(link["id"])).replace(f"[{old}](", f"[{new}](")
            self._call("kb_update", kb_name=self._name, entry_id=link["id"], body=body)

    def changed(self) -> dict[str, str]:
        """The entries changed in seven days; their authors are in the text."""
        since = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 7 * DAY))
        entries = self._call("kb_recent", since=since, fields=["id", "updated_at"])["entries"]
        found_values: dict[str, str] = {}
        for entry in entries:
            who = re.search(r"Checked again by (\w+)", self._body(entry["id"]))
            found_values[f"{entry['id']}.md"] = who[1] if who else ""
        return found_values

    def begin(self, task: str) -> str:
        """The rules, the sections that answer, and the recent entries."""
        since = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 7 * DAY))
        entries = self._call("kb_recent", since=since, fields=["id", "updated_at"])["entries"]
        changed = "\n".join(f"{entry['id']}.md" for entry in entries)
        return "\n".join([self._body("AGENTS"), *(section["text"] for section in self._sections(task)), changed])

    def finish(self, topic: str, line: str) -> None:
        """Replace the body by one with the line."""
        entry = f"topics/{topic.lower()}"
        head, decisions, rest = self._body(entry).partition("## Decisions\n")
        listed, gap, after = rest.partition("\n\n## ")
        self._call(
            "kb_update",
            kb_name=self._name,
            entry_id=entry,
            body=f"{head}{decisions}{listed.rstrip()}\n{line}{gap or chr(10)}{after}",
        )

    def correct(self, old: str, new: str) -> None:
        """Find the entries by the sentence, and replace the body of each."""
        found_entries = self._call("kb_search", query=f'"{old}"', limit=10)["results"]
        for entry in found_entries:
            body = self._body(entry["id"]).replace(old, new)
            self._call("kb_update", kb_name=self._name, entry_id=entry["id"], body=body)

    def answer(self, title: str, questions: tuple[str, str]) -> None:
        """Search for both, and create an entry with footnotes."""
        sections = [self._sections(question)[0] for question in questions]
        facts = "\n\n".join(f"{section['text'].strip()}[^{at}]" for at, section in enumerate(sections, 1))
        notes = "\n".join(f"[^{at}]: [{s['id']}](../{s['id']}.md#purpose)" for at, s in enumerate(sections, 1))
        body = f"# {title}\n\n{facts}\n\n{notes}\n"
        self._call("kb_create", kb_name=self._name, entry_type="document", title=title, body=body)

    def _body(self, entry: str) -> str:
        return self._call("kb_get", kb_name=self._name, entry_id=entry)["entry"]["body"]

    def _sections(self, question: str) -> Any:  # noqa: ANN401 - rows of JSON
        """The sections that answer a question; their text is in the text block alone."""
        result = self._server.call("kb_search", query=question, max_tokens=BUDGET)
        self.meter.count("kb_search", {"query": question, "max_tokens": BUDGET}, shown(result))
        return json.loads(result["content"][0]["text"])["results"]

    def _call(self, tool: str, **arguments: object) -> Any:  # noqa: ANN401 - the JSON of any tool
        result = self._server.call(tool, **arguments)
        self.meter.count(tool, arguments, shown(result))
        return result["structuredContent"] or json.loads(result["content"][0]["text"])
