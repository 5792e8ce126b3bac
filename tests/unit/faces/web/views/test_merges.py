"""Merges in a browser: the rows that are shown, and the text that the choices give."""

from __future__ import annotations

from commonplace.domain.addresses import Address
from commonplace.faces.web.views.merges import merge_rows, packed, unpacked, with_choices
from commonplace.services.writes.saves import StaleTextError

BASE = b"one\ntwo\nthree\nfour\nfive\n"
MINE, THEIRS = BASE.replace(b"two", b"TWO"), BASE.replace(b"two", b"Two").replace(b"five", b"Five")


def versions(base: bytes | None) -> StaleTextError:
    return StaleTextError(Address("a.md"), base, MINE, THEIRS)


def test_only_a_place_that_both_changed_is_open() -> None:
    regions = versions(BASE).regions
    rows = merge_rows(regions, [region.merged for region in regions])
    assert [(row.number, row.line, row.by) for row in rows if row.number] == [(1, 2, "both")]
    assert [(row.theirs, row.by) for row in rows if not row.number] == [("Five\n", "others")]


def test_the_choices_give_the_text() -> None:
    assert with_choices(versions(BASE), {"choice-1": "mine"}) == MINE.replace(b"five", b"Five")
    assert with_choices(versions(BASE), {"choice-1": "theirs"}) == THEIRS
    assert with_choices(versions(BASE), {}) == THEIRS.replace(b"Two\n", b"Two\nTWO\n")
    assert with_choices(versions(None), {"choice-1": "mine", "choice-2": "theirs"}) == MINE.replace(b"five", b"Five")


def test_a_version_goes_through_a_form_and_what_is_none_is_refused() -> None:
    for content in (BASE, b"", None):
        assert unpacked(packed(content)) == content
    for text in ("", "x", "eHh4"):
        assert unpacked(text) is None
