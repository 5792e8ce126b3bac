"""Hostile paths and options through every tool that takes a name, commands, and links in pages: none gets anywhere."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from commonplace.bootstrap import Application
from commonplace.domain.addresses import Address
from commonplace.domain.errors import Code, KnowledgeError
from commonplace.faces.mcp.toolset import Call, Toolset
from commonplace.main import main
from commonplace.settings import load_settings
from commonplace.toolsets.cascade.mcp import CASCADE
from commonplace.toolsets.kb.mcp import KB
from commonplace.toolsets.pages.mcp import PAGES
from commonplace.toolsets.projects.mcp import PROJECTS
from commonplace.toolsets.wiki.mcp import WIKI
from hostile import CANARY, OPTIONS, Ground, hostile_ground, path_string
from layers import write_cascade
from spaces.tree import write_space
from support import Amount, GitRepo, new_repo

FILES = {"a.md": "---\nid: a\n---\n\n# A\n\n[[b]]\n", "notes/b.md": "# B\n"}
ENTRY = {"kb_name": "kb", "entry_type": "note"}
CHAPTER = [{"title": "One", "content": "Text."}]
Entry = tuple[str, Callable[[str], dict[str, Any]]]
"""A tool, and its arguments with a hostile string among them."""

WITH_PATHS: Mapping[str, Sequence[Entry]] = {
    "kb": (
        ("kb_get", lambda text: {"entry_id": text}),
        ("kb_get", lambda text: {"entry_id": "a", "kb_name": text}),
        ("kb_batch_read", lambda text: {"entries": [{"entry_id": text}]}),
        ("kb_backlinks", lambda text: {"entry_id": text, "kb_name": "kb"}),
        ("kb_create", lambda text: {**ENTRY, "title": text}),
        ("kb_update", lambda text: {"entry_id": text, "kb_name": "kb", "body": "x\n"}),
        ("kb_link", lambda text: {"source_id": "a", "source_kb": "kb", "target_id": text, "relation": "supports"}),
        ("kb_delete", lambda text: {"entry_id": f"no/{text}", "kb_name": "kb"}),
    ),
    "wiki": (
        ("read_note", lambda text: {"path": text}),
        ("write_note", lambda text: {"path": text, "content": "y\n"}),
        ("list_notes", lambda text: {"prefix": text}),
        ("get_links", lambda text: {"path": text}),
        ("get_history", lambda text: {"path": text}),
        ("rename_note", lambda text: {"path": f"no/{text}", "new_path": text}),
        ("upload_attachment", lambda text: {"path": "a", "filename": text, "content": "eA=="}),
        ("download_attachment", lambda text: {"path": "a", "filename": text}),
        ("delete_attachment", lambda text: {"path": "notes/b", "filename": text}),
        ("delete_note", lambda text: {"path": f"no/{text}"}),
    ),
    "pages": (("read_page", lambda text: {"path": text}), ("read_page", lambda text: {"id": text})),
    "cascade": (
        ("read_file", lambda text: {"concept_id": text}),
        ("read_file", lambda text: {"concept_id": "a", "layer": text}),
        ("get_links", lambda text: {"concept_id": text}),
        ("log_capture", lambda text: {"kind": "gotcha", "title": text, "sections": {"body": text}, "links": [text]}),
        ("log_capture", lambda text: {"kind": "gotcha", "title": "T", "sections": {text: "x"}, "confidence": text}),
        ("confirm_capture", lambda text: {"token": text}),
    ),
    "projects": (
        ("get_project_main", lambda text: {"project_id": text}),
        ("update_project_main", lambda text: {"project_id": text, "content": "# Main\n"}),
        ("list_knowledge_files", lambda text: {"project_id": text}),
        ("get_knowledge_file", lambda text: {"project_id": "app", "filename": text}),
        ("list_chapters", lambda text: {"project_id": "app", "filename": text}),
        (
            "create_knowledge_file",
            lambda text: {
                "project_id": "app", "filename": text, "title": "T", "introduction": "", "keywords": ["k"],
                "chapters": CHAPTER,
            },
        ),
        ("delete_knowledge_file", lambda text: {"project_id": "app", "filename": f"no{text}"}),
        ("list_todos", lambda text: {"project_id": text}),
        ("delete_project", lambda text: {"project_id": f"no{text}"}),
    ),
}  # fmt: skip
WITH_OPTIONS: Mapping[str, Sequence[Entry]] = {
    "kb": (
        ("kb_commit", lambda text: {"kb": "kb", "message": text}),
        ("kb_push", lambda text: {"kb": "kb", "remote": text}),
        ("kb_push", lambda text: {"kb": "kb", "branch": text}),
        ("kb_update", lambda text: {"entry_id": "a", "kb_name": "kb", "body": "x\n", "revision": text}),
    ),
    "wiki": (
        ("read_note", lambda text: {"path": "a", "revision": text}),
        ("edit_note", lambda text: {"path": "a", "revision": text, "old_string": "A", "new_string": "B"}),
        ("write_note", lambda text: {"path": "a", "content": "z\n", "revision": text}),
        ("write_note", lambda text: {"path": "m", "content": "z\n", "message": text}),
    ),
    "projects": (("update_project_main", lambda text: {"project_id": text, "content": "# Main\n"}),),
}
DIALECTS = {"kb": KB, "wiki": WIKI, "pages": PAGES, "cascade": CASCADE, "projects": PROJECTS}


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of a toolset in this process: all that stands between the protocol and the disk."""

    definition: Toolset
    call: Call

    def answer(self, tool: str, arguments: dict[str, Any]) -> str:
        """The answer, or the error of the product. Any other exception fails the test."""
        (row,) = (other_tool for other_tool in self.definition.tools if other_tool.name == tool)
        try:
            return repr(row.handler.run(self.call, arguments))
        except KnowledgeError as error:
            if error.code is Code.INTERNAL:
                raise
            return f"{error} {error.hint} {error.context}"


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    """Bases of every kind, and secrets beside them."""
    repos = [new_repo(tmp_path / "kb", FILES)]
    write_cascade(
        tmp_path,
        {"low": (0, {"a.md": "---\ntype: T\n---\n# A\n"}), "high": (1, {"a.md": "---\ntype: T\n---\n# B\n"})},
        {"name": "live", "level": 2, "path": "live", "live": True, "git": {"profileName": "../../A"}},
    )
    repos.append(new_repo(tmp_path / "live", {"n.md": "# N\n"}))
    write_space(tmp_path / "space")
    with opened(tmp_path, "projects") as tools:
        tools.answer("update_project_main", {"project_id": "app", "content": "# App\n"})
    return hostile_ground(tmp_path, *repos, GitRepo(tmp_path / "projects"))


