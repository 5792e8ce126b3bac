"""The MCP bundle and the entry of a registry: made from the wheel's metadata, valid, and started as a client does."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from npm import needs_npm
from release.environments import environment, first_answer, outside
from support import ROOT

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a checkout knows its tracked files")
NAMED = {"name": "io.github.owner/commonplace", "url": "https://files.example.org/commonplace.mcpb"}

TEXT = {"type": "string", "minLength": 1}
SERVER_JSON = {
    "type": "object",
    "required": ["name", "description", "version"],
    "properties": {
        "name": {"type": "string", "pattern": r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "minLength": 3, "maxLength": 200},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": {"type": "string", "maxLength": 255},
        "packages": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["registryType", "identifier", "version", "transport", "fileSha256"],
                "properties": {
                    "registryType": {"const": "mcpb"},
                    "identifier": {"type": "string", "pattern": r"^https://\S+mcp\S*$"},
                    "version": TEXT,
                    "fileSha256": {"type": "string", "pattern": "^[a-f0-9]{64}$"},
                    "transport": {"type": "object", "properties": {"type": {"const": "stdio"}}, "required": ["type"]},
                },
            },
        },
    },
}
"""Requirements of the registry's schema of 2025-09-29, and its rules for bundles, for the used members."""


@pytest.fixture(scope="module")
def out(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the bundle."""
    folder = tmp_path_factory.mktemp("bundle") / "dist"
    shutil.copytree(built, folder)
    done = _bundle("--out", str(folder))
    assert done.returncode == 0, done.stderr
    return folder


def _bundle(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "release" / "bundle.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=110)


def _manifest(out: Path) -> dict[str, Any]:
    with zipfile.ZipFile(next(out.glob("*.mcpb"))) as bundle:
        return json.loads(bundle.read("manifest.json"))


@pytest.mark.soak
@needs_npm
def test_the_bundle_holds_the_wheel_and_asks_for_folder_and_tier(out: Path) -> None:
    wheel = next(out.glob("*.whl"))
    with zipfile.ZipFile(next(out.glob("*.mcpb"))) as bundle:
        assert sorted(bundle.namelist()) == sorted(["manifest.json", "pyproject.toml", "server.py", wheel.name])
        assert bundle.read(wheel.name) == wheel.read_bytes()
    manifest = _manifest(out)
    assert (manifest["license"], manifest["author"]) == ("MIT", {"name": "The commonplace authors"})
    assert {name: element["type"] for name, element in manifest["user_config"].items()} == {
        "folder": "directory",
        "tier": "string",
    }


@needs_npm
def test_the_entry_of_the_registry_names_the_bundle_and_its_digest(out: Path) -> None:
    done = _bundle("--out", str(out), *(part for key, value in NAMED.items() for part in (f"--{key}", value)))
    assert done.returncode == 0, done.stderr
    entry = json.loads((out / "server.json").read_text())
    assert [str(error) for error in jsonschema_rs.validator_for(SERVER_JSON).iter_errors(entry)] == []
    assert entry["packages"][0]["fileSha256"] == hashlib.sha256(next(out.glob("*.mcpb")).read_bytes()).hexdigest()
    assert entry["version"] == _manifest(out)["version"]


@pytest.mark.parametrize(
    ("name", "url", "reason"),
    [
        ("commonplace", "https://files.example.org/a.mcpb", "is no NAMESPACE/NAME"),
        ("io.github.owner/commonplace", "", "the address of the bundle is needed"),
        ("io.github.owner/commonplace", "https://files.example.org/a.mcpb", "run make mcpb"),
    ],
)
def test_an_entry_without_a_name_an_address_or_a_bundle_is_refused(
    name: str, url: str, reason: str, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "commonplace-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("commonplace-1.dist-info/METADATA", "Name: commonplace\nVersion: 1\n")
    done = _bundle("--out", str(tmp_path), "--name", name, "--url", url)
    assert (done.returncode, reason in done.stderr) == (1, True)
    assert not (tmp_path / "server.json").exists()


@needs_npm
@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_client_that_unpacks_the_bundle_and_starts_it_gets_an_answer(out: Path, tmp_path: Path) -> None:
    unpacked, notes = tmp_path / "bundle", tmp_path / "notes"
    with zipfile.ZipFile(next(out.glob("*.mcpb"))) as bundle:
        bundle.extractall(unpacked)
    notes.mkdir()
    (notes / "tea.md").write_text("# Tea\n\nGreen tea wants water of 80 degrees.\n")
    uv = environment(tmp_path / "tools", "uv") / "uv"
    values = {"${__dirname}": str(unpacked), "${user_config.folder}": str(notes), "${user_config.tier}": "read"}
    args = [values.get(arg, arg) for arg in _manifest(out)["server"]["mcp_config"]["args"]]
    subprocess.run(
        [uv, "sync", "--quiet", "--directory", unpacked, "--python", sys.executable],
        env=outside(tmp_path), check=True, timeout=300,
    )  # fmt: skip
    assert "tea.md" in first_answer({"command": str(uv), "args": args}, tmp_path, "green tea")
    shutil.rmtree(unpacked)
