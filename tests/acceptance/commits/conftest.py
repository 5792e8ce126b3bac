"""A server that commits every write, for the tests of a module on their repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from serving import Server, served
from support import GitRepo


@pytest.fixture(autouse=True)
def caches(cache_dir: Path) -> None:
    assert cache_dir.is_dir()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("commits")


@pytest.fixture(scope="module")
def server(repo: GitRepo) -> Iterator[Server]:
    with served(repo.path, "--tier", "write", "--commit", "auto") as running:
        yield running
