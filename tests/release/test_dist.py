"""Results of `make dist`: the same bytes each time, with sums, a valid bill of materials and the licences."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from cyclonedx.schema import _res as schemas

from commonplace import __version__
from release.environments import dist
from support import ROOT

pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a checkout knows its tracked files")


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    """The wheel, opened."""
    return zipfile.ZipFile(next(built.glob("*.whl")))


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    """The wheel's metadata; its payload is the long description."""
    return Parser().parsestr(wheel.read(f"commonplace-{__version__}.dist-info/METADATA").decode())


def test_two_builds_give_the_same_bytes_and_the_sums_are_theirs(built: Path, tmp_path: Path) -> None:
    again = dist(tmp_path)
    names = sorted(file.name for file in built.iterdir())
    assert names == sorted(file.name for file in again.iterdir())
    assert [(built / name).read_bytes() for name in names] == [(again / name).read_bytes() for name in names]
    sums = dict(reversed(line.split("  ")) for line in (built / "SHA256SUMS").read_text().splitlines())
    assert sums == {n: hashlib.sha256((built / n).read_bytes()).hexdigest() for n in names if n != "SHA256SUMS"}
    assert [re.sub(r"^commonplace-[\d.]+\d", "", name) for name in sorted(sums)] == [
        "-py3-none-any.whl", ".cdx.json", ".licences.md",
        ".requirements-cluster.txt", ".requirements-meaning.txt", ".requirements.txt", ".tar.gz",
    ]  # fmt: skip


def test_wheel_and_sdist_name_the_commit(built: Path, wheel: zipfile.ZipFile) -> None:
    head = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert wheel.read("commonplace/commit.txt").decode().startswith(head.stdout.strip())
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        packed = sdist.extractfile(f"commonplace-{__version__}/src/commonplace/commit.txt")
        assert packed
        assert packed.read() == wheel.read("commonplace/commit.txt")
        assert not {member.uname for member in sdist} - {""}


def test_the_wheel_holds_the_package_and_nothing_of_the_machine(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert {name.split("/")[0] for name in names} == {"commonplace", f"commonplace-{__version__}.dist-info"}
    assert not [name for name in names if name.endswith(".pyc")]
    assert str(ROOT).encode() not in b"".join(wheel.read(name) for name in names)


def test_the_metadata_says_who_what_and_for_whom(metadata: Message) -> None:
    assert metadata["Author"] == "The commonplace authors"
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Requires-Python"] == ">=3.11"
    assert {"mcp", "markdown", "knowledge-base"} <= set(metadata["Keywords"].split(","))
    classifiers = metadata.get_all("Classifier", [])
    assert "Operating System :: POSIX :: Linux" in classifiers
    assert "Operating System :: MacOS" in classifiers
    assert "Programming Language :: Python :: 3.11" in classifiers
    assert metadata["Home-page"] is None
    assert metadata.get_all("Project-URL") is None, "no address is told before there is one"


def test_the_long_description_has_no_link_that_breaks_outside_the_checkout(metadata: Message) -> None:
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = metadata.get_payload()
    assert text.startswith("# commonplace")
    assert re.findall(r"\]\((?!\w+:|#)[^)]*\)", text) == []
    assert "(`docs/links.md`)" in text, "what a link led to is named instead"


def test_the_bill_of_materials_is_valid_and_names_every_pinned_file(built: Path) -> None:
    valid = _cyclonedx()
    bill = json.loads(next(built.glob("*.cdx.json")).read_text(encoding="utf-8"))
    assert [str(error) for error in valid.iter_errors(bill)] == []
    digests = {h["content"] for c in bill["components"] for r in c.get("externalReferences", ()) for h in r["hashes"]}
    assert digests == set(re.findall(r"sha256:([0-9a-f]{64})", (ROOT / "requirements.lock").read_text()))
    bill["components"][0]["licenses"] = [{"expresion": "MIT"}]
    assert not valid.is_valid(bill), "the schema does check"


def _cyclonedx() -> jsonschema_rs.Validator:
    """CycloneDX's own schema, as its library brings it along."""

    def read(name: str) -> dict[str, Any]:
        return json.loads(Path(schemas.__path__[0], f"{name}.SNAPSHOT.schema.json").read_text(encoding="utf-8"))

    parts = [(f"http://cyclonedx.org/schema/{name}.SNAPSHOT.schema.json", read(name)) for name in ("spdx", "jsf-0.82")]
    registry = jsonschema_rs.Registry(parts, draft=jsonschema_rs.Draft7)
    return jsonschema_rs.validator_for(read("bom-1.6"), registry=registry)


def test_every_licence_is_known_and_a_gpl_part_is_listed_with_its_exception(built: Path) -> None:
    text = next(built.glob("*.licences.md")).read_text(encoding="utf-8")
    assert re.search(r"\| pygit2 \| [\d.]+ \| GPL-2.0-only WITH GCC-exception-2.0 \|", text)
    assert "The linking exception of libgit2" in text
    assert {*re.findall(r"\bA?GPL-\S+(?: WITH)?", text)} == {"GPL-2.0-only WITH", "GPL-3.0-or-later WITH"}


def test_a_licence_that_is_unknown_or_not_allowed_is_refused() -> None:
    cases = [
        (("a", "1", "MIT OR GPL-3.0-only"), ""),
        (("a", "1", "AGPL-3.0-only"), "a 1: AGPL-3.0-only is not among the allowed licences"),
        (("a", "1", "MIT AND GPL-3.0-only"), "a 1: MIT AND GPL-3.0-only is not among the allowed licences"),
        (("a", "1", ""), "a 1: no licence is known"),
        (("liba", "", "", "b"), "liba in b: no licence is known"),
    ]
    code = (
        "import licences; known = licences.rules()\n"
        f"for part in {[part for part, _ in cases]!r}:\n"
        "    lines = licences.breaches([licences.Part(*part)], known)\n"
        "    print(next((line for line in lines if 'declared' not in line), ''))\n"
    )
    folder = ROOT / "tools" / "release"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    for (part, said), line in zip(cases, done.stdout.splitlines(), strict=True):
        assert line.startswith(said), part
        assert bool(line) == bool(said), part
