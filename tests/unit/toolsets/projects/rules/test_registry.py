"""The list of projects: read, written and merged."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from commonplace.domain.addresses import MAX_COMPONENT_BYTES, parse_address
from commonplace.toolsets.projects.rules.registry import (
    EMPTY_REGISTRY,
    ascii_slug,
    file_slug,
    folder_slug,
    ignores_log,
    is_in_project,
    is_stored,
    merge_registries,
    read_registry,
    task_slug,
)


def raw(projects: dict[str, str], **others: object) -> bytes:
    return json.dumps({**others, "projects": projects}).encode()


def merged(base: dict[str, str], ours: dict[str, str], theirs: dict[str, str]) -> dict[str, str] | None:
    registries = merge_registries(raw(base), raw(ours), raw(theirs))
    registry = read_registry(registries) if registries is not None else None
    return dict(registry.folders) if registry else None


def test_projects_and_unknown_keys_come_back_as_they_were() -> None:
    registry = read_registry(raw({"Ünd / more": "und-more", "b": "b"}, version=2, x=[1]))
    assert registry is not None
    changed = registry.with_project("c", "c").without("b").without("not there")
    assert read_registry(changed.content) == changed
    assert list(changed.folders) == ["Ünd / more", "c"]
    assert changed.others == {"version": 2, "x": [1]}
    assert changed.content.endswith(b"\n")
    assert read_registry(EMPTY_REGISTRY.content) == EMPTY_REGISTRY
    assert read_registry(b"\xef\xbb\xbf" + raw({})) == EMPTY_REGISTRY


@each_case(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        b'{"projects": []}',
        b'{"projects": {"a": 5}}',
        raw({"a": "../x"}),
        raw({"a": ".hidden"}),
        raw({"a": "x/y"}),
        raw({"a": "x\\y"}),
        raw({"a": ""}),
        raw({"a": " "}),
        raw({"a": "x\0"}),
    ],
)
def test_a_list_that_is_damaged_or_leads_elsewhere_is_none(content: bytes) -> None:
    assert read_registry(content) is None
    assert merge_registries(content, raw({}), content) is None


@each_case(
    ("base", "ours", "theirs", "expected"),
    [
        ({}, {"a": "a"}, {"b": "b"}, {"a": "a", "b": "b"}),
        ({"a": "a"}, {}, {"a": "a"}, {}),
        ({"a": "a"}, {"a": "a"}, {}, {}),
        ({"a": "a"}, {}, {}, {}),
        ({"a": "a"}, {"a": "x"}, {"a": "x"}, {"a": "x"}),
        ({"a": "a"}, {"a": "x"}, {"a": "y"}, None),
        ({"a": "a"}, {"a": "x"}, {}, None),
        ({}, {"a": "f"}, {"b": "f"}, None),
    ],
)
def test_both_sides_changes_are_kept_unless_they_contradict(
    base: dict[str, str], ours: dict[str, str], theirs: dict[str, str], expected: dict[str, str] | None
) -> None:
    assert merged(base, ours, theirs) == expected
    assert merged(base, theirs, ours) == expected


def test_a_merge_without_an_ancestor_keeps_the_keys_of_both() -> None:
    registries = merge_registries(b"", raw({"a": "a"}, x=1), raw({"b": "b"}, x=2, y=3))
    registry = read_registry(registries or b"")
    assert registry is not None
    assert registry.others == {"x": 1, "y": 3}


@each_case(
    ("path", "stored"),
    [
        ("index.json", True),
        ("projects/app/main.md", True),
        ("projects/app/TODO/1/index.json", True),
        ("projects/app/index.json", False),
        ("projects/app/secret.env", False),
        ("projects/app/.git/x.md", False),
        ("projects/.hidden/a.md", False),
        ("other/a.md", False),
        ("README.md", False),
        ("projectsX/a.md", False),
    ],
)
def test_only_files_of_projects_are_committed(path: str, stored: bool) -> None:
    assert is_stored(path) is stored


def test_hidden_files_are_in_no_project() -> None:
    assert is_in_project("projects/app/a.txt")
    assert not is_in_project("projects/app/.a.txt")


@pytest.mark.parametrize(
    ("text", "expected"),
    [(b"activity.log\n", True), (b"a\r\n /activity.log \r\n", True), (b"# activity.log\n", False), (b"", False)],
)
def test_a_store_that_ignores_its_log_says_so_in_a_line(text: bytes, expected: bool) -> None:
    assert ignores_log(text) is expected


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
