"""Link paths are joined, completed and made relative."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.markdown.paths import (
    ends_path,
    is_fixed,
    joined,
    leads_to,
    place_files,
    relative_path,
    slashed,
    without_suffix,
)

FOLDERS = ["", "a", "a/b", "a/b/ü", "ab", "ü/b", "ü"]


@each_case(
    ("folder", "path", "place"),
    [
        ("", "", ""),
        ("", "a.md", "a.md"),
        ("x", "a.md", "x/a.md"),
        ("x", "./a//b.md", "x/a/b.md"),
        ("x/y", "../a.md", "x/a.md"),
        ("x/y", "../..", ""),
        ("x/y", "..", "x"),
        ("x", "a/", "x/a/"),
        ("x", ".", "x"),
        ("x", "../..", None),
        ("", "../a.md", None),
        ("x", "a/../../../b", None),
        ("x", "..a/b...md", "x/..a/b...md"),
        ("x", "漢字/é.md", "x/漢字/é.md"),
    ],
)
def test_a_path_is_joined_with_its_folder_and_never_leads_above_the_root(
    folder: str, path: str, place: str | None
) -> None:
    assert joined(folder, path) == place


@each_case("path", ["/a", "./a", "../a", ".", "..", "/"])
def test_a_path_that_states_its_base_is_fixed(path: str) -> None:
    assert is_fixed(path)


@each_case("path", ["", "a", ".a", "..a", "a/../b", "...", ".hidden/a"])
def test_a_path_without_a_base_is_not_fixed(path: str) -> None:
    assert not is_fixed(path)


@each_case(
    ("place", "address"),
    [
        ("a.md", "a.md"),
        ("a", "a.md"),
        ("a", "A.MD"),
        ("a", "a/index.md"),
        ("a/", "a/README.md"),
        ("a.html", "a.md"),
        ("a.htm", "a.md"),
        ("", "index.md"),
        ("v1.2", "v1.2.md"),
        ("E\u0301tude", "étude.md"),
    ],
)
def test_a_place_leads_to_the_documents_it_can_mean(place: str, address: str) -> None:
    assert leads_to(place, Address(address))


@each_case(
    ("place", "address"),
    [(None, "index.md"), ("a/", "a.md"), ("a.md", "a.md/index.md"), ("a", "b/a.md"), ("a", "a/b.md")],
)
def test_a_place_leads_to_nothing_else(place: str | None, address: str) -> None:
    assert not leads_to(place, Address(address))


def test_the_file_itself_comes_before_a_completed_name_and_that_before_a_folder() -> None:
    files = list(place_files("guide"))
    assert files[:2] == ["guide", "guide.md"]
    assert files.index("guide.md") < files.index("guide/index.md") < files.index("guide/README.md")


@each_case(
    ("path", "folder", "relative"),
    [
        ("a.md", "", "a.md"),
        ("x/a.md", "x", "a.md"),
        ("a.md", "x/y", "../../a.md"),
        ("x/z/a.md", "x/y", "../z/a.md"),
        ("x", "x", "."),
        ("", "", "."),
        ("", "x", ".."),
        ("xy/a.md", "x", "../xy/a.md"),
    ],
)
def test_a_path_is_written_relative_to_a_folder(path: str, folder: str, relative: str) -> None:
    assert relative_path(path, folder) == relative


@each_case("path", FOLDERS)
@each_case("folder", FOLDERS)
def test_a_relative_path_leads_back(path: str, folder: str) -> None:
    assert (joined(folder, relative_path(path, folder)) or "").rstrip("/") == path


@each_case(
    ("path", "bare"),
    [
        ("a.md", "a"),
        ("a.MD", "a"),
        ("a.html", "a"),
        ("a.Htm", "a"),
        ("a.mdx", "a"),
        ("a.md.md", "a.md"),
        ("a.png", "a.png"),
        ("v1.2", "v1.2"),
        ("İ.MD", "İ"),
        ("", ""),
    ],
)
def test_the_suffix_of_a_page_is_removed_once(path: str, bare: str) -> None:
    assert without_suffix(path) == bare


@each_case(
    ("bare", "address", "ends"),
    [
        ("b", "a/b.md", True),
        ("a/b", "a/b.md", True),
        ("x", "x/index.md", True),
        ("w/x", "w/x/README.md", True),
        ("b", "a/ab.md", False),
        ("a", "a/b.md", False),
        ("x", "x/other.md", False),
    ],
)
def test_the_end_of_a_path_is_compared_by_whole_names(bare: str, address: str, ends: bool) -> None:
    assert ends_path(bare, Address(address), str.casefold) is ends


def test_the_separator_of_windows_becomes_a_slash() -> None:
    assert slashed("a\\b/c\\") == "a/b/c/"