@contextmanager
def opened(place: Path, toolset: str) -> Iterator[Tools]:
    """The toolset on its base in this place."""
    own = {"cache_dir": str(place / "own" / "cache"), "state_dir": str(place / "own" / "state")}
    flags: dict[str, Any] = {**own, "embed": False, "tier": "admin", "toolset": toolset, "commit": "auto"}
    served = {"kb": "kb", "wiki": "kb", "pages": "space", "projects": "projects"}
    folders = [place / served[toolset]] if toolset in served else []
    if toolset in {"pages", "cascade", "projects"}:
        del flags["commit"]
    more = {
        "projects": {"knowledge_home": str(place / "projects")},
        "cascade": {"manifest": str(place / "layers.json")},
    }
    flags |= {"kb": [str(place / served.get(toolset, "kb"))], **more.get(toolset, {})}
    application = Application(folders, load_settings(flags=flags))
    try:
        if toolset != "projects":
            application.sync()
        yield Tools(
            DIALECTS[toolset], Call(services=application.services, tier="admin", progress=lambda _done, _all: None)
        )
    finally:
        application.close()


@pytest.mark.parametrize("toolset", WITH_PATHS)
def test_no_path_leads_anywhere_through_a_tool(toolset: str, ground: Ground, amount: Amount) -> None:
    chance = random.Random(f"paths {toolset}")
    with opened(ground.place, toolset) as tools:
        for _ in range(amount(20, 5000)):
            text = path_string(chance, ground.secret)
            for tool, arguments in WITH_PATHS[toolset]:
                assert CANARY not in tools.answer(tool, arguments(text)), (tool, text)
    ground.assert_untouched()


