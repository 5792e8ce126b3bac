"""The documentation of a setting, beside its declaration."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Doc:
    """The documentation of a setting, for help texts and the settings page."""

    text: str
    unit: str = ""
    """The unit of a number, or ""."""
    default: str = ""
    """The default in words, if it depends on the environment."""
    also: str = ""
    """Another name in the environment, known from other programs; or ""."""
    secret: bool = False
    """Whether messages must not contain the value."""
