"""One build of the files of a release for all tests that only read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from release.environments import dist


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of `make dist`, which no test may change."""
    return dist(tmp_path_factory.mktemp("dist"))
