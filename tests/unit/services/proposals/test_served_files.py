"""Proposals of pages that others have moved since: followed, or a conflict that names where the page is now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConflictError
from commonplace.domain.revisions import revision_of
from commonplace.services import writes
from commonplace.services.collections import Collection
from commonplace.services.proposals import decisions, reports
from commonplace.services.proposals.acceptance import ProposalConflictError
from commonplace.services.proposals.reports import FileRange
from commonplace.services.proposals.selection import AcceptRequest
from proposing import ProposedBase

B = "# B\n\nbeta, see [a](a.md)\n\n## Plan\n\none\n\n## Log\n\ntwo\n"
MOVED = B.replace("a.md", "../a.md")
PAGES: dict[str, str | bytes] = {"a.md": "# A\n\nalpha [b](b.md)\n", "b.md": B}
OLD, NOW, ELSEWHERE = Address("b.md"), Address("teas/b.md"), Address("drinks/b.md")


def test_what_is_proposed_lands_on_the_page_under_its_new_name(tmp_path: Path) -> None:
    for number, commit in enumerate(("auto", "manual")):
        with ProposedBase(tmp_path / str(number), PAGES, commit) as base:  # type: ignore[arg-type]
            with base.view() as view:
                writes.replace_once(view, OLD, "one", "ONE, see [a](a.md) and [here](b.md#log)")
                writes.replace_once(view, OLD, "two", "TWO")
            writes.rename(base.collection, OLD, NOW)
            writes.replace_once(base.collection, NOW, "beta", "BETA")
            (shown,) = reports.report(base.services.collections, base.found()).files
            assert (shown.now, shown.conflicts, shown.current) == (NOW, (), revision_of(base.texts()[NOW.path]))
            for page, count in ((NOW, 1), (OLD, 1), (Address("a.md"), 0)):
                assert len(decisions.listed(base.services.collections, page=page)) == count, page
            text = MOVED.replace("beta", "BETA").replace("two", "TWO")
            receipt = base.accept("", AcceptRequest(pages=("teas/b",), section="Log"))
            assert (receipt.written, receipt.proposal.state) == ((NOW,), "open")
            assert base.texts()[NOW.path] == text.encode()
            assert base.accept().proposal.state == "accepted"
            text = text.replace("one", "ONE, see [a](../a.md) and [here](b.md#log)")
            assert base.texts() == {"a.md": b"# A\n\nalpha [b](teas/b.md)\n", NOW.path: text.encode()}


def test_the_findings_of_all_of_it_are_those_at_the_page_s_new_place(tmp_path: Path) -> None:
    pages = {**PAGES, "c.md": "# C\n\n[log](b.md#log)\n"}
    changes: dict[str, Callable[[Collection], object]] = {
        "dead_anchor": lambda view: writes.replace_once(view, OLD, "## Log", "## Notes"),
        "broken_link": lambda view: writes.delete(view, OLD),
    }
    for rule, change in changes.items():
        with ProposedBase(tmp_path / rule, pages) as base:
            with base.view() as view:
                change(view)
            writes.rename(base.collection, OLD, NOW)
            (whole,) = reports.report(base.services.collections, base.found()).files
            (part,) = reports.report(base.services.collections, base.found(), FileRange(page="b")).files
            assert whole.new_findings == part.new_findings
            assert ("c.md", rule) in {(row.path, row.rule) for row in whole.new_findings}


def test_a_deletion_and_an_equal_move_follow_a_move(tmp_path: Path) -> None:
    with ProposedBase(tmp_path / "deleted", PAGES) as base:
        with base.view() as view:
            writes.delete(view, OLD)
        writes.rename(base.collection, OLD, NOW)
        assert base.accept().removed == (NOW,)
    with ProposedBase(tmp_path / "changed", PAGES) as base:
        with base.view() as view:
            writes.delete(view, OLD)
        writes.rename(base.collection, OLD, NOW)
        writes.append(base.collection, NOW, "More\n")
        with pytest.raises(ProposalConflictError, match=r"b\.md was moved since: the page is teas/b\.md now"):
            base.accept()
        assert NOW.path in base.texts()
    with ProposedBase(tmp_path / "moved", PAGES) as base:
        with base.view() as view:
            writes.rename(view, OLD, NOW)
            writes.replace_once(view, NOW, "one", "ONE")
        writes.rename(base.collection, OLD, NOW)
        writes.replace_once(base.collection, NOW, "two", "TWO")
        assert base.accept().proposal.state == "accepted"
        assert base.texts()[NOW.path] == MOVED.replace("one", "ONE").replace("two", "TWO").encode()


def test_a_page_that_both_moved_is_a_conflict_that_names_where_it_is(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, PAGES) as base:
        with base.view() as view:
            writes.rename(view, OLD, ELSEWHERE)
            writes.replace_once(view, ELSEWHERE, "one", "ONE")
        writes.rename(base.collection, OLD, NOW)
        before = base.served()
        (shown,) = [file for file in reports.report(base.services.collections, base.found()).files if file.now]
        assert (shown.file.address, shown.now, len(shown.conflicts)) == (ELSEWHERE, NOW, 1)
        with pytest.raises(ProposalConflictError, match=r"the page is teas/b\.md now") as caught:
            base.accept("", AcceptRequest(pages=("drinks/b",)))
        assert caught.value.hint.startswith("Move teas/b.md to drinks/b.md, then accept. Or accept it with its final")
        assert base.served() == before
        writes.rename(base.collection, NOW, ELSEWHERE)
        base.accept()
        assert base.texts()[ELSEWHERE.path] == MOVED.replace("one", "ONE").encode()
        assert base.texts()["a.md"] == b"# A\n\nalpha [b](drinks/b.md)\n"
    with ProposedBase(tmp_path / "final", PAGES) as base:
        with base.view() as view:
            writes.rename(view, OLD, ELSEWHERE)
        writes.rename(base.collection, OLD, NOW)
        base.accept("", AcceptRequest(pages=("drinks/b",), text="# B\n\nboth\n"))
        assert base.texts()[NOW.path] == b"# B\n\nboth\n"
        assert not {OLD.path, ELSEWHERE.path} & base.texts().keys()


def test_a_move_onto_a_taken_path_or_of_a_deleted_page_is_a_conflict(tmp_path: Path) -> None:
    meetings: dict[str, Callable[[Collection], object]] = {
        "^Another page is teas/b.md now": lambda served: writes.create(served, NOW, b"# Other\n"),
        "^b.md was deleted since, and the proposal moves it": lambda served: writes.delete(served, OLD),
    }
    for number, (reason, meet) in enumerate(meetings.items()):
        with ProposedBase(tmp_path / str(number), PAGES) as base:
            with base.view() as view:
                writes.rename(view, OLD, NOW)
            meet(base.collection)
            before = base.served()
            (shown,) = [
                file for file in reports.report(base.services.collections, base.found()).files if file.conflicts
            ]
            assert shown.file.address == NOW
            with pytest.raises(ProposalConflictError, match=reason):
                base.accept()
            assert base.served() == before
            stale = AcceptRequest(pages=(NOW.path,), text="# Mine\n", seen="0" * 40)
            with pytest.raises(ConflictError):
                base.accept("", stale)
            assert base.served() == before


def test_a_conflict_that_is_none_of_lines_says_what_became_of_the_page(tmp_path: Path) -> None:
    def change(collection: Collection) -> object:
        return writes.replace_once(collection, OLD, "one", "ONE")

    def delete(collection: Collection) -> object:
        return writes.delete(collection, OLD)

    def create(collection: Collection) -> object:
        return writes.create(collection, Address("n.md"), b"# Served\n" if collection.proposals else b"# Proposed\n")

    for number, (mine, theirs, reason, hint) in enumerate(
        (
            (change, delete, "b.md was deleted since, and the proposal changes it.", "Restore it, then accept."),
            (delete, change, "b.md was changed since. The proposal deletes it.", "Have it proposed anew"),
            (create, create, "n.md was created since, and the proposal creates it.", "Accept it with its final text."),
        )
    ):
        with ProposedBase(tmp_path / str(number), PAGES) as base:
            with base.view() as view:
                mine(view)
            theirs(base.collection)
            (shown,) = reports.report(base.services.collections, base.found()).files
            assert [conflict.reason for conflict in shown.conflicts] == [reason]
            with pytest.raises(ProposalConflictError) as caught:
                base.accept()
            assert str(caught.value) == f"{reason} Nothing was written."
            assert caught.value.hint.startswith(hint)
            final = base.accept("", AcceptRequest(pages=(shown.file.address.path,), text="# Final\n"))
            assert final.proposal.state == "accepted"
            assert base.texts()[shown.file.address.path] == b"# Final\n"


def test_proposed_links_to_pages_that_others_have_moved_lead_there(tmp_path: Path) -> None:
    pages = {**PAGES, "c.md": "# C\n", "x/see.md": "# See\n\n[c](../c.md)\n"}
    for number, commit in enumerate(("auto", "manual")):
        with ProposedBase(tmp_path / str(number), pages, commit) as base:  # type: ignore[arg-type]
            with base.view() as view:
                writes.replace_once(view, OLD, "one", "one, see [c](c.md), [[c]] and [gone](gone.md)")
                writes.replace_once(view, Address("x/see.md"), "# See", "# Look")
                writes.create(view, Address("x/new.md"), b"# New\n\n[c](../c.md) [see](see.md)\n")
            writes.rename(base.collection, Address("c.md"), Address("teas/oolong.md"))
            causes = [
                finding.message
                for file in reports.report(base.services.collections, base.found()).files
                for finding in file.new_findings
            ]
            assert len(causes) == 1, causes
            assert "gone" in causes[0]
            assert base.accept().proposal.state == "accepted"
            texts = base.texts()
            line = b"one, see [c](teas/oolong.md), [[oolong]] and [gone](gone.md)"
            assert texts[OLD.path] == B.encode().replace(b"one", line)
            assert texts["x/see.md"] == b"# Look\n\n[c](../teas/oolong.md)\n"
            assert texts["x/new.md"] == b"# New\n\n[c](../teas/oolong.md) [see](see.md)\n"


def test_links_follow_moves_of_both_sides_into_other_folders(tmp_path: Path) -> None:
    pages = {"a.md": "# A\n\n[b](b.md)\n\n[c](c.md)\n\none\n", "b.md": "# B\n", "c.md": "# C\n"}
    with ProposedBase(tmp_path, pages) as base:
        with base.view() as view:
            writes.replace_once(view, Address("a.md"), "one", "ONE")
            writes.rename(view, Address("c.md"), Address("deep/c.md"))
        writes.rename(base.collection, OLD, NOW)
        with base.view() as view:
            writes.rename(view, Address("a.md"), Address("done/a.md"))
        base.accept()
        expected = b"# A\n\n[b](../teas/b.md)\n\n[c](../deep/c.md)\n\nONE\n"
        assert base.texts() == {"done/a.md": expected, "teas/b.md": b"# B\n", "deep/c.md": b"# C\n"}
    with ProposedBase(tmp_path / "theirs", pages) as base:
        with base.view() as view:
            writes.rename(view, Address("c.md"), Address("deep/c.md"))
        writes.rename(base.collection, Address("a.md"), Address("done/a.md"))
        base.accept()
        expected = b"# A\n\n[b](../b.md)\n\n[c](../deep/c.md)\n\none\n"
        assert base.texts() == {"done/a.md": expected, "b.md": b"# B\n", "deep/c.md": b"# C\n"}


def test_a_page_that_took_the_place_of_a_moved_one_is_left_alone(tmp_path: Path) -> None:
    other = b"# Other\n\nnothing of that\n"
    changes: dict[str, Callable[[Collection], object]] = {
        "changed": lambda view: writes.replace_once(view, OLD, "one", "ONE"),
        "deleted": lambda view: writes.delete(view, OLD),
        "moved": lambda view: writes.rename(view, OLD, ELSEWHERE),
    }
    for name, change in changes.items():
        with ProposedBase(tmp_path / name, PAGES) as base:
            with base.view() as view:
                change(view)
            writes.rename(base.collection, OLD, NOW)
            writes.create(base.collection, OLD, other)
            shown = [file for file in reports.report(base.services.collections, base.found()).files if file.now]
            assert [file.now for file in shown] == [NOW], name
            if name == "moved":
                with pytest.raises(ProposalConflictError, match=r"b\.md was moved since.*the page is teas/b\.md now"):
                    base.accept()
            else:
                base.accept()
            texts = base.texts()
            assert texts[OLD.path] == other
            landed = {"changed": MOVED.replace("one", "ONE"), "deleted": None, "moved": MOVED}[name]
            assert texts.get(NOW.path) == (landed and landed.encode())
            assert ELSEWHERE.path not in texts
    with ProposedBase(tmp_path / "later", PAGES) as base:  # what is proposed of the new page is of that one
        with base.view() as view:
            writes.create(view, Address("n.md"), b"# N\n")
        writes.rename(base.collection, OLD, NOW)
        writes.create(base.collection, OLD, other)
        with base.view() as view:
            writes.replace_once(view, OLD, "nothing", "all")
        base.accept()
        assert base.texts()[OLD.path] == other.replace(b"nothing", b"all")
