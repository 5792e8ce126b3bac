"""A space within the folder of another is none of its pages."""

from __future__ import annotations

from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.toolsets.pages.rules.nested_spaces import NestedSpaces, page_addresses
from indexed import Indexed

FILES: dict[str, str | bytes] = {
    "a.md": "# A\n",
    "in/b.md": "# B\n",
    "in/space/.confluence.json": "{}",
    "in/space/c.md": "# C\n",
    "in/space/deep/d.md": "# D\n",
    "in/spaceship/e.md": "# E\n",
    "build/f.md": "# F\n",
}


def test_pages_below_another_space_file_are_left_out(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        base.write(".confluence.json", "{}")
        paths = sorted(address.path for address in page_addresses(base.store))
    assert paths == ["a.md", "in/b.md", "in/spaceship/e.md"]


def test_the_space_file_of_the_folder_itself_makes_no_nested_space(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        nested = NestedSpaces(base.store)
        held = [path for path in FILES if path.endswith(".md") and nested.hold(Address(path))]
    assert held == ["in/space/c.md", "in/space/deep/d.md"]
