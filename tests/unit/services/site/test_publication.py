"""The pages that are published, and their former paths, which a publication knows from the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from commonplace.domain.json import Json
from commonplace.domain.site_file import PublishRules
from commonplace.services.site.publication import FormerPath, previous_paths, select
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


PUBLIC = (
    "plain: 1",
    "draft: false",
    "publish: true",
    "published: 2024-05-01",
    "publish:",
    "status: current",
    "publish: yes",
    "title: a: b",
)
LEFT_OUT = {
    "publish: nein": "publish: nein",
    "draft: ja": "draft: ja",
    "draft: True": "draft: true",
    "private: 1": "private: true",
    "publish: 'false # x'": "publish: false # x",
    "published: no": "published: false",
    "Publish: [maybe]": "publish: maybe",
    "status: private": "status: private",
    "status: Draft, superseded": "status: draft, superseded",
    "access: internal (team)": "access: internal (team)",
    "publish:false": "not understood",
    "draft: true\ntitle: [": "draft: true",
}


def test_a_mark_that_is_not_understood_leaves_its_page_out(tmp_path: Path) -> None:
    pages = {f"{number}.md": line for number, line in enumerate([*PUBLIC, *LEFT_OUT])}
    files = {name: f"---\n{line}\n---\n# Page\n\nText.\n" for name, line in pages.items()}
    with Indexed(tmp_path, {**files, "open.md": "---\ndraft: true\n\n# Never closed\n"}) as base:
        selection = select(base.index.records(), PublishRules(), base.collection.store.read)
    assert {pages[path] for path in selection.records} == set(PUBLIC)
    reasons = {pages.get(left_out.path, "open"): left_out.reason for left_out in selection.left_out}
    assert reasons.keys() == {*LEFT_OUT, "open"}
    assert [line for line, reason in LEFT_OUT.items() if reason not in reasons[line]] == []
