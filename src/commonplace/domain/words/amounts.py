"""Amounts in messages."""

from __future__ import annotations


def amount(count: int, noun: str) -> str:
    """A number with its noun, in the plural unless the number is 1: `1 page`, `2,000 pages`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
