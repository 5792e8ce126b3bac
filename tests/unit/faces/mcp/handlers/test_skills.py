"""Skills over the protocol: folders of instructions, listed with a digest of each file and read byte for byte."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace

import pytest

from commonplace.domain.errors import NotFoundError
from commonplace.faces.mcp.handlers import SkillHandlers
from commonplace.faces.mcp.runner import Runner
from commonplace.faces.mcp.toolset import Call, Resource
from commonplace.services.collections import Collections
from commonplace.services.services import Services
from commonplace.services.skills import Skills
from indexed import Indexed

SKILL = "---\nname: {}\ndescription: Does it.\n---\n# Do it\n"
FILES: dict[str, str | bytes] = {
    "skills/brew-tea/SKILL.md": SKILL.format("brew-tea"),
    "skills/brew-tea/references/über uns.md": "# Über\n",
    "skills/brew-tea/scripts/run.sh": "#!/bin/sh\n",
    "skills/brew-tea/scripts/deep/p.png": b"\x89PNG",
    "skills/brew-tea/latin.txt": b"caf\xe9",
    "skills/brew-tea/inner/SKILL.md": SKILL.format("inner"),
    "skills/wrong/SKILL.md": SKILL.format("another-name"),
    "notes.md": "# Notes\n",
}
ROOT = "skill://my%20base/skills/brew-tea"


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    with Indexed(tmp_path_factory.mktemp("skills"), FILES) as base:
        collection = replace(base.collection, name="my base")
        services = Services(collections=Collections(lambda: [collection]))
        yield Call(services=services, tier="read", progress=lambda *_: None)


@pytest.fixture
def handlers(call: Call) -> SkillHandlers:
    return SkillHandlers(Runner(call.services, "read"), Skills())


def names(resources: list[Resource]) -> dict[str, str]:
    return {resource.uri.removeprefix(f"{ROOT}/"): resource.mime_type for resource in resources}


def test_each_skill_is_listed_with_all_its_files_and_an_invalid_one_is_not(handlers: SkillHandlers, call: Call) -> None:
    found_values = {element["uri"]: element for element in handlers._page(0, call)}
    assert set(found_values) == {f"{ROOT}/SKILL.md", f"{ROOT}/inner/SKILL.md"}
    skill = found_values[f"{ROOT}/SKILL.md"]
    assert skill["frontmatter"]["description"] == "Does it."
    files = {resource["uri"]: resource for resource in skill["resources"]}
    script = files[f"{ROOT}/scripts/run.sh"]
    assert script["digest"] == f"sha256:{hashlib.sha256(b'#!/bin/sh' + bytes([10])).hexdigest()}"
    assert f"{ROOT}/references/%C3%BCber%20uns.md" in files


def test_a_file_is_read_as_text_if_it_is_text_and_as_bytes_if_not(handlers: SkillHandlers, call: Call) -> None:
    assert handlers.read(call, f"{ROOT}/references/%C3%BCber%20uns.md").content == "# Über\n"
    assert handlers.read(call, f"{ROOT}/scripts/deep/p.png").content == b"\x89PNG"
    assert handlers.read(call, f"{ROOT}/latin.txt").content == b"caf\xe9"
    assert handlers.read(call, f"{ROOT}/inner/SKILL.md").mime_type == "text/markdown"


@pytest.mark.parametrize(
    "uri",
    [
        f"{ROOT}/none.md",
        f"{ROOT}/../../notes.md",
        f"{ROOT}/%2E%2E/%2E%2E/notes.md",
        "skill://my%20base/notes.md",
        "skill://my%20base/skills/wrong/SKILL.md",
        "skill://other/skills/brew-tea/SKILL.md",
        "skill://",
        "skill:///SKILL.md",
        "file:///etc/passwd",
        f"{ROOT}//SKILL.md",
    ],
)
def test_what_is_no_file_of_a_skill_is_not_found(handlers: SkillHandlers, call: Call, uri: str) -> None:
    with pytest.raises(NotFoundError):
        handlers.read(call, uri)


def test_a_folder_of_a_skill_shows_its_files_and_its_folders(handlers: SkillHandlers, call: Call) -> None:
    assert names(handlers._children(call, ROOT)) == {
        "SKILL.md": "text/markdown",
        "inner": "inode/directory",
        "latin.txt": "text/plain",
        "references": "inode/directory",
        "scripts": "inode/directory",
    }
    assert set(names(handlers._children(call, f"{ROOT}/scripts"))) == {"scripts/run.sh", "scripts/deep"}
    for uri in (f"{ROOT}/none", f"{ROOT}/scripts/run.sh", "skill://my%20base/skills"):
        with pytest.raises(NotFoundError):
            handlers._children(call, uri)


def test_a_file_of_a_skill_is_followed_by_its_document(handlers: SkillHandlers, call: Call) -> None:
    source = handlers.source_of(call, f"{ROOT}/SKILL.md")
    assert source is not None
    assert (source.collection, str(source.address)) == ("my base", "skills/brew-tea/SKILL.md")
    assert handlers.source_of(call, "skill://my%20base/notes.md") is None
