"""Servers of every kind of write are killed one after the other, as quickly as they can be forked."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fault import killed_load
from support import Amount


@pytest.mark.timeout(6 * 3600)
@pytest.mark.parametrize("part", range(5))
@pytest.mark.sampled(5)
def test_every_kind_of_write_survives_kills(
    part: int, tmp_path: Path, amount: Amount, record_property: Callable[[str, object], None]
) -> None:
    seed = 20261129 + 1_000 * part
    done = subprocess.run(
        [sys.executable, killed_load.__file__, tmp_path, str(amount(6, 2_000)), str(seed)],
        env=killed_load.environment(tmp_path), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    record_property("seed", seed)
    for name, count in json.loads(done.stdout).items():
        record_property(name, count)
