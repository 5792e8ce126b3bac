"""The embedded engine after changes: what it keeps of the pages, and what it reads again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.services.denials import SEARCHED
from commonplace.toolsets.pages.rules.queries import PageFilter, PageQuery
from spaces.engines import Scratch, engine_on

SPACE = '{"spaceKey": "ENG", "pages": {}}'
TWIN = '{"spaceKey": "ENG", "pages": {"b": "twin.md"}}'


def page(identifier: str, text: str = "elephant", labels: str = "old") -> str:
    return f"---\npage_id: {identifier}\ntitle: Page {identifier}\nlabels: [{labels}]\n---\n{text}\n"


def _text(folder: Path) -> None:
    (folder / "a.md").write_text(page("a", "giraffe"))


def _labels(folder: Path) -> None:
    (folder / "a.md").write_text(page("a", labels="new"))


def _renamed(folder: Path) -> None:
    (folder / "a.md").rename(folder / "z.md")


def _removed(folder: Path) -> None:
    (folder / "a.md").unlink()


def _exchanged(folder: Path) -> None:
    (folder / "a.md").unlink()
    (folder / "c.md").write_text(page("c"))


def _no_page(folder: Path) -> None:
    (folder / "a.md").write_text("elephant\n")


def _mapped(folder: Path) -> None:
    (folder / ".confluence.json").write_text(TWIN)
    (folder / "a.md").write_text(page("a", "elephant again"))


@pytest.mark.parametrize(
    ("change", "elephants", "old", "new"),
    [
        (_text, {"b.md"}, {"a.md", "b.md"}, set[str]()),
        (_labels, {"a.md", "b.md"}, {"b.md"}, {"a.md"}),
        (_renamed, {"z.md", "b.md"}, {"z.md", "b.md"}, set[str]()),
        (_removed, {"b.md"}, {"b.md"}, set[str]()),
        (_exchanged, {"b.md", "c.md"}, {"b.md", "c.md"}, set[str]()),
        (_no_page, {"b.md"}, {"b.md"}, set[str]()),
        (_mapped, {"a.md", "twin.md"}, {"a.md", "twin.md"}, set[str]()),
    ],
)
def test_pages_are_right_after_every_kind_of_change(
    tmp_path: Path, change: Callable[[Path], None], elephants: set[str], old: set[str], new: set[str]
) -> None:
    folder = tmp_path / "eng"
    folder.mkdir()
    (folder / ".confluence.json").write_text(SPACE)
    for name, identifier in (("a", "a"), ("b", "b"), ("twin", "b")):
        (folder / f"{name}.md").write_text(page(identifier))
    with engine_on("embedded", folder, Scratch(tmp_path / "scratch")) as pages:

        def paths(text: str, label: str = "") -> set[str]:
            filter_ = PageFilter(labels=(label,) if label else ())
            return {hit.page.address.path for hit in pages.search(PageQuery(text=text, filter=filter_)).hits}

        pages.engine.rebuild()
        assert paths("elephant") == paths("", "old") == {"a.md", "b.md"}
        change(folder)
        pages.engine.rebuild()
        assert (paths("elephant"), paths("", "old"), paths("", "new")) == (elephants, old, new)


def test_a_phrase_that_no_page_has_is_searched_by_its_words_and_that_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "eng"
    folder.mkdir()
    (folder / ".confluence.json").write_text(SPACE)
    (folder / "a.md").write_text(page("a", "the elephant that walks"))
    with engine_on("embedded", folder, Scratch(tmp_path / "scratch")) as pages:
        pages.engine.rebuild()
        answer = pages.search(PageQuery(text="«walking elephant»"))
        assert [hit.page.id for hit in answer.hits] == ["a"]
        assert (
            answer.notice
            == f"No page contains the quoted phrase in its {SEARCHED}. These pages were found by its words."
        )
        assert pages.search(PageQuery(text='"elephant that walks"')).notice == ""
