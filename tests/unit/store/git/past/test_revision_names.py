"""Names of commits: ids and tags, whatever lies in `refs/tags`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.past import PastCommits, StoreWithPast
from commonplace.store import open_store
from support import GitRepo, MakeRepo


def past_of(repo: GitRepo, place: Path) -> PastCommits:
    store = open_store(repo.path, commit="manual", state_dir=place / "state")
    assert isinstance(store, StoreWithPast)
    assert store.past is not None
    return store.past


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    made = git_repo(files={"a.md": "# One\n"})
    made.git("tag", "one")
    made.git("tag", "--annotate", "annotated", "--message", "x")
    made.git("tag", "of-blob", made.git("rev-parse", "HEAD:a.md"))
    made.git("tag", "of-tree", "HEAD^{tree}")
    made.commit(**{"a.md": "# Two\n"})
    return made


def test_a_tag_is_found_loose_annotated_and_packed(repo: GitRepo, tmp_path: Path) -> None:
    first = repo.git("rev-parse", "one")
    past = past_of(repo, tmp_path)
    assert [past.commit(name).id for name in ("one", "annotated", first, first[:9])] == [first] * 4
    repo.git("pack-refs", "--all")
    assert past_of(repo, tmp_path).commit("one").id == first
    assert past.store(first).read(Address("a.md")) == b"# One\n"


@pytest.mark.parametrize("name", ["Äpfel", "発売/2026", "a,b=c", "_old", "v1@home"])
def test_a_tag_of_any_name_that_git_allows_is_found(repo: GitRepo, tmp_path: Path, name: str) -> None:
    repo.git("tag", name, "one")
    assert past_of(repo, tmp_path).commit(name).id == repo.git("rev-parse", "one")


@pytest.mark.parametrize(
    "content", ["ref: refs/tags/loop\n", "ref: refs/tags/one\n", "garbage", "0" * 39 + "1\n", "x" * 5000]
)
def test_a_tag_that_git_did_not_write_is_none(repo: GitRepo, tmp_path: Path, content: str) -> None:
    past = past_of(repo, tmp_path)
    (repo.path / ".git/refs/tags/loop").write_text(content)
    with pytest.raises(InvalidInputError):
        past.commit("loop")


def test_a_pipe_in_the_place_of_a_tag_is_not_opened(repo: GitRepo, tmp_path: Path) -> None:
    past = past_of(repo, tmp_path)
    os.mkfifo(repo.path / ".git/refs/tags/pipe")
    with pytest.raises(InvalidInputError):  # a library that opened the pipe would wait for its writer for ever
        past.commit("pipe")


@pytest.mark.parametrize(
    "name",
    [
        "of-blob",
        "of-tree",
        "../heads/main",
        "a..b",
        "one.lock",
        "-x",
        "main",
        "HEAD",
        "@{u}",
        "odd name",
        "one^^",
        "",
        "\u202eone",
        "x" * 201,
    ],
)
def test_what_names_no_commit_is_refused(repo: GitRepo, tmp_path: Path, name: str) -> None:
    with pytest.raises((InvalidInputError, NotFoundError)):
        past_of(repo, tmp_path).commit(name)
