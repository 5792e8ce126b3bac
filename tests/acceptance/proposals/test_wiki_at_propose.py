"""The writing suite of `wiki` at `propose`: nothing that is served moves, and accepting leaves what writing leaves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from acceptance import test_wiki_writing as suite
from agent import agent
from at_propose import proposing_agent
from support import new_repo
from wiki_base import NOTES, Site

LEFT_OUT = frozenset(
    {
        "test_notes_are_written_edited_renamed_and_deleted_one_commit_each",
        "test_a_rename_shows_nothing_that_was_not_shown_before",
    }
)
"""Tests of the commits that answers name as revisions: an acceptance is another commit than its proposal."""

globals().update({name: var for name, var in vars(suite).items() if name.startswith("test_") and name not in LEFT_OUT})


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """An assistant that proposes, and the repository; each proposal is accepted at once."""
    folder = tmp_path_factory.mktemp("wiki")
    repo = new_repo(folder / "wiki", NOTES)
    env = {name: str(folder / name) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    connect = proposing_agent(agent, folder / "accepting")
    with connect("mcp", repo.path, "--toolset", "wiki", "--tier", "write", env=env) as client:
        yield client, repo
