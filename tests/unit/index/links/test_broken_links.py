"""Links that lead nowhere, before and after what they name comes and goes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commonplace.domain.addresses import Address
from indexed import Indexed

FILES: dict[str, str | bytes] = {
    "a.md": "[[later]] [[b]] ![[plan.png]] [x](lost.pdf) [y](b.md#none) <https://example.org> [z](#here)\n",
    "b.md": "[[later]] [[Über]] [up](../outside.md) [abs](/etc/passwd)\n",
}


@pytest.fixture
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    with Indexed(tmp_path_factory.mktemp("broken"), FILES) as indexed:
        yield indexed


def broken(base: Indexed, path: str | None = None) -> list[tuple[str, str]]:
    links = base.index.broken(Address(path) if path else None)
    return [(link.source.path, link.link.target) for link in links]


def test_broken_links_come_by_source_and_order(base: Indexed) -> None:
    assert broken(base)[:3] == [("a.md", "later"), ("a.md", "plan.png"), ("a.md", "lost.pdf")]
    assert broken(base, "a.md") == [element for element in broken(base) if element[0] == "a.md"]
    assert ("b.md", "Über") in broken(base, "b.md")
    assert broken(base, "none.md") == []


def test_a_link_is_mended_by_a_page_of_its_name_and_breaks_again_without_it(base: Indexed) -> None:
    before = broken(base)
    base.update("in/later.md", "---\naliases: [über]\n---\n")
    assert not [target for _, target in broken(base) if target in {"later", "Über"}]
    (base.folder / "in/later.md").unlink()
    base.index.update([Address("in/later.md")])
    assert broken(base) == before


def test_a_link_to_a_file_is_mended_when_the_file_comes(base: Indexed) -> None:
    base.write("lost.pdf", b"%PDF")
    base.write("pictures/plan.png", b"\x89PNG")
    base.index.sync()
    assert [target for _, target in broken(base, "a.md")] == ["later"]
    (base.folder / "lost.pdf").unlink()
    base.index.sync()
    assert [target for _, target in broken(base, "a.md")] == ["later", "lost.pdf"]


def test_many_broken_links_are_all_found(base: Indexed) -> None:
    base.update("many.md", " ".join(f"[[none {number}]]" for number in range(600)))
    assert len(broken(base, "many.md")) == 600
