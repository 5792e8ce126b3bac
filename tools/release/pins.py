"""The pinned packages of `requirements.lock`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
_PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)==([^ ;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Pin:
    """One package in one version."""

    name: str
    version: str
    digests: tuple[str, ...]
    """SHA-256 of each installable file."""


def pinned(lock: Path = ROOT / "requirements.lock") -> list[Pin]:
    """The packages of a lock file, in its order. A package occurs twice if platforms need two versions."""
    entries = lock.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    found_pairs = [(match, entry) for entry in entries if (match := _PIN.match(entry))]
    return [Pin(match[1], match[2], tuple(sorted(_HASH.findall(entry)))) for match, entry in found_pairs]


def needed(name: str, extras: frozenset[str] = frozenset()) -> set[str]:
    """The packages that an installed package needs with these extras on any platform, according to the metadata."""
    keys: set[str] = set()
    todo = [(name, extras)]
    seen: set[tuple[str, frozenset[str]]] = set()
    while todo:
        element = todo.pop()
        if element in seen:
            continue
        seen.add(element)
        for requirement in _requirements(*element):
            key = canonicalize_name(requirement.name)
            keys.add(key)
            todo.append((key, frozenset(requirement.extras)))
    return keys


def _requirements(name: str, extras: frozenset[str]) -> list[Requirement]:
    try:
        declared = [Requirement(text) for text in requires(name) or ()]
    except PackageNotFoundError:  # a package for another platform
        return []
    return [requirement for requirement in declared if _applies(requirement, extras)]


def _applies(requirement: Requirement, extras: frozenset[str]) -> bool:
    """Whether a requirement applies with these extras, on any platform."""
    if requirement.marker is None or "extra ==" not in str(requirement.marker):
        return True
    return any(requirement.marker.evaluate({"extra": extra}) for extra in extras)


def excerpt(names: set[str], lock: Path = ROOT / "requirements.lock") -> str:
    """The entries of a lock file for these packages, with their digests, for `pip --require-hashes`."""
    entries = re.split(r"(?m)^(?=[a-z0-9])", lock.read_text(encoding="utf-8"))
    return "".join(entry for entry in entries if (match := _PIN.match(entry)) and match[1] in names)
