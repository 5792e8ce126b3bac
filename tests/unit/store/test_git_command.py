"""The git command is run in isolation, and says what failed without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.errors import GitError
from commonplace.store import git_command
from commonplace.store.git_command import MAX_SHOWN_OUTPUT, GitResult, redacted, run_git, try_git
from support import MakeRepo, eventually, is_running


@each_case(
    ("text", "shown"),
    [
        ("", ""),
        ("fatal: no such branch", "fatal: no such branch"),
        ("https://user:secret@example.org/a.git", "https://example.org/a.git"),
        ("https://token@example.org: denied", "https://example.org: denied"),
        ("cannot open '/home/me/notes/.git': no", "cannot open '(path)': no"),
        ("file:///srv/git/a.git", "file://(path)"),
        ("error: /a/b and /c/d", "error: (path) and (path)"),
        ("refs/heads/main -> a/b", "refs/heads/main -> a/b"),
        ("ssh://me@example.org/größe", "ssh://example.org/größe"),
    ],
)
def test_credentials_and_paths_of_the_machine_are_left_out(text: str, shown: str) -> None:
    assert redacted(text) == shown


def test_long_output_is_cut() -> None:
    assert len(redacted("x" * 5000)) == MAX_SHOWN_OUTPUT
    assert redacted("x" * MAX_SHOWN_OUTPUT) == "x" * MAX_SHOWN_OUTPUT


@each_case(
    ("errors", "reason"),
    [
        ("hint: one\nfatal: broken\nhint: two\n", "fatal: broken"),
        ("remote: first\nerror: second\n", "error: second"),
        ("something else\n\n", "something else"),
        (
            "ssh: connect to host a port 22: Connection refused\nfatal: Could not read from remote repository.\n\nSee",
            "ssh: connect to host a port 22: Connection refused",
        ),
        ("fatal: Could not read from remote repository.\n", "fatal: Could not read from remote repository"),
        (
            "error: object 38f2: hasDotdot: contains '..'\nfatal: fsck error\nfatal: index-pack failed",
            "error: object 38f2: hasDotdot: contains '..'",
        ),
        ("", "it exited with 128"),
    ],
)
def test_the_reason_of_a_failure_is_the_last_line_that_tells_one(errors: str, reason: str) -> None:
    assert GitResult(128, "", errors).reason == reason


def test_a_rejected_branch_says_why() -> None:
    line = "!\trefs/heads/main:refs/heads/main\t[remote rejected] (pre-receive hook declined)\n"
    assert GitResult(1, line, "").rejection == "[remote rejected] (pre-receive hook declined)"
    assert GitResult(1, "Done\n", "error: x\n").rejection == ""


def test_a_rejected_branch_says_what_the_hook_said() -> None:
    line = "!\trefs/heads/main:refs/heads/main\t[remote rejected] (pre-receive hook declined)\n"
    errors = "remote: POLICY: main is frozen   \nremote: \nremote: Ask \x1b[31mops\n"
    shown = GitResult(1, line, errors).rejection
    assert shown == "[remote rejected] (pre-receive hook declined): POLICY: main is frozen / Ask [31mops"
    assert len(GitResult(1, line, "remote: " + "x" * 9000).rejection) < 600


def test_a_command_returns_its_output_and_a_failed_one_is_an_error(git_repo: MakeRepo) -> None:
    repo = git_repo(files={"a.md": "漢字"})
    assert run_git(repo.path, ["rev-parse", "HEAD"]).strip() == repo.git("rev-parse", "HEAD")
    assert run_git(repo.path, ["show", "HEAD:a.md"]) == "漢字"
    with pytest.raises(GitError, match="git rev-parse failed: fatal"):
        run_git(repo.path, ["rev-parse", "--verify"], ["none"])
    assert try_git(repo.path, ["rev-parse", "--verify"], ["none"]).code


def test_what_a_caller_names_is_never_an_option(git_repo: MakeRepo, tmp_path: Path) -> None:
    repo = git_repo(files={"a.md": "x"})
    result = try_git(repo.path, ["log"], [f"--output={tmp_path / 'written'}"])
    assert result.code
    assert not (tmp_path / "written").exists()


def test_hooks_and_variables_of_the_caller_do_not_count(git_repo: MakeRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = git_repo(files={"a.md": "x"})
    hook = repo.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch ran\n")
    hook.chmod(0o755)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Passed On")
    run_git(repo.path, ["checkout", "-b", "other"])
    assert not (repo.path / "ran").exists()
    assert run_git(repo.path, ["var", "GIT_AUTHOR_IDENT"]).startswith("Passed On ")


def test_settings_of_one_call_may_have_several_values(git_repo: MakeRepo) -> None:
    repo = git_repo(files={"a.md": "x"})
    result = try_git(repo.path, ["config", "--get-all", "our.name"], settings={"our.name": ["one", "two"]})
    assert result.output.split() == ["one", "two"]


def test_a_command_that_does_not_end_is_ended_with_all_that_it_started(git_repo: MakeRepo) -> None:
    repo = git_repo(files={"a.md": "x"})
    started: list[int] = []
    with pytest.raises(GitError, match=r"did not end within 0\.2 seconds") as refused:
        try_git(
            repo.path,
            ["hang"],
            settings={"alias.hang": ["!sleep 60"]},
            timeout=0.2,
            started=lambda process: started.append(process.pid),
        )
    assert refused.value.hint
    eventually(lambda: not is_running(started[0]))


@pytest.mark.parametrize("pipe", ["", " >&2"])
def test_a_command_that_prints_without_end_is_ended(
    git_repo: MakeRepo, monkeypatch: pytest.MonkeyPatch, pipe: str
) -> None:
    repo = git_repo(files={"a.md": "x"})
    monkeypatch.setattr(git_command, "MAX_OUTPUT_BYTES", 100_000)
    started: list[int] = []
    with pytest.raises(GitError, match="printed more than 100,000 bytes") as refused:
        try_git(
            repo.path,
            ["print"],
            settings={"alias.print": [f"!yes{pipe}"]},
            started=lambda process: started.append(process.pid),
        )
    assert refused.value.kind == "output"
    eventually(lambda: not is_running(started[0]))


def test_both_outputs_of_a_command_are_read_whole(git_repo: MakeRepo) -> None:
    repo = git_repo(files={"a.md": "x"})
    both = "!head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2; exit 3"
    result = try_git(repo.path, ["both"], settings={"alias.both": [both]})
    assert (result.code, len(result.output), len(result.errors)) == (3, 300_000, 300_000)


def test_without_git_the_error_says_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match="no git command") as refused:
        run_git(tmp_path, ["version"])
    assert refused.value.hint == "Install git."
