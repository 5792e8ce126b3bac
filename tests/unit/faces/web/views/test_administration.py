"""The pages of administration of a server that has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from asgi.browsing import Pages
from commonplace.domain.errors import NotFoundError
from commonplace.faces.web.views.administration import administration


@pytest.mark.parametrize("path", ["", "keys", "doctor", "none"])
def test_a_server_without_administration_has_no_such_pages(tmp_path: Path, path: str) -> None:
    (tmp_path / "base").mkdir()
    with Pages(tmp_path, tmp_path / "base") as pages, pytest.raises(NotFoundError, match="no such page"):
        pages.view(administration, path)
