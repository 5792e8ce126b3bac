"""The space file is followed while it changes, and its last valid state stays in force."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.domain.errors import ConfigError, NotFoundError
from commonplace.toolsets.pages.service.pages import SpaceFile
from indexed import Indexed


def text(name: str) -> str:
    return json.dumps({"spaceKey": "ENG", "spaceName": name, "pages": {}})


def test_a_changed_file_is_read_again_and_a_broken_or_missing_one_is_not_taken_over(tmp_path: Path) -> None:
    with Indexed(tmp_path) as base:
        base.write(".confluence.json", text("First"))
        space = SpaceFile(base.store)
        first = space()
        assert space() is first
        base.write(".confluence.json", text("Second 文"))
        second = space()
        assert second != first
        for broken in ("{", "[]", b"\xff\xfe"):
            base.write(".confluence.json", broken)
            assert space() == second
        (base.folder / ".confluence.json").unlink()
        assert space() == second
        base.write(".confluence.json", text("First"))
        assert space() == first


def test_a_folder_without_a_space_file_is_no_space(tmp_path: Path) -> None:
    with Indexed(tmp_path) as base, pytest.raises(NotFoundError) as error:
        SpaceFile(base.store)
    assert error.value.kind == "space"


@pytest.mark.parametrize("broken", [b"\xff\xfe{}", b"", b"[]", b"{"])
def test_a_space_file_that_is_no_object_is_an_error_that_names_it(tmp_path: Path, broken: bytes) -> None:
    with Indexed(tmp_path) as base:
        base.write(".confluence.json", broken)
        with pytest.raises(ConfigError, match=r"\.confluence\.json"):
            SpaceFile(base.store)
