"""A section that states no date has that of the commit since which its lines are there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.toolsets.cascade.rules.concepts import read_concept
from commonplace.toolsets.cascade.rules.values import Concept
from commonplace.toolsets.cascade.service.section_dates import SectionDates
from indexed import Indexed
from support import GitRepo, new_repo

DAYS = ["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01"]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    """`a.md` changes month by month."""
    texts = [
        "# One\n\nfirst\n\n# Two\n\nsecond\n",
        "# One\n\nfirst\n\n# Two\n\nchanged\n",
        "# One\n\nfirst  \n\n\n# Two\n\nchanged\n\n# Three {updated=2020-05-05}\n\nthird\n",
        "# One\n\nfirst\n\n# Two\n\nsecond\n\n# Three {updated=2020-05-05}\n\nthird\n",
    ]
    repo = new_repo(tmp_path / "base")
    for day, text in zip(DAYS, texts, strict=True):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{day}T12:00:00Z")
        monkeypatch.setenv("GIT_AUTHOR_DATE", f"{day}T12:00:00Z")
        repo.commit(day, **{"a.md": text})
    return repo


@pytest.fixture
def base(repo: GitRepo, tmp_path: Path) -> Iterator[Indexed]:
    del repo
    with Indexed(tmp_path) as made:
        yield made


def concept(base: Indexed, name: str = "a") -> Concept:
    return read_concept(name, (base.folder / f"{name}.md").read_bytes())


def dates(found_concept: Concept) -> dict[str, tuple[str, str | None]]:
    return {section.key: ((section.updated or "")[:10], section.dated_by) for section in found_concept.sections}


def test_a_section_is_dated_by_the_commit_that_last_changed_its_lines(base: Indexed) -> None:
    found_dates = dates(SectionDates().completed(base.collection, concept(base)))
    assert found_dates["one"] == ("2024-01-01", "git")
    assert found_dates["two"] == ("2024-04-01", "git"), "text that came back is as old as its return"
    assert found_dates["three"][0] == "2020-05-05"


def test_lines_that_no_commit_has_and_folders_without_git_have_no_date(base: Indexed, tmp_path: Path) -> None:
    base.write("a.md", "# One\n\nedited\n\n# Two\n\nsecond\n")
    found_dates = dates(SectionDates().completed(base.collection, concept(base)))
    assert found_dates["one"] == ("", None)
    assert found_dates["two"] == ("2024-04-01", "git")
    with Indexed(tmp_path / "plain", {"a.md": "# One\n\nx\n"}) as plain:
        assert dates(SectionDates().completed(plain.collection, concept(plain))) == {"one": ("", None)}


def test_a_new_commit_is_seen_and_the_dates_of_another_text_are_not_taken(base: Indexed, repo: GitRepo) -> None:
    section_dates = SectionDates()
    section_dates.completed(base.collection, concept(base))
    repo.commit("Now", **{"a.md": "# One\n\nnow\n\n# Two\n\nsecond\n"})
    found_dates = dates(section_dates.completed(base.collection, concept(base)))
    assert found_dates["one"] == ("2024-04-01", "git"), "the environment's date is that of the last commit"
    assert found_dates["two"] == ("2024-04-01", "git")


def test_a_concept_whose_sections_all_state_their_dates_is_left_alone(base: Indexed) -> None:
    stated = read_concept("a", b"# One {updated=2020-01-01}\n\nx\n")
    assert SectionDates().completed(base.collection, stated) is stated
