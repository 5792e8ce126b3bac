"""Sections for a question, found in the files themselves while there is no index."""

from __future__ import annotations

from pathlib import Path

from commonplace.services.file_search import sections_in_files
from indexed import Indexed


def test_the_section_with_the_rarest_words_comes_first_and_what_was_read_is_counted(tmp_path: Path) -> None:
    pages = {
        "tea.md": "# Tea\n\n## Water\n\nBoil it.\n\n## Oolong\n\nSteep the oolong for three minutes.\n",
        "coffee.md": "# Coffee\n\nBoil the water for minutes.\n",
        "empty.md": "",
    }
    with Indexed(tmp_path, pages) as base:
        (collection,) = base.collections
        answer = sections_in_files(collection, "how many minutes does the oolong steep?")
        assert [section.path for section in answer.sections][:1] == [("Tea", "Oolong")]
        assert (answer.read, answer.total) == (3, 3)
        assert sections_in_files(collection, "quantum chromodynamics").sections == []
