"""Builds the files of a release into `dist/`: wheel, sdist, bill of materials, licences and their SHA-256 sums.

    make dist

The build copies the tracked files of the checkout to a separate folder, so that no other file is included. The same
files give the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import licences
import sbom
from hooks import COMMIT, commit_of
from pins import ROOT, excerpt, needed, pinned

NAME = "commonplace"
SUMS = "SHA256SUMS"


def main() -> int:
    """Build into `--out`; return 1 with lines on stderr if a licence is unknown or forbidden, or the build fails."""
    parser = argparse.ArgumentParser(description="Build wheel, sdist, bill of materials, licences and sums.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder; others' files in it stay")
    out: Path = parser.parse_args().out.resolve()
    rules = licences.rules()
    pins = pinned()
    parts = licences.parts(pins, rules)
    if wrong := list(licences.breaches(parts, rules)):
        sys.stderr.writelines(f"dist: {line}\n" for line in wrong)
        return 1
    with tempfile.TemporaryDirectory(prefix="dist-") as name:
        sources = exported(ROOT, Path(name, "sources"))
        made = _built(sources, Path(name, "built"))
        if not made:
            return 1
        version = made[0].name.split("-")[1]
        (bill := Path(name, f"{NAME}-{version}.cdx.json")).write_text(
            sbom.bill(NAME, version, pins, parts), encoding="utf-8"
        )
        (listed := Path(name, f"{NAME}-{version}.licences.md")).write_text(
            licences.listing(parts, rules), encoding="utf-8"
        )
        _hand_over([*made, bill, listed, *_requirements(Path(name), version)], out)
    return 0


def exported(root: Path, target: Path) -> Path:
    """Copy the tracked files at `root` with fixed modes, and write the commit into the package; return the copy."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (source := root / name).is_file():
            (copy := target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
            copy.chmod(0o755 if os.access(source, os.X_OK) else 0o644)
    Path(target, "src", COMMIT).write_text(f"{commit_of(root)}\n", encoding="utf-8")
    return target


def _built(sources: Path, target: Path) -> list[Path]:
    """The wheel and the sdist; [] if the build fails, after its output is written to stderr."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(target)]
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        return []
    return sorted(target.iterdir(), key=lambda file: file.suffix != ".whl")


def _requirements(folder: Path, version: str) -> list[Path]:
    """Requirement files for `pip --require-hashes`: for the wheel alone, and for the wheel with each server extra."""
    files: list[Path] = []
    for stem, extras in (
        ("requirements", []),
        ("requirements-cluster", ["cluster"]),
        ("requirements-meaning", ["meaning"]),
    ):
        files.append(folder / f"{NAME}-{version}.{stem}.txt")
        files[-1].write_text(excerpt(needed(NAME, frozenset(extras))), encoding="utf-8")
    return files


def _hand_over(files: list[Path], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    for file in files:
        shutil.copyfile(file, out / file.name)
        lines.append(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n")
        print(out / file.name)
    (out / SUMS).write_text("".join(lines), encoding="utf-8")
    print(out / SUMS)


if __name__ == "__main__":
    sys.exit(main())
