"""The space file in all its shapes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cases import each_case
from commonplace.domain.errors import ConfigError
from commonplace.toolsets.pages.rules.space import parse_space


def space(**values: Any) -> str:
    return json.dumps({"spaceKey": "ENG", **values})


@each_case(
    "values",
    [
        {"pages": {"1": "a/b.md"}},
        {"pages": {"1": {"localPath": "a/b.md", "version": 3}}},
        {"syncState": {"pages": {"1": {"localPath": "a/b.md"}}}},
        {"syncState": {"pages": {"1": "a/b.md"}}},
        {"syncState": {"pages": {"1": "older.md"}}, "pages": {"1": "a/b.md"}},
    ],
)
def test_all_shapes_of_the_map_are_read(values: dict[str, Any]) -> None:
    assert parse_space(space(**values)).paths == {"1": "a/b.md"}


@pytest.mark.parametrize("pages", [None, [], "x", {"1": None, "2": 3, "3": {}, "4": {"localPath": 5}, "5": ""}])
def test_a_map_that_says_nothing_useful_is_empty(pages: Any) -> None:
    assert parse_space(space(pages=pages)).paths == {}


def test_a_file_without_a_map_or_a_name_is_read() -> None:
    candidate = parse_space("\ufeff" + space(unknown={"deep": [1]}))
    assert (candidate.key, candidate.name, candidate.paths, candidate.index_name) == ("ENG", "ENG", {}, "cn-eng")


@pytest.mark.parametrize(
    ("key", "name"), [("ENG", "cn-eng"), ("~jane.doe", "cn-_jane_doe"), ("DS 2", "cn-ds_2"), ("Ünï", "cn-_n_")]
)
def test_the_index_is_named_after_the_key(key: str, name: str) -> None:
    assert parse_space(json.dumps({"spaceKey": key})).index_name == name


def test_the_file_may_name_the_index() -> None:
    assert parse_space(space(search={"indexName": "My_Index-2"})).index_name == "My_Index-2"
    for name in ("a b", "../x", "a/b", 5, "x" * 401):
        with pytest.raises(ConfigError, match="indexName"):
            parse_space(space(search={"indexName": name}))


@each_case("text", ["", "[]", "null", '"x"', "{", "[" * 100_000])
def test_what_is_no_object_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"\.confluence\.json is not a JSON object"):
        parse_space(text)


@pytest.mark.parametrize("values", [{}, {"spaceKey": ""}, {"spaceKey": "  "}, {"spaceKey": 5}])
def test_a_file_that_names_no_space_is_named(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="spaceKey"):
        parse_space(json.dumps(values))
