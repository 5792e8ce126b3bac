"""Checks the licences of the pinned packages and of the shared libraries that their wheels carry; lists them.

make licences             a line for each package that forbids use or whose licence is unknown; nothing when all is well
licences.py --list        the table, in Markdown
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from pins import Pin, pinned

_TABLE = Path(__file__).with_name("licences.toml")
_SITE = Path(sys.prefix, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules in `licences.toml`."""

    allowed: frozenset[str]
    exceptions: Mapping[str, str]
    """The reason why a licence's conditions do not affect this program, by licence."""
    declared: Mapping[str, str]
    bundled: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Part:
    """A pinned package, or a library in one."""

    name: str
    version: str
    licence: str
    """SPDX expression of the licence; "" if it is unknown."""
    carrier: str = ""
    """The package whose wheel contains the library; "" for a package."""


def rules(table: Path = _TABLE) -> Rules:
    """The rules in a file."""
    held = tomllib.loads(table.read_text(encoding="utf-8"))
    return Rules(frozenset(held["allowed"]), held["exceptions"], held["declared"], held["bundled"])


def parts(pins: Sequence[Pin], known_rules: Rules, site: Path = _SITE) -> list[Part]:
    """Every pinned package, and every library in the wheels installed on this platform, with its licence."""
    packages = [Part(pin.name, pin.version, known_rules.declared.get(pin.name) or expression(pin.name)) for pin in pins]
    carriers = {f"{pin.name.replace('-', '_')}.libs" for pin in pins}
    folders = [folder for folder in sorted(site.glob("*.libs")) if folder.name in carriers]
    return packages + [part for folder in folders for part in _carried(folder, known_rules)]


def expression(name: str) -> str:
    """The SPDX expression in an installed package's metadata; "" if there is none or the package is not installed."""
    try:
        held = metadata(name)
    except PackageNotFoundError:
        return ""
    return next(iter(held.get_all("License-Expression") or ()), "")


def alternatives(licence: str) -> list[list[str]]:
    """The licences of each alternative in an expression without brackets; all licences of one alternative apply."""
    return [re.split(r" AND ", choice) for choice in re.split(r" OR ", licence)]


def breaches(found_parts: Sequence[Part], known_rules: Rules) -> Iterator[str]:
    """A line for each part whose licence is unknown or not allowed, and for each unused entry."""
    for part in found_parts:
        where = f"{part.name} {part.version}".strip() + (f" in {part.carrier}" if part.carrier else "")
        if not part.licence:
            yield f"{where}: no licence is known; read its licence file and enter it in tools/release/licences.toml"
        elif not any(known_rules.allowed.issuperset(choice) for choice in alternatives(part.licence)):
            yield f"{where}: {part.licence} is not among the allowed licences of tools/release/licences.toml"
    names = {part.name for part in found_parts}
    for name in known_rules.declared:
        if name not in names:
            yield f"{name}: declared in tools/release/licences.toml, but not pinned"
        elif expression(name):
            yield f"{name}: declared in tools/release/licences.toml, but its metadata says {expression(name)}"


def listing(found_parts: Sequence[Part], known_rules: Rules) -> str:
    """The table of licences, followed by the exceptions that apply."""
    lines = ["# Licences of the pinned packages", "", "| package | version | licence | part of |", "|---|---|---|---|"]
    lines += [f"| {part.name} | {part.version} | {part.licence} | {part.carrier} |" for part in found_parts]
    used = {licence for part in found_parts for choice in alternatives(part.licence) for licence in choice}
    lines += ["", "## Conditions that do not touch programs that use the package", ""]
    lines += [f"- {licence}: {reason}" for licence, reason in known_rules.exceptions.items() if licence in used]
    return "\n".join(lines) + "\n"


def _carried(folder: Path, known_rules: Rules) -> Iterator[Part]:
    carrier = folder.name.removesuffix(".libs").replace("_", "-")
    libraries: dict[str, None] = {}
    for file in sorted(folder.iterdir()):
        stem = re.split(r"[-.]", file.name)[0].rstrip("0123456789_") or file.name
        names = [name for name in known_rules.bundled if file.name.startswith(name)]
        libraries[max(names, key=len, default=stem)] = None  # a library can be several files
    for name in libraries:
        yield Part(name, "", known_rules.bundled.get(name, ""), carrier)


def main() -> int:
    """Check the licences, or print the table; return 1 after writing a line for each breach to stderr."""
    parser = argparse.ArgumentParser(description="Check the licences of the pinned packages.")
    parser.add_argument("--list", action="store_true", help="print the table")
    known_rules = rules()
    found_parts = parts(pinned(), known_rules)
    if parser.parse_args().list:
        sys.stdout.write(listing(found_parts, known_rules))
    wrong = list(breaches(found_parts, known_rules))
    for line in wrong:
        sys.stderr.write(f"licences: {line}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
