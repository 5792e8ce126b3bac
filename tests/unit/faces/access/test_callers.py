"""Permissions of tiers, and the caller of a request without a guard."""

from __future__ import annotations

import pytest

from commonplace.domain.errors import ForbiddenError
from commonplace.faces.access.callers import (
    SCOPE_KEY,
    TIERS,
    Caller,
    allows,
    caller_of,
    client_address,
    least,
    require_tier,
)
from commonplace.settings import Tier


def test_a_tier_allows_what_needs_it_or_less() -> None:
    allowed = {(tier, needed) for tier in TIERS for needed in TIERS if allows(tier, needed)}
    assert allowed == {
        ("read", "read"),
        ("propose", "read"),
        ("propose", "propose"),
        ("write", "read"),
        ("write", "propose"),
        ("write", "write"),
        ("admin", "read"),
        ("admin", "propose"),
        ("admin", "write"),
        ("admin", "admin"),
    }


def test_a_refusal_names_every_tier_that_suffices() -> None:
    for proposes, words in ((True, "needs the tier propose or write; yours"), (False, "needs the tier write; yours")):
        with pytest.raises(ForbiddenError, match=words):
            require_tier("read", "write", proposes=proposes)


@pytest.mark.parametrize(
    ("one", "other", "lower"),
    [("read", "admin", "read"), ("admin", "write", "write"), ("write", "write", "write"), ("admin", "read", "read")],
)
def test_the_lower_of_two_tiers_counts(one: Tier, other: Tier, lower: Tier) -> None:
    assert least(one, other) == lower


@pytest.mark.parametrize("scope", [{}, {SCOPE_KEY: None}, {SCOPE_KEY: "admin"}, {SCOPE_KEY: {"tier": "admin"}}])
def test_a_request_that_passed_no_guard_sees_nothing(scope: dict[str, object]) -> None:
    assert caller_of(scope) == Caller("", "read", frozenset())


def test_a_request_brings_the_caller_that_the_guard_found() -> None:
    caller = Caller("key:1", "write", None)
    assert caller_of({SCOPE_KEY: caller, "type": "http"}) is caller


def test_limits_count_for_a_key_wherever_it_comes_from_and_else_for_the_address() -> None:
    assert Caller("key:1", "read", address="203.0.113.7").counted_as == "key:1"
    assert Caller("", "read", address="203.0.113.7").counted_as == "address:203.0.113.7"


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("::1", "2001:db9:0:1::5", "2001:db9:0:1::/64"),
        ("fe80::1%eth0", "", "fe80::/64"),
        ("10.0.0.1", "::ffff:203.0.113.7", "203.0.113.7"),
        ("10.0.0.1", "198.51.100.9, ", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.9:80", "10.0.0.1"),
        ("testclient", "198.51.100.9", "testclient"),
    ],
)
def test_the_address_is_that_of_the_client_as_far_as_it_can_be_known(peer: str, forwarded: str, address: str) -> None:
    assert client_address(peer, forwarded) == address


def test_without_a_key_and_a_session_the_way_in_and_the_program_tell_callers_of_one_address_apart() -> None:
    nobody, keyed = Caller("", "write", address="127.0.0.1"), Caller("key:a", "write", address="127.0.0.1")
    ways = [("mcp", "one"), ("mcp", "two"), ("web", ""), ("rest", "")]
    assert len({nobody.actor(face, "edit", client=client).session for face, client in ways}) == len(ways)
    assert len({keyed.actor(face, "edit", client=client).session for face, client in ways}) == 1
    assert nobody.actor("mcp", "edit", "s", "one").session == nobody.actor("mcp", "edit", "s", "two").session
