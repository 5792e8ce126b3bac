"""The location of the project store, and the settings that serve it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.errors import ConfigError
from commonplace.registration import with_declared_store
from commonplace.settings import CURRENT_FOLDER, default_settings
from commonplace.toolsets.projects.registration import PROJECTS


def test_the_store_is_the_named_folder_only_for_its_own_toolset(tmp_path: Path) -> None:
    home = replace(default_settings(), knowledge_home=tmp_path / "home", kb=(tmp_path / "here",))
    own = replace(home, toolset="projects")
    assert PROJECTS.store_folder is not None
    assert PROJECTS.store_folder([tmp_path / "here"], home) == tmp_path / "home"
    assert PROJECTS.store_folder([tmp_path / "here"], own) == tmp_path / "here"
    assert PROJECTS.store_folder(CURRENT_FOLDER, own) == tmp_path / "home"
    with pytest.raises(ConfigError, match="Projects have one store"):
        PROJECTS.store_folder([tmp_path / "a", tmp_path / "b"], own)


def test_a_folder_that_is_no_store_is_refused_in_a_sentence(tmp_path: Path) -> None:
    own = replace(default_settings(), toolset="projects", kb=(tmp_path,))
    assert PROJECTS.store_refusal is not None
    assert PROJECTS.store_refusal(own) == ""
    (tmp_path / "mine.txt").touch()
    assert "is not a project store" in PROJECTS.store_refusal(own)
    assert PROJECTS.store_refusal(replace(own, adopt=True)) == ""


def test_other_toolsets_show_no_projects_to_people() -> None:
    assert PROJECTS.has_web is not None
    assert not PROJECTS.has_web(default_settings())
    assert PROJECTS.has_web(replace(default_settings(), toolset="projects"))


def test_one_named_folder_with_an_index_and_projects_is_a_store(tmp_path: Path) -> None:
    (tmp_path / "projects").mkdir()
    settings = replace(default_settings(), kb=(tmp_path,))
    assert not PROJECTS.detects(settings)
    (tmp_path / "index.json").touch()
    assert PROJECTS.detects(settings)
    assert not PROJECTS.detects(replace(settings, kb=(tmp_path, tmp_path / "projects")))
    assert with_declared_store(settings).toolset == "projects"
    assert with_declared_store(replace(settings, toolset="kb")).toolset == "kb"
    assert with_declared_store(replace(settings, kb=(tmp_path / "projects",))).toolset is None
    assert with_declared_store(replace(settings, replica_of=("https://example.org/x.git",))).toolset is None
