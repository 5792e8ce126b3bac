"""A store of projects on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.toolsets.projects.remote.setup import open_project_store
from commonplace.toolsets.projects.service.project_store import IDENTITY, ProjectStore


@pytest.fixture
def projects(tmp_path: Path) -> Iterator[ProjectStore]:
    opened = open_project_store(tmp_path / "store", tmp_path / "state", IDENTITY)
    yield ProjectStore(str(opened.path), opened.store, opened.folders, opened.origin, opened.activity)
    opened.origin.close()
    opened.activity.close()
