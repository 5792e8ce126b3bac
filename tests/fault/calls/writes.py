"""Every kind of write, each on a folder of its own kind: what is there before, and what is done."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from commonplace.domain.addresses import Address
from commonplace.domain.revisions import revision_of
from commonplace.faces.mcp.toolset import Call, Toolset
from commonplace.services import history, writes
from commonplace.services.collections import Collection
from commonplace.services.services import Services
from commonplace.store.git import objects
from commonplace.toolsets.kb.mcp import KB
from commonplace.toolsets.projects.mcp import PROJECTS
from commonplace.toolsets.wiki.mcp import WIKI

Act = Callable[[Services], object]

A = Address("a.md")
PAGES = {
    "a.md": "---\nid: a\ntitle: A\ntags: [one]\n---\n\n# A\n\nBegin here, see [[b]].\n\n## Usage\n\nOld text.\n",
    "b.md": "# B\n\nLeads to [[a]] and to [the first](a.md#usage).\n",
    "c/d.md": "# D\n\nUp to [a](../a.md).\n",
    "Home.md": "---\ncategory: index\n---\n\n# Home\n\n[[a]] [[b]]\n",
    "a/old.txt": "An old file.\n",
    "gone/last.md": "# Last of its folder\n",
}
PROJECT = {"project_id": "tide"}
CHAPTERS = [{"title": "One", "content": "First."}, {"title": "Two", "content": "Second."}]


@dataclass(frozen=True, slots=True)
class Write:
    """One kind of write."""

    name: str
    act: Act
    folder: str = "git"
    """`git`: a repository, each write a commit; `manual`: writes are files; `plain`: no Git; `projects`: a store."""
    before: Act | None = None
    """Done first, without a fault."""
    edits: Mapping[str, str] = field(default_factory=dict[str, str])
    """Files that somebody changes outside before it, by path."""
    takes: tuple[str, ...] = ()
    """Texts that it takes away and no commit has: once it is done they are in the trash, or in a Git object."""


def tool(toolset: Toolset, name: str, **arguments: Any) -> Act:
    """A call of a tool, all that happens between the protocol and the disk."""
    (row,) = (other_tool for other_tool in toolset.tools if other_tool.name == name)

    def act(services: Services) -> object:
        return row.handler.run(Call(services=services, tier="admin", progress=lambda _done, _all: None), arguments)

    return act


def on_collection(function: Callable[[Collection], object]) -> Act:
    """A function of the services, as the command line calls it."""
    return lambda services: function(services.collections.members[0])


def kb(name: str, **arguments: Any) -> Act:
    return tool(KB, name, **arguments)


def projects(name: str, **arguments: Any) -> Act:
    return tool(PROJECTS, name, **PROJECT, **arguments)


def restored(collection: Collection) -> object:
    first = collection.store.history.log(A, limit=10)[-1].id
    return history.restore(collection, A, first)


def several(*acts: Act) -> Act:
    def act(services: Services) -> object:
        return [other_act(services) for other_act in acts]

    return act


ENTRY = {"kb_name": "base", "entry_type": "note", "body": "Some words of tide.\n"}
CREATE_FILE = projects(
    "create_knowledge_file", filename="doc", title="Doc", introduction="On it.", keywords=["k"], chapters=CHAPTERS
)
TODO = projects("create_todo", description="Next", tasks=[{"title": "One"}])
UPLOAD = {"path": "a", "filename": "new.bin", "content": base64.b64encode(bytes(range(256)) * 40).decode()}

DELETE_B = on_collection(lambda collection: writes.delete(collection, Address("b.md")))


def in_one_pack(collection: Collection) -> object:
    """A write whose Git objects are as if they were many. The process makes no other write."""
    objects.MIN_PACKED = 1
    return writes.create(collection, Address("x/y/new.md"), b"# New\n\n[[a]]\n")


EDITED_B = {"b.md": "# B, edited by hand\n"}

WRITES = (
    Write("create", on_collection(lambda item: writes.create(item, Address("x/y/new.md"), b"# New\n\n[[a]]\n"))),
    Write("replace", on_collection(lambda collection: writes.replace(collection, A, b"# Other\n\ntide " * 400))),
    Write("edit section", on_collection(lambda collection: writes.edit_section(collection, A, "Usage", "New text.\n"))),
    Write("append", on_collection(lambda collection: writes.append(collection, A, "At the end."))),
    Write("replace once", on_collection(lambda collection: writes.replace_once(collection, A, "Old text", "New text"))),
    Write("rename", on_collection(lambda collection: writes.rename(collection, A, Address("moved/e.md")))),
    Write("delete", on_collection(lambda collection: writes.delete(collection, Address("gone/last.md")))),
    Write("delete an edit", DELETE_B, edits=EDITED_B, takes=tuple(EDITED_B.values())),
    Write("delete an edit, not committed", DELETE_B, "manual", edits=EDITED_B, takes=tuple(EDITED_B.values())),
    Write("delete without Git", DELETE_B, "plain", takes=(PAGES["b.md"],)),
    Write("restore", on_collection(restored), before=on_collection(lambda item: writes.append(item, A, "More."))),
    Write("kb_create", kb("kb_create", title="New entry", **ENTRY)),
    Write(
        "kb_bulk_create",
        kb("kb_bulk_create", kb_name="base", entries=[{**ENTRY, "title": "X"}, {**ENTRY, "title": "Y"}]),
    ),
    Write("create in one pack", on_collection(in_one_pack)),
    Write("kb_update", kb("kb_update", kb_name="base", entry_id="a", tags=["two"], status="done")),
    Write("kb_delete", kb("kb_delete", kb_name="base", entry_id="b", revision=revision_of(PAGES["b.md"].encode()))),
    Write("kb_link", kb("kb_link", source_id="a", source_kb="base", target_id="b", relation="supports")),
    Write("kb_manage", kb("kb_manage", action="add_type", kb_name="base", type_name="memo", type_def={"fields": {}})),
    Write(
        "kb_commit", kb("kb_commit", kb="base", message="By hand"), folder="manual",
        edits={"a.md": "# Changed\n", "n.md": "# N\n"},
    ),
    Write("kb_create, not committed", kb("kb_create", title="New entry", **ENTRY), folder="manual"),
    Write("create without Git", on_collection(lambda item: writes.create(item, Address("x/n.md"), b"# N\n")), "plain"),
    Write("rename without Git", on_collection(lambda item: writes.rename(item, A, Address("m/e.md"))), "plain"),
    Write("upload_attachment", tool(WIKI, "upload_attachment", **UPLOAD)),
    Write("delete_attachment", tool(WIKI, "delete_attachment", path="a", filename="old.txt")),
    Write("rename_note", tool(WIKI, "rename_note", path="a", new_path="Moved")),
    Write("update_project_main", projects("update_project_main", content="# Tide\n"), "projects"),
    Write("create_knowledge_file", CREATE_FILE, "projects"),
    Write(
        "update_chapter", projects("update_chapter", filename="doc", chapter_title="One", new_content="Anew."),
        "projects", before=CREATE_FILE,
    ),
    Write("create_todo", TODO, "projects"),
    Write("complete_todo_task", projects("complete_todo_task", todo_number=1, task_number=1), "projects", before=TODO),
    Write("delete_project", tool(PROJECTS, "delete_project", **PROJECT), "projects", before=several(CREATE_FILE, TODO)),
)  # fmt: skip


def prepared(write: Write, place: Path) -> Path:
    """The folder that a write is done in, still without Git; the store of projects makes its own."""
    folder = place / "base"
    folder.mkdir(parents=True)
    if write.folder != "projects":
        for path, content in PAGES.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
    return folder
