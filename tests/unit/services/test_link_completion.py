"""Completion of links, headings and keys while a page is written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.services.link_completion import frontmatter_keys, heading_names, page_candidates, wiki_name
from indexed import Indexed

HERE = Address("here.md")
FILES = {
    "here.md": "# Here\n",
    "Green Tea.md": "---\naliases: [Sencha]\n---\n# Green Tea\n\n## Water\n\n## Water\n\n## Cups & pots\n",
    "a/note.md": "# One\n\nGreen things.\n",
    "b/note.md": "# Two\n",
    "kb.yaml": "types:\n  recipe:\n    fields:\n      minutes: {type: number}\n",
}


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    with Indexed(tmp_path, FILES) as made:
        yield made


def test_names_come_before_texts_and_the_page_itself_never(base: Indexed) -> None:
    def found(typed: str) -> list[str]:
        return [record.address.path for record in page_candidates(base.index, typed, HERE)]

    assert found("green") == ["Green Tea.md", "a/note.md"]
    assert found("sench") == ["Green Tea.md"]
    assert found("b/") == ["b/note.md"]
    assert found("...") == []
    assert sorted(found("")) == ["Green Tea.md", "a/note.md", "b/note.md"]


def test_pages_whose_name_begins_with_the_text_come_first_however_many_texts_have_it(tmp_path: Path) -> None:
    texts = {f"t{number:02}.md": f"# Note {number}\n\n{'creating created ' * 9}\n" for number in range(60)}
    names = {"how to/Create a vault.md": "# Create a vault\n", "old.md": "---\naliases: [Crew]\n---\n"}
    with Indexed(tmp_path, texts | names) as base:
        offered = [record.address.path for record in page_candidates(base.index, "Cre", HERE)]
    assert sorted(offered[:2]) == sorted(names)
    assert set(offered[2:]) <= set(texts)


def test_accents_do_not_matter_for_names_and_headings(tmp_path: Path) -> None:
    files = {
        "Kuhl.md": "# Kuhl\n",
        "Kühlanlage.md": "# Kühlanlage\n\n## Überdruck am Ventil\n",
        "ガラス.md": "# ガラス\n",
        "x[y].md": "# x\n",
        **{f"t{number:02}.md": f"# Note {number}\n\n{'kuhl kuhle ' * 9}\n" for number in range(30)},
    }
    with Indexed(tmp_path, files) as base:

        def offered(typed: str) -> list[str]:
            return [record.address.path for record in page_candidates(base.index, typed, HERE)]

        assert offered("Kuhl")[:2] == ["Kuhl.md", "Kühlanlage.md"]
        assert offered("kühl")[:2] == ["Kühlanlage.md", "Kuhl.md"]
        assert offered("uberdr")[:1] == ["Kühlanlage.md"]
        assert offered("ガラ")[:1] == ["ガラス.md"]
        assert offered("x[")[:1] == ["x[y].md"]
        document = base.index.document(Address("Kühlanlage.md"))
        assert heading_names(document, "uber") == heading_names(document, "ÜBER") == ["Überdruck am Ventil"]


def test_a_link_has_the_shortest_name_that_leads_to_the_page(base: Indexed) -> None:
    records = {record.address.path: record for record in page_candidates(base.index, "", HERE)}
    assert wiki_name(base.index, records["Green Tea.md"], HERE) == "Green Tea"
    names = {wiki_name(base.index, records[path], HERE) for path in ("a/note.md", "b/note.md")}
    assert len(names) == 2
    for name in names:
        target = base.index.find(name, HERE)
        assert target is not None


def test_headings_are_named_so_that_a_link_finds_them(base: Indexed) -> None:
    document = base.index.document(Address("Green Tea.md"))
    assert heading_names(document, "cups") == ["Cups & pots"]
    assert heading_names(document, "water")[:1] == ["Water"]
    assert heading_names(document, "absent") == []


def test_declared_keys_come_before_common_ones(base: Indexed) -> None:
    assert frontmatter_keys(base.collection, "recipe")[:2] == ["minutes", "title"]
    assert "minutes" not in frontmatter_keys(base.collection, "other")
