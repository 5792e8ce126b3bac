"""Pushes of named pages by callers with limited rights."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.activity import Actor, WriteLimits, watched_by
from commonplace.domain.errors import ForbiddenError
from commonplace.services.collections import Collection, Collections
from commonplace.services.write_watch import CallWatch
from commonplace.store import open_store
from commonplace.toolsets.pages.confluence.push import PushOptions
from commonplace.toolsets.pages.confluence.space_sync import push_pages
from confluence.clones import served_clone


def test_a_key_that_may_write_in_one_folder_pushes_from_there_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CN_TOKEN", "secret")
    monkeypatch.setenv("CN_EMAIL", "ann@example.org")
    with served_clone(tmp_path) as clone:
        clone.clone()
        clone.edit("runbooks/deploy.md", "alpha", "omega")
        clone.edit("drawer/inside.md", "inside", "within")
        store = open_store(clone.folder, commit="manual", state_dir=tmp_path / "state")
        collection = Collection("eng", store, None)  # type: ignore[arg-type] - no page is looked up
        limits = WriteLimits(folders=("runbooks",))
        watch = CallWatch(Actor(face="mcp", session="0"), None, None, Collections(list), limits)  # type: ignore[arg-type]
        lines: list[str] = []

        def push(*pages: str) -> list[str]:
            with watched_by(watch):
                report = push_pages(
                    clone.folder, pages, PushOptions(), lines.append, here=clone.folder, collection=collection
                )
            return report.pushed

        for pages in (("drawer/inside.md",), ("runbooks/deploy.md", "drawer/inside.md")):
            with pytest.raises(ForbiddenError, match=r"drawer/inside\.md is not there"):
                push(*pages)
        assert clone.site.writes == []
        assert push("runbooks/deploy.md") == ["runbooks/deploy.md"]
        assert lines == ["pushed runbooks/deploy.md: text"]
