"""`commonplace completion`: the script of each shell."""

from __future__ import annotations

import subprocess
from typing import cast

import pytest

from commonplace.faces.cli.commands.connect import SCRIPTS, ShellName
from shell import Shell


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_script_comes_as_it_is(shell: Shell, name: str) -> None:
    plain = shell.ok("completion", name).text
    assert shell.ok("completion", name, "--json").json == {"shell": name, "script": plain}
    assert plain == SCRIPTS[cast("ShellName", name)].lstrip("\n")
    assert "commonplace __complete" in plain


def test_bash_reads_its_script(shell: Shell) -> None:
    script = shell.ok("completion", "bash").stdout
    checked = subprocess.run(["bash", "-n"], input=script, capture_output=True, check=False, timeout=60)
    assert (checked.returncode, checked.stderr) == (0, b"")


def test_an_unknown_shell_is_refused_with_those_that_are_known(shell: Shell) -> None:
    done = shell("completion", "tcsh")
    assert (done.code, done.text) == (2, "")
    assert all(name in done.stderr for name in SCRIPTS)
