"""Sections of a project's instructions."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError, NotFoundError
from commonplace.toolsets.projects.rules.chapters import Position
from commonplace.toolsets.projects.rules.instructions import (
    add_section,
    check_header,
    check_reference,
    find_instruction_section,
    remove_section,
    update_section,
)

TEXT = "# App\n\nIntro.\n\n## Testing\n\nRun it.\n\n### Fast\n\nx\n\n## Style\n\nTabs.\n"


def of(text: str | bytes) -> Document:
    return read_document(Address("main.md"), text.encode() if isinstance(text, str) else text)


@each_case("header", ["## Testing", "Testing", " ## Testing "])
@each_case("text", ["New.", "## Testing\n\nNew.\n", "\r\nNew.\r\n"])
def test_an_update_replaces_a_section_with_all_below_it(header: str, text: str) -> None:
    made = update_section(of(TEXT), header, text)
    assert made.raw == b"# App\n\nIntro.\n\n## Testing\n\nNew.\n\n## Style\n\nTabs.\n"
    assert made.gone == ("Fast",)


def test_the_level_is_part_of_the_name() -> None:
    assert find_instruction_section(of(TEXT), "### Fast").level == 3
    for header in ("## Fast", "# Testing", "## testing"):
        with pytest.raises(NotFoundError, match="not found") as caught:
            find_instruction_section(of(TEXT), header)
        assert caught.value.kind == "section"


@pytest.mark.parametrize(
    ("position", "reference", "before"),
    [("end", "", None), ("before", "## Testing", "## Testing"), ("after", "## Testing", "## Style")],
)
def test_a_section_is_added_at_the_end_or_beside_another(
    position: Position, reference: str, before: str | None
) -> None:
    made = add_section(of(TEXT), "### New", "### New\n\ntext", position, reference).decode()
    at = TEXT.index(before) if before else len(TEXT)
    assert made == f"{TEXT[:at]}{'' if before else chr(10)}### New\n\ntext\n{chr(10) if before else ''}{TEXT[at:]}"


def test_a_section_may_be_empty_and_the_first_one() -> None:
    assert add_section(of(""), "First", "") == b"## First\n"
    assert add_section(of("x"), "# One", " \n") == b"x\n\n# One\n"


def test_a_section_that_exists_and_a_reference_that_does_not_are_refused() -> None:
    with pytest.raises(AlreadyExistsError, match="Section '## Style' already exists"):
        add_section(of(TEXT), "## Style", "x")
    with pytest.raises(NotFoundError, match="Reference section '## Gone' not found"):
        add_section(of(TEXT), "## New", "x", "after", "## Gone")
    assert b"### Style" in add_section(of(TEXT), "### Style", "x")


def test_a_removed_section_takes_those_below_with_it() -> None:
    made = remove_section(of(TEXT), "## Testing")
    assert made.raw == b"# App\n\nIntro.\n\n## Style\n\nTabs.\n"
    assert made.gone == ("Fast",)
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        remove_section(of(b"## A\n\n\xff\n"), "## A")


@each_case("header", ["", "  ", "## a\nb", "## " + "x" * 201, "## a\0"])
def test_a_header_that_is_no_line_is_refused(header: str) -> None:
    with pytest.raises(InvalidInputError, match="Section header") as caught:
        check_header(header)
    assert caught.value.kind == "title"


def test_a_position_beside_another_needs_a_reference() -> None:
    check_reference("end", "", "reference_header")
    check_reference("after", "## A", "reference_header")
    for reference in ("", "  "):
        with pytest.raises(InvalidInputError, match="reference_header is required when position is 'before'"):
            check_reference("before", reference, "reference_header")


@pytest.mark.parametrize("open_block", ["```\nopen", "~~~\nopen", "<!-- open", "<pre>\nopen"])
def test_a_text_that_would_hide_a_section_is_refused(open_block: str) -> None:
    for change in (
        lambda: update_section(of(TEXT), "## Testing", open_block),
        lambda: add_section(of(TEXT), "## New", open_block, "before", "## Style"),
    ):
        with pytest.raises(InvalidInputError, match=r"would hide ('Style'|a section):") as caught:
            change()
        assert caught.value.kind == "content"
    with pytest.raises(InvalidInputError, match="The last section would hide one after it"):
        add_section(of(f"{TEXT}\n{open_block}\n"), "## New", "x")
    last = update_section(of(TEXT), "## Style", open_block).raw
    assert last.endswith(f"## Style\n\n{open_block}\n".encode()), "nothing follows that it could hide"
