"""Names of files from titles and ids."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.addresses import MAX_COMPONENT_BYTES, parse_address
from commonplace.toolsets.projects.rules.file_names import ascii_slug, file_slug, folder_slug, task_slug


@each_case(
    ("title", "name"),
    [
        ("User's Guide & FAQ", "users-guide-and-faq.md"),
        ("  notes.MD ", "notes.md"),
        ("a--b   c", "a-b-c.md"),
        ("C++ & C#", "cplusplus-and-csharp.md"),
        ("100 $", "100-dollar.md"),
        ("Crème Brûlée", "creme-brulee.md"),
        ("Straße Łódź Ærø", "strasse-lodz-aero.md"),
        ("\uff21\uff22", "ab.md"),
        ("日本 語", "日本-語.md"),
        ("한국", "한국.md"),
        ("हिन्दी", "हिन्दी.md"),
        ("tab\tand\nline", "tab-and-line.md"),
        ("a/b\\c:d", "abcd.md"),
        ("..", None),
        ("...md", None),
        ("\u202egnp", "gnp.md"),
    ],
)
def test_a_title_becomes_a_file_name(title: str, name: str | None) -> None:
    slug = file_slug(title)
    assert name is None or slug == name
    assert parse_address(slug).path == slug


@each_case("text", ["!?", "...", "\u200b", "\udcff", "-"])
def test_a_text_of_signs_alone_gets_a_name_of_its_own(text: str) -> None:
    assert ascii_slug(text)
    assert ascii_slug(text) == ascii_slug(text)
    assert ascii_slug(text) != ascii_slug(text + "?")
    assert any(character.isalnum() for character in ascii_slug(text))


@pytest.mark.parametrize("letter", ["a", "é", "茶", "ß"])
def test_a_long_name_is_cut_to_what_a_file_system_takes_and_stays_its_own(letter: str) -> None:
    slug, other = file_slug(letter * 600), file_slug(letter * 601)
    assert len(slug.encode()) <= MAX_COMPONENT_BYTES
    assert slug != other
    assert slug.endswith(".md")
    assert len(task_slug(letter * 600).encode()) <= 100


def test_a_sign_with_a_name_is_called_by_it() -> None:
    assert (ascii_slug("😀"), ascii_slug("→ !")) == ("grinning-face", "rightwards-arrow")
    assert len(task_slug("😀" * 600).encode()) <= 100


def test_a_folder_that_is_taken_gets_the_first_free_number() -> None:
    assert folder_slug("My App", lambda _: False) == "my-app"
    assert folder_slug("My App", {"my-app"}.__contains__) == "my-app-2"
    assert folder_slug("My App", {"my-app", "my-app-2", "my-app-3"}.__contains__) == "my-app-4"
    long = folder_slug("茶" * 100, lambda name: not name.endswith("-12"))
    assert long.endswith("-12")
    assert len(long.encode()) <= MAX_COMPONENT_BYTES
