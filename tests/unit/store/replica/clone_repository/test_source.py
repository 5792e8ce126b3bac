"""A replica's remote is a URL or a path, never an option and never a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.errors import ConfigError
from commonplace.store.replica.clone_repository import parse_source, path_of


@each_case(
    ("text", "url", "branch", "name"),
    [
        ("https://git.example.org/team/notes.git", "https://git.example.org/team/notes.git", "", "notes"),
        ("https://me:pw@git.example.org/team/notes#v2", "https://me:pw@git.example.org/team/notes", "v2", "notes"),
        ("git@git.example.org:team/notes.git", "git@git.example.org:team/notes.git", "", "notes"),
        ("ssh://git@example.org:2222/n/w.git/", "ssh://git@example.org:2222/n/w.git/", "", "w"),
        ("/srv/git/wissen ü.git", None, "", None),
        ("file:///srv/git/a.git#release/1.0", "file:///srv/git/a.git", "release/1.0", "a"),
        ("/srv/../srv/a:b", "/srv/a:b", "", "a-b"),
        ("/srv/.hidden", "/srv/.hidden", "", "hidden"),
        ("/srv/..git", "/srv/..git", "", "base"),
    ],
)
def test_a_url_has_a_name_and_perhaps_a_branch(text: str, url: str | None, branch: str, name: str | None) -> None:
    if url is None:
        with pytest.raises(ConfigError):
            parse_source(text)
        return
    source = parse_source(text)
    assert (source.url, source.branch.removeprefix("refs/heads/"), source.name) == (url, branch, name)
    assert Path(source.folder).name == f"{name}.git"


def test_a_whole_commit_id_is_a_commit_and_no_branch() -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    pinned, branch = parse_source(f"/srv/a#{commit}"), parse_source(f"/srv/a#{commit[:39]}")
    assert (pinned.commit, pinned.branch) == (commit, "")
    assert (branch.commit, branch.branch) == ("", f"refs/heads/{commit[:39]}")
    assert len({pinned.folder, branch.folder, parse_source("/srv/a").folder}) == 3


def test_a_relative_path_and_a_home_folder_are_made_absolute() -> None:
    assert parse_source("notes.git").url == str(Path("notes.git").absolute())
    assert parse_source("~/notes.git").url == str(Path("~/notes.git").expanduser())


def test_each_remote_and_branch_has_its_own_folder() -> None:
    texts = ["/srv/a", "/srv/b/a", "/srv/a#x", "/srv/a#y"]
    assert len({parse_source(text).folder for text in texts}) == len(texts)


@each_case(
    "text",
    [
        "", "#main", "--upload-pack=touch /x", "-u", "ext::sh -c touch% /x", "fd::3", "git://example.org/a",
        "ext://x", "https://", "https:///", "/srv/a\nb", "/srv/\0",
        "/srv/a#..", "/srv/a#-x y", "/srv/a#a..b", "/srv/a#a.lock",
    ],
)  # fmt: skip
def test_what_git_would_refuse_or_run_is_no_remote(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_source(text)
    assert caught.value.hint


def test_an_error_shows_no_password() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_source("gopher://me:hunter2@example.org/a")
    assert "hunter2" not in str(caught.value)


@each_case(
    ("url", "path"),
    [
        ("https://h/a/b.git", "/a/b.git"),
        ("git@h:a/b.git", "a/b.git"),
        ("h:/a/b", "/a/b"),
        ("a/b", "a/b"),
        ("ssh://h:22/a/b", "/a/b"),
    ],
)
def test_the_path_of_each_form_is_found(url: str, path: str) -> None:
    assert path_of(url) == path
