"""`commonplace lsp`, asked by a client of the protocol."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from editor import Editor, editing

FULL = types.CompletionContext(types.CompletionTriggerKind.Invoked)


def completed(editor: Editor, path: str, text: str) -> list[types.CompletionItem]:
    """The items at the `|` of a text that is typed into a file."""
    cursor = text.index("¦")
    editor.change(path, text.replace("¦", ""))
    params = types.CompletionParams(
        types.TextDocumentIdentifier(editor.uri(path)), editor.position(text.replace("¦", ""), cursor), context=FULL
    )
    answer = editor.call(editor.client.text_document_completion_async, params)
    assert isinstance(answer, types.CompletionList)
    return list(answer.items)


def texts(items: list[types.CompletionItem]) -> list[str]:
    """The text that each item inserts."""
    return [element.text_edit.new_text for element in items if isinstance(element.text_edit, types.TextEdit)]


@pytest.mark.soak
def test_a_link_is_completed_by_title_path_heading_and_block(editor: Editor) -> None:
    editor.open("index.md")
    assert "guide]]" in texts(completed(editor, "index.md", "see [[gui¦\n"))
    assert texts(completed(editor, "index.md", "see [[The Gui¦]]\n"))[0] == "guide"
    assert texts(completed(editor, "index.md", "see [[guide#set¦]]\n")) == ["guide#Set up"]
    assert texts(completed(editor, "index.md", "see [[guide#^¦]]\n")) == ["guide#^block1"]
    assert "notes/deep.md" in texts(completed(editor, "index.md", "see [x](deep¦)\n"))
    assert texts(completed(editor, "index.md", "see [x](guide.md#se¦)\n")) == ["guide.md#set-up"]


def test_tags_fields_and_their_values_are_completed(editor: Editor) -> None:
    editor.open("index.md")
    assert texts(completed(editor, "index.md", "text #top¦\n")) == ["topic/one"]
    assert texts(completed(editor, "index.md", "---\ntags: [he¦\n---\n")) == ["help"]
    assert texts(completed(editor, "index.md", "---\ntags:\n  - top¦\n---\n")) == ["topic/one"]
    assert texts(completed(editor, "index.md", "---\ntype: h¦\n---\n")) == ["howto"]
    assert "title: " in texts(completed(editor, "index.md", "---\nt¦\n---\n"))
    assert completed(editor, "index.md", "plain text ¦\n") == []


def test_a_hover_shows_the_section_that_a_link_names(editor: Editor) -> None:
    editor.open("index.md")
    hover = editor.call(
        editor.client.text_document_hover_async, types.HoverParams(**editor.place("index.md", "Set up"))
    )
    assert isinstance(hover, types.Hover)
    assert isinstance(hover.contents, types.MarkupContent)
    assert "## Set up" in hover.contents.value
    assert "Do it." in hover.contents.value
    assert "Intro." not in hover.contents.value


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [("[[guide]]", "guide.md", 0), ("guide#Set", "guide.md", 9), ("notes/deep", "notes/deep.md", 4)],
)
@pytest.mark.soak
def test_a_definition_is_the_page_or_heading_that_a_link_names(editor: Editor, text: str, path: str, line: int) -> None:
    editor.open("index.md")
    params = types.DefinitionParams(**editor.place("index.md", text, 3))
    found_value = editor.call(editor.client.text_document_definition_async, params)
    assert isinstance(found_value, types.Location)
    assert (found_value.uri, found_value.range.start.line) == (editor.uri(path), line)


@pytest.mark.soak
def test_references_are_those_of_the_page_or_of_the_heading(editor: Editor) -> None:
    editor.open("guide.md")

    def references(text: str) -> set[str]:
        params = types.ReferenceParams(
            types.ReferenceContext(include_declaration=False), **editor.place("guide.md", text)
        )
        locations = editor.call(editor.client.text_document_references_async, params)
        return {
            f"{Path(item.uri).name}:{item.range.start.line}:{item.range.start.character}" for item in locations or ()
        }

    whole = references("The Guide\n\n")
    assert {name.partition(":")[0] for name in whole} == {"index.md", "deep.md", "%D0%BA%D0%BB%D1%8E%D1%87.md"}
    assert references("Set up") == {
        "index.md:2:18", "deep.md:2:37", f"%D0%BA%D0%BB%D1%8E%D1%87.md:2:{editor.units('😀😀 ')}",
    }  # fmt: skip


def test_headings_are_symbols_and_pages_are_found_by_words(editor: Editor) -> None:
    editor.open("guide.md")
    document = types.TextDocumentIdentifier(editor.uri("guide.md"))
    informations = editor.call(editor.client.text_document_document_symbol_async, types.DocumentSymbolParams(document))
    top = informations[0] if informations else None
    assert isinstance(top, types.DocumentSymbol)
    assert top.name == "The Guide"
    assert [symbol.name for symbol in top.children or ()] == ["Set up"]
    everywhere = editor.call(editor.client.workspace_symbol_async, types.WorkspaceSymbolParams("guide"))
    assert "The Guide" in [information.name for information in everywhere or ()]
    folds = editor.call(editor.client.text_document_folding_range_async, types.FoldingRangeParams(document))
    assert (0, 4) in {(folding_range.start_line, folding_range.end_line) for folding_range in folds or ()}


def test_a_page_is_renamed_with_every_link_to_it(editor: Editor) -> None:
    editor.open("index.md")
    place = editor.place("index.md", "[[guide]]", 3)
    prepared = editor.call(editor.client.text_document_prepare_rename_async, types.PrepareRenameParams(**place))
    assert isinstance(prepared, types.PrepareRenamePlaceholder)
    assert prepared.placeholder == "guide"
    edit = editor.call(editor.client.text_document_rename_async, types.RenameParams(new_name="notes/handbook", **place))
    assert edit is not None
    editor.apply(edit)
    assert not (editor.root / "guide.md").exists()
    assert "[[index]]" in (editor.root / "notes/handbook.md").read_text()
    assert "See [[handbook]] and [[handbook#Set up|how]]" in (editor.root / "index.md").read_text()
    assert "[the guide](handbook.md) and [set up](handbook.md#set-up)" in (editor.root / "notes/deep.md").read_text()
    assert "😀😀 [[handbook#Set up]]" in (editor.root / "notes/ключ.md").read_text()


def test_a_heading_is_renamed_with_every_link_to_it_in_each_style(editor: Editor) -> None:
    editor.open("guide.md")
    params = types.RenameParams(new_name="First steps", **editor.place("guide.md", "Set up"))
    edit = editor.call(editor.client.text_document_rename_async, params)
    assert edit is not None
    editor.apply(edit)
    assert "## First steps\n" in (editor.root / "guide.md").read_text()
    assert "[[guide#First steps|how]]" in (editor.root / "index.md").read_text()
    assert "(../guide.md#first-steps)" in (editor.root / "notes/deep.md").read_text()
    assert "😀😀 [[guide#First steps]]" in (editor.root / "notes/ключ.md").read_text()


@pytest.mark.soak
def test_unsaved_text_counts_in_a_rename(editor: Editor) -> None:
    editor.open("notes/deep.md", "# Deep\n\nNew line.\n\nNow [[guide]] twice: [[guide|g]].\n")
    editor.open("index.md")
    params = types.RenameParams(new_name="manual", **editor.place("index.md", "[[guide]]", 3))
    edit = editor.call(editor.client.text_document_rename_async, params)
    changes = [
        document_change
        for document_change in (edit.document_changes if edit else None) or ()
        if isinstance(document_change, types.TextDocumentEdit)
    ]
    deep = next(edit for edit in changes if edit.text_document.uri == editor.uri("notes/deep.md"))
    made = [edit for edit in deep.edits if isinstance(edit, types.TextEdit)]
    assert [edit.new_text for edit in made] == ["Now [[manual]] twice: [[manual|g]].\n"]
    assert made[0].range.start.line == 4


def test_a_folder_that_the_editor_moves_takes_its_links_along(editor: Editor) -> None:
    moved = types.FileRename(editor.uri("notes"), editor.uri("archive/old"))
    edit = editor.call(editor.client.workspace_will_rename_files_async, types.RenameFilesParams([moved]))
    assert edit is not None
    editor.apply(edit)
    (editor.root / "archive").mkdir()
    (editor.root / "notes").rename(editor.root / "archive/old")
    assert "[deep](archive/old/deep.md#the-end)" in (editor.root / "index.md").read_text()
    assert "(../../guide.md) and [set up](../../guide.md#set-up)" in (editor.root / "archive/old/deep.md").read_text()


def test_images_in_a_folder_that_the_editor_moves_stay_beside_their_pages(editor: Editor) -> None:
    (editor.root / "notes/pot.png").write_bytes(b"\x89PNG")
    editor.open("notes/deep.md", "# Deep\n\n![](pot.png) [home](../index.md)\n")
    moved = types.FileRename(editor.uri("notes"), editor.uri("archive/old"))
    edit = editor.call(editor.client.workspace_will_rename_files_async, types.RenameFilesParams([moved]))
    made = {
        change.text_document.uri: [change.new_text for change in change.edits if isinstance(change, types.TextEdit)]
        for change in (edit.document_changes if edit else None) or ()
        if isinstance(change, types.TextDocumentEdit)
    }
    assert made[editor.uri("notes/deep.md")] == ["![](pot.png) [home](../../index.md)\n"]


def test_a_rename_onto_a_name_that_is_elsewhere_takes_no_links_over(editor: Editor) -> None:
    editor.open("index.md", "# Start\n\nSee [[guide]] and [[deep]].\n")
    params = types.RenameParams(new_name="/deep", **editor.place("index.md", "[[guide]]", 3))
    edit = editor.call(editor.client.text_document_rename_async, params)
    made = [
        change.new_text
        for document_change in (edit.document_changes if edit else None) or ()
        if isinstance(document_change, types.TextDocumentEdit)
        and document_change.text_document.uri == editor.uri("index.md")
        for change in document_change.edits
        if isinstance(change, types.TextEdit)
    ]
    assert made == ["See [[deep]] and [[notes/deep]].\n"]


def test_a_rename_to_a_taken_name_is_refused_with_the_reason(editor: Editor) -> None:
    editor.open("index.md")
    params = types.RenameParams(new_name="notes/deep", **editor.place("index.md", "[[guide]]", 3))
    with pytest.raises(JsonRpcException, match="notes/deep"):
        editor.call(editor.client.text_document_rename_async, params)
    assert (editor.root / "guide.md").exists()


@pytest.mark.soak
def test_diagnostics_follow_what_is_typed_and_what_is_mended_elsewhere(editor: Editor) -> None:
    editor.open("index.md")
    editor.diagnosed("index.md")
    editor.change("index.md", "# Start\n\n[[nowhere]] and [[guide#No such]] and [x](gone.md)\n")
    editor.diagnosed("index.md", "broken_link", "broken_link", "dead_anchor")
    (editor.root / "nowhere.md").write_text("# Nowhere\n")
    editor.diagnosed("index.md", "broken_link", "dead_anchor")


@pytest.mark.soak
def test_a_wanted_page_is_made_and_a_dead_link_is_mended_by_the_nearest_name(editor: Editor) -> None:
    editor.open("index.md", "# Start\n\n[[giude]] and [[guide#Set upp]]\n")
    editor.diagnosed("index.md", "broken_link", "dead_anchor")
    diagnostics = list(editor.client.diagnostics[editor.uri("index.md")])
    params = types.CodeActionParams(
        types.TextDocumentIdentifier(editor.uri("index.md")), diagnostics[0].range, types.CodeActionContext(diagnostics)
    )
    offered = editor.call(editor.client.text_document_code_action_async, params)
    titles = {command.title: command for command in offered or () if isinstance(command, types.CodeAction)}
    assert {"Change the link to guide", "Create giude.md", "Change the heading to Set up"} <= titles.keys()
    (editor.root / "index.md").write_text("# Start\n\n[[giude]] and [[guide#Set upp]]\n")
    for title in ("Change the link to guide", "Change the heading to Set up"):
        edit = titles[title].edit
        assert edit is not None
        editor.apply(edit)
    assert "[[guide]]" in (editor.root / "index.md").read_text()
    create = titles["Create giude.md"].edit
    assert create is not None
    editor.apply(create)
    assert (editor.root / "giude.md").read_text() == "# giude\n"


@pytest.mark.soak
def test_front_matter_that_is_broken_is_shown_on_its_line(editor: Editor) -> None:
    editor.open("index.md", "---\ntitle: [a\n---\n# X\n")
    editor.diagnosed("index.md", "bad_yaml")


def test_positions_count_the_units_that_the_client_chose(root: Path) -> None:
    agreed: set[str] = set()
    for client_name in ("neovim", "visual_studio_code"):
        with editing(root, client_name=client_name) as editor:
            agreed.add(editor.codec)
            editor.open("notes/ключ.md")
            params = types.DefinitionParams(**editor.place("notes/ключ.md", "Deep 😀]]"))
            found_value = editor.call(editor.client.text_document_definition_async, params)
            assert isinstance(found_value, types.Location)
            assert found_value.uri == editor.uri("notes/deep.md")
    assert agreed == {"utf-8", "utf-16-le"}


def test_a_file_outside_of_the_folder_is_answered_with_nothing(editor: Editor, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("# Outside\n\n[[guide]]\n")
    identifier = types.TextDocumentIdentifier(outside.as_uri())
    for uri in (outside.as_uri(), "untitled:Untitled-1", "file:///%00", editor.uri("../outside.md")):
        params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(2, 3))
        assert editor.call(editor.client.text_document_hover_async, params) is None
    symbols = editor.call(editor.client.text_document_document_symbol_async, types.DocumentSymbolParams(identifier))
    assert not symbols


@pytest.mark.soak
def test_odd_positions_are_answered_with_nothing(editor: Editor) -> None:
    editor.open("index.md")
    for line, character in ((9_999, 0), (2, 9_999), (0, 0)):
        params = types.DefinitionParams(
            types.TextDocumentIdentifier(editor.uri("index.md")), types.Position(line, character)
        )
        assert editor.call(editor.client.text_document_definition_async, params) is None


def test_a_folder_on_the_command_line_counts_more_than_that_of_the_editor(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "alone.md").write_text("# Alone\n")
    with editing(root, str(other)) as editor:
        informations = editor.call(editor.client.workspace_symbol_async, types.WorkspaceSymbolParams("alone guide"))
        assert {information.name for information in informations or ()} == {"Alone"}


@pytest.mark.soak
def test_a_folder_that_is_not_there_is_named(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    done = subprocess.run(
        [sys.executable, "-m", "commonplace", "lsp", "nowhere"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode != 0
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr
