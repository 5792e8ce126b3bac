"""Links follow a move in the style in which they were written, and nothing else changes."""

from __future__ import annotations

import pytest

from cases import each_case
from commonplace.domain import edits
from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.markdown.paths import joined, relative_path
from pages import page

OLD, NEW = Address("notes/old idea.md"), Address("archive/2024/new idea.md")


def after_rename(
    text: str, path: str = "notes/page.md", old: Address = OLD, new: Address = NEW, unclear: str = ""
) -> str:
    document = page(text, path)
    targets = dict.fromkeys(range(len(document.links)), new)
    result = edits.rewrite_links(document, targets, old=old, leads=lambda path, _: None if path == unclear else new)
    return result.decode()


@each_case(
    ("before", "after"),
    [
        ("[[old idea]]", "[[new idea]]"),
        ("![[old idea#h|x]]", "![[new idea#h|x]]"),
        ("[[old idea.md|x]]", "[[new idea.md|x]]"),
        ("[[notes/old idea]]", "[[archive/2024/new idea]]"),
        ("[[/notes/old idea]]", "[[/archive/2024/new idea]]"),
        ("[[./old idea]]", "[[../archive/2024/new idea]]"),
        ("[[../notes/old idea.md]]", "[[../archive/2024/new idea.md]]"),
        ("[[kb:old idea#h]]", "[[kb:new idea#h]]"),
        ("[[ old idea ]]", "[[ new idea ]]"),
        ("[x](old%20idea.md)", "[x](../archive/2024/new%20idea.md)"),
        ("[x](old%20idea)", "[x](../archive/2024/new%20idea)"),
        ("[x](old%20idea.html#h)", "[x](../archive/2024/new%20idea.html#h)"),
        ("[x](<old idea.md> 'a title')", "[x](<../archive/2024/new idea.md> 'a title')"),
        ("[x](./old%20idea.md?view=1#h)", "[x](../archive/2024/new%20idea.md?view=1#h)"),
        ("[x](/notes/old%20idea.md)", "[x](/archive/2024/new%20idea.md)"),
        ("[x](notes/old%20idea.md)", "[x](archive/2024/new%20idea.md)"),
        ("![x](old%20idea.md)", "![x](../archive/2024/new%20idea.md)"),
        ("[x][r] [r]\n\n[r]: old%20idea.md 'title'\n", "[x][r] [r]\n\n[r]: ../archive/2024/new%20idea.md 'title'\n"),
        ("| [[old idea\\|x]] |\n|---|\n", "| [[new idea\\|x]] |\n|---|\n"),
        ("---\nlinks:\n  - {to: notes/old idea} # c\n---\n", "---\nlinks:\n  - {to: archive/2024/new idea} # c\n---\n"),
        ("---\nup: '[[old idea|x]]'\n---\n", "---\nup: '[[new idea|x]]'\n---\n"),
        ('---\r\nlinks: ["old idea"]\r\n---\r\n', '---\r\nlinks: ["new idea"]\r\n---\r\n'),
    ],
)  # fmt: skip
def test_a_link_is_written_as_it_was(before: str, after: str) -> None:
    text = f"{before} and ä 'old idea' text.\n" if not before.startswith("---") else before
    assert after_rename(text) == text.replace(before, after)


@each_case(
    ("before", "old", "new", "after"),
    [
        ("[x](../guide/)", "guide/index.md", "manual/index.md", "[x](../manual/)"),
        ("[x](../guide)", "guide/README.md", "manual/README.md", "[x](../manual)"),
        ("[x](../guide/)", "guide/index.md", "manual.md", "[x](../manual)"),
        ("[x](../guide/index.md)", "guide/index.md", "manual/index.md", "[x](../manual/index.md)"),
        ("[x](../guide/index.html)", "guide/README.md", "manual/README.md", "[x](../manual/index.html)"),
        ("[x](../guide/index.html)", "guide/README.md", "manual/plan.md", "[x](../manual/plan.html)"),
        ("[[guide]]", "guide/index.md", "manual/index.md", "[[manual]]"),
        ("[[deep/idea]]", "a/deep/idea.md", "b/flat/plan.md", "[[flat/plan]]"),
        ("[[idea]]", "idea.md", "notes/idea.md", "[[idea]]"),
        ("[[The Title]]", "idea.md", "notes/plan.md", "[[The Title]]"),
        ("[x](idea.md)", "notes/idea.md", "notes/a (1) b.md", "[x](a%20%281%29%20b.md)"),
        ("[x](<idea.md>)", "notes/idea.md", "notes/a (1) <b>.md", "[x](<a (1) %3Cb%3E.md>)"),
        ("[x](idea.md)", "notes/idea.md", "notes/100% & c#.md", "[x](100%25%20%26%20c%23.md)"),
        ("[x](idea.md)", "notes/idea.md", "notes/Größe.md", "[x](Größe.md)"),
        ("[x](id%C3%A9e.md)", "notes/idée.md", "notes/Größe.md", "[x](Gr%C3%B6%C3%9Fe.md)"),
        ("[x](idea.md)", "notes/idea.md", "notes/a:b.md", "[x](./a:b.md)"),
        ("[x](idea.md)", "notes/idea.md", "notes/x|y.md", "[x](x%7Cy.md)"),
    ],
)
def test_folders_suffixes_and_unusual_names(before: str, old: str, new: str, after: str) -> None:
    assert after_rename(before, old=Address(old), new=Address(new)) == after


def test_a_short_name_that_became_unclear_is_spelt_out() -> None:
    assert after_rename("[[old idea]]", unclear="new idea") == "[[archive/2024/new idea]]"


