"""A process that writes for long holds no more memory than one that has just begun."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROUNDS = 60
SCRIPT = """
import sys
from pathlib import Path
from commonplace.index.fulltext.tantivy_index import FullText
from commonplace.index.fulltext.document_text import DocumentText

def held():
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) / 1024

full = FullText(Path(sys.argv[1]), create=True)
for number in range(int(sys.argv[2])):
    with full.writing(bulk=False) as writer:
        sections = ((0, "tide"),)
        text = DocumentText(terms=("a",), numbers={}, title="T", body="tide " * 50, sections=sections)
        writer.add(number, text)
    if number in {9, int(sys.argv[2]) - 1}:
        print(held())
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read as Linux tells it")
@pytest.mark.soak
def test_what_writers_of_the_full_text_needed_is_given_back(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path / "full", str(ROUNDS)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    early, late = map(float, done.stdout.split())
    assert late < early + 15, f"{ROUNDS} small writes took {late - early:.0f} MB"
