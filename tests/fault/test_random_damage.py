"""Bytes of an index are changed at random: it answers as a fresh one."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.domain.query import SearchQuery
from commonplace.index.seal import SEAL_FILE
from indexed import Indexed, answers
from support import Amount

FILES = {
    f"n{number:02}.md": f"---\ntype: guide\ntags: [t{number % 3}]\nstatus: current\n---\n"
    f"# N{number}\n\nthe text w{number}x shared [[n01]] "
    f"and [there](n{number - 1:02}.md#part)\n\n## Part\n\nmore v{number}v\n"
    for number in range(1, 11)
}
SHARED = SearchQuery(text="shared")
WRITTEN = "with a new time"
WORDS = ["shared", *(f"w{number}x" for number in range(1, 11)), "more"]


def damage(file: Path, others: list[Path], chance: random.Random) -> str:
    """Change a file as a disk, a copy that was cut off, or a mix-up would; its time mostly stays, as on a bad disk."""
    kind = chance.choice(("flip", "flip", "flip", "cut", "swap", "zeros"))
    status = file.stat()
    content = bytearray(file.read_bytes())
    at = chance.randrange(len(content))
    if kind == "flip":
        content[at] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        del content[at:]
    elif kind == "swap":
        content[:] = chance.choice(others).read_bytes()
    else:
        content[at : at + 512] = bytes(len(content[at : at + 512]))
    file.write_bytes(content)
    if chance.random() < 0.1:
        return f"{kind} {WRITTEN}"
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    return kind


@pytest.mark.timeout(6 * 3600)
def test_a_damaged_index_answers_as_a_fresh_one(
    tmp_path: Path, amount: Amount, record_property: Callable[[str, object], None], caplog: pytest.LogCaptureFixture
) -> None:
    seed = 20261129
    chance = random.Random(seed)
    with Indexed(tmp_path, FILES) as base:
        expected = answers(base.index, WORDS)
        base.index.close()
        pristine = tmp_path / "pristine"
        base.cache.rename(pristine)
        files = [path.relative_to(pristine) for path in sorted(pristine.rglob("*")) if path.is_file()]
        filled = [path for path in files if (pristine / path).stat().st_size]
        endings: Counter[str] = Counter()
        for number in range(amount(40, 10_000)):
            shutil.copytree(pristine, base.cache)
            for seal in base.cache.rglob(SEAL_FILE):
                os.utime(seal, (0, 0))  # last checked long ago
            file = chance.choice(filled)
            kind = damage(base.cache / file, [pristine / path for path in files], chance)
            caplog.clear()
            base.index = base.another()
            base.index.sync()
            if kind.endswith(WRITTEN) and not caplog.records:  # who wrote it last is not known
                assert {hit.record.address.path for hit in base.index.search(SHARED).hits} <= set(FILES)
            else:
                assert answers(base.index, WORDS) == expected, (number, kind, file.name)
            base.index.close()
            endings["rebuilt" if caplog.records else "harmless"] += 1
            shutil.rmtree(base.cache)
        base.index = base.another()
    assert endings["rebuilt"] > endings["harmless"]
    record_property("seed", seed)
    for ending, count in endings.items():
        record_property(ending, count)
