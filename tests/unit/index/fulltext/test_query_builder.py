"""Queries of the full text: runs of characters in scripts without blanks."""

from __future__ import annotations

import pytest

from indexed import MakeBase


def test_a_phrase_in_a_script_without_blanks_must_stand_there_as_it_is(base: MakeBase) -> None:
    files = {"a.md": "# A\n\n知识库管理", "b.md": "# B\n\n管理知识的库"}
    assert base(files).found('"知识库管理"') == ["a.md"]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ('"ดื่"', ["a.md"]),
        ('"มา" ทุก', ["b.md"]),
        ("ทุกวัน -มา", ["a.md"]),
        ("ทุกวัน -ดื่", ["b.md"]),
        ("ทุกวัน AND มา", ["b.md"]),
        ("มา OR ดื่", ["a.md", "b.md"]),
    ],
)
def test_a_part_of_a_run_is_found_wherever_it_stands(base: MakeBase, asked: str, found: list[str]) -> None:
    files = {"a.md": "# A\n\nเขาดื่มกาแฟทุกวัน\n", "b.md": "# B\n\nเขามาที่นี่ทุกวัน\n"}
    made = base(files)
    assert sorted(made.found(asked)) == found
    for path, text in files.items():
        made.update(path, f"{text}\nx\n")
    assert sorted(made.found(asked)) == found
