"""The wiki of the folders that are served, or that of another server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.settings import default_settings
from commonplace.toolsets.wiki.registration import WIKI, is_remote

REMOTE = replace(default_settings(), toolset="wiki", wiki_url="http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("changes", "remote"),
    [
        ({}, True),
        ({"toolset": "kb"}, False),
        ({"wiki_url": None}, False),
        ({"kb": (Path(),)}, False),
    ],
)
def test_another_server_is_asked_only_where_no_folder_is_named(changes: dict[str, object], *, remote: bool) -> None:
    assert is_remote(replace(REMOTE, **changes)) is remote


def test_with_another_server_no_folder_is_opened() -> None:
    assert WIKI.folders is not None
    assert WIKI.folders(REMOTE) == ()
    assert WIKI.folders(replace(REMOTE, kb=(Path(),))) is None
