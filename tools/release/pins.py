"""The pinned packages of `requirements.lock`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)==([^ ;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Pin:
    """One package in one version."""

    name: str
    version: str
    digests: tuple[str, ...]
    """SHA-256 of each file that may be installed."""


def pinned(lock: Path = ROOT / "requirements.lock") -> list[Pin]:
    """The packages of a lock file, in its order; a package stands twice where platforms need two versions."""
    entries = lock.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    found = [(match, entry) for entry in entries if (match := _PIN.match(entry))]
    return [Pin(match[1], match[2], tuple(sorted(_HASH.findall(entry)))) for match, entry in found]
