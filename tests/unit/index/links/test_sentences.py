"""Links come with the sentence in which they stand, as the file is now."""

from __future__ import annotations

from commonplace.domain.query import ResolvedLink
from commonplace.index.links import with_sentences
from indexed import Indexed, MakeBase


def sentences(made: Indexed, target: str = "b.md") -> list[str]:
    return [link.sentence for link in made.index.links_to(made.write(target, "# B\n"), sentences=True)]


def test_each_link_has_its_own_sentence(base: MakeBase) -> None:
    text = "Intro. The *crane* stands at [the quay](b.md) since May. Later.\r\n"
    text += "\r\nAuf Höhe: [[b|漢字]] liegt es. Ende.\r\n"
    made = base({"a.md": text, "b.md": "# B\n"})
    assert sentences(made) == ["The crane stands at the quay since May.", "Auf Höhe: 漢字 liegt es."]


def test_a_link_of_the_frontmatter_has_its_note(base: MakeBase) -> None:
    made = base(
        {"a.md": "---\nlinks:\n  - {target: b, relation: supports, note: Because of the tide}\n---\n", "b.md": "x"}
    )
    assert sentences(made) == ["Because of the tide"]


def test_a_file_that_has_changed_since_or_is_gone_has_no_sentence(base: MakeBase) -> None:
    made = base({"a.md": "See [the quay](b.md) there.\n", "c.md": "Also [here](b.md).\n", "b.md": "# B\n"})
    links = [
        link for path in ("a.md", "c.md") for link in made.index.links_from(made.write(path, "Nothing any more.\n"))
    ]
    (made.folder / "c.md").unlink()
    assert [link.sentence for link in with_sentences(made.store, links)] == ["", ""]
    assert [link.target for link in links] == [link.target for link in with_sentences(made.store, links)]


def test_no_links_have_no_sentences(base: MakeBase) -> None:
    assert with_sentences(base({}).store, list[ResolvedLink]()) == []
