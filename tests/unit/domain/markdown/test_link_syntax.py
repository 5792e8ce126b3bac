"""Links of every spelling: what they mean, and which bytes are their path."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.citations import read_citation
from commonplace.domain.documents import Link, LinkKind
from commonplace.domain.markdown.code import code_pieces
from commonplace.domain.snippets import sentence_round
from commonplace.domain.status import reference_in
from commonplace.domain.words.text_decoder import readable_text
from pages import cut, page


def links(text: str) -> list[Link]:
    return list(page(text).links)


def only(text: str) -> Link:
    (link,) = links(text)
    return link


@each_case(
    ("text", "collection", "target", "fragment", "label"),
    [
        ("[[idea]]", "", "idea", "", ""),
        ("[[notes/Über uns]]", "", "notes/Über uns", "", ""),
        ("[[idea|the idea]]", "", "idea", "", "the idea"),
        ("[[idea|an *old* one]]", "", "idea", "", "an old one"),
        ("[[idea#Why]]", "", "idea", "Why", ""),
        ("[[idea#Why#Deeper|x]]", "", "idea", "Why#Deeper", "x"),
        ("[[idea#^block-1]]", "", "idea", "^block-1", ""),
        ("[[kb:idea]]", "kb", "idea", "", ""),
        ("[[my notes:idea#h|l]]", "my notes", "idea", "h", "l"),
        ("[[#Here]]", "", "", "Here", ""),
        ("[[ idea ]]", "", "idea", "", ""),
        ("[[std::vector]]", "", "std::vector", "", ""),
        ("[[Chapter 1: Intro]]", "", "Chapter 1: Intro", "", ""),
        ("[[C:\\x]]", "", "C:\\x", "", ""),
        ("[[日本:語]]", "日本", "語", "", ""),
        ("[[a&amp;b]]", "", "a&amp;b", "", ""),
        ("[[idea.md]]", "", "idea.md", "", ""),
    ],
)
def test_wikilinks(text: str, collection: str, target: str, fragment: str, label: str) -> None:
    document = page(f"Before {text} after.")
    (link,) = document.links
    assert link.kind == LinkKind.WIKI
    assert (link.collection, link.target, link.fragment, link.label) == (collection, target, fragment, label)
    assert cut(document, link.span) == text
    assert cut(document, link.target_span) == target
    assert link.raw in text


def test_a_link_of_markdown_may_have_a_text_in_brackets() -> None:
    for text, kind, target, label in (
        ("[[1]](page.md)", LinkKind.MARKDOWN, "page.md", "[1]"),
        ("![[1]](a/b_(c).png)", LinkKind.IMAGE, "a/b_(c).png", "[1]"),
        ('[[a|b]](<a b.md> "Title")', LinkKind.MARKDOWN, "a b.md", "[a|b]"),
        ("[[2]][ref]", LinkKind.MARKDOWN, "b.md", "[2]"),
        ("[[Dog]]", LinkKind.WIKI, "Dog", ""),
    ):
        document = page(f"# {text}(s) `[[1]](x.md)` [[3]][no] [[4]](https://example.org/)\n\n[ref]: b.md\n")
        link, other = [link for link in document.links if cut(document, link.span)[0] in "[!"][:2]
        assert (link.kind, link.target, link.label) == (kind, target, label)
        assert (cut(document, link.span), other.raw) == (text, "3")
        assert document.sections[-1].heading == f"{label or 'Dog'}(s) [[1]](x.md) 3[no] [4]".replace("a b.md", "")


def test_every_reader_of_links_takes_brackets_in_the_text_of_a_link_for_text() -> None:
    citation = read_citation('[[1]](guide/setup.md#install): "Install it first."')
    assert citation is not None
    assert (citation.target, citation.fragment) == ("guide/setup.md", "install")
    assert reference_in("[[ADR 5]](0005.md)") == "0005.md"
    assert readable_text("see [[1]](page.md) now") == ("see [[1]] now", "](page.md)")
    assert sentence_round(b"See [[1]](page.md). Then more.", 4, 18) == "See [1]."
    assert [piece.text for piece in code_pieces("a\n\n    [[x]](b.md)\n")] == ["", "[[x]](b.md)\n", ""]


def test_an_embed_is_a_wikilink_of_its_own_kind() -> None:
    document = page("![[img/a.png|100x200]] ![[note#part]]")
    image, note = document.links
    assert (image.kind, image.target, image.label) == (LinkKind.EMBED, "img/a.png", "100x200")
    assert (note.kind, note.target, note.fragment) == (LinkKind.EMBED, "note", "part")
    assert cut(document, note.span) == "![[note#part]]"
    assert cut(document, note.target_span) == "note"


def test_a_wikilink_in_a_table_escapes_its_bar() -> None:
    document = page("| a | b |\n|---|---|\n| [[x\\|y]] | [[z]] |\n")
    first, second = document.links
    assert (first.target, first.label, first.raw) == ("x", "y", "x")
    assert cut(document, first.target_span) == "x"
    assert second.target == "z"


@each_case(
    ("text", "target", "fragment", "label", "path"),
    [
        ("[t](a.md)", "a.md", "", "t", "a.md"),
        ("[t](a%20b.md#the%20part)", "a b.md", "the part", "t", "a%20b.md"),
        ("[t](<a b.md>)", "a b.md", "", "t", "a b.md"),
        ("[t](<a b.md#x> 'title')", "a b.md", "x", "t", "a b.md"),
        ('[t](a.md "title (x)")', "a.md", "", "t", "a.md"),
        ("[t]( a.md )", "a.md", "", "t", "a.md"),
        ("[t](a(b)c.md)", "a(b)c.md", "", "t", "a(b)c.md"),
        ("[t](a\\(b.md)", "a(b.md", "", "t", "a\\(b.md"),
        ("[t](a&amp;b.md)", "a&b.md", "", "t", "a&amp;b.md"),
        ("[t](a&#46;md#f)", "a.md", "f", "t", "a&#46;md"),
        ("[t](a.md?view=x#f)", "a.md", "f", "t", "a.md"),
        ("[t](#here)", "", "here", "t", ""),
        ("[*t* `c`](../x/)", "../x/", "", "t c", "../x/"),
        ("[a \\] b](x.md)", "x.md", "", "a ] b", "x.md"),
        ("[a `](` b](x.md)", "x.md", "", "a ]( b", "x.md"),
        ("[](x.md)", "x.md", "", "", "x.md"),
        ("[Größe](Maß.md)", "Maß.md", "", "Größe", "Maß.md"),
        ("[t](Ma%C3%9F.md)", "Maß.md", "", "t", "Ma%C3%9F.md"),
        ("[t](%zz.md)", "%zz.md", "", "t", "%zz.md"),
        ("[t\nu](\na.md\n'x')", "a.md", "", "t u", "a.md"),
        ("[t](./a.md)", "./a.md", "", "t", "./a.md"),
        ("[t](/cpp/a)", "/cpp/a", "", "t", "/cpp/a"),
    ],
)
def test_inline_links(text: str, target: str, fragment: str, label: str, path: str) -> None:
    document = page(f"Ä {text} after.")
    (link,) = document.links
    assert link.kind == LinkKind.MARKDOWN
    assert (link.target, link.fragment, link.label) == (target, fragment, label)
    assert cut(document, link.span) == text
    assert cut(document, link.target_span) == path
    assert link.raw.startswith(path)


@each_case(("use", "label"), [("[text][Ref]", "text"), ("[ref][]", "ref"), ("[REF]", "REF"), ("![alt][ref]", "alt")])
@each_case(
    ("definition", "path"),
    [
        ("[ref]: a%20b.md#f 'title'\n", "a%20b.md"),
        ("[ref]: <a b.md#f>\n", "a b.md"),
        ("[ref]:\n  a%20b.md#f\n  'title'\n", "a%20b.md"),
        ("> [ref]:\n> a%20b.md#f\n", "a%20b.md"),
    ],
)
def test_links_by_reference_have_their_path_in_the_definition(use: str, label: str, definition: str, path: str) -> None:
    document = page(f"Ü {use} after.\n\n{definition}")
    (link,) = document.links
    assert (link.target, link.fragment, link.label) == ("a b.md", "f", label)
    assert cut(document, link.span) == use
    assert cut(document, link.target_span) == path


def test_the_first_of_two_definitions_counts() -> None:
    assert only("[a]: one.md\n[A]: two.md\n\n[a]\n").target == "one.md"


def test_a_reference_without_a_definition_is_text() -> None:
    assert links("[text][nowhere] [nowhere] [x]") == []


def test_images_are_links_of_their_own_kind_also_inside_links() -> None:
    document = page("[![alt](img/a.png)](page.md)")
    outer, inner = document.links
    assert (outer.kind, outer.target, outer.label) == (LinkKind.MARKDOWN, "page.md", "alt")
    assert (inner.kind, inner.target, inner.label) == (LinkKind.IMAGE, "img/a.png", "alt")
    assert cut(document, outer.target_span) == "page.md"
    assert cut(document, inner.target_span) == "img/a.png"


@each_case(
    "text",
    [
        "[t](https://x.y/a.md)", "[t](HTTP://x.y)", "[t](mailto:a@b.c)", "[t](//host/a.md)", "<https://x.y>", "<a@b.c>",
        "[t](C:/a.md)", "[t](javascript:alert(1))", "![i](data:image/png;base64,xx)", "[[https://x.y]]",
        "[[mailto:a@b]]", "[t][r]\n\n[r]: https://x.y\n", "https://x.y/a.md", "[t](<>)", "[t]()", "[t](#)", "[[]]",
        "[[ ]]", "[[#]]", "[[|x]]",
    ],
)  # fmt: skip
def test_external_urls_and_empty_destinations_are_no_links(text: str) -> None:
    assert links(text) == []


@each_case(
    "text",
    [
        "`[[a]] [b](c.md)`",
        "```\n[[a]] [b](c.md)\n```",
        "    [[a]]",
        "<!-- [[a]] [b](c.md) -->",
        "x <!-- [[a]]\n --> y",
        '<p title="[[a]]">x</p>',
        "\\[[a]]",
        "[b\\](c.md)",
    ],
)
def test_code_comments_and_escapes_hold_no_links(text: str) -> None:
    assert links(text) == []


def test_links_stand_in_the_order_of_the_text() -> None:
    text = "[[a]] [b](b.md) ![c](c.png) [d]\n\n# [[e]]\n\n> - [[f]] [^1]\n\n[^1]: [[g]]\n\n[d]: d.md\n"
    assert [link.target for link in links(text)] == ["a", "b.md", "c.png", "d.md", "e", "f", "g"]


def test_a_label_of_very_many_pieces_is_cut() -> None:
    link = only(f"[{'*a* ' * 5_000}](x.md)")
    assert link.target == "x.md"
    assert 0 < len(link.label) < 1_000


def test_links_in_windows_files_are_found_to_the_byte() -> None:
    document = page("---\r\na: 1\r\n---\r\nx\r\n[[é#b]] [t\r\nu](\r\nd.md)\r\n")
    first, second = document.links
    assert cut(document, first.target_span) == "é"
    assert cut(document, second.target_span) == "d.md"
