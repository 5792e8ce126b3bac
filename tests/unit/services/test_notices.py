"""Commits and proposals by folder, tag, author and base, and those since a commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.services import notices, writes
from commonplace.services.notices import NoticeFilter, changes_since, event_of, latest_changes, proposals_since
from proposing import ProposedBase

FILES: dict[str, str | bytes] = {"in/a.md": "---\ntags: [red/dark]\n---\n# A\n", "b.md": "# B\n"}


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (NoticeFilter(), ["b.md", "in/a.md"]),
        (NoticeFilter(folder="in/"), ["in/a.md"]),
        (NoticeFilter(folder="i"), []),
        (NoticeFilter(tag="Red"), ["in/a.md"]),
        (NoticeFilter(tag="re"), []),
        (NoticeFilter(author="TEST writer"), ["b.md", "in/a.md"]),
        (NoticeFilter(author="writer"), []),
        (NoticeFilter(base="base"), ["b.md", "in/a.md"]),
        (NoticeFilter(base="other"), []),
    ],
)
def test_commits_are_found_by_what_they_touched(tmp_path: Path, wanted: NoticeFilter, names: list[str]) -> None:
    with ProposedBase(tmp_path, FILES) as base:
        events = latest_changes(base.collection, wanted, 10)
        assert sorted(address.path for event in events for address in event.files) == names


def test_what_came_since_a_commit_is_told_once_and_oldest_first(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, FILES) as base:
        first = notices.latest_commit(base.collection)
        ids = [base.repo.commit(f"Number {number}", **{"b.md": f"# B{number}\n"}) for number in range(3)]
        events, complete = changes_since(base.collection, first, NoticeFilter())
        assert ([event.commit.id for event in events], complete) == (ids, True)
        assert changes_since(base.collection, ids[-1], NoticeFilter()) == ([], True)
        assert changes_since(base.collection, "0" * 40, NoticeFilter())[1] is False, "the branch was rewritten"


def test_a_proposal_is_found_by_the_tags_that_it_would_give(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, FILES) as base:
        with base.view() as view:
            writes.create(view, Address("new.md"), b"---\ntags: [blue]\n---\n# New\n")
        assert [event.event for event in proposals_since(base.collection, {}, NoticeFilter(tag="blue"))] == ["opened"]
        assert proposals_since(base.collection, {}, NoticeFilter(tag="red")) == []
        proposal = base.found().proposal
        assert event_of(proposal, is_reported=True) == "amended"
        assert proposals_since(base.collection, {proposal.id: proposal.tip}, NoticeFilter()) == []
