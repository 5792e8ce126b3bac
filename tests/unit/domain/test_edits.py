"""Edits change the bytes they name and no others."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain import edits
from commonplace.domain.document_reader import find_section
from commonplace.domain.documents import Document
from commonplace.domain.errors import InvalidInputError
from pages import page

TEXT = "---\nt: 1\n---\n\nintro\n\n# A\n\nold text\n\n## B\n\nb text\n\n# C\n\nend\n"


def replaced(text: str, name: str, new: str, **options: bool) -> str:
    document = page(text)
    section = find_section(document, [name] if name else [])
    return edits.replace_section(document, section, new, **options).decode()


@each_case(
    ("name", "new", "result"),
    [
        ("C", "new", TEXT.replace("\nend\n", "\nnew\n")),
        ("C", "\n\nnew\n\n\n", TEXT.replace("\nend\n", "\nnew\n")),
        ("C", "# C\n\nnew", TEXT.replace("\nend\n", "\nnew\n")),
        ("B", "new\n\nlines", TEXT.replace("b text", "new\n\nlines")),
        ("A", "new", TEXT.replace("old text\n\n## B\n\nb text", "new")),
        ("", "hello", TEXT.replace("intro", "hello")),
        ("B", "", TEXT.replace("b text\n\n", "")),
        ("C", "", TEXT.replace("\nend\n", "")),
        ("B", "    code", TEXT.replace("b text", "    code")),
    ],
)
def test_the_text_of_a_section_is_replaced(name: str, new: str, result: str) -> None:
    assert replaced(TEXT, name, new) == result


def test_a_section_can_keep_its_subsections_or_lose_its_heading() -> None:
    assert replaced(TEXT, "A", "new", subsections=False) == TEXT.replace("old text", "new")
    assert replaced(TEXT, "B", "## X\n\nx", keep_heading=False) == TEXT.replace("## B\n\nb text", "## X\n\nx")


@each_case(
    ("text", "name", "result"),
    [
        ("# A\n# B\n", "A", "# A\n\nnew\n\n# B\n"),
        ("# A\n\n\n\n# B\n", "A", "# A\n\nnew\n\n# B\n"),
        ("# A", "A", "# A\n\nnew"),
        ("# A\n", "A", "# A\n\nnew\n"),
        ("A\n---", "A", "A\n---\n\nnew"),
        ("# A\nold", "A", "# A\nnew"),
        ("# A\n\nold  \n\n# B", "A", "# A\n\nnew\n\n# B"),
        ("# A\n", "", "new\n\n# A\n"),
        ("", "", "new\n"),
        ("---\na: 1\n---", "", "---\na: 1\n---\nnew"),
        ("---\na: 1\n---\n\n# A\n", "", "---\na: 1\n---\nnew\n\n# A\n"),
        ("# A\r\n\r\nold\r\n\r\n# B\r\n", "A", "# A\r\n\r\nnew\r\n\r\n# B\r\n"),
        ("# A\rold\r# B\r", "A", "# A\rnew\r# B\r"),
    ],
)
def test_sections_at_the_edges(text: str, name: str, result: str) -> None:
    assert replaced(text, name, "new") == result


def test_writing_back_what_was_read_changes_nothing() -> None:
    for text in (TEXT, TEXT.replace("\n", "\r\n"), f"\ufeff{TEXT}", TEXT.rstrip("\n")):
        document = page(text)
        for section in document.sections:
            end = section.tree_end if section.level else section.end
            read = document.raw[section.content : end].decode()
            assert edits.replace_section(document, section, read) == document.raw
            whole = document.raw[section.start : end].decode()
            assert edits.replace_section(document, section, whole) == document.raw
            assert edits.replace_section(document, section, whole, keep_heading=False) == document.raw


def test_new_text_takes_on_the_line_ends_of_the_document() -> None:
    text = "# A\r\n\r\nold\r\n"
    assert replaced(text, "A", "one\ntwo\r\nthree\rfour") == "# A\r\n\r\none\r\ntwo\r\nthree\r\nfour\r\n"
    assert edits.insert_text(page(text), len(page(text).raw), "x\ny").endswith(b"old\r\n\r\nx\r\ny\r\n")
    assert replaced("# A\n\nold\n", "A", "one\r\ntwo") == "# A\n\none\ntwo\n"


@each_case(
    ("old", "new"),
    [("b", "B"), ("a\n\nb", "A\n\nb"), ("d\n", "d\nnew\n"), ("c\nd", "d\nc"), ("a\n\nb\nc\nd\ne", "x")],
)
def test_lines_of_a_document_of_mixed_line_ends_keep_their_own(old: str, new: str) -> None:
    before = "# H\r\na\n\r\nb\r\nc\nd\re\n\n# Z\r\n"
    document = page(before)
    body = document.raw[document.sections[1].content : document.sections[1].end].decode()
    unix = body.replace("\r\n", "\n").replace("\r", "\n")
    assert unix.count(old) == 1
    result = edits.replace_section(document, document.sections[1], unix.replace(old, new)).decode()
    lines = [line for line in before.splitlines(keepends=True) if line.strip() and line.strip() not in old + "HZ"]
    assert all(line in result for line in lines)
    assert result.startswith("# H\r\n")
    assert result.endswith("\n\n# Z\r\n")


def test_the_whole_text_is_replaced_within_its_line_ends_and_mark() -> None:
    assert edits.replace_text(page("\ufeffa\r\nb\r\n"), "a\nc\n") == "\ufeffa\r\nc\r\n".encode()
    assert edits.replace_text(page("a\n"), "\ufeffb\r\nc") == b"b\nc"
    assert edits.replace_text(page("a\r\nb\nc\r\n"), "a\nb\nX\n") == b"a\r\nb\nX\r\n"
    assert edits.replace_text(page("---\nt: 1\n---\n"), "") == b""


def test_the_body_is_replaced_below_the_front_matter() -> None:
    assert (
        edits.replace_body(page("---\na: 1 # c\n---\n\nold\n"), "# New\n\ntext\n")
        == b"---\na: 1 # c\n---\n\n# New\n\ntext\n"
    )
    assert edits.replace_body(page("---\na: 1\n---\n"), "new") == b"---\na: 1\n---\nnew\n"
    assert edits.replace_body(page("\ufeffold"), "new") == "\ufeffnew".encode()
    assert edits.replace_body(page(""), "") == b""


@each_case(
    ("text", "result"),
    [
        ("", "new\n"),
        ("a", "a\n\nnew"),
        ("a\n", "a\n\nnew\n"),
        ("a\n\n", "a\n\nnew\n"),
        ("a\n\n\n", "a\n\n\nnew\n"),
        ("a\n  \n", "a\n  \nnew\n"),
        ("a\r\n", "a\r\n\r\nnew\r\n"),
        ("---\nt: 1\n---\n", "---\nt: 1\n---\nnew\n"),
        ("---\nt: 1\n---", "---\nt: 1\n---\nnew"),
        ("---\nt: 1\n---\n\n", "---\nt: 1\n---\n\nnew\n"),
        ("\ufeff", "\ufeffnew"),
    ],
)
def test_text_is_appended_as_a_paragraph(text: str, result: str) -> None:
    assert edits.insert_text(page(text), len(page(text).raw), "\nnew\n\n").decode() == result


def test_nothing_cannot_be_appended() -> None:
    with pytest.raises(InvalidInputError):
        edits.insert_text(page("a"), 1, " \n\t\n")


def test_sections_are_removed_with_all_below_them() -> None:
    document = page("x\n# A\na\n## B\nb\n# C\nc\n")
    assert edits.remove_section(document, find_section(document, ["A"])) == b"x\n# C\nc\n"
    assert edits.remove_section(document, find_section(document, ["B"])) == b"x\n# A\na\n# C\nc\n"
    assert edits.remove_section(document, document.sections[0]) == b"# A\na\n## B\nb\n# C\nc\n"


def once(document: Document, old: str, new: str) -> str:
    return edits.replace_once(document, old, new).decode()


def test_the_one_occurrence_of_a_text_is_replaced() -> None:
    assert once(page("a b c"), "b", "x") == "a x c"
    assert once(page("ä ö ü"), "ö", "oe") == "ä oe ü"
    assert once(page("a b"), " b", "") == "a"
    assert once(page("---\nt: old\n---\n"), "old", "new") == "---\nt: new\n---\n"
    assert once(page("\ufeffab"), "ab", "c") == "\ufeffc"
    assert once(page("\ufeffa\ufeffb"), "\ufeff", "-") == "\ufeffa-b"


@pytest.mark.parametrize("old", ["b\nc", "b\r\nc"])
def test_line_ends_of_either_kind_match(old: str) -> None:
    assert once(page("a\r\nb\r\nc\r\nd\r\n"), old, "x\ny") == "a\r\nx\r\ny\r\nd\r\n"
    assert once(page("a\nb\nc\nd\n"), old, "x\r\ny") == "a\nx\ny\nd\n"
    assert once(page("a\r\nb\r\nc"), "\n" + old, "!") == "a!"


@each_case(
    ("old", "new", "message"),
    [
        ("", "x", "is empty"),
        ("b", "b", "the same"),
        ("zzz", "x", "does not occur"),
        ("a", "x", "occurs 3 times"),
        ("aa", "x", "occurs 2 times"),
    ],
)
def test_what_is_not_there_once_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        edits.replace_once(page("aaa b"), old, new)


def test_a_near_miss_is_hinted_at() -> None:
    with pytest.raises(InvalidInputError) as caught:
        edits.replace_once(page("one  two\nthree"), "one two three", "x")
    assert "other blanks" in caught.value.hint
    with pytest.raises(InvalidInputError) as caught:
        edits.replace_once(page("One"), "ONE", "x")
    assert "another case" in caught.value.hint


def test_what_is_no_text_is_never_changed() -> None:
    document = page(b"caf\xe9 # A\n")
    for edit in (
        lambda: edits.replace_section(document, document.sections[0], "x"),
        lambda: edits.replace_body(document, "x"),
        lambda: edits.replace_text(document, "x"),
        lambda: edits.insert_text(document, len(document.raw), "x"),
        lambda: edits.remove_section(document, document.sections[0]),
        lambda: edits.replace_once(document, "caf", "x"),
        lambda: edits.rewrite_links(document, {}),
    ):
        with pytest.raises(InvalidInputError, match="not UTF-8"):
            edit()


def test_a_lone_surrogate_is_refused() -> None:
    document = page("# A\n\nx\n")
    for edit in (
        lambda: edits.replace_body(document, "\ud800"),
        lambda: edits.replace_text(document, "\ud800"),
        lambda: edits.insert_text(document, len(document.raw), "\ud800"),
        lambda: edits.replace_once(document, "x", "\ud800"),
        lambda: edits.replace_once(document, "\ud800", "x"),
    ):
        with pytest.raises(InvalidInputError, match="surrogate"):
            edit()


OPEN = "# T\n\n## A\n\n```sh\n# install\n\n## B\n\nBe.\n\n~~~\n## C\n"


def test_an_edit_of_a_section_takes_none_away_that_an_unclosed_fence_hides() -> None:
    document = page(OPEN)
    section = find_section(document, ["A"])
    for edit in (
        lambda: edits.replace_section(document, section, "New."),
        lambda: edits.remove_section(document, section),
        lambda: edits.replace_range(document, section.content, len(document.raw), "New."),
    ):
        with pytest.raises(InvalidInputError, match=r"would delete 'install', 'B', 'C'.*line 5") as caught:
            edit()
        assert "heading behind it" in caught.value.hint
    closed = "```sh\n# install\n```\n\n## B\n\nBe.\n\n## C\n"
    assert edits.replace_section(document, section, closed) == f"# T\n\n## A\n\n{closed}".encode()
    assert b"code\n" in edits.replace_section(document, find_section(document, ["T"]), f"code\n\n## A\n\n{closed}")


def test_an_edit_of_a_section_hides_none_behind_it() -> None:
    document = page("## A\n\nx\n\n## B\n\ny\n")
    for text in ("```\nx", "<!-- x"):
        with pytest.raises(InvalidInputError, match="would hide 'B'"):
            edits.replace_section(document, find_section(document, ["A"]), text)
        assert edits.replace_section(document, find_section(document, ["B"]), text).endswith(f"{text}\n".encode())


FENCED = "## A\n\n```\nx\n```\n\n## B\n\n```\ny\n```\n\n## C\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_edit_of_named_text_hides_no_heading_that_it_does_not_name(newline: str) -> None:
    document = page(FENCED.replace("\n", newline))
    for edit in (
        lambda: edits.replace_once(document, "x\n```\n", "x\n"),
        lambda: edits.replace_once(document, "x\n```\n", "x\n", within=(0, find_section(document, ["B"]).start)),
        lambda: edits.insert_text(document, find_section(document, ["B"]).start, "```\nopen"),
        lambda: edits.insert_text(document, find_section(document, ["B"]).start, "<!-- open"),
    ):
        with pytest.raises(InvalidInputError, match="would hide 'B'") as caught:
            edit()
        assert str(caught.value).endswith(".")
    # What the text names may go, and what is written anew is there.
    assert b"## B" not in edits.replace_once(document, "```\n\n## B\n\n```\n", "")
    assert b"## Bee" in edits.replace_once(document, "B", "Bee")
    assert b"D\n" in edits.insert_text(page(FENCED), len(FENCED), "```\nopen D")
