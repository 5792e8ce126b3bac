"""A plugin whose validator can be held up, so that a test can look at a check of quality while it goes on."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ["GATE_OF_COMMONPLACE"])
"""Folder in which `armed` makes the validator record checked entries in `seen` and wait for `open`."""
SECONDS = 60.0


class Gate:
    """The plugin."""

    name = "gate"

    def get_validators(self) -> Sequence[Any]:
        return [_validate]


def _validate(entry_type: str, data: Mapping[str, Any], context: object) -> list[Any]:
    del entry_type, context
    if (FOLDER / "armed").exists():
        with (FOLDER / "seen").open("a") as seen:
            seen.write(f"{data.get('title')}\n")
        deadline = time.monotonic() + SECONDS
        while not (FOLDER / "open").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
    return []
