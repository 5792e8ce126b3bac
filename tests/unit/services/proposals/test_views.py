"""The collections as a proposer has them: own changes on top of what is served, and no write that reaches it."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError, NotFoundError, ReadOnlyError
from commonplace.domain.query import SearchQuery
from commonplace.services import writes
from commonplace.services.collections import Collection, Collections
from commonplace.services.proposals import decisions
from commonplace.services.proposals.views import proposal_lines, proposer_of, proposing
from commonplace.services.services import Services
from indexed import Indexed
from proposing import AGENT, ProposedBase, text_of

PAGES: dict[str, str | bytes] = {
    "a.md": "# A\n\nalpha\n",
    "sub/b.md": "# B\n\nbeta, see [[a]]\n",
    "pot.png": b"\x89PNG",
}


def paths_of(collection: Collection, text: str) -> list[str]:
    return [hit.record.address.path for hit in collection.index.search(SearchQuery(text=text)).hits]


def test_the_proposer_reads_lists_and_finds_the_own_changes_on_top_of_what_is_served(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        with base.view() as view:
            writes.create(view, Address("new/c.md"), b"# C\n\ngamma [[a]]\n")
            writes.delete(view, Address("sub/b.md"))
        writes.append(base.collection, Address("a.md"), "delta\n")
        with base.view(writes=False) as view:
            assert paths_of(view, "gamma") == ["new/c.md"]
            assert paths_of(view, "beta") == []
            assert paths_of(view, "delta") == ["a.md"]
            assert [link.source.path for link in view.index.links_to(Address("a.md"))] == ["new/c.md"]
            assert sorted(address.path for address, _ in view.store.scan()) == ["a.md", "new/c.md"]
            assert view.store.folders("") == ["new", "sub"]
            assert [address.path for address, _ in view.store.files("new")] == ["new/c.md"]
            assert view.store.files("sub") == []
            assert view.store.stat(Address("sub/b.md")) is None
            with pytest.raises(NotFoundError):
                text_of(view, "sub/b.md")
        for other in (proposer_of("key:agent", "session 2"), proposer_of("key:other", "session 1")):
            with base.view(other, writes=False) as view:
                assert paths_of(view, "gamma") == []
                assert paths_of(view, "beta") == ["sub/b.md"]
        assert paths_of(base.collection, "gamma") == []
        assert base.index.record(Address("new/c.md")) is None


def test_each_purpose_of_a_session_has_its_proposal(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        for purpose in ("", "Tidy", "", "Tidy"):
            with base.view(proposer_of("key:agent", "session 1", purpose)) as view:
                writes.append(view, Address("a.md"), "more\n")
        titles = sorted(base.found(other_id).proposal.title for other_id in base.open_ids())
        assert titles == ["Tidy", "Update: a"]


def test_a_write_is_checked_as_always(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES | {".commonplaceignore": "hidden/\n"}) as base, base.view() as view:
        with pytest.raises(AlreadyExistsError):
            writes.create(view, Address("A.md"), b"x")
        with pytest.raises(InvalidInputError, match="ignored"):
            writes.create(view, Address("hidden/x.md"), b"x")
        with pytest.raises(InvalidInputError, match="is a file"):
            writes.create(view, Address("a.md/x.md"), b"x")
        with pytest.raises(NotFoundError):
            writes.append(view, Address("none.md"), "x")
        assert base.open_ids() == []


def test_a_call_that_reads_cannot_write(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base, base.view(writes=False) as view:
        before = base.served()
        with pytest.raises(ReadOnlyError, match="only reads"):
            writes.append(view, Address("a.md"), "x")
        assert view.store.repository is None
        assert view.store.trash is not None
        assert view.store.trash.items() == []
        assert view.store.committing() is view.store
        assert base.served() == before


def test_a_folder_without_git_refuses_and_says_what_to_do(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "# A\n"}) as base:
        services = Services(collections=Collections(lambda: [base.collection]))
        with proposing(services, AGENT, writes=True) as view:
            with pytest.raises(ReadOnlyError, match="not in a Git repository") as caught:
                writes.append(view.services.collections.members[0], Address("a.md"), "x")
            assert "git init" in caught.value.hint
            assert text_of(view.services.collections.members[0], "a.md") == b"# A\n"


def test_a_repository_without_commits_and_a_folder_below_its_root(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, {}) as base:
        assert base.repo.git("for-each-ref") == ""
        with base.view() as view:
            writes.create(view, Address("a.md"), b"# A\n")
        assert base.accept().written == (Address("a.md"),)
        assert base.repo.git("show", "HEAD:a.md") == "# A"
    with ProposedBase(tmp_path / "below", PAGES, below="sub") as base:
        with base.view() as view:
            writes.append(view, Address("b.md"), "more\n")
            assert [address.path for address, _ in view.store.scan()] == ["b.md"]
        assert base.repo.git("diff", "--name-only", "HEAD", f"proposals/{base.open_ids()[0]}") == "sub/b.md"
        base.accept()
        assert base.texts()["b.md"].endswith(b"more\n")


def test_answers_name_the_proposal() -> None:
    assert proposal_lines({"base": "1-a"}, {}) == ["PROPOSED, not yet in the base: proposal 1-a waits for a person."]
    assert proposal_lines({}, {}) == []


def test_no_way_around_the_view_leads_to_what_is_served(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base, base.view() as view:
        before = base.served()
        with pytest.raises(ReadOnlyError, match="at the tier propose"):
            writes.append(base.collection, Address("a.md"), "x")
        assert base.served() == before
        writes.append(view, Address("a.md"), "x")


@pytest.mark.soak
def test_the_proposals_that_change_a_page_are_found_behind_any_number_of_others(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        for number in range(60):
            with base.view(proposer_of("key:agent", f"session {number}")) as view:
                if number == 0:
                    writes.rename(view, Address("a.md"), Address("moved.md"))
                elif number == 1:
                    writes.append(view, Address("sub/b.md"), "more\n")
                else:
                    writes.create(view, Address(f"n{number}.md"), b"# N\n")
        found = {
            path: decisions.listed(base.services.collections, page=Address(path))
            for path in ("a.md", "moved.md", "sub/b.md", "none.md")
        }
        assert [len(rows) for rows in found.values()] == [1, 1, 2, 0]
        assert decisions.listed(base.services.collections, proposer_of("key:other", "x"), page=Address("a.md")) == []
