"""The former paths of pages, which a publication knows from the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from commonplace.domain.json import Json
from commonplace.services.site.publication import FormerPath, previous_paths
from indexed import Indexed
from support import GitRepo, new_repo

LIMIT = 4


def former(repo: GitRepo, place: Path, stored: Mapping[str, Json]) -> tuple[Sequence[FormerPath], Mapping[str, Json]]:
    """The former paths of all pages with what is stored, which are those that all commits give, too."""
    with Indexed(place) as base:
        records = {record.address.path: record for record in base.index.records()}
        result = previous_paths(base.collection, records, LIMIT, stored)
        afresh = previous_paths(base.collection, records, LIMIT, {})
    assert (list(result[0]), result[1]) == (list(afresh[0]), afresh[1])
    assert result[1]["head"] == repo.git("rev-parse", "HEAD")
    return result


def test_former_paths_that_are_stored_are_those_of_the_commits(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"one.md": "# One\n\nA text of its own.\n", "other.md": "# Other\n"})
    repo.git("mv", "one.md", "two.md")
    repo.commit("Move")
    renames, stored = former(repo, tmp_path, {})
    assert list(renames) == [("one.md", "two.md", 1)]
    made_up = {**stored, "renames": [["old.md", "two.md", 1]]}
    with Indexed(tmp_path) as base:
        records = {record.address.path: record for record in base.index.records()}
        assert list(previous_paths(base.collection, records, LIMIT, made_up)[0]) == [("old.md", "two.md", 1)]

    repo.commit("Edit", **{"other.md": "# Other\n\nnew\n"})
    renames, stored = former(repo, tmp_path, stored)
    assert list(renames) == [("one.md", "two.md", 2)]

    repo.git("mv", "two.md", "three.md")
    repo.commit("Move again")
    renames, stored = former(repo, tmp_path, stored)
    assert [old for old, _, _ in renames] == ["two.md", "one.md"]

    repo.git("checkout", "--quiet", "-b", "side", "HEAD~2")
    former(repo, tmp_path, stored)
    repo.git("checkout", "--quiet", "-")
    for number in range(LIMIT):
        repo.commit("Edit", **{"other.md": f"# Other\n\n{number}\n"})
        renames, stored = former(repo, tmp_path, stored)
    assert list(renames) == []
