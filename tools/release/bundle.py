"""Builds the MCP bundle and the entry for a registry of MCP servers, both from the metadata of the built wheel.

    make mcpb                                     dist/commonplace-VERSION.mcpb, packed by npm's @anthropic-ai/mcpb
    make server-json NAME=io.github.OWNER/commonplace URL=https://HOST/commonplace-VERSION.mcpb
                                                  dist/server.json, for the bundle at its download URL

The bundle contains the wheel and the pinned versions of its packages; the client's `uv` installs them for its platform.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

from pins import ROOT

PACKER = "@anthropic-ai/mcpb@2.1.2"
NODE = "node@22.23.3"
MANIFEST_VERSION = "0.4"
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-09-29/server.schema.json"
TIERS = ("read", "write", "admin")
_NAME = re.compile(r"[A-Za-z0-9.-]+/[A-Za-z0-9._-]+")

SERVER = '''\
"""Starts the server on standard input and output."""

import sys

from commonplace.main import main

sys.exit(main(["mcp", *sys.argv[1:]]))
'''


def main() -> int:
    """Build the requested file; return 1 with a line on stderr on failure."""
    parser = argparse.ArgumentParser(description="Build the MCP bundle, and its entry for a registry.")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "dist", help="the folder with the wheel, and for the results"
    )
    parser.add_argument("--name", help="write server.json under this name: NAMESPACE/NAME, the namespace reversed DNS")
    parser.add_argument("--url", help="where the bundle can be downloaded, for server.json")
    namespace = parser.parse_args()
    out: Path = namespace.out.resolve()
    wheel = max(out.glob("commonplace-*.whl"), default=None, key=lambda file: file.stat().st_mtime)
    if wheel is None:
        return _refused(f"there is no wheel in {out.name}; run make dist")
    about = metadata(wheel)
    target = out / f"commonplace-{about['Version']}.mcpb"
    if namespace.name is None:
        return _pack(wheel, about, target)
    if not _NAME.fullmatch(namespace.name):
        return _refused(f"{namespace.name!r} is no NAMESPACE/NAME, such as io.github.OWNER/commonplace")
    if not namespace.url or not namespace.url.startswith("https://"):
        return _refused("the address of the bundle is needed: --url https://...")
    if not target.is_file():
        return _refused(f"there is no {target.name}; run make mcpb")
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    (out / "server.json").write_text(_text(server_json(about, namespace.name, namespace.url, digest)), encoding="utf-8")
    print(out / "server.json")
    return 0


def metadata(wheel: Path) -> Message:
    """The metadata of a wheel."""
    with zipfile.ZipFile(wheel) as packed:
        name = next(element for element in packed.namelist() if element.endswith(".dist-info/METADATA"))
        return Parser().parsestr(packed.read(name).decode())


def manifest(about: Message) -> dict[str, Any]:
    """The bundle's manifest: texts for the client, user settings, and the start command."""
    return {
        "manifest_version": MANIFEST_VERSION,
        "name": about["Name"],
        "display_name": about["Name"],
        "version": about["Version"],
        "description": about["Summary"],
        "author": {"name": about["Author"]},
        "license": about["License-Expression"],
        "keywords": about["Keywords"].split(","),
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {
                "command": "uv",
                "args": [
                    *("run", "--directory", "${__dirname}", "server.py"),
                    *("${user_config.folder}", "--tier", "${user_config.tier}"),
                ],
            },
        },
        "tools_generated": True,
        "compatibility": {"platforms": ["darwin", "linux"], "runtimes": {"python": about["Requires-Python"]}},
        "user_config": {
            "folder": {
                "type": "directory",
                "title": "Folder",
                "description": "The folder of Markdown files to serve",
                "required": True,
            },
            "tier": {
                "type": "string",
                "title": "Tier",
                "description": f"What the assistant may do: {', '.join(TIERS)}",
                "default": TIERS[0],
                "required": False,
            },
        },
    }


def server_json(about: Message, name: str, url: str, digest: str) -> dict[str, Any]:
    """The registry entry for the bundle at `url` with the SHA-256 `digest`."""
    return {
        "$schema": SCHEMA,
        "name": name,
        "description": about["Summary"],
        "version": about["Version"],
        "packages": [
            {
                "registryType": "mcpb",
                "identifier": url,
                "version": about["Version"],
                "fileSha256": digest,
                "transport": {"type": "stdio"},
            }
        ],
    }


def project(about: Message, wheel: str, lock: str) -> str:
    """The `pyproject.toml` from which uv installs the wheel, with the packages in their pinned versions."""
    pins = re.findall(r"^([a-z0-9][a-z0-9.-]*==[^ ;\\]+)(?: ; (.*?))? \\$", lock, re.MULTILINE)
    lines = [f"  {json.dumps(f'{pin} ; {marker}' if marker else pin)}," for pin, marker in pins]
    return "\n".join(
        [
            "[project]",
            f'name = "{about["Name"]}-bundle"',
            f'version = "{about["Version"]}"',
            f'requires-python = "{about["Requires-Python"]}"',
            f'dependencies = ["{about["Name"]}"]',
            "",
            "[tool.uv]",
            "package = false",
            "constraint-dependencies = [",
            *lines,
            "]",
            "",
            "[tool.uv.sources]",
            f'{about["Name"]} = {{ path = "{wheel}" }}',
            "",
        ]
    )


def _pack(wheel: Path, about: Message, target: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="mcpb-") as name:
        folder = Path(name)
        shutil.copyfile(wheel, folder / wheel.name)
        lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
        for file, text in {
            "manifest.json": _text(manifest(about)),
            "pyproject.toml": project(about, wheel.name, lock),
            "server.py": SERVER,
        }.items():
            (folder / file).write_text(text, encoding="utf-8")
        target.unlink(missing_ok=True)
        command = ["npx", "-y", "-p", NODE, "-p", PACKER, "mcpb", "pack", str(folder), str(target)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False
            )  # mcpb validates the manifest first
        except FileNotFoundError:
            return _refused("npx is not installed; on Debian and Ubuntu: apt-get install npm")
    if done.returncode or not target.is_file():
        return _refused(f"the bundle cannot be packed:\n{done.stdout}{done.stderr}")
    print(target)
    return 0


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _refused(reason: str) -> int:
    sys.stderr.write(f"bundle: {reason}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
