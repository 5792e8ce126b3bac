"""Whatever two agents, an editor and a pull do to one folder, through every face: nothing unseen is lost.

Every byte that anybody wrote and nobody saw replaced is in a file, in Git's history, or in what an answer named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import pytest

from agent import agent, online
from knowledge import projects
from serving import served
from shell import Shell
from support import Amount, GitRepo, new_repo
from ways.ledger import Ledger
from ways.project_writers import Colleague, Projects, StoreEditor
from ways.writers import (
    DOCUMENTS,
    CommandLine,
    Editor,
    Face,
    Kb,
    Puller,
    Rest,
    Wiki,
    name_of,
    text_with,
)

Weighted = list[tuple[Face, int]]
ONE, TWO, EDITOR = "the first agent", "the second agent", "the editor"
KB = ("--toolset", "kb", "--tier", "write", "--no-embed")


@pytest.mark.usefixtures("cache_dir")
def test_nothing_unseen_is_lost_whoever_writes_in_whatever_order(
    tmp_path: Path, amount: Amount, record_property: Callable[[str, object], None]
) -> None:
    steps = amount(90, 10_000)
    repo = new_repo(tmp_path / "base")
    ledger = Ledger(repo, Path(os.environ["XDG_STATE_HOME"]) / "commonplace")
    repo.commit(
        "Begin", **{f"{name_of(n)}.md": text_with(n, [f"tide {ledger.word('nobody')}"]) for n in range(DOCUMENTS)}
    )
    with faces_of(ledger, tmp_path) as faces:
        run(ledger, faces, steps)
    lost = ledger.lost()
    for what, count in sorted(ledger.counts.items()):
        record_property(what, count)
    assert lost == {}
    # What is looked for has happened: writes were refused, took away what nobody had seen, and said where it is.
    for what in ("refused", "taken away unseen", "named by an answer", "in the history", "pulled"):
        assert ledger.counts[what] > 0, ledger.counts


@pytest.mark.usefixtures("cache_dir")
def test_nothing_unseen_is_lost_in_a_store_of_projects(
    tmp_path: Path, amount: Amount, record_property: Callable[[str, object], None]
) -> None:
    steps = amount(40, 2_000)
    home = tmp_path / "home"
    with projects(home) as client:
        assert client.call("list_projects")["projects"] == []
    repo = GitRepo(home)
    ledger = Ledger(repo, Path(os.environ["XDG_STATE_HOME"]) / "commonplace")
    clone = with_origin(repo, tmp_path)
    with projects(home) as project, projects(home) as two:
        faces: Weighted = [
            (Projects(ONE, ledger, Random(1), agent=project), 10),
            (Projects(TWO, ledger, Random(2), agent=two), 10),
            (StoreEditor(EDITOR, ledger, Random(3)), 5),
            (Colleague("a colleague", ledger, Random(4), clone=clone), 2),
        ]
        run(ledger, faces, steps)
    lost = ledger.lost(Shell(home).ok("restore", "--json").text)
    for what, count in sorted(ledger.counts.items()):
        record_property(what, count)
    assert lost == {}
    for what in ("taken away unseen", "in the history", "pushed by a colleague"):
        assert ledger.counts[what] > 0, ledger.counts


def run(ledger: Ledger, faces: Weighted, steps: int) -> None:
    """Take turns, by weight."""
    chance = Random(16)
    for face in chance.choices([face for face, _ in faces], [weight for _, weight in faces], k=steps):
        face.step()
    assert ledger.counts["steps"] == steps


@contextmanager
def faces_of(ledger: Ledger, place: Path) -> Iterator[Weighted]:
    """Both agents on processes of their own and on one server, the command line, the editor, and the pull."""
    folder, random, two = ledger.repo.path, Random(1), Random(2)
    clone = with_origin(ledger.repo, place)
    with ExitStack() as stack:
        kb = stack.enter_context(agent("mcp", folder, *KB))
        auto = stack.enter_context(agent("mcp", folder, *KB, "--commit", "auto"))
        wiki = stack.enter_context(agent("mcp", folder, "--toolset", "wiki", "--no-embed"))
        server = stack.enter_context(served(folder, "--tier", "write"))
        session = stack.enter_context(online(f"{server.url}/mcp/kb", mode="legacy"))
        yield [
            (Kb(ONE, ledger, random, call=kb.raw, base="base"), 24),
            (Kb(TWO, ledger, two, call=auto.raw, base="base"), 12),
            (Kb(TWO, ledger, two, call=session.raw, base="base"), 8),
            (
                Kb(
                    ONE,
                    ledger,
                    random,
                    call=lambda tool, **given_values: server.call("kb", tool, given_values),
                    base="base",
                ),
                8,
            ),
            (Wiki(TWO, ledger, two, agent=wiki), 16),
            (Rest(ONE, ledger, random, server=server), 10),
            (CommandLine(TWO, ledger, two, shell=Shell(folder)), 5),
            (Editor(EDITOR, ledger, Random(3)), 12),
            (Puller("a pull", ledger, Random(4), clone=clone), 4),
        ]


def with_origin(repo: GitRepo, place: Path) -> GitRepo:
    """A bare repository that both follow, and a colleague's clone of it."""
    origin = str(place / "origin.git")
    repo.git("clone", "--quiet", "--bare", ".", origin)
    repo.git("remote", "add", "origin", origin)
    repo.git("clone", "--quiet", origin, str(place / "clone"))
    clone = GitRepo(place / "clone")
    clone.git("config", "user.name", "A Colleague")
    clone.git("config", "user.email", "colleague@example.org")
    return clone
