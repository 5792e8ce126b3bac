"""Runs the README's commands on a bare system: in a root made by debootstrap, with Python and Git only.

    debootstrap --variant=minbase --include=python3,python3-venv,git,ca-certificates bookworm ROOT
    make dist
    sudo .venv/bin/python tools/release/walk_bare_system.py --root ROOT --out bare-system.md

Every line of the README's first two blocks runs unchanged, in a clone of this checkout with the wheel beside it. Then a
client starts the configured server and calls a tool. The resulting page lists each line with its exit code and its
seconds. Needs root, `chroot` and `unshare`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from build_dist import exported
from pins import ROOT

USER_HOME = "/srv/walker"
CHECKOUT = f"{USER_HOME}/checkout"
BLOCKS = ("## From nothing to an agent's answer", "## Install")
"""Headings of the README whose first block of commands is run."""
BEFORE = (
    ("what a bare system needs for pipx, uv and a checkout", "apt-get update -qq && apt-get install -y -qq make"),
    ("", "python3 -m venv ~/tools && ~/tools/bin/pip install -q pipx uv"),
)
"""Commands that the README takes for granted, each with a remark."""
ASK = """
import json, subprocess
entry = json.load(open("notes/.mcp.json"))["mcpServers"]["notes"]
server = subprocess.Popen([entry["command"], *entry["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "walk", "version": "1"}}
for message in (
    {"id": 1, "method": "initialize", "params": start},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "hot green tea"}}},
):
    print(json.dumps({"jsonrpc": "2.0", **message}), file=server.stdin, flush=True)
answer = next(one for one in map(json.loads, server.stdout) if one.get("id") == 2)
server.stdin.close()
assert "tea.md" in answer["result"]["content"][0]["text"], answer
"""
"""A client that reads the entry written by `connect`, and calls a tool."""


@dataclass(frozen=True, slots=True)
class Walked:
    """A line that was run."""

    line: str
    code: int
    seconds: float
    said: str
    """The end of its output on both streams."""


def main() -> int:
    """Run all lines; return 1 if a line failed."""
    parser = argparse.ArgumentParser(description="Walk the README on a bare system.")
    parser.add_argument("--root", type=Path, required=True, help="the root that debootstrap made")
    parser.add_argument("--out", type=Path, help="the page to write; standard output without it")
    namespace = parser.parse_args()
    root: Path = namespace.root
    _lay_out(root)
    walked: list[Walked] = []
    for line in lines():
        walked.append(_run(root, line))
        sys.stderr.write(f"{walked[-1].seconds:7.1f} s  exit {walked[-1].code}  {line.splitlines()[0]}\n")
        if walked[-1].code:
            sys.stderr.write(f"{walked[-1].said}\n")
    page = "".join(_page(walked))
    if namespace.out:
        namespace.out.write_text(page, encoding="utf-8")
    else:
        sys.stdout.write(page)
    return int(any(other_walked.code for other_walked in walked))


def lines() -> Iterator[str]:
    """Every line to run, in order."""
    yield from (line for _, line in BEFORE)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for heading in BLOCKS:
        block = re.search(r"```bash\n(.*?)```", readme[readme.index(heading) :], re.DOTALL)
        if not block:
            raise SystemExit(f"walk: the README has no commands under {heading}")
        for line in block[1].strip().splitlines():
            command = re.split(r"\s{2,}#", line)[0].strip()
            yield command.replace("/path/to/checkout", CHECKOUT)
            if command.startswith("pipx"):
                yield "uv tool install './dist/commonplace-0.1.0-py3-none-any.whl' --force"
                yield "uvx --from ./dist/commonplace-0.1.0-py3-none-any.whl commonplace --version"
    yield f"cd ~ && python3 - <<'ASK'{ASK}ASK"


def _lay_out(root: Path) -> None:
    """Copy the checkout, as a separate repository, and the wheel into the root."""
    place = root / CHECKOUT.lstrip("/")
    shutil.rmtree(place, ignore_errors=True)
    exported(ROOT, place)
    subprocess.run(["git", "clone", "-q", "--bare", str(ROOT), str(place / ".git")], check=True)
    subprocess.run(["git", "config", "core.bare", "false"], check=True, cwd=place)
    subprocess.run(["git", "reset", "-q"], check=True, cwd=place)
    for wheel in (ROOT / "dist").glob("*.whl"):
        (place / "dist").mkdir(exist_ok=True)
        shutil.copy2(wheel, place / "dist")


def _run(root: Path, line: str) -> Walked:
    """Run one line in the root, with only the caller's package index settings in its environment."""
    environment = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    programs = f"{USER_HOME}/.local/bin:{USER_HOME}/tools/bin"
    environment |= {"PATH": f"{programs}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    environment |= {"HOME": USER_HOME, "DEBIAN_FRONTEND": "noninteractive", "LANG": "C.UTF-8", "TERM": "dumb"}
    shutil.copyfile("/etc/resolv.conf", root / "etc" / "resolv.conf")
    if certificate := environment.get("PIP_CERT"):
        environment["PIP_CERT"] = environment["SSL_CERT_FILE"] = "/etc/ssl/index.pem"
        shutil.copyfile(certificate, root / "etc" / "ssl" / "index.pem")
    command = ["unshare", "--mount", "--pid", "--fork", f"--mount-proc={root}/proc"]
    command += ["chroot", str(root), "/bin/bash", "-c", f"cd {CHECKOUT} && {line}"]
    began = time.monotonic()
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    return Walked(line, done.returncode, time.monotonic() - began, (done.stdout + done.stderr)[-2000:])


def _page(walked: list[Walked]) -> Iterator[str]:
    """The parts of the resulting page."""
    failed = sum(1 for other_walked in walked if other_walked.code)
    yield "# The README on a bare system\n\n"
    yield "Made by `tools/release/walk_bare_system.py` in a root of Debian with Python and Git; "
    yield f"before the README's lines come make, pipx and uv. The load was {os.getloadavg()[0]:.0f}. "
    yield f"{len(walked)} lines, {failed} failed.\n\n"
    yield "| line | exit | seconds |\n|---|---|---|\n"
    for other_walked in walked:
        asks = other_walked.line.endswith("ASK")
        first = "an agent asks the server of the entry" if asks else other_walked.line.replace("|", "\\|")
        yield f"| `{first}` | {other_walked.code} | {other_walked.seconds:.1f} |\n"


if __name__ == "__main__":
    sys.exit(main())
