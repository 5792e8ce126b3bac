"""Pages whose names or headings are asked for come before pages that mention the words, as hits and as sections."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.query import SearchQuery
from commonplace.services.collections import Collection
from commonplace.services.evidence import evidence
from commonplace.services.searches import search
from indexed import Indexed

SUBJECTS = [
    *("rocket", "harbor", "falcon", "lantern", "orchard", "canyon", "beacon", "copper", "meadow", "saddle"),
    *("thunder", "velvet", "willow", "anchor", "bramble", "cinder", "dahlia", "ember", "fennel", "garnet"),
]
STEPS = "\n\n".join(
    f"## Part {part}\n\n{f'Step {part} of the process needs care and patience. ' * 20}" for part in range(9)
)
NAMES = {
    "guides.md": "# List\n\n" + "\n".join(f"- [[2022-05-25]] authentication {number}" for number in range(20)) + "\n",
    "2022-05-25.md": "---\naliases: [Kick-off]\n---\n\n## Notes\n\nWe met.\n\n## Actions\n\nNone.\n",
    "oauth.md": f"# Authentication with OAuth\n\n{STEPS}\n",
    "mention.md": "# Changes\n\nauthentication authentication authentication\n",
    "vector.md": f"# vector class\n\n{STEPS}\n\n## vector::push_back\n\nAdds.\n\n"
    "## vector::pop_back\n\nvector push, back.\n",
}


def base(indexed: Indexed) -> list[Collection]:
    return [Collection("kb", indexed.store, indexed.index)]


def first(collections: list[Collection], text: str) -> tuple[str, str]:
    """The first page as a hit, and as a section."""
    query = SearchQuery(text=text)
    hit = search(collections, query).hits[0].hit.record.address.path
    return hit, evidence(collections, query, "keyword").sections[0].record.address.path


@pytest.mark.parametrize("recent", [False, True], ids=["in the full text", "just written"])
def test_a_guide_comes_before_notes_that_mention_its_subject(tmp_path: Path, *, recent: bool) -> None:
    guides = {f"{name}.md": f"# {name.title()} Guide\n\nHow to use it.\n\n{STEPS}\n" for name in SUBJECTS}
    notes = {
        f"meeting-{number}.md": f"# Meeting {number}\n\nWe talked about {SUBJECTS[number % 20]} twice: "
        f"{SUBJECTS[number % 20]}.\n"
        for number in range(60)
    }
    with Indexed(tmp_path, notes if recent else guides | notes) as indexed:
        for path, text in guides.items() if recent else ():
            indexed.update(path, text)
        found = {name: first(base(indexed), name) for name in SUBJECTS}
    assert found == {name: (f"{name}.md", f"{name}.md") for name in SUBJECTS}


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("2022-05-25", "2022-05-25.md"),
        ("kick-off", "2022-05-25.md"),
        ("authentication oauth", "oauth.md"),
        ("vector push_back", "vector.md"),
    ],
)
def test_the_page_of_that_name_comes_first(tmp_path: Path, text: str, page: str) -> None:
    with Indexed(tmp_path, NAMES) as indexed:
        assert first(base(indexed), text) == (page, page)


def test_the_section_under_the_heading_asked_for_is_shown(tmp_path: Path) -> None:
    with Indexed(tmp_path, NAMES) as indexed:
        (hit,) = search(base(indexed), SearchQuery(text="vector push_back", limit=1)).hits
        assert hit.hit.sections[0].path[-1] == "vector::push_back"
        shown = evidence(base(indexed), SearchQuery(text="vector push_back"), "keyword").sections[0]
    assert shown.path[-1] == "vector::push_back"
