"""Requests of pages about the base as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from asgi.browsing import Pages
from commonplace.domain.errors import InvalidInputError
from commonplace.faces.web.moments import at_moment
from commonplace.faces.web.views.document import document
from support import new_repo


def test_a_request_at_a_moment_has_the_collections_and_the_urls_of_then(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"a.md": "# A\n", "gone.md": "# Gone\n"})
    first = repo.git("rev-parse", "HEAD")
    repo.git("rm", "--quiet", "gone.md")
    repo.commit("Remove")
    with Pages(tmp_path, repo.path) as pages:
        with at_moment(pages.request(at=f" {first} ")) as (then, moments):
            (collection,) = then.collections
            assert collection.is_past
            assert collection.index.counts().documents == 2
            assert then.urls.page("base", "a.md", "part") == f"/p/a?at={first}#part"
            assert [moment.commit.id for moment in moments] == [first]
        with at_moment(pages.request()) as (now, moments):
            (collection,) = now.collections
            assert not collection.is_past
            assert collection.index.counts().documents == 1
            assert now.urls.page("base", "a.md") == "/p/a"
            assert moments == ()
        with pytest.raises(InvalidInputError), at_moment(pages.request(at="nonsense")):
            pass


def test_an_old_path_leads_to_the_page_at_moments_before_and_after_its_move(tmp_path: Path) -> None:
    text = "".join(f"Line {number} of tea.\n" for number in range(20))
    repo = new_repo(tmp_path / "base", {"tea.md": text})
    first = repo.git("rev-parse", "HEAD")
    (repo.path / "drinks").mkdir()
    repo.git("mv", "tea.md", "drinks/green.md")
    moved = repo.commit("Move")
    repo.commit("Change", **{"drinks/green.md": f"{text}More.\n"})
    with Pages(tmp_path, repo.path) as pages:
        for at, status, place in (
            (first, 200, ""),
            (moved, 302, f"/p/drinks/green?at={moved}"),
            ("", 302, "/p/drinks/green"),
        ):
            answer = document(pages.request("tea", **({"at": at} if at else {})))
            assert (answer.status, answer.headers.get("location", "")) == (status, place), at
