"""Documents by the path of a URL, and where links written in a text lead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from commonplace.domain.errors import NotFoundError
from commonplace.services.collections import Collections
from commonplace.services.site.documents import (
    document_at_path,
    folder_document,
    link_targets,
    named_document,
    parsed_document,
)
from indexed import Indexed
from pages import page

FILES: dict[str, str | bytes] = {
    "README.md": "# Home\n",
    "in/index.md": "# Inner\n",
    "in/README.md": "# Second\n",
    "in/über uns.md": "---\naliases: [We]\n---\n# About\n",
    "a.b.md": "# Dotted\n",
    "a.md": "# Plain\n",
    "p.png": b"\x89PNG",
    ".hidden/x.md": "# Hidden\n",
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Indexed, Collections]]:
    with ExitStack() as stack:
        indexed = stack.enter_context(Indexed(tmp_path_factory.mktemp("one"), FILES))
        two = stack.enter_context(Indexed(tmp_path_factory.mktemp("two"), {"c.md": "---\nid: see\n---\n# C\n"}))
        made = [replace(base.collection, name=name) for base, name in ((indexed, "one"), (two, "two"))]
        yield indexed, Collections(lambda: made)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a", "a.md"),
        ("a.md", "a.md"),
        ("a.b", "a.b.md"),
        ("in/über uns", "in/über uns.md"),
        ("A", None),
        ("p.png", None),
        ("", None),
        ("in", None),
        ("../a", None),
        (".hidden/x", None),
        ("a\0", None),
        ("we", None),
    ],
)
def test_a_path_means_the_document_at_exactly_this_place(
    both: tuple[Indexed, Collections], path: str, found: str | None
) -> None:
    document = document_at_path(both[1].get("one"), path)
    assert (document.record.address.path if document else None) == found


@pytest.mark.parametrize("path", ["came/first", "came/second.md"])
def test_a_file_of_which_the_index_was_not_told_is_found_with_its_suffix_and_without(
    both: tuple[Indexed, Collections], path: str
) -> None:
    base, collections = both
    base.write(f"{path.removesuffix('.md')}.md", "# Came just now\n")
    document = document_at_path(collections.get("one"), path)
    assert document is not None
    assert document.record.title == "Came just now"


def test_a_folder_is_stood_for_by_its_index_before_its_readme(both: tuple[Indexed, Collections]) -> None:
    collection = both[1].get("one")
    documents = [folder_document(collection, folder) for folder in ("in", "", "none", "../x", "came")]
    assert [document.record.title if document else None for document in documents] == [
        "Inner",
        "Home",
        None,
        None,
        None,
    ]


def test_a_name_means_a_document_of_the_first_collection_that_knows_it(both: tuple[Indexed, Collections]) -> None:
    members = both[1].members
    assert [
        document.record.title if (document := named_document(members, name)) else None for name in ("we", "see", "x")
    ] == [
        "About",
        "C",
        None,
    ]
    assert named_document([], "we") is None


def test_a_document_is_parsed_again_when_its_bytes_are_others(both: tuple[Indexed, Collections]) -> None:
    base, collections = both
    address = base.write("changing.md", "# One\n")
    first = parsed_document(collections.get("one"), address)
    assert parsed_document(collections.get("one"), address) is first
    base.write("changing.md", "# Two\n")
    assert parsed_document(collections.get("one"), address).title == "Two"
    (base.folder / "changing.md").unlink()
    with pytest.raises(NotFoundError):
        parsed_document(collections.get("one"), address)


def test_links_in_a_text_lead_to_documents_files_and_other_collections(both: tuple[Indexed, Collections]) -> None:
    collections = both[1]
    collection = collections.get("one")
    text = page("[[We]] ![](../p.png) [[two:see]] [[two:none]] [[three:x]] [[gone]] [x](../a.md)\n", "in/new.md")
    targets = link_targets(collections, collection, text, text.links)
    assert [(target.address.path, target.is_document, target.title) if target else None for _, target in targets] == [
        ("in/über uns.md", True, "About"),
        ("p.png", False, ""),
        ("c.md", True, "C"),
        None,
        None,
        None,
        ("a.md", True, "Plain"),
    ]
    assert link_targets(collections, collection, text, []) == []
    alone = link_targets(collections.only(frozenset({"one"})), collection, text, text.links[2:3])
    assert [target for _, target in alone] == [None]
