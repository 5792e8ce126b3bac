"""Links in front matter."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.documents import Link, LinkKind, Span
from pages import cut, page


def links(frontmatter: str) -> list[Link]:
    document = page(f"---\n{frontmatter}\n---\nbody\n")
    for link in document.links:
        assert link.kind == LinkKind.FRONTMATTER
        assert link.span == Span(0, 0)
        assert cut(document, link.target_span) in {link.target, ""}
    return list(document.links)


def test_typed_links_keep_what_is_known_of_them() -> None:
    (link,) = links("links:\n  - target: notes/idea\n    relation: supports\n    note: 'why: not'\n    kb: other")
    assert (link.target, link.relation, link.note, link.collection) == ("notes/idea", "supports", "why: not", "other")
    assert link.target_span != Span(0, 0)


@each_case(
    ("entry", "collection", "target", "fragment", "label"),
    [
        ("idea", "", "idea", "", ""),
        ("kb:idea", "kb", "idea", "", ""),
        ("'[[kb:idea#h|the idea]]'", "kb", "idea", "h", "the idea"),
        ("{target: idea}", "", "idea", "", ""),
        ("{target: 'kb:idea'}", "kb", "idea", "", ""),
        ("{target_id: idea, target_kb: kb}", "kb", "idea", "", ""),
        ("Über/Größe", "", "Über/Größe", "", ""),
    ],
)
def test_spellings_of_a_typed_link(entry: str, collection: str, target: str, fragment: str, label: str) -> None:
    (link,) = links(f"ä: ö\nlinks:\n  - {entry}")
    assert (link.collection, link.target, link.fragment, link.label) == (collection, target, fragment, label)
    assert link.target_span != Span(0, 0)


@each_case(
    "frontmatter",
    [
        "links:",
        "links: none",
        "links: {a: b}",
        "links: [[nested]]",
        "links:\n  - https://x.y",
        "links:\n  - {relation: supports}",
        "links:\n  - {target: [a]}",
        "links:\n  - [a]",
        "links:\n  -",
        "links: [a\nx: 1",
        "[a]: [[b]]",
        "title: '[[https://x.y]]'",
    ],
)
def test_what_is_no_link(frontmatter: str) -> None:
    assert links(frontmatter) == []


def test_wikilinks_in_any_value_are_links() -> None:
    found_links = links(
        "up: '[[Parent]]'\nsee:\n  - '[[a|A]] and [[b]]'\n  - deep: {er: '[[c]]'}\ntext: |\n  Also [[d]]."
    )
    assert [(link.target, link.label) for link in found_links] == [
        ("Parent", ""),
        ("a", "A"),
        ("b", ""),
        ("c", ""),
        ("d", ""),
    ]


def test_equal_links_in_one_value_have_their_own_places() -> None:
    first, second = links("see: '[[a]] [[a]]'")
    assert first.target_span.start < second.target_span.start


def test_a_path_that_is_written_with_escapes_has_no_place() -> None:
    (link,) = links("links:\n  - 'it''s'")
    assert link.target == "it's"
    assert link.target_span == Span(0, 0)
