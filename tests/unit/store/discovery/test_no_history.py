"""A folder without Git has an empty history, and says why a version cannot be read."""

from __future__ import annotations

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import NotFoundError
from commonplace.store.discovery import NoHistory

PAGE = Address("a.md")


def test_nothing_was_ever_committed() -> None:
    history = NoHistory()
    assert not history.available
    assert (history.log(None, limit=9), history.count(), list(history.versions(PAGE))) == ([], 0, [])
    assert (history.touched(), history.touched_since("1" * 40), history.renames("1" * 40)) == ({}, None, {})
    assert (history.head(), history.address_at(PAGE, "1" * 40)) == ("", None)


def test_every_page_is_uncommitted() -> None:
    assert NoHistory().uncommitted({PAGE: "r1"}) == {PAGE}
    assert NoHistory().working_changes({PAGE: "r1"}) == ({PAGE}, set())


def test_a_version_that_is_asked_for_is_refused_with_what_to_do() -> None:
    history = NoHistory()
    for read in (lambda: history.read(PAGE, "1" * 40), lambda: history.diff(PAGE, "1" * 40)):
        with pytest.raises(NotFoundError, match=r"a\.md has no earlier versions") as caught:
            read()
        assert "git init" in caught.value.hint
        assert "not in a Git repository" in str(caught.value)
    with pytest.raises(NotFoundError, match="not in a Git repository"):
        history.changed("1" * 40)
