"""Only an edit of the text that cites, or a review, settles that a source changed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.index import open_past
from commonplace.services.health.citations import collection_citation_findings
from commonplace.services.health.citing_texts import without_link_targets
from indexed import Indexed
from support import GitRepo, new_repo

SOURCE = "# Source\n\n## Temp\n\nIt grows at 18 degrees. See [more](../more.md).\n\n## Other\n\nNothing.\n"
NOTE = "# Note\n\n## Grow\n\nIt grows at 18.[^1]\n\n## End\n\nThe end.\n\n[^1]: [Src](src.md#temp)\n"
LISTED = '---\nsources: ["[Src](src.md#temp)"]\n---\n# Listed\n\n## Grow\n\nIt grows at 18.\n\n## End\n\nThe end.\n'


def _changed(place: Path) -> list[str]:
    with Indexed(place) as base:
        past = open_past(base.store, base.cache)
        assert past is not None
        with closing(past):
            collection = replace(base.collection, past=past)
            rows = list(collection_citation_findings(collection, base.index.records()))
    return sorted(address.path for address, finding in rows if finding.rule == "source_changed")


def _moved_source(repo: GitRepo) -> None:
    (repo.path / "lib").mkdir()
    repo.git("mv", "a/src.md", "lib/source.md")
    for name in ("a/note.md", "a/listed.md"):
        repo.write(name, (repo.path / name).read_text().replace("(src.md", "(../lib/source.md"))
    repo.commit("Move")


def _moved_folder(repo: GitRepo) -> None:
    repo.git("mv", "a", "z")
    repo.write("z/src.md", (repo.path / "z/src.md").read_text().replace("../more.md", "../other.md"))
    repo.commit("Move")


def _renamed(repo: GitRepo) -> None:
    repo.git("mv", "a/note.md", "a/note2.md")
    repo.git("mv", "a/listed.md", "a/listed2.md")
    repo.commit("Move")


def _undone(repo: GitRepo) -> None:
    _moved_source(repo)
    repo.git("revert", "--no-edit", "HEAD")


def _edit(old: str, new: str) -> Callable[[GitRepo], None]:
    def edit(repo: GitRepo) -> None:
        for name in ("a/note.md", "a/listed.md"):
            repo.write(name, (repo.path / name).read_text().replace(old, new))
        repo.commit("Edit")

    return edit


def _edited_and_undone(repo: GitRepo) -> None:
    _edit("at 18", "at 20")(repo)
    repo.git("revert", "--no-edit", "HEAD")


@pytest.mark.parametrize(
    ("act", "names"),
    [
        (_moved_source, ("a/listed.md", "a/note.md")),
        (_undone, ("a/listed.md", "a/note.md")),
        (_moved_folder, ("z/listed.md", "z/note.md")),
        (_renamed, ("a/listed2.md", "a/note2.md")),
        (_edit("---\nsources", "---\ntags: [a]\nsources"), ("a/listed.md", "a/note.md")),
        (_edit("The end.\n", "The end is near.\n"), ("a/listed.md", "a/note.md")),
        (_edit("[^1]: [", "[^2]: more.md\n[^1]: ["), ("a/listed.md", "a/note.md")),
        (_edited_and_undone, ("a/listed.md", "a/note.md")),
        (_edit("at 18", "at 20"), ()),
        (_edit("#temp", ""), ()),
        (_edit("[Src](src.md#temp)", "[Src](src.md#temp), read 2026-01-01"), ()),
    ],
)
def test_only_an_edit_of_the_citing_text_settles_that_the_source_changed(
    tmp_path: Path, act: Callable[[GitRepo], None], names: tuple[str, ...]
) -> None:
    repo = new_repo(
        tmp_path / "base", {"a/src.md": SOURCE, "a/note.md": NOTE, "a/listed.md": LISTED, "more.md": "# More\n"}
    )
    repo.commit("Change", **{"a/src.md": SOURCE.replace("18", "20")})
    act(repo)
    assert _changed(tmp_path) == list(names)


def test_a_source_whose_links_only_were_rewritten_did_not_change(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"a/src.md": SOURCE, "a/note.md": NOTE})
    repo.commit("Move", **{"a/src.md": SOURCE.replace("../more.md", "../lib/more.md")})
    assert not _changed(tmp_path)


def test_a_footnote_that_cites_another_page_now_was_written_anew(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"a/src.md": SOURCE, "a/b.md": SOURCE, "a/note.md": NOTE})
    repo.commit("Change", **{"a/b.md": SOURCE.replace("18", "20")})
    repo.commit("Cite", **{"a/note.md": NOTE.replace("src.md", "b.md")})
    assert not _changed(tmp_path)


def test_targets_of_links_of_all_kinds_are_left_out_in_linear_time() -> None:
    texts = b'[a](b.md) [[b|c]] <a href="b.md">\n[d]: b.md\n', b'[a](<x y.md>) [[x|c]] <a href="x">\n[d]: ../x.md\n'
    assert len({without_link_targets(text) for text in texts}) == 1
    for text in (b"](" * 200_000, b"[[" * 200_000, b'href="' * 100_000, b"](a(" * 100_000, b"[a" * 200_000):
        assert without_link_targets(text)
