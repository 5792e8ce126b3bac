"""A small wiki that holds the notes which the contract's examples show."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, get_args

from agent import Agent, agent
from serving import served
from support import GitRepo, MakeRepo, new_repo

KEY = "the-key-of-the-server-behind-an-assistant"

STRATEGY = """---
category: trend
tags: [military, p2-interceptor-race, p3-infrastructure]
confidence: high
last_updated: 2026-03-08
---
# Attrition

Iran is executing a multi-phase attrition campaign designed to degrade [[Variables/Interceptor Stockpiles]],
says [[Actors/Iran]]. Again: [[Variables/Interceptor Stockpiles|stocks]].

## Phases

First drones.

### Second

Then missiles.

## Sources

None.
"""

NOTES: dict[str, str] = {
    "Trends/Iran Attrition Strategy.md": STRATEGY,
    "Actors/Iran.md": (
        "---\ncategory: actor\ntags: [military]\nlast_updated: 2026-03-07\n---\n"
        "Follows the [[Trends/Iran Attrition Strategy]].\n"
    ),
    "Variables/Interceptor Stockpiles.md": (
        "---\ncategory: variable\ntags: [military, stocks]\nlast_updated: 2026-03-06\n---\n"
        "Tracking estimated remaining interceptor inventories of all parties.\n"
    ),
    "Propositions/Iran Rationing Ballistic Missiles.md": (
        "---\ncategory: proposition\nlast_updated: 2026-03-08\n---\n"
        + "ration " * 484
        + "[[Trends/Iran Attrition Strategy]]\n"
    ),
    "Propositions/Fertilizer Supply Chain Disruption.md": (
        "---\ncategory: proposition\nlast_updated: 2026-03-07\n---\n" + "word " * 312 + "\n"
    ),
    "Hub.md": "---\ncategory: Index\ntitle: The hub\nlast_updated: 2026-03-01\n---\n[[Actors/Iran]] [[Hub]]\n",
}
"""Contents by file."""

ODD_VALUES = ("5", "3.5", "true", "null", "2026-01-02", "[1, [2, 3], {a: b}]", "{a: {b: c}, 1: 2}", '""', ".nan", "~")
"""Frontmatter values of every type but the one that is meant."""


def wiki_repo(git_repo: MakeRepo, name: str = "wiki") -> GitRepo:
    """A repository with these notes, in one commit."""
    return git_repo(name, dict(NOTES))


Where = Literal["local", "remote"]
PLACES: tuple[Where, ...] = get_args(Where)


@contextmanager
def assistant(where: Where, folder: Path, **environment: str) -> Iterator[Agent]:
    """An assistant on a folder, or on a server that has the folder."""
    env = {name: str(folder.parent / name) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")} | environment
    if where == "local":
        with agent("mcp", folder, "--toolset", "wiki", env=env) as client:
            yield client
        return
    with served(folder, "--toolset", "wiki", env=env | {"OTTERWIKI_API_KEY": KEY}) as server:
        there = {"OTTERWIKI_API_URL": server.url, "OTTERWIKI_API_KEY": KEY}
        with agent("mcp", "--toolset", "wiki", env=there) as client:
            yield client


Site = tuple[Agent, GitRepo]


def site(where: Where, folder: Path) -> Iterator[Site]:
    """An assistant on the notes, and their repository."""
    repo = new_repo(folder / "wiki", NOTES)
    with assistant(where, repo.path) as client:
        yield client, repo
