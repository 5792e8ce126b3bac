"""The rule table of link targets, row by row."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.documents import Link, LinkKind
from commonplace.domain.links import NamedDocument, link_key, name_keys, resolve, resolve_target
from linked import Collection


def doc(path: str, identifier: str = "", title: str = "", *aliases: str) -> NamedDocument:
    address = Address(path)
    return NamedDocument(address, identifier or address.id, title or address.stem, aliases)


BASE = Collection(
    doc("idea.md"),
    doc("notes/idea.md"),
    doc("notes/page.md", "", "The Page", "Seite", "第一页"),
    doc("notes/deep/only.md"),
    doc("notes/deep/Größe.md", "size"),
    doc("guide/index.md", "", "The Guide"),
    doc("guide/setup.markdown"),
    doc("docs/README.md"),
    doc("a/twin.md"),
    doc("b/twin.md"),
    doc("c/d/twin.md", "third"),
    doc("x/same.md", "same-id", "Same"),
    doc("y/other.md", "same-id", "Same"),
    doc("README.md"),
    doc("tcp.md", "", "TCP/IP guide"),
    doc("kb/x.md", "", "kb:thing"),
    doc("z/one.md", "", "Shared"),
    doc("z/two.md", "", "Shared"),
    files=["img/p.png", "notes/local.pdf", "files/2024/plan.pdf", "other/plan.pdf", "s/pic.png", "t/pic.png"],
)


def found(target: str, source: str = "notes/page.md", *, markdown: bool = False) -> str | None:
    address = resolve_target(target, Address(source), BASE, markdown=markdown)
    return address.path if address else None


@each_case(
    ("target", "expected"),
    [
        ("idea", "idea.md"),
        ("idea.md", "idea.md"),
        ("notes/idea", "notes/idea.md"),
        ("/idea", "idea.md"),
        ("./idea", "notes/idea.md"),
        ("../idea", "idea.md"),
        ("deep/only", "notes/deep/only.md"),
        ("only", "notes/deep/only.md"),
        ("size", "notes/deep/Größe.md"),
        ("Größe", "notes/deep/Größe.md"),
        ("größe", "notes/deep/Größe.md"),
        ("GRO\u0308SSE".replace("SS", "ß"), "notes/deep/Größe.md"),
        ("IDEA", "idea.md"),
        ("Notes/Idea", "notes/idea.md"),
        ("The Page", "notes/page.md"),
        ("the page", "notes/page.md"),
        ("Seite", "notes/page.md"),
        ("第一页", "notes/page.md"),
        ("guide", "guide/index.md"),
        ("guide/", "guide/index.md"),
        ("Guide/", "guide/index.md"),
        ("docs", "docs/README.md"),
        ("guide/setup", "guide/setup.markdown"),
        ("setup", "guide/setup.markdown"),
        ("twin", None),
        ("a/twin", "a/twin.md"),
        ("third", "c/d/twin.md"),
        ("same-id", None),
        ("Same", "x/same.md"),
        ("Shared", None),
        ("same", "x/same.md"),
        ("TCP/IP guide", "tcp.md"),
        ("img/p.png", "img/p.png"),
        ("local.pdf", "notes/local.pdf"),
        ("p.png", "img/p.png"),
        ("IMG/P.PNG", "img/p.png"),
        ("2024/plan.pdf", "files/2024/plan.pdf"),
        ("plan.pdf", "other/plan.pdf"),
        ("pic.png", None),
        ("nothing", None),
        ("../../idea", None),
        ("..", "README.md"),
        ("/", "README.md"),
        (".", None),
        ("notes\\idea", "notes/idea.md"),
        ("/page", None),
        ("./only", None),
        ("", None),
        ("  ", None),
        ("a/../../../etc/passwd", None),
    ],
)
def test_wikilinks(target: str, expected: str | None) -> None:
    assert found(target) == expected


@each_case(
    ("target", "expected"),
    [
        ("idea", "notes/idea.md"),
        ("idea.md", "notes/idea.md"),
        ("/idea.md", "idea.md"),
        ("../idea.md", "idea.md"),
        ("guide/", "guide/index.md"),
        ("../guide/", "guide/index.md"),
        ("../guide", "guide/index.md"),
        ("../guide/setup.html", None),
        ("../guide/index.html", "guide/index.md"),
        ("../docs/index.html", "docs/README.md"),
        ("../docs/index.md", "docs/README.md"),
        ("../index.html", "README.md"),
        ("deep/only.html", "notes/deep/only.md"),
        ("img/p.png", "img/p.png"),
        ("../img/p.png", "img/p.png"),
        ("only.md", "notes/deep/only.md"),
        ("The Page", "notes/page.md"),
        ("../../x.md", None),
    ],
)
def test_markdown_links_begin_at_their_own_folder(target: str, expected: str | None) -> None:
    assert found(target, markdown=True) == expected


def test_the_nearest_to_the_root_of_several_is_meant_unless_two_are_as_near() -> None:
    near = Collection(doc("a/b/n.md"), doc("c/n.md"))
    assert resolve_target("n", None, near) == Address("c/n.md")
    assert resolve_target("n", None, Collection(doc("a/n.md"), doc("c/n.md"))) is None


def test_a_repeated_title_is_unclear() -> None:
    assert resolve_target("T", None, Collection(doc("a.md", "", "T"), doc("b.md", "", "T"))) is None


def test_a_path_is_nearer_than_an_id_and_an_id_than_a_title() -> None:
    base = Collection(doc("a.md", "x", "y"), doc("b.md", "y", "z"), doc("x.md", "q", "r"))
    assert resolve_target("x", None, base) == Address("x.md")
    assert resolve_target("y", None, base) == Address("b.md")


def wiki(target: str, collection: str = "", fragment: str = "") -> Link:
    return Link(LinkKind.WIKI, target, target, fragment, collection=collection)


def test_a_fragment_alone_is_the_document_itself() -> None:
    source = Address("notes/page.md")
    assert resolve(wiki("", fragment="h"), source, BASE) == source


def test_a_collection_in_front_is_its_own_or_part_of_the_target() -> None:
    source = Address("notes/page.md")
    assert resolve(wiki("idea", "own"), source, BASE) == Address("idea.md")
    assert resolve(wiki("idea", "other"), source, BASE) is None
    assert resolve(wiki("thing", "kb"), source, BASE) == Address("kb/x.md")
    assert resolve(wiki("", "own", "h"), source, BASE) == source


def test_the_kind_of_a_link_decides_where_its_path_begins() -> None:
    source = Address("notes/page.md")
    for kind, expected in (
        (LinkKind.WIKI, "idea.md"),
        (LinkKind.EMBED, "idea.md"),
        (LinkKind.FRONTMATTER, "idea.md"),
        (LinkKind.MARKDOWN, "notes/idea.md"),
        (LinkKind.IMAGE, "notes/idea.md"),
    ):
        assert resolve(Link(kind, "idea", "idea"), source, BASE) == Address(expected)


@each_case(
    "target",
    [
        "idea",
        "notes/Idea.md",
        "The Page",
        "guide/",
        "Guide",
        "TCP/IP guide",
        "deep/größe",
        "../idea.html",
        "size",
        "第一页",
    ],
)
def test_every_document_is_found_under_the_key_of_what_means_it(target: str) -> None:
    assert BASE.named(link_key(target))


def test_keys_hold_no_dots_and_no_blanks() -> None:
    assert link_key("..") == link_key(".") == link_key("/") == ""
    assert all(name_keys(document) for ones in BASE.keys.values() for document in ones)


def test_forms_of_a_path_that_no_name_has_are_passed_over_without_another_answer() -> None:
    paths = (
        "a.md",
        "b.markdown",
        "dir/README.md",
        "dir/c.mdx",
        "dir/index.md",
        "e/_index.md",
        "Ä.md",
        "f.g.md",
        "x#y.md",
    )
    base = Collection(
        *(NamedDocument(Address(path), path, "", ()) for path in paths), files=("a.png", "dir/d.pdf", "b")
    )
    targets = [
        *paths,
        *(path.rpartition(".")[0] for path in paths),
        "dir",
        "dir/",
        "./dir",
        "e",
        "../dir",
        "/",
        ".",
        "a.html",
        "c",
    ]
    for source in ("a.md", "dir/c.mdx"):
        for target in (*targets, "A", "missing", "missing.html", "missing/", "a.png", "d.pdf", "dir/d", "f", "ä"):
            for markdown in (True, False):
                answers: list[Address | None] = []
                for base.has_names in (True, False):
                    answers.append(resolve_target(target, Address(source), base, markdown=markdown))
                assert answers[0] == answers[1], (source, target, markdown)
