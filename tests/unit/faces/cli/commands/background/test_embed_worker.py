"""`commonplace embed-worker` says what it lacks before it works."""

from __future__ import annotations

from shell import Shell


def test_without_a_cluster_it_says_what_to_set(shell: Shell) -> None:
    done = shell("embed-worker", "--json")
    assert "engine_url" in done.error["hint"]


def test_an_address_that_is_none_is_refused(shell: Shell) -> None:
    done = shell("embed-worker", "--once", "--engine-url", "ftp://host", "--json")
    assert (done.error["code"], done.code) == ("config", 2)
    assert "https://HOST:PORT" in done.error["hint"]
