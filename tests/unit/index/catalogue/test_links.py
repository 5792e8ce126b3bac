"""Links in the catalogue: kept as they were read, and led to files in folders that hold no document."""

from __future__ import annotations

import pytest

from commonplace.domain.addresses import Address
from commonplace.index.catalogue import links
from indexed import Indexed, MakeBase


def test_a_link_whose_text_holds_the_mark_between_its_parts_is_kept(base: MakeBase) -> None:
    made = base({"a.md": "[one\x1ftwo](b.md#x 'T') [[b|th\x1free]] [four](b.md)", "b.md": "# B"})
    found_links = [link.link for link in made.index.links_to(Address("b.md"))]
    assert [link.label for link in found_links] == ["one\ufffdtwo", "th\ufffdree", "four"]
    assert [link.fragment for link in found_links] == ["x", "", ""]
    assert [(link.span.start, link.span.end) for link in found_links] == [(0, 21), (22, 34), (35, 47)]


def test_a_first_sync_finds_files_in_folders_without_documents(base: MakeBase) -> None:
    links = "![](pics/one.png) ![](pics/two.png) ![](pics/.git) ![](none/one.png) ![](pics/three.png)"
    made = base({"a.md": links, "pics/one.png": b"1", "pics/three.png": b"3"})
    targets = [str(link.target) for link in made.index.links_from(Address("a.md"))]
    assert targets == ["pics/one.png", "None", "None", "None", "pics/three.png"]


def test_pages_that_come_and_go_while_all_paths_are_in_memory_are_linked_as_they_are(
    base: MakeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "LINK_THRESHOLD", 0)
    made = base({"a.md": "[b](b.md)", "b.md": "# B", "d.md": "# D", "e.md": "[d](d.md)"})
    for path, text in {"a.md": "[d](d.md) [b](b.md) [c](c.md)", "c.md": "# C", "e.md": "[c](c.md) [b](b.md)"}.items():
        made.write(path, text)
    (made.folder / "b.md").unlink()
    made.index.sync()
    targets = {page: [str(link.target) for link in made.index.links_from(Address(page))] for page in ("a.md", "e.md")}
    assert targets == {"a.md": ["d.md", "None", "c.md"], "e.md": ["c.md", "None"]}


@pytest.mark.parametrize("at_once", [1, 2, 20_000])
@pytest.mark.parametrize("threshold", [0, 1000])
def test_links_are_resolved_in_groups_of_any_size(
    base: MakeBase, monkeypatch: pytest.MonkeyPatch, at_once: int, threshold: int
) -> None:
    monkeypatch.setattr(links, "LINKS_AT_ONCE", at_once)
    monkeypatch.setattr(links, "LINK_THRESHOLD", threshold)
    texts = {
        f"n{number}/p{number}.md": f"[[p{(number + 1) % 7}]] [[none]] [[label|p0]] ![[i.png]]" for number in range(7)
    }
    made = base({**texts, "deep/i.png": b"1"})
    for number in range(7):
        targets = [str(link.target) for link in made.index.links_from(Address(f"n{number}/p{number}.md"))]
        following = (number + 1) % 7
        assert targets == [f"n{following}/p{following}.md", "None", "n0/p0.md", "deep/i.png"]


def dead(made: Indexed) -> list[tuple[str, str]]:
    return [(link.source.path, link.link.fragment) for link in made.index.dead_links()]


def test_fragments_are_checked_again_when_the_link_or_its_target_changes(base: MakeBase) -> None:
    made = base(
        {"a.md": "[[b#Here]] [x](b.md#gone) [y](#own) ![](p.png#t) [[none#x]]", "b.md": "# Here", "p.png": b"1"}
    )
    steps = [
        ("nothing", "", [("a.md", "gone"), ("a.md", "own")]),
        ("b.md", "# Gone", [("a.md", "Here"), ("a.md", "own")]),
        ("none.md", "# N", [("a.md", "Here"), ("a.md", "own"), ("a.md", "x")]),
        ("none.md", "# X", [("a.md", "Here"), ("a.md", "own")]),
        ("c.md", "[[b#here]] [[b#gone]]", [("a.md", "Here"), ("a.md", "own"), ("c.md", "here")]),
        ("a.md", "# Own\n[[b#Here]] [y](#own)", [("a.md", "Here"), ("c.md", "here")]),
        ("b.md", "text <a id=here> ^blk", [("a.md", "Here"), ("c.md", "gone")]),
        ("c.md", "[[b#^blk]] [[b#^no]]", [("a.md", "Here"), ("c.md", "^no")]),
    ]
    for path, text, expected in steps:
        if text:
            made.write(path, text)
            made.index.update([Address(path)])
        assert dead(made) == expected, (path, text)
    (made.folder / "b.md").unlink()
    made.index.sync()
    assert dead(made) == []
    made.write("b.md", "# Here")
    made.index.update([Address("b.md")])
    assert dead(made) == [("c.md", "^blk"), ("c.md", "^no")]


def test_fragments_of_many_changed_files_are_checked(base: MakeBase) -> None:
    made = base({f"{number}.md": f"# P\n[[{(number + 1) % 70}#P]]" for number in range(70)})
    assert dead(made) == []
    for number in range(70):
        (made.folder / f"{number}.md").write_text(f"# Q{number % 2}\n[[{(number + 1) % 70}#Q1]]")
    made.index.sync()
    assert dead(made) == sorted((f"{number}.md", "Q1") for number in range(70) if number % 2)


def test_a_check_of_fragments_opens_no_file(base: MakeBase) -> None:
    made = base({"a.md": "[[b#gone]]", "b.md": "# Here"})
    for name in ("a.md", "b.md"):
        (made.folder / name).unlink()
    names = made.index.fragments([Address("b.md"), Address("none.md")])
    assert dead(made) == [("a.md", "gone")]
    assert {address.path: ("here" in those, "gone" in those) for address, those in names.items()} == {
        "b.md": (True, False)
    }
