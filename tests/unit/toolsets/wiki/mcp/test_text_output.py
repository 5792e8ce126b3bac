"""Pieces of the wiki's texts that whole answers do not show."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.toolsets.wiki.mcp import text_output
from commonplace.toolsets.wiki.rules import NoteChunk, NoteChunks, NoteCommit


@each_case(
    ("text", "shown"),
    [
        ("short", "short"),
        ("two\nlines  here", "two lines here"),
        ("cut by the index…", "cut by the index..."),
        ("x" * 200, "x" * 150 + "..."),
        ("word " * 60, ("word " * 30).rstrip() + "..."),
        ("", ""),
    ],
)
def test_an_excerpt_is_one_line_of_at_most_150_characters(text: str, shown: str) -> None:
    assert text_output.short_excerpt(text) == shown


def test_answers_by_meaning_are_numbered_with_their_distance() -> None:
    chunk = NoteChunk(
        path="Trends/Iran Attrition Strategy",
        name="Iran Attrition Strategy",
        snippet="Iran is executing a multi-phase attrition campaign designed to degrade…",
        text="",
        distance=0.3351,
        section="",
        section_path="",
        chunk_index=0,
        total_chunks=1,
        page_word_count=1,
    )
    assert text_output.chunks_text("strategy", NoteChunks((chunk,))) == (
        '1 results for "strategy":\n\n1. Trends/Iran Attrition Strategy (distance: 0.34)\n'
        "   Iran is executing a multi-phase attrition campaign designed to degrade..."
    )
    assert text_output.chunks_text("q", NoteChunks(())) == '0 results for "q":'
    under_way = NoteChunks((), "Embedding is under way.")
    assert text_output.chunks_text("q", under_way) == '0 results for "q":\n\nEmbedding is under way.'
    shown = text_output.chunks_text("q", NoteChunks((chunk,), "No page contains a word of 'q'."))
    assert shown.startswith("1 results for \"q\":\n\nNo page contains a word of 'q'.\n\n1. Trends/")


@pytest.mark.parametrize(
    ("date", "shown"),
    [
        ("2026-03-08T01:02:03+02:00", "2026-03-07 23:02"),
        ("2026-03-08T01:02:03Z", "2026-03-08 01:02"),
        ("yesterday", "yesterday"),
    ],
)
def test_dates_are_minutes_in_utc(date: str, shown: str) -> None:
    assert text_output.minute_text(date) == shown


def test_a_commit_without_pages_has_no_empty_column() -> None:
    shown = text_output.changes_text([NoteCommit("a" * 40, "Me", "2026-03-08T00:00:00Z", "One\n\nTwo")])
    assert shown == "1 recent changes:\n\n- 2026-03-08 00:00 | Me\n  One"
    commit = NoteCommit("a" * 40, "Ada", "2026-03-08T00:00:00Z", "One\n\nCommonplace-Client: claude-code 2.1")
    assert "| Ada, through claude-code 2.1\n  One" in text_output.history_text("a", [commit])
