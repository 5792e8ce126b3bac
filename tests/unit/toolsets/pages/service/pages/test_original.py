"""The page of a space from which a document was synced."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.toolsets.pages.service.pages import OriginalPage, original_page, space_of
from indexed import Indexed

SPACE = json.dumps({"spaceKey": "ENG", "spaceName": "Engineering", "pages": {}})
PAGE = "---\npage_id: '12'\ntitle: Setup\nurl: {}\n---\n# Setup\n"
FILES = {
    ".confluence.json": SPACE,
    "web.md": PAGE.format("https://example.org/wiki/12"),
    "script.md": PAGE.format("javascript:alert(1)").replace("12", "13"),
    "own.md": "# Own notes\n",
}


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    with Indexed(tmp_path, FILES) as made:
        yield made


def original(base: Indexed, path: str) -> OriginalPage | None:
    record = base.index.record(Address(path))
    assert record is not None
    return original_page(base.collection, record)


def test_a_synced_document_has_its_page_and_where_it_is_edited(base: Indexed) -> None:
    page = original(base, "web.md")
    assert page is not None
    assert (page.space.name, page.page.id, page.url) == ("Engineering", "12", "https://example.org/wiki/12")


def test_an_address_that_no_browser_should_open_is_not_shown(base: Indexed) -> None:
    page = original(base, "script.md")
    assert page is not None
    assert (page.page.id, page.url) == ("13", "")


def test_a_document_of_one_s_own_has_no_original(base: Indexed) -> None:
    assert original(base, "own.md") is None


def test_a_folder_is_a_space_while_it_has_a_valid_space_file(base: Indexed) -> None:
    assert space_of(base.collection) is not None
    base.write(".confluence.json", SPACE.replace("Engineering", "Ops and more"))
    space = space_of(base.collection)
    assert space is not None
    assert space.name == "Ops and more"
    base.write(".confluence.json", "{")
    assert space_of(base.collection) is None
    assert original(base, "web.md") is None
    (base.folder / ".confluence.json").unlink()
    assert space_of(base.collection) is None
