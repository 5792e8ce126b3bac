"""The view for each path."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.errors import NotFoundError
from commonplace.faces.web.exchange import PageRequest, PageResponse, ToolsetPages
from commonplace.faces.web.routes import VIEWS, view_at


def own(_: PageRequest) -> PageResponse:
    return PageResponse(b"own")


TOOLSET = ToolsetPages(views={"concepts": own, "p": own})


@each_case(
    ("path", "name", "rest"),
    [
        ("/", "", ""),
        ("", "", ""),
        ("/p/notes/a", "p", "notes/a"),
        ("/p", "p", ""),
        ("/p/", "p", ""),
        ("/p//a/", "p", "/a/"),
        ("//p/a", "p", "a"),
        ("/graph.json", "graph.json", ""),
        ("/tags/a/b", "tags", "a/b"),
    ],
)
def test_the_first_segment_names_the_view_and_the_rest_is_its_own(path: str, name: str, rest: str) -> None:
    assert view_at(path) == (name, rest, VIEWS[name])


@each_case("path", ["/P/a", "/p.md", "/p%2Fa", "/none", "/concepts/a", "/.git/config", "/\0", "/@base/a"])
def test_another_path_is_answered_with_an_error(path: str) -> None:
    name, rest, view = view_at(path)

    assert (name, rest) == ("", path)
    with pytest.raises(NotFoundError) as caught:
        view(None)  # type: ignore[arg-type]
    assert caught.value.hint


def test_toolsets_add_views_and_replace_none() -> None:
    assert view_at("/concepts/a/b", [ToolsetPages(), TOOLSET]) == ("concepts", "a/b", own)
    assert view_at("/p/a", [TOOLSET])[2] is VIEWS["p"]
