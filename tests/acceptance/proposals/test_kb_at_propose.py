"""The writing suite of `kb` at `propose`: nothing that is served moves, and accepting leaves what writing leaves."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature

import pytest

from acceptance.kb import test_kb_writing as suite
from agent import agent
from at_propose import proposing_agent
from support import example_repo

LEFT_OUT = frozenset(
    {
        "test_writes_are_files_until_they_are_committed",
        "test_types_are_declared_and_removed_and_comments_stay",
        "test_a_broken_kb_yaml_is_named_with_its_line_and_the_base_stays_readable",
        "test_a_commit_holds_this_bases_files_alone_and_leaves_other_staging",
        "test_a_push_reaches_the_remote_or_says_why_not",
        "test_what_git_would_take_for_an_option_never_reaches_it",
        "test_automatic_commits_without_git_are_refused_at_start",
        "test_a_tier_is_a_wall_and_its_tools_stay_small",
    }
)
"""Tests of the tools of the tier `admin` (declarations, commits, pushes), and of commits at the tier `write`."""

writer, base, own = suite.writer, suite.base, suite.own
globals().update(
    {
        name: var
        for name, var in vars(suite).items()
        if name.startswith("test_") and name not in LEFT_OUT and "committing" not in signature(var).parameters
    }
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[suite.Shop]:
    """A server of copies of the example base, at the tier `propose`; each proposal is accepted at once."""
    folder = tmp_path_factory.mktemp("shop")
    bases = [folder / str(number) / "harbour" for number in range(suite.BASES)]
    for place in bases:
        example_repo(place)
    connect = proposing_agent(agent, folder / "accepting")
    with connect("mcp", "--toolset", "kb", *bases, "--tier", "write") as client:
        yield suite.Shop(client, bases, {})
