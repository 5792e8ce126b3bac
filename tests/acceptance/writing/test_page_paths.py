"""Absolute paths of pages, unusable base directories, and names that look like others, on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent import agent
from serving import served
from shell import Shell
from support import GitRepo, new_repo


@pytest.fixture
def repo(tmp_path: Path, cache_dir: Path) -> GitRepo:
    assert cache_dir.is_dir()
    return new_repo(tmp_path / "base", {"a.md": "# A\n", "sub/b.md": "# B\n"})


def test_an_absolute_path_means_a_page_of_the_folder(repo: GitRepo, tmp_path: Path) -> None:
    shell = Shell(repo.path)
    (tmp_path / "link").symlink_to(repo.path)
    for top in (repo.path, tmp_path / "link", repo.path / "sub" / ".."):
        assert shell.ok("read", top / "a.md").text == "# A\n"
        assert shell.ok("log", top / "sub/b").text
    assert shell.ok("write", repo.path / "new.md", "--json", stdin="x").json["path"] == "new.md"
    renamed = shell.ok("write", repo.path / "new.md", "--rename", repo.path / "sub/new.md", "--json").json
    assert renamed["path"] == "sub/new.md"
    assert {path.name for path in repo.path.iterdir()} - {"canary.env"} == {".git", "a.md", "sub"}


def test_any_other_absolute_path_is_refused(repo: GitRepo, tmp_path: Path) -> None:
    shell = Shell(repo.path)
    (tmp_path / "outside.md").write_text("# Outside\n")
    for path in ("/etc/x", "/a", str(tmp_path / "outside.md"), str(repo.path), f"{repo.path}/../outside.md"):
        for command in (["read", path], ["write", path], ["log", path], ["diff", path], ["links", path]):
            done = shell(*command, "--json", stdin="x")
            assert (done.code, done.error["code"]) == (4, "invalid"), (command, done)
            assert "it is absolute" in done.error["message"]
    assert shell("write", "a", "--rename", "/etc/x").code == 4
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize("name", ["XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"])
@pytest.mark.sampled(8)
def test_a_base_directory_that_is_a_file_is_told_and_stops_no_reading(tmp_path: Path, name: str) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base/a.md").write_text("# A\n")
    (tmp_path / "file").write_text("x")
    shell = Shell(tmp_path / "base", {"HOME": str(tmp_path), name: str(tmp_path / "file")})
    for command in (["list"], ["read", "a"], ["search", "A"], ["restore"]):
        shell.ok(*command)
    done = shell("write", "b", "--json", stdin="x")
    if name == "XDG_STATE_HOME":
        assert (done.code, done.error["code"]) == (11, "storage")
        assert "state_dir" in done.error["hint"]
    else:
        assert done.code == 0, done
    doctor = shell("doctor")
    assert doctor.code in {0, 1}, doctor
    if name in {"XDG_STATE_HOME", "XDG_CACHE_HOME"}:
        assert "cannot be written" in doctor.text


def test_a_relative_base_directory_is_ignored(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    names = ("XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
    shell = Shell(base, {"HOME": str(tmp_path), **dict.fromkeys(names, "relative")})
    shell.ok("write", "a", stdin="x")
    assert [path.name for path in base.iterdir()] == ["a.md"]
    assert (tmp_path / ".local/state/commonplace").is_dir()


def test_no_new_name_holds_a_bidirectional_control_character(repo: GitRepo) -> None:
    name = "a\u202eb"
    done = Shell(repo.path)("write", name, "--json", stdin="x")
    assert (done.code, "U+202E" in done.error["message"]) == (4, True)
    assert Shell(repo.path)("write", "a", "--rename", f"{name}/c").code == 4
    repo.commit(**{f"{name}.md": "# There already\n"})
    with served(repo.path) as server:
        assert server.page("PUT", "x\u2066y", {"content": "y\n"}).status == 422
        assert server.page("GET", name).json["content"] == "# There already\n"
        assert (
            server.page(
                "PUT", name, {"content": "# New\n", "revision": server.page("GET", name).json["revision"]}
            ).status
            == 200
        )
    with agent("mcp", repo.path, "--toolset", "wiki") as wiki:
        assert "bidirectional" in str(wiki.raw("write_note", path="n\u200fm", content="x"))


def test_messages_name_the_folder_and_what_to_do(repo: GitRepo, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    assert "'plain' is not in a Git repository" in Shell(plain)("mcp", ".", "--commit", "auto").stderr
    inner = new_repo(tmp_path / "inner", {"x.md": "x\n"})
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "module")
    done = Shell(repo.path)("write", "module/new", stdin="x")
    assert "module is a submodule" in done.stderr
    assert "Serve a clone of its own." in done.stderr
    repo.git("config", "filter.f.clean", "cat")
    repo.write(".gitattributes", "f.md filter=f\n")
    assert "--no-commit" in Shell(repo.path)("write", "f", stdin="x").stderr
    with agent("mcp", repo.path, "--toolset", "wiki") as wiki:
        given_values = {"path": "a", "filename": "x.bin", "content": "AAA="}
        wiki.raw("upload_attachment", **given_values)
        assert str(wiki.raw("upload_attachment", **given_values).content).count("exactly these bytes") == 1
