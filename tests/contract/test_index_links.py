"""Links: resolved as documents come and go, asked for in both directions."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.query import ResolvedLink
from indexed import Indexed

FILES = {
    "index.md": "# Start\n\nGo to [the guide](docs/guide.md#install). Or see [[Ideas]] and [[missing page]].\n",
    "docs/guide.md": "# Guide\n\nBack to [start](../index.md), an ![image](pic.png), [itself](#guide).\n",
    "notes/Ideas.md": "---\naliases: [Thoughts]\nlinks: [{target: docs/guide, relation: supports}]\n---\n# Ideas\n",
    "alone.md": "# Alone\n\nNobody links here; [[Thoughts]] and [gone](gone.md).\n",
}


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Indexed]:
    (tmp_path / "base" / "docs").mkdir(parents=True)
    (tmp_path / "base" / "docs" / "pic.png").write_bytes(b"png")
    with Indexed(tmp_path, FILES) as made:
        yield made


def ends(links: list[ResolvedLink]) -> list[tuple[str, str]]:
    return [(link.source.path, link.target.path if link.target else "") for link in links]


def targets(links: list[ResolvedLink]) -> list[str]:
    return [target for _, target in ends(links)]


def test_links_of_a_document_come_in_order_with_their_targets(base: Indexed) -> None:
    links = base.index.links_from(Address("index.md"))
    assert targets(links) == ["docs/guide.md", "notes/Ideas.md", ""]
    assert (links[0].link.fragment, links[0].link.label) == ("install", "the guide")


def test_links_of_all_documents_come_by_path_and_only_those_with_a_text_if_one_is_given(base: Indexed) -> None:
    paths = sorted(path for path in FILES if path.endswith(".md"))
    each = [link for path in paths for link in base.index.links_from(Address(path))]
    assert base.index.links_from(None) == each
    assert base.index.links_from(None, ("#",)) == [link for link in each if link.link.fragment]
    supporting = base.index.links_from(Address("notes/Ideas.md"), ("nothing", "supports"))
    assert [link.link.relation for link in supporting] == ["supports"]


def test_a_link_to_another_file_leads_to_that_file(base: Indexed) -> None:
    assert targets(base.index.links_from(Address("docs/guide.md"))) == ["index.md", "docs/pic.png", "docs/guide.md"]
    assert ends(base.index.links_to(Address("docs/pic.png"))) == [("docs/guide.md", "docs/pic.png")]


def test_incoming_links_carry_the_sentence_round_them(base: Indexed) -> None:
    links = base.index.links_to(Address("notes/Ideas.md"))
    assert [(link.source.path, link.sentence) for link in links] == [
        ("alone.md", "Nobody links here; Thoughts and gone."),
        ("index.md", "Or see Ideas and missing page."),
    ]


def test_a_link_of_the_frontmatter_is_a_link_with_its_relation(base: Indexed) -> None:
    links = [link for link in base.index.links_to(Address("docs/guide.md")) if link.link.relation]
    assert [(link.source.path, link.link.relation) for link in links] == [("notes/Ideas.md", "supports")]


def test_a_link_to_itself_is_no_incoming_link(base: Indexed) -> None:
    assert "docs/guide.md" not in [source for source, _ in ends(base.index.links_to(Address("docs/guide.md")))]


def test_broken_links_asked_for_between_changes_are_those_of_a_new_index(base: Indexed) -> None:
    chance = random.Random(11)
    names = ["Ideas", "missing page", "gone.md", "chart.svg", "docs/chart.svg", "alone", "new/page.md", "Thoughts"]
    for number in range(40):
        path = chance.choice(["alone.md", "new/page.md", "gone.md", "notes/Ideas.md", "docs/chart.svg", "chart.svg"])
        if chance.random() < 0.3:
            (base.folder / path).unlink(missing_ok=True)
        else:
            links = "".join(f"[[{name}]] ![it]({name}) " for name in chance.sample(names, 2))
            base.write(path, f"# Page {chance.choice('ab')}\n\n{links}{number}\n")
        if path.endswith(".md"):
            base.index.update([Address(path)])
        else:
            base.index.sync()
        found_pairs = [(link.source.path, link.link.target) for link in base.index.broken()]
        other = base.another()
        assert found_pairs == [(link.source.path, link.link.target) for link in other.broken()], number
        other.close()


def test_hubs_are_the_documents_to_which_most_others_link_and_each_of_them_counts_once(base: Indexed) -> None:
    base.update("new/a.md", "[[alone]] [[alone]] [[new/b]]\n")
    base.update("new/b.md", "[[alone]] [[new/b]] [[new/c]]\n")
    base.update("new/c.md", "[[alone]] [[new/b]]\n")
    pairs = Counter(target for source, target in base.index.links() if source != target)
    expected = sorted(pairs.items(), key=lambda element: (-element[1], element[0]))
    assert base.index.hubs(100) == expected
    assert base.index.hubs(2) == expected[:2]
    assert (Address("alone.md"), 3) in expected


def test_orphans_and_broken_links_are_named(base: Indexed) -> None:
    assert [record.address.path for record in base.index.orphans()] == ["alone.md"]
    assert [(link.source.path, link.link.target) for link in base.index.broken()] == [
        ("alone.md", "gone.md"),
        ("index.md", "missing page"),
    ]
    assert [link.link.target for link in base.index.broken(Address("alone.md"))] == ["gone.md"]


def test_every_joined_pair_of_documents_is_listed_once(base: Indexed) -> None:
    base.update("twice.md", "[a](alone.md) [b](alone.md) [[Alone]]\n")
    pairs = [(source.path, target.path) for source, target in base.index.links()]
    assert pairs == sorted(pairs)
    assert pairs.count(("twice.md", "alone.md")) == 1
    assert ("docs/guide.md", "docs/guide.md") not in pairs


def test_a_new_document_mends_the_links_that_meant_it(base: Indexed) -> None:
    base.update("gone.md", "# Here now\n")
    base.update("deep/missing page.md", "# X\n")
    assert base.index.broken() == []
    assert ends(base.index.links_to(Address("gone.md"))) == [("alone.md", "gone.md")]


def test_a_removed_document_breaks_the_links_to_it(base: Indexed) -> None:
    (base.folder / "notes" / "Ideas.md").unlink()
    base.index.update([Address("notes/Ideas.md")])
    assert [link.link.target for link in base.index.broken()] == ["Thoughts", "gone.md", "Ideas", "missing page"]
    assert base.index.links_from(Address("notes/Ideas.md")) == []


def test_a_new_title_or_alias_is_linked_to_at_once_and_an_old_one_no_more(base: Indexed) -> None:
    base.update("notes/Ideas.md", "---\naliases: [Missing page]\n---\n# Ideas\n")
    assert {link.link.target for link in base.index.broken()} == {"gone.md", "Thoughts"}


def test_a_second_document_of_a_name_makes_a_link_unclear(base: Indexed) -> None:
    base.update("other/Ideas.md", "# Ideas too\n")
    assert "Ideas" in {link.link.target for link in base.index.broken()}
    (base.folder / "notes" / "Ideas.md").unlink()
    base.index.update([Address("notes/Ideas.md")])
    assert ("index.md", "other/Ideas.md") in ends(base.index.links_to(Address("other/Ideas.md")))


def test_an_attachment_that_comes_later_is_not_reported_as_missing(base: Indexed) -> None:
    base.update("a.md", "![chart](chart.svg)\n")
    assert "chart.svg" in {link.link.target for link in base.index.broken()}
    base.write("chart.svg", "<svg/>")
    assert "chart.svg" not in {link.link.target for link in base.index.broken()}


def test_a_document_as_given_is_resolved_without_being_indexed(base: Indexed) -> None:
    document = base.index.document(Address("alone.md"))
    assert targets(base.index.resolve(document)) == ["notes/Ideas.md", ""]


def test_links_that_name_another_collection_are_found_by_its_name(base: Indexed) -> None:
    base.update("out.md", "# Out\n\nLook at [[other:thing]] there.\n")
    links = base.index.links_into(["other"])
    assert [(link.source.path, link.link.target, link.sentence) for link in links] == [
        ("out.md", "thing", "Look at other:thing there.")
    ]
    assert base.index.links_into(["another"]) == []


def test_links_are_found_by_the_key_of_their_target(base: Indexed) -> None:
    assert {link.source.path for link in base.index.links_named(["thoughts", "guide"])} == {
        "alone.md",
        "index.md",
        "notes/Ideas.md",
    }


def test_references_are_found_by_path_id_title_and_alias(base: Indexed) -> None:
    for reference in ("docs/guide.md", "docs/guide", "guide", "Guide", "GUIDE"):
        record = base.index.find(reference)
        assert record is not None, reference
        assert record.address.path == "docs/guide.md"
    assert base.index.find("pic.png", Address("docs/guide.md")) is None
    assert base.index.find("nothing") is None
    assert base.index.find(" ") is None


@pytest.mark.parametrize(
    ("reference", "first"),
    [("docs/guid", "docs/guide"), ("guied", "docs/guide"), ("Idea", "notes/Ideas"), ("start", "index")],
)
def test_the_nearest_ids_are_those_most_alike(base: Indexed, reference: str, first: str) -> None:
    assert base.index.nearest(reference)[0] == first


def test_nothing_is_suggested_for_what_is_like_nothing(base: Indexed) -> None:
    assert base.index.nearest("qqqqwwwwzzzz") == []
    assert base.index.nearest("") == []


def test_a_path_that_differs_only_in_case_is_named(base: Indexed) -> None:
    assert base.index.same_name(Address("NOTES/ideas.md")) == [Address("notes/Ideas.md")]
    assert base.index.same_name(Address("notes/Ideas.md")) == []


def test_links_after_many_changes_are_those_of_a_new_index(tmp_path: Path) -> None:
    chance = random.Random(3)
    names = [f"{folder}{name}.md" for folder in ("", "a/", "b/c/") for name in ("one", "Two", "index", "README")]
    forms = ["[[one]]", "[[Two]]", "[[a/one]]", "[x](one.md)", "[x](../README.md)", "[x](a/)", "[[Title 3]]", "[[Al]]"]

    def content() -> str:
        title = f"title: Title {chance.randrange(5)}\n" if chance.random() < 0.5 else ""
        alias = "aliases: [Al]\n" if chance.random() < 0.2 else ""
        return f"---\n{title}{alias}x: 1\n---\n{' '.join(chance.sample(forms, 4))}\n"

    with Indexed(tmp_path / "old", {name: content() for name in names[:8]}) as base:
        for _ in range(60):
            name = chance.choice(names)
            if chance.random() < 0.3 and (base.folder / name).exists():
                (base.folder / name).unlink()
                base.index.update([Address(name)])
            else:
                base.update(name, content())
        files = {str(p.relative_to(base.folder)): p.read_text() for p in base.folder.rglob("*.md")}
        with Indexed(tmp_path / "new", files) as new:
            for name in files:
                address = Address(name)
                assert ends(base.index.links_from(address)) == ends(new.index.links_from(address)), name
                assert ends(base.index.links_to(address)) == ends(new.index.links_to(address)), name
            assert base.index.links() == new.index.links()


def test_links_hold_when_their_target_changes_in_the_same_round_before_them(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "# A", "b.md": "# B"}) as made:
        made.write("a.md", "# A\n\nchanged")
        made.write("b.md", "# B\n\n[[a]]")
        made.write("c.md", "# C\n\n[to it](a.md)")
        made.index.update([Address("a.md"), Address("b.md"), Address("c.md")])
        assert [link.source.path for link in made.index.links_to(Address("a.md"))] == ["b.md", "c.md"]


def test_names_and_files_are_those_of_the_moment(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "---\naliases: [Erste]\n---\n", "p.png": b"1", "c.md": "![](p.png)\n"}) as base:
        lookup = base.index.lookup()
        assert lookup.at("a.md") == Address("a.md")
        assert lookup.at("p.png") == Address("p.png")
        assert lookup.at("none.md") is None
        assert [document.address for document in lookup.named("erste")] == [Address("a.md")]
        assert list(lookup.files("p.png")) == [Address("p.png")]
        base.update("b.md", "---\naliases: [Erste]\n---\n")
        assert [document.address for document in lookup.named("erste")] == [Address("a.md"), Address("b.md")]
        assert list(lookup.sites) == []
