"""`commonplace index`: what it takes in, and what it tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from shell import Shell
from support import GitRepo


def test_the_status_takes_nothing_in(shell: Shell, repo: GitRepo) -> None:
    first = shell.ok("index", "--json").json["collections"][0]
    assert (first["documents"], first["added"], first["updated"], first["removed"]) == (4, 4, 0, 0)
    assert first["types"]["note"] == 1
    repo.write("new.md", "# New\n")
    (repo.path / "lonely.md").unlink()
    collection = shell.ok("index", "--status", "--json").json["collections"][0]
    assert collection == {key: first[key] for key in ("collection", "documents", "sections", "links", "tags", "types")}
    second = shell.ok("index", "--json").json["collections"][0]
    assert (second["documents"], second["added"], second["removed"]) == (4, 1, 1)


def test_a_rebuild_counts_every_page_as_added(shell: Shell) -> None:
    shell.ok("index")
    assert "4 added, 0 updated, 0 removed" in shell.ok("index", "--rebuild").text
    assert "0 added, 0 updated, 0 removed" in shell.ok("index").text


def test_what_cannot_be_read_is_named_with_its_reason(shell: Shell, repo: GitRepo, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.md").write_text("# Elsewhere\n")
    (repo.path / "away.md").symlink_to(tmp_path / "elsewhere.md")
    collection = shell.ok("index", "--json").json["collections"][0]
    assert collection["documents"] == 4
    plain = shell.ok("index", "--rebuild")
    assert [f"{value['path']}: {value['reason']}" for value in collection["unreadable"]] == plain.stderr.splitlines()


@pytest.mark.parametrize("other", ["--rebuild", "--embed"])
def test_only_telling_and_doing_something_exclude_each_other(shell: Shell, other: str) -> None:
    done = shell("index", "--status", other)
    assert (done.code, done.text) == (2, "")
    assert "--status" in done.stderr
    assert other in done.stderr


def test_without_a_model_embedding_is_refused_with_what_installs_it(shell: Shell, tmp_path: Path) -> None:
    done = Shell(shell.folder, {"COMMONPLACE_MODEL_DIR": str(tmp_path / "none")})("index", "--embed")
    assert done.code != 0
    assert "model install" in done.stderr
