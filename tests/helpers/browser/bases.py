"""Bases of every kind, served, each with the paths of every kind of page that it has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from layers import write_cascade
from serving import Server, served
from support import ROOT, new_repo
from vaults.three_languages import FILES

LAYERS = {
    "mine": (
        2,
        {
            "systems/booking.md": "---\ntitle: Booking\ntype: System\nupdated: 2026-05-02\n---\n"
            "Mine: see [[desk]].[^1]\n\n![[plan.png]]\n\n"
            "## Owner {#owner}\n\nAnna <script>alert(1)</script>\n\n## Phones {#phones override=none}\n\n"
            "gone\n\n## Notes\n\n[^1]: A note of mine.\n",
            "systems/plan.png": b"\x89PNG\r\n\x1a\n",
            "desk.md": "---\ntitle: Desk\n---\nThe desk of [booking](systems/booking.md#owner), and [[nowhere]].\n",
        },
    ),
    "theirs": (
        1,
        {
            "systems/booking.md": "---\ntitle: Bookings\ntype: System\nupdated: 2026-06-01\n---\nTheirs.\n\n"
            "## Owner {#owner}\n\nBert and his crew\n\n## Phones {#phones}\n\n112\n\n## Rules\n\nTheir rules.\n",
        },
    ),
}

PROJECT_CALLS: list[tuple[str, dict[str, Any]]] = [
    (
        "update_project_main",
        {"project_id": "my app", "content": "# Rules\n\nRead [the guide](guide.md).[^1]\n\n[^1]: Now.\n"},
    ),
    (
        "create_knowledge_file",
        {
            "project_id": "my app",
            "filename": "guide.md",
            "title": "The guide",
            "introduction": "How it works.",
            "keywords": ["start"],
            "chapters": [{"title": "Setup <b>x</b>", "content": "Install `it`. <img src=x onerror=alert(1)>"}],
        },
    ),
    (
        "create_todo",
        {
            "project_id": "my app",
            "description": "Ship it",
            "tasks": [{"title": "Write", "content": "The *text*."}, {"title": "Send", "content": ""}],
        },
    ),
    ("complete_todo_task", {"project_id": "my app", "todo_number": 1, "task_number": 1}),
]

PAGES = [
    "/",
    "/p/Betrieb/Hafenordnung",
    "/p/عربي/ميناء",
    "/p/Kaputt",
    "/p/Bytes",
    "/p/nowhere",
    "/p/gone",
    "/p/gone?at={first}",
    "/p/Start?at={first}",
    "/tree/",
    "/tree/Betrieb/",
    "/tags",
    "/tags/regeln",
    "/types",
    "/timeline",
    "/search",
    "/search?q=Lotse",
    "/search?q=tag:regeln Lotse",
    "/search?q=after:x",
    "/search?q=qqqq",
    "/recent",
    "/commit/{last}",
    "/history/Betrieb/Hafenordnung",
    "/compare/Betrieb/Hafenordnung",
    "/compare/Betrieb/Hafenordnung?from=&view=inline",
    "/wanted",
    "/broken",
    "/orphans",
    "/findings",
    "/findings?more=1",
    "/attachments",
    "/graph",
    "/sections/Betrieb/Hafenordnung",
    "/mentions/Betrieb/Gezeiten",
    "/agent/Betrieb/Hafenordnung",
    "/sign-in",
    "/xyz",
]
OF_LAYERS = [
    "/",
    "/concepts",
    "/concepts/systems/booking",
    "/concepts/systems/booking?layer=mine",
    "/conflicts",
    "/concepts/none",
]
OF_TYPES = ["/", "/schema/", "/p/welcome", "/p/runbooks/restore-database", "/types/runbook", "/search?q=backup"]
OF_PROJECTS = [
    "/",
    "/projects",
    "/projects/my%20app",
    "/projects/my%20app?document=guide.md",
    "/projects/my%20app?todo=1",
    "/projects/none",
]


@contextmanager
def vault(place: Path) -> Iterator[tuple[Server, list[str]]]:
    repo = new_repo(place / "vault", {**FILES, "gone.md": "# Gone\n\nOnce.\n"})
    first = repo.git("rev-parse", "HEAD")
    repo.git("rm", "-q", "gone.md")
    rules = repo.path / "Betrieb" / "Hafenordnung.md"
    rules.write_text(rules.read_text().replace("in Metern.", "in Metern und Zentimetern."))
    repo.git("commit", "-qam", "Genauer\n\nCo-authored-by: Some Agent <agent@example.org>")
    last = repo.git("rev-parse", "HEAD")
    with served(repo.path) as server:
        yield server, [path.format(first=first, last=last) for path in PAGES]


@contextmanager
def layered(place: Path) -> Iterator[tuple[Server, list[str]]]:
    with served("--manifest", write_cascade(place, LAYERS)) as server:
        yield server, OF_LAYERS


@contextmanager
def typed(place: Path) -> Iterator[tuple[Server, list[str]]]:
    del place
    with served(ROOT / "examples" / "kb") as server:
        yield server, OF_TYPES


@contextmanager
def projects(place: Path) -> Iterator[tuple[Server, list[str]]]:
    state = {"XDG_STATE_HOME": str(place / "state")}
    with served(place / "store", "--toolset", "projects", env=state) as server:
        for name, arguments in PROJECT_CALLS:
            server.rpc("projects", "tools/call", {"name": name, "arguments": arguments})
        yield server, OF_PROJECTS


BASES = {"vault": vault, "layers": layered, "typed": typed, "projects": projects}
