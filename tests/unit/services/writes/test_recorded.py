"""Writes of a call are collected for its answer, of the current block alone."""

from __future__ import annotations

from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.services.writes import create
from commonplace.services.writes.recorded import record_new_findings, record_write, recording_writes
from indexed import Indexed


def test_writes_of_the_innermost_block_are_collected(tmp_path: Path) -> None:
    with Indexed(tmp_path) as base:
        receipt = create(base.collection, Address("a.md"), b"# A\n")
        assert record_write(base.collection, receipt) is receipt
        with recording_writes() as outer:
            with recording_writes() as inner:
                record_write(base.collection, receipt)
            record_new_findings([], more=2)
            record_new_findings([], more=1)
        assert [write_receipt for _, write_receipt in inner.receipts] == [receipt]
        assert (outer.receipts, outer.findings, outer.more) == ([], [], 3)
