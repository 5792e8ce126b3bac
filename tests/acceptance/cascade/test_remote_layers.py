"""Layers that follow Git remotes, alone and beside folders, over the real process with real remotes on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, agent
from commonplace.main import main
from layers import write_cascade, write_layer
from remotes.replicas import push, team
from serving import served
from support import eventually

UNREACHABLE = "http://somebody:hunter2secret@127.0.0.1:1/company.git"
POLLS = {"COMMONPLACE_REPLICA_POLL": "1"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of the processes, which are stateless otherwise."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def layered(folder: Path, *remotes: str, team_files: Mapping[str, str] | None = None) -> Path:
    """A manifest of a folder `own` over these remotes."""
    further = [
        {"name": f"company{number or ''}", "level": -number, "path": remote} for number, remote in enumerate(remotes)
    ]
    return write_cascade(folder, {"own": (2, team_files or {"tea.md": "# Tea\n\nown tea\n"})}, *further)


def concepts(client: Agent) -> list[str]:
    return sorted(element["id"] for element in client.call("list_concepts")["result"])


def states(client: Agent) -> dict[str, str]:
    return {layer["layer"]: layer["state"] for layer in client.call("list_concepts").get("layers", ())}


def resolved(manifest: Path, concept: str, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    code = main(["resolve", "--manifest", str(manifest), "--concept", concept])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return json.loads(printed.out), printed.err


def rewrite(manifest: Path, layers: list[dict[str, Any]]) -> None:
    beside = manifest.with_suffix(".new")
    beside.write_text(json.dumps({"layers": layers}))
    beside.replace(manifest)


def test_a_folder_overrides_a_remote_whose_pushes_arrive(home: Path) -> None:
    work, remote = team(home, text="# Alpha\n\n## Owner\ncompany\n")
    manifest = layered(home, f"file://{remote}", team_files={"a.md": "# Alpha\n\n## Owner\nmine\n"})
    with agent("mcp", "--manifest", manifest, env=POLLS) as client:
        read = client.call("read_file", concept_id="a")
        assert "mine" in json.dumps(read)
        assert "company" in json.dumps(read), "the remote's value is a dissent"
        push(work, "pushed.md", "# Pushed\n\nzanzibar\n")
        eventually(lambda: concepts(client) == ["a", "pushed"])
        assert client.call("search", query="zanzibar")["result"][0]["id"] == "pushed"
        assert states(client) == {}
    assert work.git("--git-dir", str(remote), "for-each-ref", "--format=%(refname)").count("\n") == 0, "only its branch"


def test_commands_read_the_remote_first_and_sections_have_the_dates_of_its_history(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    work, remote = team(home)
    manifest = layered(home, f"file://{remote}#{work.git('branch', '--show-current')}")
    resolved(manifest, "a", capsys)
    push(work, "a.md", "# Alpha\n\n## Owner\nnobody\n")
    shown, _ = resolved(manifest, "a", capsys)
    assert shown["sections"][-1]["content"].strip() == "nobody"
    assert shown["sections"][-1]["sourceUpdated"] == work.git(
        "log", "-1", "--format=%ad", "--date=format:%Y-%m-%dT%H:%M:%SZ"
    )
    remote.rename(home / "away.git")
    shown, said = resolved(manifest, "a", capsys)
    assert {layer["layer"]: layer["state"] for layer in shown["layers"]} == {"own": "ok", "company": "stale"}
    assert f"Shown as of {work.git('rev-parse', 'HEAD')[:12]}" in said
    (home / "away.git").rename(remote)
    assert main(["conflicts", "--personal", str(home / "own"), "--shared", f"file://{remote}"]) == 0


def test_a_remote_that_was_never_read_is_missing_and_the_others_answer(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = layered(home, UNREACHABLE)
    with agent("mcp", "--manifest", manifest, env=POLLS) as client:
        listed = client.call("list_concepts")
        assert [element["id"] for element in listed["result"]] == ["tea"]
        eventually(lambda: "cannot be read" in json.dumps(client.call("list_concepts")["layers"]))
        layers = client.call("list_concepts")["layers"]
        assert {layer["layer"]: layer["state"] for layer in layers} == {"own": "ok", "company": "missing"}
        assert "hunter2secret" not in json.dumps(layers)
        assert not layers[1]["reason"].endswith(".")
    shown, said = resolved(manifest, "tea", capsys)
    assert [layer["state"] for layer in shown["layers"]] == ["ok", "missing"]
    assert "hunter2secret" not in json.dumps(shown) + said


def test_a_remote_that_goes_is_stale_and_well_again_when_it_is_back(home: Path) -> None:
    _, remote = team(home)
    manifest = layered(home, f"file://{remote}")
    with agent("mcp", "--manifest", manifest, env=POLLS) as client:
        assert concepts(client) == ["a", "tea"]
        remote.rename(home / "away.git")
        eventually(lambda: states(client) == {"own": "ok", "company": "stale"})
        assert concepts(client) == ["a", "tea"]
        (home / "away.git").rename(remote)
        eventually(lambda: states(client) == {})


def test_one_remote_in_two_layers_and_a_manifest_that_gets_and_loses_remotes(home: Path) -> None:
    work, remote = team(home)
    other_work, other = team(home, "other", "# Beta\n")
    manifest = layered(home, f"file://{remote}", f"file://{remote}")
    first = json.loads(manifest.read_text())["layers"]
    with agent("mcp", "--manifest", manifest, env=POLLS) as client:
        assert [contributor["layer"] for contributor in client.call("read_file", concept_id="a")["contributors"]] == [
            "company",
            "company1",
        ]
        late = {"name": "late", "level": 1, "path": f"file://{other}"}
        rewrite(manifest, [first[0], late])
        assert concepts(client) == ["a", "tea"]
        assert "Beta" in json.dumps(client.call("read_file", concept_id="a"))
        push(other_work, "late.md", "# Late\n")
        eventually(lambda: concepts(client) == ["a", "late", "tea"])
        rewrite(manifest, [first[0], {**late, "path": "file://"}])
        assert states(client) == {"own": "stale", "late": "stale"}
        rewrite(manifest, [first[0]])
        assert concepts(client) == ["tea"]
        rewrite(manifest, first[:2])
        push(work, "new.md", "# New\n")
        eventually(lambda: concepts(client) == ["a", "new", "tea"])


def test_links_and_submodules_of_a_remote_lead_nowhere(home: Path) -> None:
    outside = write_layer(home / "outside", {"secret.md": "# Secret\n\nhunter2secret\n"})
    work, remote = team(home)
    (work.path / "linked.md").symlink_to(outside / "secret.md")
    (work.path / "folder").symlink_to(outside)
    work.git("update-index", "--add", "--cacheinfo", f"160000,{work.git('rev-parse', 'HEAD')},module")
    work.write(".gitmodules", f'[submodule "module"]\n\tpath = module\n\turl = {outside}\n')
    work.git("add", "linked.md", "folder", ".gitmodules")
    work.git("commit", "--quiet", "--message", "Links")
    work.git("push", "--quiet", "origin", "HEAD")
    with agent("mcp", "--manifest", layered(home, f"file://{remote}")) as client:
        assert concepts(client) == ["a", "tea"]
        for concept in ("linked", "folder/secret", "module/secret"):
            answer = client.raw("read_file", concept_id=concept)
            assert answer.is_error
            assert "hunter2secret" not in str(answer)


def test_a_server_names_the_commits_of_layers_waits_for_them_and_takes_webhooks(home: Path) -> None:
    work, remote = team(home)
    manifest = layered(home, f"file://{remote}")
    environment = {"COMMONPLACE_WEBHOOK_SECRET": "of the host", "COMMONPLACE_REPLICA_POLL": "3600"}
    with served("--manifest", manifest, env=environment) as server:
        eventually(lambda: server.ask("GET", "/health/ready").status == 200)
        commit = push(work, "pushed.md", "# Pushed\n")
        answer = server.ask("GET", "/api/v1/pages", headers={"Commonplace-At-Least": f"team={commit}"})
        assert answer.headers["commonplace-commit"] == f"team={commit}"
        assert "pushed" in answer.body.decode()
        assert server.ask("GET", "/health/collections").json["collections"]["team"]["commit"] == commit
        push(work, "hooked.md", "# Hooked\n")
        assert server.ask("POST", "/hooks/git", {}, headers={"X-Gitlab-Token": "of the host"}).status < 300
        eventually(lambda: "hooked" in server.ask("GET", "/api/v1/pages").body.decode())


def test_an_agent_is_connected_to_the_url_of_a_layer(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = home / "client.json"
    line = ["connect", "claude-code", "--personal", str(home), "--shared", "https://git.example.org/company/wiki.git"]
    assert main([*line, "--file", str(file), "--yes"]) == 0, capsys.readouterr().err
    assert "https://git.example.org/company/wiki.git" in file.read_text()
    assert list(json.loads(file.read_text())["mcpServers"]) == ["wiki"]


def entry(home: Path, **keys: Any) -> Path:
    """A manifest of one layer, which follows a remote."""
    path = home / "layers.json"
    path.write_text(json.dumps({"layers": [{"name": "company", "level": 0, **keys}]}))
    return path


def test_a_git_layer_stays_at_its_commit_or_follows_its_branch(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work, remote = team(home)
    first = work.git("rev-parse", "HEAD")
    push(work, "a.md", "# Alpha\n\nsecond words\n")
    pinned = entry(home, source="git", url=remote.name, ref=first)
    for _ in range(2):
        assert "first words" in resolved(pinned, "a", capsys)[0]["markdown"]
    remote.rename(home / "away.git")
    shown, said = resolved(pinned, "a", capsys)
    assert ("layers" in shown, said) == (False, ""), "nothing is left to fetch"
    (home / "away.git").rename(remote)
    branch = work.git("branch", "--show-current")
    following = entry(home, source="git", repo=f"file://{remote}", ref=branch)
    assert "second words" in resolved(following, "a", capsys)[0]["markdown"]
    absent = entry(home, source="git", path=str(remote), ref="0" * 40)
    assert main(["resolve", "--manifest", str(absent), "--concept", "a"]) == 1
    assert "cannot be read" in capsys.readouterr().err


def test_a_github_layer_is_the_repository_of_that_name_and_reads_the_files_of_its_masks(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    work, remote = team(home)
    push(work, "docs.md", "# Docs\n")
    work.commit("Write docs", **{"docs/deep/b.md": "# Beta\n\nSee [[a]].\n"})
    work.git("push", "--quiet", "origin", "HEAD")
    # Git itself leads the address on GitHub to the repository on this disk.
    (home / "gitconfig").write_text(f'[url "file://{remote}"]\n\tinsteadOf = https://github.com/o/r.git\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    whole = entry(home, source="github", repo="o/r", auth={"tokenEnv": "TOKEN"}, cache={"ttlSeconds": 60})
    resolved(whole, "a", capsys)
    assert caplog.text.count('has keys without effect here: "auth" (layer \'company\'), "cache"') == 1
    with agent("mcp", "--manifest", entry(home, source="github", repo="o/r", paths=["docs/**"]), env=POLLS) as client:
        eventually(lambda: concepts(client) == ["docs/deep/b"])
        assert client.call("search", query="alpha")["result"] == []
        assert client.call("get_links", concept_id="docs/deep/b")["outgoing"][0]["id"] is None
        assert client.raw("read_file", concept_id="a").is_error


@pytest.mark.parametrize("remote", ["ext::sh -c touch% canary", "--upload-pack=touch canary", "ext://canary"])
def test_an_address_that_would_run_a_program_is_refused_at_the_start(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], remote: str
) -> None:
    monkeypatch.chdir(home)
    manifest = entry(home, source="git", url=remote)
    assert main(["mcp", "--manifest", str(manifest)]) == 2
    readouterr = capsys.readouterr()
    assert (readouterr.out, "Error" in readouterr.err) == ("", True)
    assert [path.name for path in home.rglob("*") if path.is_file()] == ["layers.json"]


def test_a_manifest_of_profiles_serves_the_one_of_the_working_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("own", "work"):
        write_layer(home / name, {"where.md": f"# Where\n\nin {name}\n"})
    write_layer(home / "code/deep", {})
    profiles = {
        "default": {"label": "Own", "layers": [{"name": "own", "level": "1", "path": "own"}]},
        "work": {"layers": [{"name": "work", "level": 1, "source": "files", "path": "work"}], "paths": ["code"]},
    }
    manifest = home / "layers.json"
    manifest.write_text(json.dumps({"profiles": profiles, "projects": {str(home / "code/deep"): "default"}}))

    def where(folder: str, *options: str) -> str:
        monkeypatch.chdir(home / folder)
        assert main(["resolve", "--manifest", str(manifest), "--concept", "where", *options]) == 0
        return json.loads(capsys.readouterr().out)["sections"][0]["content"]

    assert [where("."), where("code"), where("code/deep")] == ["in own", "in work", "in own"]
    assert where("code/deep", "--profile", "work") == "in work"
    assert main(["resolve", "--manifest", str(manifest), "--concept", "where", "--profile", "wrok"]) == 2
    assert "did you mean 'work'?" in capsys.readouterr().err
    assert main(["mcp", "--profile", "work"]) == 2
    assert "--profile needs a manifest" in capsys.readouterr().err
    main(["connect", "claude-code", "--manifest", str(manifest), "--profile", "work", "--json"])
    assert json.loads(capsys.readouterr().out)["entry"]["mcpServers"][home.name]["args"][1:] == [
        "--manifest",
        str(manifest),
        "--profile",
        "work",
    ]
    with agent("mcp", "--manifest", manifest, "--profile", "work") as client:
        assert client.call("list_concepts")["result"][0]["layers"] == ["work"]
