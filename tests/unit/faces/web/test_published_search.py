"""The search index of published files: whole, or whole with a small one of what has changed since."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from commonplace.domain.words.grams import SPACELESS
from commonplace.faces.web.output_folder import OutputFolder
from commonplace.faces.web.published_search import CHANGES, CHANGES_LIST, SEARCH, write_search

PAGES = {f"p{number}.html": f"Page number{number} of the harbour" for number in range(60)}


class _Site:
    """A folder that is published again and again."""

    def __init__(self, place: Path) -> None:
        self.place = place / "out"
        self._base = place / "base"
        self._base.mkdir()
        self.written = 0

    def publish(self, pages: Mapping[str, str], state: object = None) -> None:
        folder = OutputFolder(self.place, self._base)
        for name, text in pages.items():
            html = f"<!doctype html><html lang=en><body><article data-pagefind-body><h1>{name}</h1>{text}</article>"
            folder.put(name, html.encode())
        stored = folder.state.get("search") if state is None else state
        folder.finish({"search": write_search(folder, pages, stored)})
        self.written = folder.written

    @property
    def changes(self) -> dict[str, object]:
        return dict(json.loads((self.place / CHANGES_LIST).read_text()))

    def texts(self, folder: str) -> str:
        """Everything in the files of an index."""
        return " ".join(
            gzip.decompress(file.read_bytes()).decode("utf-8", "replace")
            for file in sorted((self.place / folder).rglob("*.pf_*"))
            if folder == CHANGES or CHANGES not in file.as_posix()
        )

    def has_changes(self) -> bool:
        return any((self.place / CHANGES).rglob("*.pf_index"))


@pytest.fixture
def site(tmp_path: Path) -> _Site:
    site = _Site(tmp_path)
    site.publish(PAGES)
    return site


def test_one_changed_page_of_many_is_in_an_index_of_its_own(site: _Site) -> None:
    assert site.changes == {"index": "", "gone": {}}
    site.publish(PAGES)
    assert site.written == 0
    more = {**PAGES, "p7.html": f"{PAGES['p7.html']} and a lighthouse"}
    site.publish(more)
    assert site.changes["index"]
    assert list(site.changes["gone"]) == ["p7.html"]  # type: ignore[call-overload]
    assert "lighthouse" in site.texts(CHANGES)
    assert "lighthouse" not in site.texts(SEARCH)
    assert "Page number7 of" not in site.texts(SEARCH), "the old text is removed"
    site.publish(more)
    assert (site.written, site.has_changes()) == (0, True)
    site.publish({**more, "p8.html": "Page number8 of the harbour, too"})
    assert site.changes == {"index": "", "gone": {}}, "more than one page in fifty has changed"
    assert "lighthouse" in site.texts(SEARCH)
    assert not site.has_changes()


@pytest.mark.parametrize("after", ["Page of the harbour", None])
def test_a_word_that_is_on_no_page_any_more_is_in_no_index(site: _Site, after: str | None) -> None:
    site.publish({**PAGES, "p7.html": after} if after else {k: v for k, v in PAGES.items() if k != "p7.html"})
    assert "number7" not in site.texts(SEARCH) + site.texts(CHANGES)
    assert site.changes == {"index": "", "gone": {}}


def test_a_word_that_only_a_changed_page_has_goes_with_it(tmp_path: Path) -> None:
    site = _Site(tmp_path)
    pages = {**{f"q{number}.html": "Harbour" for number in range(60)}, **PAGES}
    site.publish(pages)
    moved = {**pages, "p7.html": "Page of the harbour", "p8.html": f"{PAGES['p8.html']} number7"}
    site.publish(moved)
    assert site.has_changes(), "the word is public: another page has it now"
    site.publish({**moved, "p8.html": PAGES["p8.html"]})
    assert "number7" not in site.texts(SEARCH) + site.texts(CHANGES)


@pytest.mark.parametrize(
    "state", [{}, [], {"pages": {"p7.html": 7}}, {"pages": {"p7.html": ["", "../../x"]}, "gone": 1}]
)
def test_a_state_of_another_form_makes_the_whole_index(site: _Site, state: object) -> None:
    site.publish({**PAGES, "p7.html": "Quay"}, state)
    assert site.changes == {"index": "", "gone": {}}
    assert "Quay" in site.texts(SEARCH)


def test_the_browser_knows_the_scripts_without_blanks_of_the_index() -> None:
    source = (Path(__file__).parents[4] / "src/commonplace/faces/web/browser/src/published.js").read_text("utf-8")
    escaped = re.search(r'const SPACELESS = "(.*)";', source)
    assert escaped
    ranges = re.sub(r"\\\\u\{?([0-9a-f]+)\}?", lambda code: chr(int(code[1], 16)), escaped[1])
    assert ranges == SPACELESS


def test_an_index_of_another_form_is_made_anew(site: _Site) -> None:
    stored = {**OutputFolder(site.place, site.place.parent / "base").state["search"], "form": 1}
    site.publish({**PAGES, "p7.html": "数据库 tide"}, stored)
    assert site.changes == {"index": "", "gone": {}}
    assert "数\u2060 据\u2060 库 tide" in site.texts(SEARCH)
