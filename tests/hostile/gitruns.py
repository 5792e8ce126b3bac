"""Every command and every tool on one folder, in a process of its own; run as a program it forks one for each folder.

It reads lines of JSON, `{"place": FOLDER}` for a place with a `home` in it, and answers each with one: how each command
and tool ended, and what was wrong with it (a traceback, a secret that was shown, a wait without an end).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pygit2
from pygit2.enums import ConfigLevel

from commonplace.bootstrap import Application
from commonplace.domain.errors import Code, KnowledgeError
from commonplace.domain.revisions import revision_of
from commonplace.faces.mcp.toolset import Call, Toolset
from commonplace.main import main
from commonplace.settings import load_settings
from commonplace.toolsets.cascade.mcp import CASCADE
from commonplace.toolsets.kb.mcp import KB
from commonplace.toolsets.projects.mcp import PROJECTS
from commonplace.toolsets.wiki.mcp import WIKI
from hostile import CANARY

SECONDS = 60
"""Timeout in seconds of one command or tool, after which the alarm ends its process."""
ENDINGS = frozenset({0, 1, 2, 3, 4, 5, 6, 9, 10, 11})
"""Exit codes of docs/errors.md but for that of an inner error."""
COMMANDS: Sequence[Sequence[str]] = (
    ("list",), ("read", "a"), ("search", "text"), ("links", "a"), ("related", "a"), ("log",), ("log", "a"),
    ("diff", "a"), ("status",), ("check",), ("doctor",), ("index",), ("write", "new-1", "new text"),
    ("write", "a", "new text", "--force"), ("write", "b", "--append", "new text"), ("write", "b", "--rename", "d"),
    ("write", "d", "--delete", "--force"), ("restore",), ("restore", "a", "--at", "{head}"), ("projects", "list"),
    ("projects", "import", "new text", "--project", "other"), ("projects", "show", "--project", "other"),
    ("projects", "status"), ("projects", "sync"), ("connect", "claude-code"),
    ("resolve", "--concept", "a", "--manifest", "{manifest}"),
    ("conflicts", "--manifest", "{manifest}"),
)  # fmt: skip
_OF_KB = {"kb_name": "kb"}
_PROJECT = {"project_id": "app"}
_FILE = {**_PROJECT, "filename": "guide"}
_TASK = {**_PROJECT, "todo_number": 1}
TOOLS: Mapping[str, Sequence[tuple[str, dict[str, Any]]]] = {
    "kb": (
        ("kb_list", {}), ("kb_search", {"query": "text"}), ("kb_get", {"entry_id": "a"}),
        ("kb_batch_read", {"entries": [{"entry_id": "a"}]}), ("kb_timeline", {}),
        ("kb_backlinks", {"entry_id": "a", **_OF_KB}), ("kb_tags", {}), ("kb_stats", {}), ("kb_schema", _OF_KB),
        ("kb_orient", _OF_KB), ("kb_list_entries", {}), ("kb_recent", {}), ("kb_qa_validate", _OF_KB),
        ("kb_qa_status", {}), ("kb_create", {**_OF_KB, "entry_type": "note", "title": "Tool"}),
        ("kb_bulk_create", {**_OF_KB, "entries": [{"entry_type": "note", "title": "Bulk"}]}),
        ("kb_update", {**_OF_KB, "entry_id": "a", "title": "Other"}),
        ("kb_link", {"source_id": "a", "source_kb": "kb", "target_id": "notes/c", "relation": "supports"}),
        ("kb_qa_assess", {**_OF_KB, "entry_id": "a"}), ("kb_index_sync", {}),
        ("kb_manage", {"action": "discover"}), ("kb_commit", {"kb": "kb", "message": "All"}), ("kb_push", {"kb": "kb"}),
        ("kb_delete", {**_OF_KB, "entry_id": "tool"}),
    ),
    "wiki": (
        ("read_note", {"path": "a"}), ("read_note", {"path": "a", "revision": "{head}"}),
        ("write_note", {"path": "w", "content": "w\n"}),
        ("edit_note", {"path": "w", "old_string": "w", "new_string": "v", "revision": "{written}"}), ("list_notes", {}),
        ("search_notes", {"query": "text"}), ("semantic_search", {"query": "text"}), ("get_links", {"path": "a"}),
        ("get_recent_changes", {}), ("get_history", {"path": "a"}),
        ("rename_note", {"path": "w", "new_path": "v"}), ("find_orphaned_notes", {}),
        ("list_attachments", {"path": "a"}),
        ("upload_attachment", {"path": "a", "filename": "x.txt", "content": "eA=="}),
        ("download_attachment", {"path": "a", "filename": "x.txt"}),
        ("delete_attachment", {"path": "a", "filename": "x.txt"}), ("delete_note", {"path": "v"}),
    ),
    "projects": (
        ("get_project_main", _PROJECT), ("update_project_main", {**_PROJECT, "content": "# App\n\n## One\n\nx\n"}),
        ("update_project_section", {**_PROJECT, "section_header": "## One", "new_content": "y\n"}),
        ("add_project_section", {**_PROJECT, "section_header": "## Two", "content": "z\n"}),
        ("remove_project_section", {**_PROJECT, "section_header": "## Two"}),
        ("create_knowledge_file", {
            **_FILE, "title": "T", "introduction": "i", "keywords": ["k"],
            "chapters": [{"title": "One", "content": "Text."}, {"title": "Two", "content": "Text."}],
        }),
        ("get_knowledge_file", _FILE), ("list_knowledge_files", _PROJECT),
        ("search_knowledge", {**_PROJECT, "query": "text"}),
        ("update_chapter", {**_FILE, "chapter_title": "One", "new_content": "New."}),
        ("add_chapter", {**_FILE, "chapter_title": "Three", "content": "c"}), ("list_chapters", _FILE),
        ("get_chapter", {**_FILE, "chapter_title": "One"}),
        ("get_next_chapter", {**_FILE, "current_chapter_title": "One"}),
        ("remove_chapter", {**_FILE, "chapter_title": "Three"}),
        ("create_todo", {**_PROJECT, "description": "Do", "tasks": [{"title": "One"}]}), ("list_todos", _PROJECT),
        ("get_todo_tasks", _TASK), ("get_next_todo_task", _TASK), ("add_todo_task", {**_TASK, "title": "Two"}),
        ("complete_todo_task", {**_TASK, "task_number": 1}), ("remove_todo_task", {**_TASK, "task_number": 2}),
        ("delete_todo", _TASK), ("delete_knowledge_file", _FILE), ("list_projects", {}), ("get_server_info", {}),
        ("get_storage_status", {}), ("sync_storage", {}), ("delete_project", {"project_id": "other"}),
    ),
    "cascade": (
        ("search", {"query": "text"}), ("read_file", {"concept_id": "a"}), ("list_concepts", {}),
        ("get_links", {"concept_id": "a"}),
    ),
}  # fmt: skip
DIALECTS: Mapping[str, Toolset] = {"kb": KB, "wiki": WIKI, "projects": PROJECTS, "cascade": CASCADE}


class Run:
    """All commands and tools on the repository of one place, in this process."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._folder = place / "home" / "kb"
        self._said = (place / "said").open("w+")
        self.told: dict[str, str] = {}
        """The outcome of each command and tool."""
        self.wrong: list[str] = []
        """The violations found."""

    def all(self) -> None:
        """Run everything, in the order in which it stands here."""
        self._settle()
        words = {
            "head": (self._place / "home/head").read_text()[:10],
            "written": revision_of(b"w\n"),
            "manifest": str(self._place / "layers.json"),
        }
        for command in COMMANDS:
            requested_texts = [word.format(**words) for word in command]
            with self._watched(" ".join(command)):
                self.told[" ".join(command)] = str(main(requested_texts))
        for toolset, calls in TOOLS.items():
            self._tools(toolset, calls, words)

    def _settle(self) -> None:
        home = self._place / "home"
        own = {f"XDG_{name}_HOME": str(self._place / "own" / name) for name in ("CACHE", "STATE", "DATA", "CONFIG")}
        kept_values = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        os.environ.clear()
        os.environ.update(
            {**kept_values, **own, "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "COMMONPLACE_EMBED": "false",
             "KNOWLEDGE_MCP_HOME": str(self._folder), "TMPDIR": str(self._place / "own")}
        )  # fmt: skip
        (self._place / "own").mkdir(exist_ok=True)
        tempfile.tempdir = None
        for level in (ConfigLevel.GLOBAL, ConfigLevel.XDG, ConfigLevel.SYSTEM):
            pygit2.settings.search_path[level] = str(home)
        layer = {"name": "low", "path": str(self._folder), "level": 0}
        (self._place / "layers.json").write_text(json.dumps({"layers": [layer]}))
        os.chdir(self._folder)
        for stream in (1, 2):
            os.dup2(self._said.fileno(), stream)

    def _tools(self, toolset: str, calls: Sequence[tuple[str, dict[str, Any]]], words: Mapping[str, str]) -> None:
        flags: dict[str, Any] = {"tier": "admin", "toolset": toolset, "kb": [str(self._folder)], "commit": "auto"}
        if toolset == "cascade":
            flags = {"toolset": toolset, "manifest": words["manifest"]}
        elif toolset == "projects":
            flags = {"toolset": toolset, "knowledge_home": str(self._folder)}
        rows = {row.name: row for row in DIALECTS[toolset].tools}
        with self._watched(toolset):
            try:
                application = Application([] if toolset == "cascade" else [self._folder], load_settings(flags=flags))
            except KnowledgeError as error:
                self.told[toolset] = str(error.code)
                return
            services = application.services
            call = Call(
                services=services, tier="admin", progress=lambda _done, _all: None, session=services.sessions.of("")
            )
            try:
                for tool, arguments in calls:
                    self._watch(tool)
                    given_values = {
                        name: v.format(**words) if isinstance(v, str) else v for name, v in arguments.items()
                    }
                    self.told[f"{toolset} {tool}"] = self._answer(rows[tool].handler.run, call, given_values)
            finally:
                self._watch(f"the end of {toolset}")
                application.close()

    def _answer(self, run: Any, call: Call, arguments: dict[str, Any]) -> str:
        try:
            shown = repr(run(call, arguments))
        except KnowledgeError as error:
            shown = f"{error} {error.hint} {error.context}"
            ending = str(error.code)
            if error.code is Code.INTERNAL:
                self.wrong.append(f"an inner error: {shown}")
        else:
            ending = "0"
        if CANARY in shown:
            self.wrong.append(f"a secret was shown: {shown[:200]}")
        return ending

    def _watch(self, name: str) -> None:
        (self._place / "now").write_text(name)
        signal.alarm(SECONDS)

    def _watched(self, name: str) -> _Watched:
        return _Watched(self, name)

    def begin(self, name: str) -> None:
        """Begin to watch one command or toolset."""
        self._watch(name)
        self._said.seek(0)
        self._said.truncate()

    def end(self, name: str) -> None:
        """Look at what it said."""
        signal.alarm(0)
        sys.stdout.flush()
        sys.stderr.flush()
        self._said.seek(0)
        text = self._said.read()
        if "Traceback" in text:
            self.wrong.append(f"{name}: {text[-1500:]}")
        if CANARY in text:
            self.wrong.append(f"{name} showed a secret")
        if self.told.get(name, "0").isdecimal() and int(self.told.get(name, "0")) not in ENDINGS:
            self.wrong.append(f"{name} ended with {self.told[name]}: {text[-500:]}")


class _Watched:
    def __init__(self, run: Run, name: str) -> None:
        self._run = run
        self._name = name

    def __enter__(self) -> None:
        self._run.begin(self._name)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        self._run.end(self._name)
        if error is not None:
            self._run.wrong.append(f"{self._name} raised {error!r}")
        return True


def answered(place: Path) -> dict[str, Any]:
    """The result of a run in a separate process."""
    process = os.fork()
    if process == 0:
        run = Run(place)
        try:
            run.all()
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is told
            run.wrong.append(f"raised {error!r}")
        (place / "told").write_text(json.dumps({"told": run.told, "wrong": run.wrong}))
        os._exit(0)
    _, status = os.waitpid(process, 0)
    if status:
        now = (place / "now").read_text() if (place / "now").exists() else "the beginning"
        ended = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else str(status)
        return {"told": {}, "wrong": [f"{now}: ended by {ended}"]}
    return json.loads((place / "told").read_text())


def lines() -> Iterator[Path]:
    """The places that are asked for."""
    for line in sys.stdin:
        yield Path(json.loads(line)["place"])


if __name__ == "__main__":
    out = os.fdopen(os.dup(1), "w")
    for place in lines():
        out.write(json.dumps(answered(place)) + "\n")
        out.flush()
