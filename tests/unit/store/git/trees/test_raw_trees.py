"""Differences between two raw trees equal those found by parsing both trees completely."""

from __future__ import annotations

from hashlib import sha1

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.store.git.objects import RawTree, format_tree, in_order, parse_tree
from commonplace.store.git.trees import RawTreeCache, differing_entries

MODES = st.sampled_from([b"100644", b"100755", b"40000", b"120000", b"160000"])
NAMES = st.one_of(
    st.sampled_from([b"a", b"b", b"a.md", b"100644 a", b"40000 ", b"20 x", b"\xff", b"page-1.md", b"page-10.md"]),
    st.binary(min_size=1, max_size=6).map(lambda raw: raw.replace(b"\0", b"x").replace(b"/", b"x")),
)
IDS = st.one_of(
    st.sampled_from([bytes(20), b"100644 a\0" + bytes(11), b"40000 b\0" * 2 + b"1234"]),
    st.integers(0, 5).map(lambda number: sha1(bytes([number]), usedforsecurity=False).digest()),
)
TREES = st.dictionaries(NAMES, st.tuples(MODES, IDS), max_size=12).map(in_order)


def compared(old: bytes, new: bytes) -> tuple[RawTree, RawTree]:
    """Old and new entries of the names that differ."""
    before, after = differing_entries(old, new)
    names = {name for name, _ in before.items() ^ after.items()}
    return {name: before[name] for name in names & before.keys()}, {name: after[name] for name in names & after.keys()}


def expected(old: bytes, new: bytes) -> tuple[RawTree, RawTree]:
    before, after = parse_tree(old), parse_tree(new)
    names = {name for name, _ in before.items() ^ after.items()}
    return {name: before[name] for name in names & before.keys()}, {name: after[name] for name in names & after.keys()}


@given(TREES, TREES)
def test_any_two_trees_differ_as_their_parsed_entries_do(one: RawTree, two: RawTree) -> None:
    old, new = format_tree(one), format_tree(two)
    assert compared(old, new) == expected(old, new)


@given(TREES, st.dictionaries(NAMES, st.none() | st.tuples(MODES, IDS), max_size=2))
def test_a_few_changes_of_a_tree_are_what_differs(
    tree: RawTree, changes: dict[bytes, tuple[bytes, bytes] | None]
) -> None:
    changed = in_order({name: entry for name, entry in {**tree, **changes}.items() if entry is not None})
    old, new = format_tree(tree), format_tree(changed)
    assert compared(old, new) == expected(old, new)


@given(st.binary(max_size=80), TREES, st.binary(max_size=10))
def test_contents_that_are_no_trees_are_parsed_whole(garbage: bytes, tree: RawTree, tail: bytes) -> None:
    whole = format_tree(tree)
    pairs = (garbage, whole), (whole, whole + tail), (garbage + whole, whole), (whole + garbage, whole + tail)
    for old, new in pairs:
        assert compared(old, new) == expected(old, new)


def test_of_a_large_folder_only_the_changed_entries_are_parsed() -> None:
    names = [b"page-%05d.md" % number for number in range(10_000)]
    tree = {name: (b"100644", sha1(name, usedforsecurity=False).digest()) for name in names}
    changed = {**tree, names[5_000]: (b"100644", bytes(20))}
    before, after = differing_entries(format_tree(tree), format_tree(changed))
    assert (list(before), list(after)) == ([names[5_000]], [names[5_000]])
    del changed[names[5_000]]
    before, after = differing_entries(format_tree(tree), format_tree(changed))
    assert names[5_000] in before
    assert len(before) + len(after) <= 3
    changed = {**tree, names[10]: (b"100644", bytes(20)), b"page-04000x.md": (b"100644", bytes(20))}
    del changed[names[9_000]]
    before, after = differing_entries(format_tree(tree), format_tree(in_order(changed)))
    assert len(before) + len(after) <= 12, "what lies between two changes is compared as bytes"
    assert set(before) ^ set(after) == {b"page-04000x.md", names[9_000]}
    assert differing_entries(format_tree(tree), b"") == (tree, {})


def test_the_cache_holds_no_more_than_its_limit() -> None:
    read: list[str] = []

    def content(identifier: str) -> bytes:
        read.append(identifier)
        return identifier.encode() * 10

    cache = RawTreeCache(content, 30)
    for identifier in ("a", "a", "b", "c", "d", "d", "a"):
        assert cache.tree(identifier) == identifier.encode() * 10
    assert read == ["a", "b", "c", "d", "a"]
    assert cache.tree("") == b""


@pytest.mark.parametrize("tail", [b"x", b"100644 name", b"100644 name\0short"])
def test_a_tree_that_was_cut_off_has_the_entries_that_are_whole(tail: bytes) -> None:
    tree = {b"a": (b"100644", bytes(20)), b"b": (b"100644", bytes(20))}
    before, after = differing_entries(format_tree(tree) + tail, b"")
    assert before == tree
    assert after == {}
