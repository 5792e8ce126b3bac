"""The collector is held still for a batch, and no longer."""

from __future__ import annotations

import gc

import pytest

from commonplace.index.process import gc_disabled


def test_the_collector_works_again_after_a_batch_that_failed() -> None:
    def fail() -> None:
        seen.append(gc.isenabled())
        raise OSError("the disk is full")

    seen = [gc.isenabled()]
    with pytest.raises(OSError, match="full"), gc_disabled():
        fail()
    assert [*seen, gc.isenabled()] == [True, False, True]


def test_a_batch_within_another_ones_time_leaves_the_collector_to_that_one() -> None:
    with gc_disabled():
        with gc_disabled():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
