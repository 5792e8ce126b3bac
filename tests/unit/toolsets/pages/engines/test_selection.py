"""The engine of a space, and the server to which each key is sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.domain.errors import ConfigError
from commonplace.domain.json import JsonObject
from commonplace.toolsets.pages.engines.selection import (
    DEFAULT_URL,
    HOME_FILE,
    EngineRequest,
    EngineServer,
    server_for,
)
from commonplace.toolsets.pages.rules.space import Space

OWN: JsonObject = {"meilisearchUrl": "http://own:7700", "apiKey": "own-key"}
HOME: JsonObject = {"meilisearchUrl": " http://home:7700 ", "apiKey": "home-key"}


def space(search: JsonObject | None = None) -> Space:
    return Space(key="ENG", name="ENG", search=search or {}, index_name="x")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / HOME_FILE).parent.mkdir()
    (tmp_path / HOME_FILE).write_text(json.dumps({"search": HOME}))
    return tmp_path


def test_without_a_server_the_embedded_engine_is_used(tmp_path: Path) -> None:
    assert server_for(EngineRequest(), space(), tmp_path) is None
    assert server_for(EngineRequest("meilisearch"), space(), tmp_path) == EngineServer(DEFAULT_URL)


def test_the_embedded_engine_is_used_on_request_whatever_is_configured(home: Path) -> None:
    assert server_for(EngineRequest("embedded", "http://flag:7700"), space(OWN), home) is None


def test_the_space_s_own_server_comes_before_that_of_the_user(home: Path) -> None:
    assert server_for(EngineRequest(), space(OWN), home) == EngineServer("http://own:7700", "own-key")
    assert server_for(EngineRequest(), space(), home) == EngineServer("http://home:7700", "home-key")


def test_a_key_from_the_environment_goes_to_no_server_that_a_file_names(home: Path) -> None:
    assert server_for(EngineRequest(key="secret"), space({"meilisearchUrl": "http://own:7700"}), home) == EngineServer(
        "http://own:7700", ""
    )


def test_a_server_of_a_flag_gets_its_key_or_that_of_the_file_that_names_it(home: Path) -> None:
    def of(url: str, key: str | None = None) -> EngineServer | None:
        return server_for(EngineRequest(url=url, key=key), space(OWN), home)

    assert of("http://own:7700/") == EngineServer("http://own:7700/", "own-key")
    assert of("http://own:7700", "mine") == EngineServer("http://own:7700", "mine")
    assert of("http://other:7700") == EngineServer("http://other:7700", "")


@pytest.mark.parametrize("search", [{"meilisearchUrl": 5}, {"meilisearchUrl": "http://x", "apiKey": ["k"]}])
def test_a_value_of_another_type_is_refused_with_the_file_that_has_it(tmp_path: Path, search: JsonObject) -> None:
    with pytest.raises(ConfigError, match=r"\.confluence\.json"):
        server_for(EngineRequest(), space(search), tmp_path)


def test_a_broken_file_of_the_user_is_refused_and_a_blank_url_is_none(tmp_path: Path) -> None:
    (tmp_path / ".cn").mkdir()
    (tmp_path / HOME_FILE).write_text("[]")
    with pytest.raises(ConfigError):
        server_for(EngineRequest(), space(), tmp_path)
    (tmp_path / HOME_FILE).write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="cannot be read"):
        server_for(EngineRequest(), space(), tmp_path)
    (tmp_path / HOME_FILE).write_text('{"search": {"meilisearchUrl": " "}}')
    assert server_for(EngineRequest(), space(), tmp_path) is None
    with pytest.raises(ConfigError, match="Unknown engine"):
        server_for(EngineRequest("other"), space(), tmp_path)
