"""Names out of a repository are checked by the rules that Git itself has for them."""

from __future__ import annotations

import subprocess

import pytest

from cases import each_case
from commonplace.domain.errors import GitError
from commonplace.store.names import checked_ref, checked_tree_path, is_ref, is_tree_path, printable

REFS = (
    "refs/heads/main", "refs/heads/a/b-c_d.e", "refs/heads/\u00e9", "refs/heads/@", "refs/heads/a@b", "refs/heads/-x",
    "refs/heads/a.b", "refs/heads/a{b", "refs/commonplace/synced", "refs/heads/x.lockx",
    "refs/heads/", "refs/heads", "refs", "", "HEAD", "@", "config", "hooks/pre-commit", "/etc/passwd",
    "refs/heads/../../config", "refs/../x", "refs/heads/..", "refs/heads/a..b", "refs/heads/.a", "refs/heads/a/.b/c",
    "refs/heads/a.lock", "refs/heads/a.lock/b", "refs/heads/a.", "refs/heads/a b", "refs/heads/a~1", "refs/heads/a^",
    "refs/heads/a:b", "refs/heads/a?", "refs/heads/a*", "refs/heads/a[b", "refs/heads/a\\b", "refs/heads/a@{b",
    "refs//heads/a", "refs/heads//a", "refs/heads/a/", "refs/heads/a\tb", "refs/heads/a\nb", "refs/heads/a\x7fb",
    "refs/heads/a\x01b",
)  # fmt: skip


@pytest.mark.parametrize("name", REFS)
def test_a_ref_has_a_valid_name_where_git_says_so(name: str) -> None:
    git = subprocess.run(["git", "check-ref-format", name], check=False, timeout=60).returncode == 0
    assert is_ref(name) == (git and name.startswith("refs/")), name


@pytest.mark.parametrize("name", ["refs/heads/\0", "refs/heads/" + "x" * 251, "refs/heads/" + "x/" * 600 + "x"])
def test_a_ref_that_no_file_can_have_is_refused(name: str) -> None:
    assert not is_ref(name)
    with pytest.raises(GitError, match="valid name below refs/") as caught:
        checked_ref(name)
    assert caught.value.hint


def test_an_absolute_name_is_not_repeated() -> None:
    with pytest.raises(GitError) as caught:
        checked_ref("/home/somebody/.bashrc")
    assert "somebody" not in str(caught.value)


@each_case("path", ["a.md", "a/b.md", ".gitignore", ".github/x", "a/...md", "\u524d.md", "a b", "-x"])
def test_a_path_in_the_work_tree_is_one(path: str) -> None:
    assert checked_tree_path(path) == path


@each_case(
    "path",
    [
        "", "/", "/etc/passwd", "../x", "a/../b", "a//b", "a/", ".", "a/.", ".git/config", "a/.GIT/x", ".git",
        "git~1/x", ".git./x", ".git /x", ".g\u200cit/x", "a\0b",
    ],
)  # fmt: skip
def test_a_path_that_leads_elsewhere_is_refused(path: str) -> None:
    assert not is_tree_path(path)
    with pytest.raises(GitError, match="outside its work tree"):
        checked_tree_path(path)


@pytest.mark.parametrize(
    ("path", "shown_as"),
    [
        ("notes/ä 漢.md", "notes/ä 漢.md"),
        ("a\nError: b.md", "a\\nError: b.md"),
        ("\x1b[31mred.md", "\\x1b[31mred.md"),
        ("\udcff.md", "\\xff.md"),
    ],
)
def test_a_path_that_cannot_be_served_is_shown_on_one_line(path: str, shown_as: str) -> None:
    assert printable(path) == shown_as
