"""The search cluster of a process is opened by settings, and asked nothing while it is opened."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.errors import ConfigError
from commonplace.replication import Follower
from commonplace.settings import load_settings
from commonplace.shared_engine import SharedEngine
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.clone_repository import ReplicaSource

pytestmark = pytest.mark.usefixtures("cache_dir")


def test_without_a_url_there_is_none() -> None:
    with pytest.raises(ConfigError) as refused:
        SharedEngine(load_settings())
    assert "engine_url" in refused.value.hint


@pytest.mark.parametrize(("chosen", "meant"), [((), False), (("notes",), True), (("other",), False), (("*",), True)])
def test_collections_are_searched_by_meaning_where_they_are_named(
    tmp_path: Path, chosen: tuple[str, ...], meant: bool
) -> None:
    engine = SharedEngine(replace(load_settings(), engine_url=("http://127.0.0.1:9",), engine_vectors=chosen))
    follower = Follower(ReplicaClone(tmp_path, ReplicaSource(str(tmp_path / "remote.git"))), 30.0)
    base = engine.base("notes", follower)
    assert (base.name, base.source, base.meaning) == ("notes", follower.clone.source.key, meant)
    engine.close()
