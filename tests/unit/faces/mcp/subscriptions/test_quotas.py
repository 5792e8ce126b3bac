"""Limits of subscriptions."""

from __future__ import annotations

import pytest
from mcp import MCPError

from commonplace.faces.mcp.subscriptions import (
    MAX_ALL_RESOURCES,
    MAX_ALL_STREAMS,
    MAX_RESOURCES,
    MAX_STREAM_RESOURCES,
    MAX_STREAMS,
    MAX_URI,
    Quota,
    check_subscriptions,
)


def test_streams_are_bounded_for_each_client_and_in_all() -> None:
    quota = Quota()
    for _ in range(MAX_STREAMS):
        quota.open_stream("a")
    with pytest.raises(MCPError, match="One client can follow on at most 100 streams"):
        quota.open_stream("a")
    for number in range(MAX_ALL_STREAMS - MAX_STREAMS):
        quota.open_stream(f"b{number}")
    with pytest.raises(MCPError, match="Too many clients"):
        quota.open_stream("c")
    quota.close_stream("a", 0)
    quota.open_stream("c")


def test_resources_are_bounded_for_each_client_and_in_all() -> None:
    quota = Quota()
    quota.add_resources("a", MAX_RESOURCES - 1)
    with pytest.raises(MCPError, match="One client can follow at most 2000 resources"):
        quota.add_resources("a", 2)
    quota.add_resources("a", 1)
    for number in range(MAX_ALL_RESOURCES // MAX_RESOURCES - 1):
        quota.add_resources(f"b{number}", MAX_RESOURCES)
    with pytest.raises(MCPError, match="Too many resources"):
        quota.add_resources("c", 1)
    quota.remove_resources("a", 1)
    quota.add_resources("c", 1)
    quota.open_stream("a")
    quota.close_stream("a", MAX_RESOURCES - 1)
    quota.add_resources("a", MAX_RESOURCES - 1)


def test_one_stream_follows_so_many_and_no_longer_names() -> None:
    check_subscriptions(["x" * MAX_URI] * MAX_STREAM_RESOURCES)
    with pytest.raises(MCPError, match="At most 1000 resources"):
        check_subscriptions(["x"], MAX_STREAM_RESOURCES)
    with pytest.raises(MCPError, match="at most 4096 characters"):
        check_subscriptions(["x" * (MAX_URI + 1)])