def test_a_path_from_the_root_that_would_be_taken_for_another_becomes_relative() -> None:
    assert after_rename("[x](notes/old%20idea.md)", unclear="archive/2024/new idea.md") == (
        "[x](../archive/2024/new%20idea.md)"
    )


def test_a_moved_document_keeps_its_relative_links_right() -> None:
    text = "[a](b.md) [[b]] ![i](../img/p.png) [self](page.md#h) [h](#h) [[/root]] [r](/root.md)\n"
    document = page(text, "notes/page.md")
    targets = {
        0: Address("notes/b.md"),
        1: Address("notes/b.md"),
        2: Address("img/p.png"),
        3: Address("deep/er/page2.md"),
        4: Address("deep/er/page2.md"),
        5: Address("root.md"),
        6: Address("root.md"),
    }
    result = edits.rewrite_links(document, targets, moved_to=Address("deep/er/page2.md")).decode()
    assert result == (
        "[a](../../notes/b.md) [[b]] ![i](../../img/p.png) [self](page2.md#h) [h](#h) [[/root]] [r](/root.md)\n"
    )


@each_case(
    ("link", "target", "away", "meanwhile"),
    [
        ("[x](x.md)", "a/x.md", "b/p.md", "[x](../a/x.md)"),
        ("[x](x)", "a/x.md", "b/p.md", "[x](../a/x)"),
        ("[x](x.md#h)", "a/x.md", "b/c/p.md", "[x](../../a/x.md#h)"),
        ("[x](sub/y.md)", "a/sub/y.md", "a/sub/p.md", "[x](y.md)"),
        ("[x](../top.md)", "top.md", "b/p.md", "[x](../top.md)"),
        ("[x](../b/z.md)", "b/z.md", "b/p.md", "[x](z.md)"),
        ("![x](i.png)", "a/i.png", "b/p.md", "![x](../a/i.png)"),
        ("[x](sub/)", "a/sub/index.md", "b/p.md", "[x](../a/sub/)"),
        ("[[./x]]", "a/x.md", "b/p.md", "[[../a/x]]"),
        ("[[../b/z]]", "b/z.md", "b/p.md", "[[./z]]"),
        ("[[sub/y]]", "a/sub/y.md", "b/c/p.md", "[[sub/y]]"),
        ("[[SUB/y]]", "a/sub/y.md", "b/c/p.md", "[[SUB/y]]"),
    ],
)
def test_a_page_that_moves_away_and_back_has_its_old_links(link: str, target: str, away: str, meanwhile: str) -> None:
    home, there, aim = Address("a/p.md"), Address(away), Address(target)
    moved = edits.rewrite_links(page(link, home.path), {0: aim}, old={0: aim}, moved_to=there).decode()
    assert moved == meanwhile
    back = edits.rewrite_links(page(moved, there.path), {0: aim}, old={0: aim}, moved_to=home).decode()
    assert back == link


def test_a_detour_stays_while_it_leads_right() -> None:
    aim, there = Address("a/x.md"), Address("b/p.md")
    document = page("[x](../a/x.md) [[../a/x]]", "a/p.md")
    result = edits.rewrite_links(document, {0: aim, 1: aim}, old={0: aim, 1: aim}, moved_to=there)
    assert result == document.raw


def test_only_the_named_links_change() -> None:
    document = page("[[a]] [[a]] [[a]]")
    result = edits.rewrite_links(document, {1: Address("b.md")}, old=Address("a.md"))
    assert result == b"[[a]] [[b]] [[a]]"


@each_case("name", ["C#.md", "a^b.md", "why?.md", "a#b.md"])
def test_a_name_at_which_a_path_could_end_is_written(name: str) -> None:
    assert after_rename("[[old idea]]", new=Address(name)) == f"[[{name.removesuffix('.md')}]]"


@each_case("name", ["a|b.md", "a[b].md", "#b.md", "kb:b.md"])
def test_a_name_that_a_wikilink_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="cannot be written in a wiki link"):
        after_rename("[[old idea]]", new=Address(name))


@each_case(
    ("before", "name", "after"),
    [
        ("target: old idea", "- x.md", 'target: "- x"'),
        ("target: 'old idea'", "it's.md", "target: 'it''s'"),
        ('target: "old idea"', 'say "x".md', 'target: "say \\"x\\""'),
        ("target: kb:old idea", "yes.md", "target: kb:yes"),
        ("target: '[[old idea]]'", "it's.md", "target: '[[it''s]]'"),
        ('target: "[[old idea]]"', 'say "x", y.md', 'target: "[[say \\"x\\", y]]"'),
        ("target: |\n     [[old idea]]", "a, 'b'.md", "target: |\n     [[a, 'b']]"),
        ("target: see [[old idea]]", "./x/y.md", "target: see [[y]]"),
        ("target: see [[old idea]]", "a, b.md", None),
    ],
)
def test_names_in_front_matter_are_quoted_where_they_must_be(before: str, name: str, after: str | None) -> None:
    text = f"---\nlinks:\n  - {before}\n---\n"
    if after is None:
        with pytest.raises(InvalidInputError, match="front matter"):
            after_rename(text, new=Address(name))
    else:
        assert after_rename(text, new=Address(name)) == text.replace(before, after)


@each_case(
    ("path", "folder", "relative"),
    [
        ("a.md", "", "a.md"),
        ("x/a.md", "x", "a.md"),
        ("a.md", "x/y", "../../a.md"),
        ("x/z/a.md", "x/y", "../z/a.md"),
        ("x", "x", "."),
        ("", "x", ".."),
    ],
)
def test_relative_paths_lead_back(path: str, folder: str, relative: str) -> None:
    assert relative_path(path, folder) == relative
    assert joined(folder, relative) == path
