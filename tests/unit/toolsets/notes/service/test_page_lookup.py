"""Resolution of callers' references to pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.services.collections import Collections
from commonplace.toolsets.notes.service.page_lookup import (
    find_page,
    folder_prefix,
    has_folder,
    page_path,
    page_to_change,
    path_among,
    shown_path,
)
from indexed import Indexed

FILES = {
    "notes/tea.md": "---\nid: tea-1\naliases: [Cuppa]\n---\n# Green tea\n",
    "notes/c#.md": "# C sharp\n\n## Basics\n",
    "other.md": "# Other\n",
}
MORE = {"tea.md": "# Black tea\n", "only.md": "# Only\n"}


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Indexed, Indexed]]:
    with ExitStack() as stack:
        indexed, two = (
            stack.enter_context(Indexed(tmp_path_factory.mktemp(name), files))
            for name, files in (("one", FILES), ("two", MORE))
        )
        yield indexed, two


@pytest.fixture
def single(bases: tuple[Indexed, Indexed]) -> Collections:
    return bases[0].collections


@pytest.fixture
def both(bases: tuple[Indexed, Indexed]) -> Collections:
    members = [replace(base.collection, name=name) for base, name in zip(bases, ("one", "two"), strict=True)]
    return Collections(lambda: members)


def found(collections: Collections, reference: str) -> tuple[str, str]:
    page = find_page(collections, reference)
    return page.record.address.path, page.fragment


@pytest.mark.parametrize(
    "reference",
    [
        "notes/tea.md",
        "notes/tea",
        "tea-1",
        "Green tea",
        "cuppa",
        "[[Cuppa]]",
        "![[notes/tea]]",
        " notes/tea ",
        "base:tea-1",
    ],
)
def test_a_page_is_found_by_path_id_title_alias_or_link(single: Collections, reference: str) -> None:
    assert found(single, reference) == ("notes/tea.md", "")


def test_a_change_of_a_file_name_with_its_suffix_reaches_no_page_in_a_folder(single: Collections) -> None:
    for reference in ("tea", "[[tea]]", "[[tea.md]]", "notes/tea.md", "other.md", "Other.md"):
        assert page_to_change(single, reference).record.address == find_page(single, reference).record.address
    assert find_page(single, "tea.md").record.address.path == "notes/tea.md"
    with pytest.raises(NotFoundError, match=r"no page 'tea\.md' at the top") as caught:
        page_to_change(single, "tea.md")
    assert caught.value.context["nearest"] == ["notes/tea.md"]


def test_what_stands_behind_a_hash_is_a_part_of_the_page_unless_the_name_has_it(single: Collections) -> None:
    assert found(single, "notes/tea#Green tea") == ("notes/tea.md", "Green tea")
    assert found(single, "notes/tea#^block") == ("notes/tea.md", "^block")
    assert found(single, "notes/c#") == ("notes/c#.md", "")
    assert found(single, "notes/c##Basics") == ("notes/c#.md", "Basics")
    assert found(single, "[[Green tea#Part|label]]") == ("notes/tea.md", "Part")


def test_either_side_of_a_link_may_be_the_page(single: Collections) -> None:
    assert found(single, "[[none|Other]]") == ("other.md", "")


def test_a_folder_s_name_before_a_colon_chooses_it(both: Collections) -> None:
    assert found(both, "two:tea") == ("tea.md", "")
    assert found(both, "one:notes/tea") == ("notes/tea.md", "")
    assert found(both, "only") == ("only.md", "")
    with pytest.raises(NotFoundError):
        find_page(both, "one:only")


def test_a_page_that_no_index_knows_yet_is_found(single: Collections, bases: tuple[Indexed, Indexed]) -> None:
    bases[0].write("fresh.md", "# Fresh\n")
    assert found(single, "fresh") == ("fresh.md", "")


def test_a_missing_page_is_told_with_the_nearest_and_a_folder_as_a_folder(single: Collections) -> None:
    with pytest.raises(NotFoundError) as missing:
        find_page(single, "notes/tee")
    assert missing.value.context["nearest"][0] == "notes/tea.md"
    with pytest.raises(NotFoundError, match="is a folder") as folder:
        find_page(single, "notes/")
    assert folder.value.context["folder"] == "notes"
    for reference in ("", "#", "[[]]", "[[|]]"):
        with pytest.raises(NotFoundError):
            find_page(single, reference)


def test_where_a_new_page_goes_is_its_path_with_a_suffix(both: Collections) -> None:
    place = page_path(both, "two:new/page")
    assert (place.collection.name, place.address) == ("two", Address("new/page.md"))
    assert page_path(both, "[[new page]]").address == Address("new page.md")
    with pytest.raises(InvalidInputError):
        page_path(both, "../up")
    with pytest.raises(NotFoundError, match="No folder"):
        page_path(Collections(list), "a")


def test_a_reference_is_matched_against_given_pages_though_they_do_not_exist(both: Collections) -> None:
    planned = [("two", Address("new.md")), ("one", Address("a#b.md"))]
    for reference, expected in (
        ("new", ("two", "new.md", "")),
        ("two:new.md#Part", ("two", "new.md", "Part")),
        ("a#b", ("one", "a#b.md", "")),
    ):
        place = path_among(both, reference, planned)
        assert place is not None
        assert (place[0].collection.name, place[0].address.path, place[1]) == expected
    assert path_among(both, "one:new", planned) is None
    assert path_among(both, "../up", planned) is None


@pytest.mark.parametrize(
    ("folder", "prefix"),
    [("", ""), ("/", ""), (".", ""), ("notes", "notes/"), ("/notes/", "notes/"), ("one:notes", "notes/")],
)
def test_a_folder_argument_is_a_prefix(both: Collections, folder: str, prefix: str) -> None:
    chosen, found_prefix = folder_prefix(both, folder)
    assert found_prefix == prefix
    assert [collection.name for collection in chosen] == (["one"] if ":" in folder else ["one", "two"])


def test_paths_name_their_folder_only_where_several_are_served(single: Collections, both: Collections) -> None:
    (collection,) = single.members
    assert shown_path(single, collection, Address("a.md")) == "a.md"
    assert shown_path(both, both.members[1], Address("a.md")) == "two:a.md"
    assert (has_folder(collection, "notes"), has_folder(collection, "not"), has_folder(collection, "other.md")) == (
        True,
        False,
        False,
    )
