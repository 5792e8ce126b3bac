"""`commonplace serve`: options that need others, or exclude them."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.faces.cli.commands.serve import ServeOptions
from commonplace.faces.cli.options import ReplicaOptions
from shell import Shell


def test_only_what_is_given_becomes_a_setting() -> None:
    assert set(ServeOptions().flags().values()) == {None}
    assert set(ReplicaOptions().flags().values()) == {None}
    given_values = {
        **ServeOptions(port="0", peer=[]).flags(),
        **ReplicaOptions(replica_of=["u"], replica_writes=True).flags(),
    }
    assert {name: value for name, value in given_values.items() if value is not None} == {
        "port": "0",
        "replica_of": ["u"],
        "replica_writes": "true",
    }


@pytest.mark.parametrize(
    ("code", "arguments", "says"),
    [
        (2, [".", "--replica-of", "/a.git"], "Folders and --replica-of are named"),
        (2, ["--manifest", "layers.json", "--replica-of", "/a.git"], "Layers and remotes to follow"),
        (2, ["--replica-writes"], "nothing is followed"),
        (2, ["--node-url", "http://127.0.0.1:1"], "A node_url is set"),
        (2, ["--replica-of", "/a.git", "--node-url", "http://127.0.0.1:1"], "A node_url is set"),
        (2, ["--replica-of", "/a.git", "--peer", "http://127.0.0.1:1"], "A peer is set"),
        (2, ["--public-url", "notes.example.org"], "Invalid --public-url: expected http:// or https:// and a host"),
        (2, ["--public-url", "https:///notes"], "Invalid --public-url"),
        (2, ["--engine-url", "http://127.0.0.1:1"], "A search cluster is named"),
        (2, ["--manifest", "layers.json", "."], "--manifest"),
        (3, ["nowhere"], "nowhere"),
        (2, ["--port", "70000"], "port"),
        (2, ["--port", "x"], "port"),
        (2, ["--workers", "-1"], "workers"),
        (2, ["--host", "::", "--port", "0"], "keys create"),
        (2, ["--sse", "--workers", "2"], "--workers 1"),
        (2, ["--rate-limit", "many"], "--rate-limit"),
    ],
)
def test_what_cannot_be_served_is_refused_at_once(shell: Shell, code: int, arguments: list[str], says: str) -> None:
    done = shell("serve", *arguments)
    assert (done.code, done.stdout) == (code, b""), done
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_layers_and_a_remote_of_the_environment_are_not_served_one_instead_of_the_other(tmp_path: Path) -> None:
    done = Shell(tmp_path, {"COMMONPLACE_REPLICA_OF": "/a.git"})("serve", "--manifest", "layers.json")
    assert (done.code, "COMMONPLACE_REPLICA_OF" in done.stderr) == (2, True), done
