"""`commonplace doctor`: what is shown, and the exit code."""

from __future__ import annotations

import os

from shell import Shell
from support import GitRepo


def test_a_person_who_wants_only_findings_sees_no_other_line(shell: Shell, repo: GitRepo) -> None:
    os.utime(repo.write(".git/index.lock", ""), (0, 0))
    whole, quiet = shell("doctor"), shell("doctor", "--quiet")
    assert (whole.code, quiet.code) == (1, 1)
    assert any(": ok: " in line for line in whole.lines)
    assert not any(": ok: " in line for line in quiet.lines)
    assert set(quiet.lines) <= set(whole.lines)
    assert "[lock]" in quiet.text
    assert whole.stderr.endswith(" finding.\n")


def test_as_json_the_count_is_of_errors_and_warnings(shell: Shell, repo: GitRepo) -> None:
    os.utime(repo.write(".git/index.lock", ""), (0, 0))
    json = shell("doctor", "--json").json
    problems = [finding for finding in json["findings"] if finding["severity"] in {"error", "warning"}]
    assert json["count"] == len(problems) == 1
    assert set(problems[0]) == {"check", "severity", "subject", "message", "hint", "command"}
    assert {element["severity"] for element in json["looked_at"]} == {"ok"}
    assert shell("doctor", "--json", "--quiet").json["looked_at"] == []


def test_a_folder_that_is_not_there_is_a_finding_and_no_failure_of_the_command(shell: Shell) -> None:
    done = shell("doctor", "-C", "nowhere", "--json")
    assert done.code == 1
    assert any("nowhere" in finding["message"] + finding["subject"] for finding in done.json["findings"])
