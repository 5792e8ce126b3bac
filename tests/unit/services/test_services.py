"""Services of a face: by key, and a view for a caller who may see some collections only."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.errors import NotFoundError
from commonplace.services.services import ServiceKey, ServiceProvider, Services
from indexed import Indexed

NAMES: ServiceKey[list[str]] = ServiceKey("names")
COUNT: ServiceKey[int] = ServiceKey("names of numbers")


def test_a_service_is_found_by_its_key_and_sees_what_its_caller_may_use(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "# A\n"}) as base:
        provider = ServiceProvider(NAMES, lambda services: [collection.name for collection in services.collections])
        every = Services(collections=base.collections, providers=(provider,))
        assert every.of(ServiceKey("names")) == ["base"]
        assert every.only(frozenset({"another"})).of(NAMES) == []


def test_a_service_that_nobody_provides_is_not_found_and_named(tmp_path: Path) -> None:
    with Indexed(tmp_path) as base, pytest.raises(NotFoundError, match="names of numbers"):
        Services(collections=base.collections).of(COUNT)


def test_a_restricted_caller_shares_sessions_and_changes_but_not_collections(tmp_path: Path) -> None:
    with Indexed(tmp_path) as base:
        every = Services(collections=base.collections)
        assert every.only(None) is every
        some = every.only(frozenset({"base"}))
        assert [collection.name for collection in some.collections] == ["base"]
        assert (some.unrestricted, every.unrestricted) == (False, True)
        assert some.change_feed is every.change_feed
        assert some.sessions is every.sessions
        assert not some.only(frozenset()).collections.members
