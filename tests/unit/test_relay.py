"""Which starts go to a resident, and where it listens."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from commonplace.relay import attach, confinement, idle_seconds, is_wanted, shared_environment, socket_folder

NOBODY = 65_534


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("COMMONPLACE_RESIDENT", "COMMONPLACE_RESIDENT_SECONDS", "COMMONPLACE_STATE_DIR", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "config.toml"
    monkeypatch.setenv("COMMONPLACE_CONFIG", str(file))
    return file


def test_only_mcp_over_stdio_goes_to_a_resident_and_only_if_it_is_asked_for(settings: Path) -> None:
    assert not is_wanted(["mcp", "folder"])
    assert is_wanted(["mcp", "folder", "--resident"])
    settings.write_text("resident = true\n")
    assert is_wanted(["mcp", "folder"])
    for arguments in (
        ["serve"],
        [],
        ["mcp", "--no-resident"],
        ["mcp", "--transport", "http"],
        ["mcp", "--transport=sse"],
    ):
        assert not is_wanted(arguments)
        assert attach("commonplace", arguments) is None


def test_the_environment_goes_before_the_file(settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.write_text("resident = true\nresident_seconds = 5\n")
    assert idle_seconds() == "5"
    monkeypatch.setenv("COMMONPLACE_RESIDENT", "off")
    monkeypatch.setenv("COMMONPLACE_RESIDENT_SECONDS", "soon")
    assert not is_wanted()
    assert idle_seconds() == "60"


def test_sockets_lie_in_the_folder_of_the_login_or_of_the_states(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COMMONPLACE_STATE_DIR", str(tmp_path / "states"))
    assert socket_folder() == str(tmp_path / "states" / "resident")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "gone"))
    assert socket_folder() == str(tmp_path / "states" / "resident")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert socket_folder() == str(tmp_path / "commonplace")


def test_no_resident_is_looked_for_where_others_may_enter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folders = [tmp_path / "open" / "commonplace", tmp_path / "foreign" / "commonplace"]
    for folder in folders:
        folder.mkdir(mode=0o700, parents=True)
    folders[0].chmod(0o755)
    if os.geteuid() == 0:
        os.chown(folders[1], NOBODY, NOBODY)
    else:
        del folders[1]
    for folder in folders:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder.parent))
        assert attach("commonplace", ["mcp", "--resident"]) is None, folder
        assert not list(folder.iterdir()), "nothing was started there"
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.setenv("COMMONPLACE_STATE_DIR", "/proc/none")
    assert attach("commonplace", ["mcp", "--resident"]) is None, "no folder can be made"


def test_a_process_that_may_do_less_has_another_confinement() -> None:
    changes = (
        ("", True),
        ("import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))", False),
        ("import os; os.umask(0o777)", False),
        ("import os; os.nice(1)", False),
    )
    for change, is_equal in changes:
        with subprocess.Popen(
            [sys.executable, "-S", "-c", f"{change}\nprint(flush=True)\ninput()"], stdin=PIPE, stdout=PIPE
        ) as child:
            assert child.stdout
            child.stdout.readline()
            assert (confinement(str(child.pid)) == confinement("self")) is is_equal, change
            child.communicate(b"\n")


def test_a_resident_gets_no_secret_of_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CN_TOKEN", "secret")
    monkeypatch.setenv("COMMONPLACE_API_KEY", "secret")
    shared = shared_environment()
    assert os.fsencode(os.environ["PATH"]) in shared.values()
    assert b"secret" not in shared.values()
