"""Completions at the cursor."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lsprotocol.types import CompletionItem, Position

from commonplace.domain.yaml_loader import load
from commonplace.faces.lsp.completion import complete
from commonplace.faces.lsp.pages import EditorPage
from editor.desk import Desk


def items(desk: Desk, at: Callable[[EditorPage, str], Position], text: str, typed: str) -> dict[str, CompletionItem]:
    page = desk.type("draft.md", text)
    return {
        item.text_edit.new_text: item for item in complete(desk.pages, page, at(page, typed)).items if item.text_edit
    }


def after(desk: Desk, at: Callable[[EditorPage, str], Position], text: str, typed: str, chosen: str) -> str:
    """The text once an item is taken."""
    page = desk.type("draft.md", text)
    edit = items(desk, at, text, typed)[chosen].text_edit
    assert edit is not None
    place = edit.range  # type: ignore[union-attr]
    start, end = page.lines.offset(place.start), page.lines.offset(place.end)
    return (page.document.source[:start] + edit.new_text.encode() + page.document.source[end:]).decode()


At = Callable[[EditorPage, str], Position]


def test_a_link_is_completed_and_closed_once(desk: Desk, at: At) -> None:
    assert after(desk, at, "See [[gui", "[[gui", "guide]]") == "See [[guide]]"
    assert after(desk, at, "See [[gui]] x", "[[gui", "guide") == "See [[guide]] x"
    assert "guide#Set up]]" in items(desk, at, "[[guide#se", "#se")
    assert "guide#^block1]]" in items(desk, at, "[[guide#^", "#^")


def test_a_path_in_markdown_is_relative_and_quoted(desk: Desk, at: At) -> None:
    assert after(desk, at, "[x](gui", "](gui", "guide.md") == "[x](guide.md"
    odd = "notes/C%23%20%28new%29%2050%25.md"
    assert odd in items(desk, at, "[x](odd", "](odd")
    page = desk.type("draft.md", f"[x]({odd})\n")
    (link,) = page.collection.index.resolve(page.document)
    assert link.target is not None
    assert "guide.md#set-up" in items(desk, at, "[x](guide.md#se", "#se")


@pytest.mark.parametrize(
    "typed", ["[x](notes/C# (n", "[x](<my notes/tw", "[x](my notes/tw", "[x](my%20notes/tw", "[x]: my notes/tw"]
)
def test_a_path_with_blanks_is_completed_as_it_is_typed(desk: Desk, at: At, typed: str) -> None:
    desk.base.update("my notes/two words.md", "# Two words\n\n## Third word\n")
    found_items = items(desk, at, typed, typed)
    assert list(found_items)[:1] == (["my%20notes/two%20words.md"] if "my" in typed else [])


@pytest.mark.parametrize("path", ["my notes/two words.md", "my%20notes/two%20words.md"])
def test_headings_of_a_page_with_blanks_in_its_name_are_completed(desk: Desk, at: At, path: str) -> None:
    desk.base.update("my notes/two words.md", "# Two words\n\n## Third word\n")
    assert f"{path}#third-word" in items(desk, at, f"[x]({path}#th", "#th")


def test_names_that_begin_with_what_was_typed_come_first(desk: Desk, at: At) -> None:
    desk.base.update("carob.md", "# Carob bobbin\n\nob ob ob ob\n")
    desk.base.update("obelisk.md", "# Obelisk\n")
    assert next(iter(items(desk, at, "[[ob", "[[ob"))) == "obelisk]]"


def test_a_page_that_no_wiki_link_can_name_by_its_path_is_offered_by_its_title(desk: Desk, at: At) -> None:
    assert "Odd name]]" in items(desk, at, "[[odd", "[[odd")
    page = desk.type("draft.md", "[[Odd name]]")
    assert [link.target is not None for link in page.collection.index.resolve(page.document)] == [True]


def test_equal_headings_are_offered_once(desk: Desk, at: At) -> None:
    desk.base.update("twice.md", "# Twice\n\n## Same\n\n## Same\n")
    page = desk.type("draft.md", "[[twice#sa")
    assert [element.label for element in complete(desk.pages, page, at(page, "#sa")).items] == ["Same"]


def test_tags_come_with_their_pages(desk: Desk, at: At) -> None:
    assert items(desk, at, "Text #to", "#to")["topic/one"].detail == "2 pages"
    assert items(desk, at, "# Heading", "# Head") == {}
    assert "topic/one" in items(desk, at, "---\ntags: [to]\n---\n", "[to")
    assert "topic/one" in items(desk, at, "---\ntags:\n  - to\n---\n", "- to")


@pytest.mark.parametrize(("text", "typed"), [("---\nstatus: \n---\n", "status: "), ("---\nstatus: [\n---\n", "[")])
def test_values_of_fields_stay_the_texts_that_they_are(desk: Desk, at: At, text: str, typed: str) -> None:
    desk.base.update("more.md", "---\nstatus: 'a: b, c'\n---\n# More\n")
    offered = items(desk, at, text, typed)
    form = "value: [{}]" if "[" in text else "value: {}"
    loaded = [load(form.format(element)).value for element in offered]
    values = [element["value"] for element in loaded if isinstance(element, dict)]
    assert sorted(value[0] if isinstance(value, list) else value for value in values) == ["a: b, c", "open", "yes"]  # type: ignore[type-var]


def test_keys_are_those_that_are_not_there_yet(desk: Desk, at: At) -> None:
    keys = items(desk, at, "---\ntitle: a\nta\n---\n", "\nta")
    assert "tags: " in keys
    assert "title: " not in keys


def test_fields_that_the_page_s_type_declares_come_first_while_a_key_is_typed(desk: Desk, at: At) -> None:
    desk.base.write("kb.yaml", "types:\n  howto:\n    fields:\n      level: {type: select, options: [easy, hard]}\n")
    keys = items(desk, at, "---\ntype: howto\nle\n---\n# A\n", "\nle")
    assert next(iter(keys)) == "level: "
    values = items(desk, at, "---\ntype: howto\nlevel: ha\n---\n# A\n", "level: ha")
    assert list(values) == ["hard"]


def test_where_nothing_can_be_meant_nothing_is_offered(desk: Desk, at: At) -> None:
    assert items(desk, at, "Plain text", "Plain") == {}
    assert items(desk, at, "[[guide]] x", "]] x") == {}
