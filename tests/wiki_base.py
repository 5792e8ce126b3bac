"""A small wiki that holds the notes which the contract's examples show."""

from __future__ import annotations

from support import GitRepo, MakeRepo

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
"""By file."""

ODD_VALUES = ("5", "3.5", "true", "null", "2026-01-02", "[1, [2, 3], {a: b}]", "{a: {b: c}, 1: 2}", '""', ".nan", "~")
"""Frontmatter values of every type but the one that is meant."""


def wiki_repo(git_repo: MakeRepo, name: str = "wiki") -> GitRepo:
    """A repository with these notes, in one commit."""
    return git_repo(name, dict(NOTES))
