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
            lines = brief_lines(found_brief, [], room, lambda collection, path: f"{collection.name}:{path}", "")
            assert sum(size_of(line) + 1 for line in lines) <= room
            words = set(re.findall(r"\w+", " ".join(FILES.values())))
            assert not [line for line in lines if line.endswith("…") and re.findall(r"\w+", line)[-1] not in words]
        assert lines[0].startswith("base:AGENTS.md: # Rules\nPlain words")
        assert lines[1] == "base:README.md: All about tea."
        assert lines[2].startswith("[base:tea.md#brewing] Tea > Brewing\nHot walrus water.")


def test_a_section_that_lapsed_or_is_to_be_reviewed_is_marked_where_it_is_shown(tmp_path: Path) -> None:
    claim = "The walrus pool of the northern zoo holds {} litres of water."
    files = {
        "a.md": f"# A\n\n## Pool\n\n{claim.format(900)}\n\n## Walrus food\n\n{'The walrus eats clams. ' * 90}\n",
        "b.md": f"# B\n\n## Walrus\n\n{claim.format(800)}\n",
        "c.md": "---\nreview_by: 2020-01-01\n---\n# Walrus care\n\nThe walrus sleeps.\n",
        "d.md": "# D\n\n## Walrus {#walrus status=superseded by=b.md#walrus}\n\nThe walrus pool holds 1 litre.\n",
    }
    with Indexed(tmp_path, files) as base:
        found_brief = brief(Services(collections=base.collections), "walrus", None, mode="keyword")
        lines = brief_lines(found_brief, [], 9_000, lambda _, path: path, "Rest.")
        assert sorted(line.partition("\n")[0] for line in lines if line.startswith("[")) == [
            "[a.md#pool] TO REVIEW (other_value) A > Pool",
            "[a.md#walrus-food] A > Walrus food",
            "[b.md#walrus] TO REVIEW (other_value) B > Walrus",
            "[c.md#walrus-care] TO REVIEW (stale) Walrus care",
            "[d.md#walrus] SUPERSEDED by b.md#walrus D > Walrus",
        ]
