"""A space is one folder that a sync wrote."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.errors import ConfigError, KnowledgeError, NotFoundError
from commonplace.settings import Settings, default_settings
from commonplace.toolsets.pages.rules.queries import PageQuery
from commonplace.toolsets.pages.service import PAGES_KEY
from commonplace.toolsets.pages.spaces import SpaceApplication
from spaces.tree import write_space


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return replace(default_settings(), cache_dir=tmp_path / "cache", state_dir=tmp_path / "state")


def test_a_space_is_opened_searched_and_closed(tmp_path: Path, settings: Settings) -> None:
    written = write_space(tmp_path / "eng")
    space = SpaceApplication(replace(settings, kb=(tmp_path / "eng",)))
    try:
        space.sync()
        answer = space.services.of(PAGES_KEY).search(PageQuery(text="rollback canary"))
        assert answer.total > 0
        assert space.engine.count(60.0) == len(written.pages)
    finally:
        space.close()


def test_what_is_no_space_is_refused(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(ConfigError, match="served alone"):
        SpaceApplication(replace(settings, kb=(tmp_path, tmp_path)))
    with pytest.raises(NotFoundError, match="There is no folder 'none'"):
        SpaceApplication(replace(settings, kb=(tmp_path / "none",)))
    with pytest.raises(NotFoundError) as refused:
        SpaceApplication(replace(settings, kb=(tmp_path / "plain",)))
    assert refused.value.kind == "space"


def test_an_engine_that_is_none_is_refused_and_nothing_stays_open(tmp_path: Path, settings: Settings) -> None:
    write_space(tmp_path / "eng")
    with pytest.raises(KnowledgeError):
        SpaceApplication(replace(settings, kb=(tmp_path / "eng",), engine="grep"))
