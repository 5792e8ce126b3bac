"""The lines of a brief keep within every budget."""

from __future__ import annotations

import re
from pathlib import Path

from commonplace.domain.tokens import size_of
from commonplace.faces.brief_output import brief_lines
from commonplace.services.brief import brief
from commonplace.services.services import Services
from indexed import Indexed

FILES = {
    "AGENTS.md": "# Rules\n\n" + "Plain words about 茶. " * 200,
    "README.md": "# Base\n\nAll about *tea*.\n\nMore.\n",
    "tea.md": "# Tea\n\n## Brewing\n\n" + "Hot walrus water. " * 100,
}


def test_lines_fit_into_any_room_and_begin_with_the_rules(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        found_brief = brief(Services(collections=base.collections), "walrus", None, mode="keyword")
        for room in (0, 30, 100, 400, 1_000, 6_000):
            lines = brief_lines(found_brief, [], room, lambda collection, path: f"{collection.name}:{path}")
            assert sum(size_of(line) + 1 for line in lines) <= room
            words = set(re.findall(r"\w+", " ".join(FILES.values())))
            assert not [line for line in lines if line.endswith("…") and re.findall(r"\w+", line)[-1] not in words]
        assert lines[0].startswith("base:AGENTS.md: # Rules\nPlain words")
        assert lines[1] == "base:README.md: All about tea."
        assert lines[2].startswith("[base:tea.md#brewing] Tea > Brewing\nHot walrus water.")
