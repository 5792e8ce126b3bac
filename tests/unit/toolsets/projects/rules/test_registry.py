"""The list of projects: read, written and merged."""

from __future__ import annotations

import json

import pytest

from cases import each_case
from commonplace.toolsets.projects.rules.registry import (
    EMPTY_REGISTRY,
    ignores_log,
    is_in_project,
    is_stored,
    merge_registries,
    read_registry,
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
