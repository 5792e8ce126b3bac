"""The documentation of a setting, declared next to its type."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Doc:
    """The documentation of a setting, for help texts and the settings page."""

    text: str
    unit: str = ""
    """Unit of a number; "" for other values."""
    default: str = ""
    """The default in words, if it depends on the environment."""
    also: str = ""
    """Alternative environment variable, as used by other programs; "" if there is none."""
    secret: bool = False
    """Whether the value is secret and must not appear in messages."""
