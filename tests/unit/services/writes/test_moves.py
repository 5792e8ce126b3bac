"""Moving files at once: each link leads where it led before, and a preview writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.services.writes.moves import preview_moves
from indexed import Indexed

FILES: dict[str, str | bytes] = {
    "a.md": "---\naliases: [Erste]\n---\n# A\n\n[b](in/b.md#x) and [[in/b|two]], ![](p.png)\n",
    "in/b.md": "[up](../a.md) [[a]] [[Erste]] ![](../p.png) [[c]]\n",
    "c.md": "See [[a]], [[A#Part|label]], [x](a.md 'T') and [[Erste]].\r\n",
    "other.md": "`[[a]]` and nothing else.\n",
    "p.png": b"\x89PNG",
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    with Indexed(tmp_path_factory.mktemp("moves"), FILES) as one:
        yield one


def planned(base: Indexed, moves: Mapping[str, str], unsaved: Mapping[str, str] | None = None) -> dict[str, str]:
    texts = {Address(path): text.encode() for path, text in (unsaved or {}).items()}
    plan = preview_moves(base.collection, {Address(old): Address(new) for old, new in moves.items()}, texts)
    return {address.path: content.decode("utf-8", "replace") for address, content in plan.contents.items()}


def state(base: Indexed) -> dict[str, bytes]:
    return {
        one.relative_to(base.folder).as_posix(): one.read_bytes() for one in base.folder.rglob("*") if one.is_file()
    }


def test_links_to_and_from_a_moved_page_follow_it_and_names_stay(base: Indexed) -> None:
    before = state(base)
    found = planned(base, {"a.md": "far/away/new.md"})
    assert found["c.md"] == "See [[new]], [[new#Part|label]], [x](far/away/new.md 'T') and [[Erste]].\r\n"
    assert found["in/b.md"] == "[up](../far/away/new.md) [[new]] [[Erste]] ![](../p.png) [[c]]\n"
    assert "[b](../../in/b.md#x)" in found["far/away/new.md"]
    assert "![](../../p.png)" in found["far/away/new.md"]
    assert set(found) == {"far/away/new.md", "c.md", "in/b.md"}
    assert state(base) == before, "a preview writes nothing"


def test_pages_that_change_places_keep_their_links_apart(base: Indexed) -> None:
    found = planned(base, {"a.md": "c.md", "c.md": "a.md"})
    assert set(found) == {"a.md", "c.md", "in/b.md"}
    assert found["in/b.md"].startswith("[up](../c.md) [[c]] [[Erste]]")
    assert found["in/b.md"].endswith("[[a]]\n")


def test_a_file_that_is_no_page_moves_with_the_links_to_it(base: Indexed) -> None:
    found = planned(base, {"p.png": "pictures/p.png"})
    assert "![](pictures/p.png)" in found["a.md"]
    assert "![](../pictures/p.png)" in found["in/b.md"]


def test_a_text_that_an_editor_has_open_counts_instead_of_the_file(base: Indexed) -> None:
    found = planned(base, {"a.md": "new.md"}, {"other.md": "Now [[a]].\n"})
    assert found["other.md"] == "Now [[new]].\n"
    assert "other.md" not in planned(base, {"a.md": "new.md"})


@pytest.mark.parametrize(
    ("moves", "error"),
    [
        ({"a.md": "a.md"}, InvalidInputError),
        ({"none.md": "x.md"}, NotFoundError),
        ({"none.png": "x.png"}, NotFoundError),
        ({"a.md": "c.md"}, AlreadyExistsError),
        ({"a.md": "C.md"}, AlreadyExistsError),
        ({"a.md": "p.png"}, AlreadyExistsError),
        ({"p.png": "c.md"}, AlreadyExistsError),
        ({"a.md": "x.md", "c.md": "x.md"}, AlreadyExistsError),
        ({"p.png": "x.png", "c.md": "X.png"}, AlreadyExistsError),
    ],
)
def test_a_move_that_would_lose_a_file_is_refused(
    base: Indexed, moves: dict[str, str], error: type[KnowledgeError]
) -> None:
    with pytest.raises(error):
        planned(base, moves)


def test_a_page_may_change_only_the_case_of_its_name(base: Indexed) -> None:
    assert "A.md" in planned(base, {"a.md": "A.md"})


def test_moving_nothing_changes_nothing(base: Indexed, tmp_path: Path) -> None:
    assert planned(base, {}) == {}
    with Indexed(tmp_path) as empty:
        assert planned(empty, {}) == {}