@pytest.mark.parametrize("toolset", WITH_OPTIONS)
def test_no_option_reaches_git_through_a_tool(toolset: str, ground: Ground) -> None:
    with opened(ground.place, toolset) as tools:
        for text in (option.format(out=ground.out) for option in OPTIONS):
            for tool, arguments in WITH_OPTIONS[toolset]:
                assert CANARY not in tools.answer(tool, arguments(text)), (tool, text)
    ground.assert_untouched()


def test_no_capture_is_written_outside_its_folder(ground: Ground, amount: Amount) -> None:
    chance = random.Random("captures")
    with opened(ground.place, "cascade") as tools:
        for _ in range(amount(20, 5000)):
            text = path_string(chance, ground.secret)
            capture = {"kind": "gotcha", "title": text, "sections": {"body": text}, "links": [text]}
            token = re.search("'token': '([^']+)'", tools.answer("log_capture", capture))
            if token:
                assert CANARY not in tools.answer("confirm_capture", {"token": token[1]})
    files = [path for path in (ground.place / "live").rglob("*.md") if path.name != "n.md"]
    assert files
    assert {path.parent for path in files} == {ground.place / "live/captures/gotcha"}
    ground.assert_untouched()


def commanded(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    """The output of a command on both streams. The command never fails internally."""
    code = main(words)
    said = "".join(capfd.readouterr())
    assert code not in {1, 70}, (words, said) if words[0] != "diff" else code == 1
    assert "Traceback" not in said, words
    return said


def on_line(text: str) -> str:
    """The text as a word of a command line, which holds no NUL and only what the file system's encoding has."""
    return text.replace("\0", "").encode("utf-8", "surrogateescape" if text.isprintable() else "replace").decode()


VERBS = (("write", "--no-commit"), ("links",), ("log",), ("write", "--no-commit"), ("related",), ("diff",))


def test_no_path_leads_anywhere_from_the_command_line(
    ground: Ground, amount: Amount, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ground.place / "kb")
    text_file = ground.place / "kb" / "text.txt"
    text_file.write_text("# From the command line\n")
    chance = random.Random("paths of commands")
    for number in range(amount(15, 5000)):
        text = on_line(path_string(chance, ground.secret))
        verb = VERBS[number % len(VERBS)]
        file = [str(text_file)] if verb[0] == "write" else []
        for words in (("read", "--", text), (*verb, "--", text, *file)):
            assert CANARY not in commanded(capfd, *words), words
    text_file.unlink()
    ground.assert_untouched()


def test_no_option_reaches_git_from_the_command_line(
    ground: Ground, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ground.place / "kb")
    for text in (on_line(option.format(out=ground.out)) for option in OPTIONS):
        for words in (("read", "a", f"--at={text}"), ("restore", "a", f"--at={text}"), ("diff", "a", f"--from={text}")):
            assert CANARY not in commanded(capfd, *words), words
    ground.assert_untouched()


def test_no_link_leads_out_of_the_folder(ground: Ground, amount: Amount) -> None:
    """Hostile targets in wikilinks, embeds, Markdown links and frontmatter, fifty strings a page."""
    chance = random.Random("link targets")
    strings = [path_string(chance, ground.secret) for _ in range(amount(50, 5000))]
    folder = ground.place / "kb"
    for first in range(0, len(strings), 50):
        lines = [f"[[{text}]] ![[{text}]] [x](<{text}>) ![y]({text})\n" for text in strings[first : first + 50]]
        front = "\n".join(f"  - {text!r}" for text in strings[first : first + 50])
        text = f"---\nlinks:\n{front}\nup: '[[b]]'\n---\n\n# Links\n\n" + "\n".join(lines)
        (folder / f"links-{first}.md").write_text(text, "utf-8")
    with opened(ground.place, "kb") as tools:
        (collection,) = tools.call.services.collections.members
        posixes = {
            path.relative_to(folder).as_posix()
            for path in folder.rglob("*")
            if ".git" not in path.relative_to(folder).parts
        }
        for first in range(0, len(strings), 50):
            address = Address(f"links-{first}.md")
            resolved = collection.index.links_from(address)
            assert resolved
            assert {link.target.path for link in resolved if link.target} <= posixes
            assert CANARY not in tools.answer("kb_get", {"entry_id": address.id})
        tools.answer("kb_update", {"entry_id": "a", "kb_name": "kb", "title": "Another"})
        assert CANARY not in tools.answer("kb_qa_validate", {"kb_name": "kb"})
    ground.assert_untouched()
