"""The state of a layer, which decides whether its content counts in answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from commonplace.domain.json import Json
from commonplace.toolsets.cascade.rules.values import LayerRank

LayerState: TypeAlias = Literal["ok", "stale", "missing", "left_out", "broken"]
"""Whether the content of a layer counts, and the reason if it does not.

`ok`: the content counts. `stale`: the earlier content counts. No content counts if the layer is `missing` (there is no
folder), `left_out` (a server does not answer) or `broken` (it cannot be read).
"""

MAX_SHOWN_LINE = 200
"""Maximum number of characters of another program's output in a message."""
_SECRET = re.compile(
    r"(?i)\b((?:[\w-]*(?:key|token|secret|passw(?:or)?d|credential)[\w-]*|authorization)[\"']?\s*[:=]\s*)(?:(?:bearer|basic|token|digest)\s+)?"
    r"[^\s,;]+|\b(bearer\s+)\S+|(://)[^/\s@]+@|(?<!\S)(--?[\w-]*(?:key|token|secret|passw(?:or)?d|credential)[\w-]*\s+)\S+"
)
_LONG_WORD = re.compile(r"[A-Za-z0-9+/_=-]{32,}")
_FOLDERS = re.compile(r"(?:[A-Za-z]:)?(?:[/\\][^\s/\\'\"]+)+[/\\](?=[^\s/\\])|~/")


@dataclass(frozen=True, slots=True)
class LayerHealth:
    """The state of one layer."""

    rank: LayerRank
    state: LayerState = "ok"
    reason: str = ""
    """One sentence without a full stop; "" if the state is `ok`."""
    since: str = ""
    """Time at which the state was first seen, ISO 8601 UTC; "" if the state is `ok`."""

    @property
    def was_asked(self) -> bool:
        """Whether the layer's concepts count in an answer."""
        return self.state in {"ok", "stale"}

    def sentence(self) -> str:
        """The state for a message."""
        return f"{self.rank.name} ({self.state.replace('_', ' ')} since {self.since}: {self.reason})"


def health_json(layers: Sequence[LayerHealth]) -> list[Json]:
    """The state of every layer, highest level first; [] if all are `ok`."""
    if all(health.state == "ok" for health in layers):
        return []
    return [_shown(health) for health in sorted(layers, key=lambda health: (-health.rank.level, health.rank.order))]


def not_asked(layers: Sequence[LayerHealth]) -> list[LayerHealth]:
    """The layers whose content does not count, highest first."""
    return sorted(
        (layer for layer in layers if not layer.was_asked), key=lambda health: (-health.rank.level, health.rank.order)
    )


def outside_line(text: str) -> str:
    """A line of another program's output for a message, without folders, secrets and control characters."""
    line = "".join(char if char.isprintable() else " " for char in text[: 4 * MAX_SHOWN_LINE])
    line = _SECRET.sub(lambda match: f"{match[1] or match[2] or match[3] or match[4]}[hidden]", line)
    line = _LONG_WORD.sub("[hidden]", _FOLDERS.sub("", line))
    line = " ".join(line.split())
    return line if len(line) <= MAX_SHOWN_LINE else f"{line[: MAX_SHOWN_LINE - 3]}..."


def _shown(health: LayerHealth) -> dict[str, Json]:
    shown: dict[str, Json] = {"layer": health.rank.name, "level": health.rank.level, "state": health.state}
    if health.state != "ok":
        shown |= {"reason": health.reason, "since": health.since}
    return shown
