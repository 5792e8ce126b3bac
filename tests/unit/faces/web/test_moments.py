"""Requests of pages about the base as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from asgi.browsing import Pages
from commonplace.domain.errors import InvalidInputError
from commonplace.faces.web.moments import at_moment
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
