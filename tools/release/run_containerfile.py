"""Runs the steps of the Containerfile without a container engine: a stage is a folder, RUN runs in a chroot.

    debootstrap --variant=minbase bookworm ROOT
    sudo python3 tools/release/run_containerfile.py --base ROOT --out IMAGE [--target model]

Needs root, `chroot` and `cp`. Instructions that the Containerfile does not use are rejected. `IMAGE.json` then contains
the image's configuration: environment, user, folder, entry point and command.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


@dataclass(slots=True)
class Stage:
    """A stage: its files and its configuration."""

    name: str
    root: Path
    config: dict[str, Any] = field(default_factory=lambda: {"Env": {}})


def main() -> int:
    """Build the image; return 1 with a line on stderr if a step fails."""
    parser = argparse.ArgumentParser(description="Run the steps of the Containerfile without a container engine.")
    parser.add_argument("--base", type=Path, required=True, help="the root that debootstrap made")
    parser.add_argument("--out", type=Path, required=True, help="the folder for the image; replaced")
    parser.add_argument("--target", default="server", help="the stage that is wanted")
    namespace = parser.parse_args()
    instructions = parsed((ROOT / "Containerfile").read_text(encoding="utf-8"))
    work: Path = namespace.out.with_name(f"{namespace.out.name}.stages")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    stages: dict[str, Stage] = {}
    try:
        for words in _wanted(instructions, namespace.target):
            _step(words, stages, work, namespace.base)
    except (subprocess.CalledProcessError, ValueError) as error:
        sys.stderr.write(f"containerfile: {error}\n")
        return 1
    shutil.rmtree(namespace.out, ignore_errors=True)
    stages[namespace.target].root.rename(namespace.out)
    config = stages[namespace.target].config
    namespace.out.with_name(f"{namespace.out.name}.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    shutil.rmtree(work)
    return 0


def parsed(text: str) -> list[tuple[str, str]]:
    """The instructions of a Containerfile, each with its argument as one line."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [
        (name.upper(), rest.strip()) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line)
    ]


def _wanted(instructions: list[tuple[str, str]], target: str) -> list[tuple[str, str]]:
    """The instructions of the target stage and of the stages on which it depends, in their order."""
    blocks: dict[str, list[tuple[str, str]]] = {}
    current = ""
    for name, rest in instructions:
        if name == "FROM":
            blocks[(current := rest.split()[-1])] = []
        blocks[current].append((name, rest))
    if target not in blocks:
        raise ValueError(f"there is no stage {target!r}: expected one of {', '.join(blocks)}")
    needed, todo = set[str](), [target]
    while todo:
        needed.add(text := todo.pop())
        sources = [rest.split()[0].removeprefix("--from=") for name, rest in blocks[text] if name in {"FROM", "COPY"}]
        todo += [source for source in sources if source in blocks and source not in needed]
    return [instruction for name, block in blocks.items() if name in needed for instruction in block]


def _step(words: tuple[str, str], stages: dict[str, Stage], work: Path, base: Path) -> None:
    name, rest = words
    print(f"{name} {rest}", flush=True)
    if name == "FROM":
        origin, _, stage = rest.split()
        source = stages.get(origin)
        subprocess.run(["cp", "-a", "--reflink=auto", source.root if source else base, work / stage], check=True)
        stages[stage] = Stage(stage, work / stage)
        if source:
            stages[stage].config = json.loads(json.dumps(source.config))
        return
    stage = list(stages.values())[-1]
    match name:
        case "RUN":
            _run(stage, rest)
        case "COPY":
            _copy(stage, rest, stages)
        case "ENV":
            key, _, value = rest.partition("=")
            stage.config["Env"][key] = value
        case "HEALTHCHECK":
            stage.config["Healthcheck"] = json.loads(rest[rest.index("CMD ") + 4 :])
        case "ENTRYPOINT" | "CMD" | "VOLUME":
            stage.config[name.capitalize()] = json.loads(rest)
        case "USER" | "WORKDIR" | "EXPOSE":
            stage.config[name.capitalize()] = rest
        case _:
            raise ValueError(f"{name} is not known here")


def _run(stage: Stage, command: str) -> None:
    # The caller's package index settings, which a container engine would pass as build arguments and secrets.
    environment = {
        name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.endswith("_proxy")
    }
    environment |= {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
    environment |= {"DEBIAN_FRONTEND": "noninteractive", **stage.config["Env"]}
    lent = {Path("/etc/resolv.conf"): stage.root / "etc" / "resolv.conf"}
    if certificate := environment.get("PIP_CERT"):
        environment["PIP_CERT"] = "/tmp/pip-cert.pem"  # noqa: S108 - inside the new root, for this step
        lent[Path(certificate)] = stage.root / "tmp" / "pip-cert.pem"
    before = {target: target.read_bytes() if target.is_file() else None for target in lent.values()}
    for file, target in lent.items():
        target.write_bytes(file.read_bytes())
    subprocess.run(["chroot", str(stage.root), "/bin/sh", "-c", command], env=environment, check=True)
    for target, content in before.items():
        target.unlink() if content is None else target.write_bytes(content)


def _copy(stage: Stage, rest: str, stages: dict[str, Stage]) -> None:
    *sources, target = shlex.split(rest)
    root = ROOT
    if sources[0].startswith("--from="):
        root = stages[sources.pop(0).removeprefix("--from=")].root
    for source in sources:
        place = stage.root / target.lstrip("/")
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", f"{root / source.lstrip('/')}/.", str(place)], check=True)


if __name__ == "__main__":
    sys.exit(main())
