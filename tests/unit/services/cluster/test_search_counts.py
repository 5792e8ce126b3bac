"""Searches are counted by what answered them."""

from __future__ import annotations

import threading

from commonplace.services.cluster import SearchCounts


def test_each_kind_is_counted_from_0_by_all_threads() -> None:
    counts = SearchCounts()
    assert set(counts.now().values()) == {0}
    threads = [threading.Thread(target=lambda: [counts.add("own index") for _ in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts.add("engine")
    assert counts.now()["own index"] == 2000
    assert counts.now()["engine"] == 1
    assert counts.now()["engine, in part"] == 0
