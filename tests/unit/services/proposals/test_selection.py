"""The part of a proposal that a request names."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.services import writes
from commonplace.services.proposals.selection import AcceptRequest, select, shown_paths
from proposing import ProposedBase


def test_a_page_is_named_in_many_ways_and_a_section_or_a_text_is_of_one(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, {"sub/a.md": "# Title\n\none\n", "b.md": "# B\n\none\n"}) as base:
        with base.view() as view:
            for page in ("sub/a.md", "b.md"):
                writes.replace_once(view, Address(page), "one", "two")
        proposal = base.found()
        files = proposal.branches.files(proposal.proposal)
        for name in ("sub/a.md", "/sub/a", "a", f"{base.collection.name}:sub/a"):
            part = select(base.collection, files, AcceptRequest(pages=(name,), text="# T\n", seen="1" * 40))
            assert (part.addresses, part.final, part.seen) == (
                {Address("sub/a.md")},
                {Address("sub/a.md"): b"# T\n"},
                "1" * 40,
            )
        assert select(base.collection, files, AcceptRequest()).addresses == {Address("sub/a.md"), Address("b.md")}
        with pytest.raises(NotFoundError, match="does not change"):
            select(base.collection, files, AcceptRequest(pages=("none",)))
        for request in (
            AcceptRequest(text="# T\n"),
            AcceptRequest(section="Title"),
            AcceptRequest(pages=("a",), section="Title", text="# T\n"),
        ):
            with pytest.raises(InvalidInputError):
                select(base.collection, files, request)


def test_many_paths_are_cut() -> None:
    assert shown_paths([str(number) for number in range(12)]).endswith("9 and 2 more")
