"""Files of a note: named, added, read and removed beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.errors import (
    ALREADY_WRITTEN,
    AlreadyExistsError,
    InvalidInputError,
    NotFoundError,
    PreconditionError,
    TooLargeError,
)
from commonplace.domain.revisions import Conditions, revision_of
from commonplace.toolsets.wiki.rules import MAX_ATTACHMENT_BYTES
from commonplace.toolsets.wiki.service.local import LocalAttachments
from commonplace.toolsets.wiki.service.notes import WikiOptions
from indexed import Indexed

FILES = {
    "Iran.md": "# Iran\n",
    "Iran/map.png": b"old",
    "Iran/sub/deep.png": b"x",
    "Iran/page.md": "# P\n",
    "Oman.md": "",
}


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    with Indexed(tmp_path, FILES) as made:
        yield made


@pytest.fixture
def files(base: Indexed) -> LocalAttachments:
    return LocalAttachments(base.collection, WikiOptions())


def names(files: LocalAttachments, path: str) -> list[str]:
    return [attachment.filename for attachment in files.list(path)[1]]


def test_the_files_of_a_note_are_those_in_its_folder_that_are_no_pages(files: LocalAttachments) -> None:
    assert files.list("iran")[0] == "Iran"
    assert names(files, "iran") == ["map.png"]
    assert names(files, "Oman") == []
    with pytest.raises(NotFoundError) as refused:
        files.list("none")
    assert refused.value.kind == "page"


def test_a_new_file_is_added_and_read_back(files: LocalAttachments) -> None:
    path, added = files.upload("oman", "Größe 1.PDF", b"content", message="x")
    assert (path, added.filename, added.size, added.mime_type, added.created) == (
        "Oman",
        "Größe 1.PDF",
        7,
        "application/pdf",
        True,
    )
    download = files.download("Oman", "Größe 1.PDF")
    assert download.content == b"content"
    assert download.attachment.last_modified.endswith("Z")


def test_a_file_is_replaced_only_by_who_names_what_is_there(files: LocalAttachments) -> None:
    with pytest.raises(AlreadyExistsError) as refused:
        files.upload("Iran", "map.png", b"new", message="x")
    assert refused.value.context["current_revision"] == revision_of(b"old")
    with pytest.raises(AlreadyExistsError) as same:
        files.upload("Iran", "map.png", b"old", message="x")
    assert same.value.hint == ALREADY_WRITTEN
    with pytest.raises(PreconditionError):
        files.upload("Iran", "map.png", b"new", message="x", conditions=Conditions(match=frozenset({"1" * 40})))
    there = Conditions(match=frozenset({revision_of(b"old")}))
    _, added = files.upload("Iran", "map.png", b"new", message="x", conditions=there)
    assert not added.created
    assert files.download("Iran", "map.png").content == b"new"


def test_a_file_that_goes_is_gone_and_a_missing_one_is_told(files: LocalAttachments) -> None:
    with pytest.raises(PreconditionError):
        files.delete("Iran", "map.png", message="x", conditions=Conditions(match=frozenset({"1" * 40})))
    assert files.delete("iran", "map.png", message="x") == ("Iran", "map.png")
    assert names(files, "Iran") == []
    for ask in (lambda: files.download("Iran", "map.png"), lambda: files.delete("Iran", "map.png", message="x")):
        with pytest.raises(NotFoundError) as refused:
            ask()
        assert refused.value.kind == "attachment"


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x.png", "a/b.png", "page.md", "Page.MARKDOWN", "a\0b.png", "\ud800"]
)
def test_a_name_that_is_no_file_of_the_note_is_refused(files: LocalAttachments, base: Indexed, name: str) -> None:
    with pytest.raises(InvalidInputError):
        files.upload("Iran", name, b"x", message="x")
    with pytest.raises(InvalidInputError):
        files.download("Iran", name)
    assert sorted(path.name for path in (base.folder / "Iran").iterdir()) == ["map.png", "page.md", "sub"]


def test_a_file_over_the_limit_is_refused(files: LocalAttachments) -> None:
    with pytest.raises(TooLargeError):
        files.upload("Oman", "big.bin", bytes(MAX_ATTACHMENT_BYTES + 1), message="x")
    assert names(files, "Oman") == []
