"""Merges of three texts: what one side changed is taken, and what both changed differently is a conflict."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from commonplace.domain.addresses import Address
from commonplace.domain.merge import (
    applied,
    hunks,
    merge_regions,
    merge_texts,
    split_lines,
    with_change,
    with_regions,
    with_rewritten,
    with_section,
    with_shared,
)

BASE = b"one\ntwo\nthree\nfour\nfive\n"
texts = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n", b"d"]), max_size=8).map(b"".join)


def test_changes_of_different_lines_are_both_taken() -> None:
    merged = merge_texts(BASE, BASE.replace(b"one", b"ONE"), BASE.replace(b"five", b"FIVE"))
    assert merged.content == BASE.replace(b"one", b"ONE").replace(b"five", b"FIVE")


def test_a_conflict_has_its_place_in_the_current_text_and_three_sides() -> None:
    merged = merge_texts(BASE, BASE.replace(b"four", b"4"), b"zero\n" + BASE.replace(b"four", b"IV"))
    assert merged.content is None
    (conflict,) = merged.conflicts
    assert (conflict.line, conflict.base, conflict.proposed, conflict.current) == (5, b"four\n", b"4\n", b"IV\n")


def test_what_both_sides_changed_alike_becomes_the_base() -> None:
    proposed = BASE.replace(b"one", b"ONE").replace(b"three", b"3")
    assert with_shared(BASE, proposed, BASE.replace(b"three", b"3") + b"six\n") == BASE.replace(b"three", b"3")
    assert with_shared(BASE, proposed, proposed) == proposed
    assert with_shared(BASE, proposed, BASE.replace(b"three", b"III")) == BASE


def test_a_deletion_is_merged_with_no_change() -> None:
    assert merge_texts(BASE, None, BASE).content is None
    assert merge_texts(BASE, None, BASE).conflicts == ()
    assert len(merge_texts(BASE, None, BASE + b"six\n").conflicts) == 1
    assert len(merge_texts(BASE, BASE + b"six\n", None).conflicts) == 1
    assert merge_texts(None, BASE, None).content == BASE
    assert len(merge_texts(None, BASE, b"other\n").conflicts) == 1


@given(texts, texts, texts)
@example(b"a\nd", b"a\nd\n", b"b\nd")
def test_merging_is_symmetric_and_keeps_a_side_that_alone_changed(base: bytes, mine: bytes, theirs: bytes) -> None:
    assert merge_texts(base, mine, theirs).content == merge_texts(base, theirs, mine).content
    assert merge_texts(base, mine, base).content == mine
    assert merge_texts(base, mine, mine).content == mine
    lines = split_lines(base)
    assert b"".join(lines) == base
    assert applied(lines, hunks(lines, split_lines(mine))) == mine


def test_what_merges_is_what_git_merges(tmp_path: Path) -> None:
    """Where there is no conflict for either, the bytes are those of `git merge-file`."""
    import random  # noqa: PLC0415 - seeded

    chance = random.Random(20_261_128)
    merged = 0
    for _ in range(150):
        lines = [b"line %d\n" % number for number in range(12)]
        sides = [list(lines), list(lines)]
        for side in sides:
            for _ in range(chance.randrange(3)):
                at = chance.randrange(len(side))
                side[at : at + chance.randrange(3)] = [b"new %d\n" % chance.randrange(3)] * chance.randrange(3)
        base, mine, theirs = (b"".join(element) for element in (lines, *sides))
        files = [tmp_path / name for name in ("mine", "base", "theirs")]
        for file, content in zip(files, (mine, base, theirs), strict=True):
            file.write_bytes(content)
        git = subprocess.run(["git", "merge-file", "-p", *map(str, files)], capture_output=True, check=False)
        result = merge_texts(base, mine, theirs)
        if git.returncode == 0 and not result.conflicts:
            assert result.content == git.stdout
            merged += 1
        assert git.returncode == 0 or result.conflicts
    assert merged > 50


@given(texts, texts, texts)
def test_a_change_is_taken_to_another_text_where_it_merges_and_wins_where_it_does_not(
    base: bytes, changed: bytes, other: bytes
) -> None:
    taken = with_change(base, changed, other)
    merged = merge_texts(base, changed, other, adjacent=True)
    assert merged.conflicts or taken == merged.content
    assert with_change(base, changed, base) == changed
    assert with_change(base, base, other) == other
    assert with_change(BASE, BASE.replace(b"two", b"2"), BASE.replace(b"two", b"II")) == BASE.replace(b"two", b"2")


def test_only_lines_that_differ_from_the_base_are_taken_as_rewritten() -> None:
    current = b"[a](a.md)\nnew [b](b.md)\n"
    rewritten = b"[a](../a.md)\nnew [b](../b.md)\n"
    assert with_rewritten(b"[a](a.md)\n", current, rewritten) == b"[a](a.md)\nnew [b](../b.md)\n"
    assert with_rewritten(b"", b"a\n", b"a\nb\n") == b"a\nb\n"
    base, current, other = b"[a](a.md)\none\n", b"[a](a.md)\nONE [a](a.md)\n", b"[a](x/a.md)\none\n"
    rewritten = b"[a](wrong.md)\nONE [a](x/a.md)\n"
    assert with_rewritten(base, current, rewritten, other) == b"[a](x/a.md)\nONE [a](x/a.md)\n"
    assert with_rewritten(base, current, rewritten, b"fewer\n") == rewritten


@given(st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n"]), max_size=6), st.data())
def test_the_regions_of_a_merge_give_the_merged_text_and_both_versions(base: list[bytes], data: st.DataObject) -> None:
    lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"x\n"]), max_size=6)
    before, proposed, current = b"".join(base), b"".join(data.draw(lines)), b"".join(data.draw(lines))
    regions = merge_regions(before, proposed, current)
    assert with_regions(before, regions, [region.proposed for region in regions]) == proposed
    assert with_regions(before, regions, [region.current for region in regions]) == current
    merged = merge_texts(before, proposed, current)
    if not merged.conflicts:
        assert merged.content == with_regions(before, regions, [region.merged or b"" for region in regions])


PAGE = "# Chain\n\n## Decision\n\nYes.\n"
ADDED = ("\n## Petra\n\nfirst\n", "\n## Other\n\nsecond\n\n### Below\n\nthird\n", "\n## Last\n\nfourth\n")


def test_a_section_is_taken_without_those_beside_it() -> None:
    address = Address("a.md")
    more = "\n## Zebra\n\nend\n"
    between = PAGE + "".join(ADDED).replace("\n## Petra", "\nMore.\n\n## Petra") + more
    cases = [
        (PAGE, PAGE + "".join(ADDED), "Chain > Petra", PAGE + ADDED[0]),
        (PAGE, PAGE + "".join(ADDED), "Other", PAGE + ADDED[1]),
        (PAGE, PAGE + "".join(ADDED), "Last", PAGE + ADDED[2]),
        (PAGE, PAGE + "".join(ADDED), "Decision", PAGE),
        (PAGE, PAGE + "".join(ADDED), "Chain", PAGE + "".join(ADDED)),
        (PAGE + more, PAGE + "".join(ADDED) + more, "Petra", PAGE + ADDED[0] + more),
        (PAGE + more, PAGE + "".join(ADDED) + more, "Last", PAGE + ADDED[2] + more),
        (PAGE + more, between, "Decision", PAGE + "\nMore.\n" + more),
        (PAGE + more, between, "Last", PAGE + ADDED[2] + more),
        (PAGE + "".join(ADDED) + more, PAGE + more, "Petra", PAGE + ADDED[1] + ADDED[2] + more),
        (PAGE + "".join(ADDED) + more, PAGE + more, "Other", PAGE + ADDED[0] + ADDED[2] + more),
        (PAGE, PAGE.replace("Decision", "Ruling"), "Ruling", PAGE.replace("Decision", "Ruling")),
        (PAGE + ADDED[0], PAGE + ADDED[1] + ADDED[2], "Last", PAGE + ADDED[0] + ADDED[2]),
    ]
    for base, proposed, section, accepted in cases:
        text = with_section(address, base.encode(), proposed.encode(), section).decode()
        plain = "\n".join(line for line in text.split("\n") if line)
        assert plain == "\n".join(line for line in accepted.split("\n") if line), (proposed, section)


def test_a_section_brings_the_text_that_it_supersedes_into_the_history() -> None:
    address = Address("a.md")
    tail = "\n## Log\n\n- made\n"
    new = PAGE.replace("Yes.", "No.")
    kept = "\n### Decision, until 2026 {status=superseded}\n\nYes.\n\n#### Why\n\nSo.\n"
    other = "\n### Other, until 2026 {status=superseded}\n\nsecond\n"
    history, base = "\n## History\n", PAGE.replace("Yes.\n", "Yes.\n\n### Why\n\nSo.\n")
    cases = [
        (base + tail, new + tail + history + kept, new + tail + history + kept),
        (base + ADDED[0], new + ADDED[0] + history + other + kept + tail, new + ADDED[0] + history + kept),
        (base + history + other, new + history + kept + other, new + history + kept + other),
        (base + tail, new + tail + "\n## Elsewhere\n\nYes.\n", new + tail),
    ]
    for before, proposed, accepted in cases:
        text = with_section(address, before.encode(), proposed.encode(), "Decision").decode()
        assert [line for line in text.split("\n") if line] == [line for line in accepted.split("\n") if line], proposed
