"""What writers of the full text leave behind: no more memory than at first, and no file that stops the next writer."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.index.fulltext.tantivy_index import FullText
from indexed import full_text, searchable

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


def test_what_a_killed_writer_had_not_committed_stops_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "full"

    def change() -> None:
        full = FullText(folder)
        with full.writing(bulk=False) as writer:
            writer.remove(1)
            writer.add(1, searchable(1, "# Other\n"))
        full.close()

    full_text(folder, {number: f"# Page {number}\n" for number in range(5)}).close()
    shutil.copytree(folder, tmp_path / "before")
    change()
    lists = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.del")}
    assert lists
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "before", folder)
    for path, content in lists.items():  # a kill before the commit leaves them
        (folder / path).write_bytes(content)
    change()
    assert FullText(folder).searchers(0).documents.num_docs == 5
