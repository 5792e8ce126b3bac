"""Skills: which folders are some, which files belong to them, and what is wrong with the others."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.services import skills as discovery
from commonplace.services.skills import MAX_COMPATIBILITY, MAX_NAME, MAX_SKILL_DESCRIPTION, Skills
from indexed import PERMISSIONS, Indexed, permissions_hold


def skill(name: str, description: str = "What it does.", more: str = "") -> str:
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n# Do it\n"


FILES: dict[str, str | bytes] = {
    "tools/brew-tea/SKILL.md": skill("brew-tea"),
    "tools/brew-tea/scripts/run.py": "print()",
    "tools/brew-tea/inner/SKILL.md": skill("inner"),
    "other/SKILL.md": skill("another"),
    "plain/README.md": "# Plain\n",
}


def test_a_skill_has_every_file_below_its_folder_with_its_digest(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        found_skill = Skills().get(base.collection, "tools/brew-tea")
        assert Skills().folders(base.collection) == ["other", "tools/brew-tea", "tools/brew-tea/inner"]
        assert [other_skill.name for other_skill in Skills().all([base.collection])] == ["brew-tea", "inner"]
    assert [file.address.path for file in found_skill.files] == [
        "tools/brew-tea/SKILL.md",
        "tools/brew-tea/inner/SKILL.md",
        "tools/brew-tea/scripts/run.py",
    ]
    assert found_skill.files[2].digest == f"sha256:{hashlib.sha256(b'print()').hexdigest()}"
    assert found_skill.files[2].size == 7


def test_a_digest_is_that_of_the_file_as_it_is_now(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        skills = Skills()
        before = skills.get(base.collection, "tools/brew-tea").files
        assert skills.get(base.collection, "tools/brew-tea").files == before
        base.write("tools/brew-tea/scripts/run.py", "print(1)")
        after = skills.get(base.collection, "tools/brew-tea").files
    assert [file.digest == other.digest for file, other in zip(before, after, strict=True)] == [True, True, False]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a", "# No frontmatter\n", "its `name` is not 1 to 64"),
        ("Big", skill("Big"), "its `name` is not 1 to 64"),
        ("a--b", skill("a--b"), "its `name` is not 1 to 64"),
        ("é", skill("é"), "its `name` is not 1 to 64"),
        ("x" * (MAX_NAME + 1), skill("x" * (MAX_NAME + 1)), "its `name` is not 1 to 64"),
        ("a", skill("b"), "its `name` is 'b' and its folder's is 'a'"),
        ("a", skill("a", "' '"), "its `description` is not a text"),
        ("a", skill("a", "x" * (MAX_SKILL_DESCRIPTION + 1)), "its `description` is not a text"),
        ("a", skill("a", more=f"compatibility: {'x' * (MAX_COMPATIBILITY + 1)}\n"), "its `compatibility`"),
        ("a", skill("a", more="compatibility: [any]\n"), "its `compatibility`"),
        ("a", skill("a", more="metadata: {version: 1}\n"), "its `metadata` does not map"),
    ],
)
def test_a_folder_that_is_no_skill_says_why(tmp_path: Path, name: str, text: str, reason: str) -> None:
    with Indexed(tmp_path, {f"{name}/SKILL.md": text}) as base:
        with pytest.raises(InvalidInputError, match=reason):
            Skills().get(base.collection, name)
        assert list(Skills().all([base.collection])) == []


def test_the_largest_values_are_accepted_and_the_collection_itself_can_be_a_skill(tmp_path: Path) -> None:
    name = "x" * MAX_NAME
    text = skill(name, "y" * MAX_SKILL_DESCRIPTION, f"compatibility: {'z' * MAX_COMPATIBILITY}\nmetadata: {{v: '1'}}\n")
    with Indexed(tmp_path, {f"{name}/SKILL.md": text, "SKILL.md": skill("base")}) as base:
        assert [other_skill.name for other_skill in Skills().all([base.collection])] == ["base", name]
        with pytest.raises(NotFoundError):
            Skills().get(base.collection, "nowhere")


def test_a_folder_with_too_many_files_is_refused_and_spoils_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "MAX_FILES", 2)
    with Indexed(tmp_path, FILES) as base:
        with pytest.raises(InvalidInputError, match="too large: at most 2 files"):
            Skills().get(base.collection, "tools/brew-tea")
        assert [other_skill.name for other_skill in Skills().all([base.collection])] == ["inner"]


@PERMISSIONS
def test_a_file_that_cannot_be_read_hides_its_skill_and_no_other(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        (base.folder / "tools/brew-tea/scripts/run.py").chmod(0)
        with permissions_hold():
            assert [other_skill.name for other_skill in Skills().all([base.collection])] == ["inner"]
