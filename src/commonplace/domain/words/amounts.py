"""Numbers of things, as people are told of them."""

from __future__ import annotations


def amount(count: int, noun: str) -> str:
    """A number with its noun, in the plural unless it is one: `1 page`, `2,000 pages`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
