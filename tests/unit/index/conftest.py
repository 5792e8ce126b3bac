"""Fixtures of the index's own tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from indexed import Indexed, MakeBase


@pytest.fixture
def base(tmp_path: Path) -> Iterator[MakeBase]:
    """`base({"a.md": "# A"})`: a folder with these files and an index in step with it."""
    with ExitStack() as stack:
        yield lambda files: stack.enter_context(Indexed(tmp_path, files))
