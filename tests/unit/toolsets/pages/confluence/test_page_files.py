"""A page's file, and the merge of two edits by blocks."""

from __future__ import annotations

import random

from commonplace.toolsets.pages.confluence.page_files import merged, paragraphs, read_page_file, write_page_file


def test_a_file_reads_as_it_was_written() -> None:
    for title in ("A title", "*a* [b] #c <d>", "\\x", "1. x"):
        raw = write_page_file({"page_id": "7", "version": 3, "labels": ["a", "b"], "url": ""}, title, "Text.\n")
        file = read_page_file(raw)
        assert (file.id, file.version, file.title, file.body, file.labels) == ("7", 3, title, "Text.\n", {"a", "b"})
        assert raw.decode().split("\n")[file.body_line] == "Text."
    assert read_page_file(b"no title").body == "no title"
    assert paragraphs("a\n\n```\nb\n\nc\n```\n\nd") == ["a", "```\nb\n\nc\n```", "d"]


def test_edits_of_different_blocks_are_both_kept_and_of_one_block_are_a_conflict() -> None:
    base = "a\n\nb\n\nc\n\nd\n"
    assert merged(base, "A\n\nb\n\nc\n\nd\n", "a\n\nb\n\nc\n\nD\n") == "A\n\nb\n\nc\n\nD\n"
    assert merged(base, "a\n\nx\n\nc\n\nd\n", "a\n\ny\n\nc\n\nd\n") is None
    assert merged(base, base, "a\n") == "a\n"
    assert merged(base, "a\n\nb\n\nc\n\nd\n\ne\n", "a\n\nb\n\nc\n\nd\n\nf\n") is None


def test_nothing_that_either_side_wrote_is_lost() -> None:
    rng = random.Random(48)
    for round_number in range(500):
        base = [f"p{number}" for number in range(8)]
        sides: list[list[str]] = []
        for side in "xy":
            text = list(base)
            for count in range(rng.randint(0, 3)):
                at = rng.randrange(len(text) + 1)
                text[at : at + rng.choice((0, 1))] = [f"{side}{round_number}-{count}"] if rng.random() < 0.8 else []
            sides.append(text)
        whole = merged("\n\n".join(base), "\n\n".join(sides[0]), "\n\n".join(sides[1]))
        if whole is not None:
            blocks = set(paragraphs(whole))
            for side in sides:
                assert set(side) - set(base) <= blocks
            assert blocks <= set(sides[0]) | set(sides[1])
            assert set(sides[0]) & set(sides[1]) & set(base) <= blocks
