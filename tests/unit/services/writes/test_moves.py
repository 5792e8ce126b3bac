"""Moving files at once: each link leads where it led before, and a preview writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.services.writes.moves import preview_moves
from indexed import Indexed

FILES: dict[str, str | bytes] = {
    "a.md": "---\naliases: [Erste]\n---\n# A\n\n[b](in/b.md#x) and [[in/b|two]], ![](p.png)\n",
    "in/b.md": "[up](../a.md) [[a]] [[Erste]] ![](../p.png) [[c]]\n",
    "c.md": "See [[a]], [[A#Part|label]], [x](a.md 'T') and [[Erste]].\r\n",
    "other.md": "`[[a]]` and nothing else.\n",
    "p.png": b"\x89PNG",
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    with Indexed(tmp_path_factory.mktemp("moves"), FILES) as indexed:
        yield indexed


def planned(base: Indexed, moves: Mapping[str, str], unsaved: Mapping[str, str] | None = None) -> dict[str, str]:
    texts = {Address(path): text.encode() for path, text in (unsaved or {}).items()}
    plan = preview_moves(base.collection, {Address(old): Address(new) for old, new in moves.items()}, texts)
    return {address.path: content.decode("utf-8", "replace") for address, content in plan.contents.items()}


def state(base: Indexed) -> dict[str, bytes]:
    return {
        path.relative_to(base.folder).as_posix(): path.read_bytes() for path in base.folder.rglob("*") if path.is_file()
    }


def test_links_to_and_from_a_moved_page_follow_it_and_names_stay(base: Indexed) -> None:
    before = state(base)
    found_values = planned(base, {"a.md": "far/away/new.md"})
    assert found_values["c.md"] == "See [[new]], [[new#Part|label]], [x](far/away/new.md 'T') and [[Erste]].\r\n"
    assert found_values["in/b.md"] == "[up](../far/away/new.md) [[new]] [[Erste]] ![](../p.png) [[c]]\n"
    assert "[b](../../in/b.md#x)" in found_values["far/away/new.md"]
    assert "![](../../p.png)" in found_values["far/away/new.md"]
    assert set(found_values) == {"far/away/new.md", "c.md", "in/b.md"}
    assert state(base) == before, "a preview writes nothing"


def test_pages_that_change_places_keep_their_links_apart(base: Indexed) -> None:
    found_values = planned(base, {"a.md": "c.md", "c.md": "a.md"})
    assert set(found_values) == {"a.md", "c.md", "in/b.md"}
    assert found_values["in/b.md"].startswith("[up](../c.md) [[c]] [[Erste]]")
    assert found_values["in/b.md"].endswith("[[a]]\n")


def test_a_file_that_is_no_page_moves_with_the_links_to_it(base: Indexed) -> None:
    found_values = planned(base, {"p.png": "pictures/p.png"})
    assert "![](pictures/p.png)" in found_values["a.md"]
    assert "![](../pictures/p.png)" in found_values["in/b.md"]


def test_a_text_that_an_editor_has_open_counts_instead_of_the_file(base: Indexed) -> None:
    found_values = planned(base, {"a.md": "new.md"}, {"other.md": "Now [[a]].\n"})
    assert found_values["other.md"] == "Now [[new]].\n"
    assert "other.md" not in planned(base, {"a.md": "new.md"})


@pytest.mark.parametrize(
    ("moves", "error"),
    [
        ({"a.md": "a.md"}, InvalidInputError),
        ({"none.md": "x.md"}, NotFoundError),
        ({"none.png": "x.png"}, NotFoundError),
        ({"a.md": "c.md"}, AlreadyExistsError),
        ({"a.md": "C.md"}, AlreadyExistsError),
        ({"a.md": "p.png"}, AlreadyExistsError),
        ({"p.png": "c.md"}, AlreadyExistsError),
        ({"a.md": "x.md", "c.md": "x.md"}, AlreadyExistsError),
        ({"p.png": "x.png", "c.md": "X.png"}, AlreadyExistsError),
    ],
)
def test_a_move_that_would_lose_a_file_is_refused(
    base: Indexed, moves: dict[str, str], error: type[KnowledgeError]
) -> None:
    with pytest.raises(error):
        planned(base, moves)


def test_a_page_may_change_only_the_case_of_its_name(base: Indexed) -> None:
    assert "A.md" in planned(base, {"a.md": "A.md"})


def test_moving_nothing_changes_nothing(base: Indexed, tmp_path: Path) -> None:
    assert planned(base, {}) == {}
    with Indexed(tmp_path) as empty:
        assert planned(empty, {}) == {}


def test_a_name_that_is_elsewhere_takes_no_links_over(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a/Compost.md": "Of the garden.\n",
        "b/Router.md": "# Router\n\n[[Router]] [[Compost]]\n",
        "c.md": "[[Compost]] ![[Compost#Part|x]] [m](Compost.md) [[Compost.md]] [[Router]]\n",
        "deep/d.md": "---\nrelated: '[[Compost]]'\n---\n[m](Compost.md) [n](/a/Compost.md)\n",
    }
    with Indexed(tmp_path, files) as base:
        plan = preview_moves(base.collection, {Address("b/Router.md"): Address("Compost.md")}, {})
        values = {str(address): content.decode() for address, content in plan.contents.items()}
    assert values["c.md"] == "[[a/Compost]] ![[a/Compost#Part|x]] [m](a/Compost.md) [[a/Compost.md]] [[Compost]]\n"
    assert values["deep/d.md"] == "---\nrelated: '[[a/Compost]]'\n---\n[m](../a/Compost.md) [n](/a/Compost.md)\n"
    assert values["Compost.md"] == "# Router\n\n[[Compost]] [[a/Compost]]\n"
    assert plan.pinned == (Address("c.md"), Address("deep/d.md"))
    assert plan.gained == ()


def test_links_that_a_move_would_make_unclear_name_a_path(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a/Compost.md": "# C\n",
        "b/x.md": "---\ntitle: Heap\n---\n",
        "q/y.md": "# Y\n",
        "c.md": "[[Compost]] [[Heap]] [[nowhere]]\n",
    }
    with Indexed(tmp_path, files) as base:
        plan = preview_moves(base.collection, {Address("q/y.md"): Address("d/Compost.md")}, {})
        other = preview_moves(base.collection, {Address("q/y.md"): Address("q/Heap.md")}, {})
        third = preview_moves(base.collection, {Address("q/y.md"): Address("q/nowhere.md")}, {})
    assert plan.contents[Address("c.md")] == b"[[a/Compost]] [[Heap]] [[nowhere]]\n"
    assert other.contents[Address("c.md")] == b"[[Compost]] [[b/x]] [[nowhere]]\n"
    assert set(third.contents) == {Address("q/nowhere.md")}
    assert third.gained == (Address("c.md"),)


def test_links_to_a_file_that_is_no_page_are_not_taken_over_either(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a/pot.png": b"1", "b/cup.png": b"2", "c.md": "![[pot.png]] ![](pot.png)\n"}
    with Indexed(tmp_path, files) as base:
        plan = preview_moves(base.collection, {Address("b/cup.png"): Address("pot.png")}, {})
    assert plan.contents[Address("c.md")] == b"![[a/pot.png]] ![](a/pot.png)\n"


LATIN: dict[str, str | bytes] = {
    "plan.md": "# Plan\n\n[[latin]]\n",
    "other.md": "# Other\n\n[[plan]]\n",
    "latin.md": "# Caf\xe9\n\nSee [[plan]] and [p](plan.md).\n".encode("latin-1"),
    "named.md": "# Caf\xe9\n\nSee [[The plan]].\n".encode("latin-1"),
}


def test_a_page_that_is_not_utf8_keeps_its_bytes_and_is_named_when_its_links_go_wrong(tmp_path: Path) -> None:
    with Indexed(tmp_path, LATIN | {"plan.md": "---\naliases: [The plan]\n---\n"}) as base:
        plan = preview_moves(base.collection, {Address("plan.md"): Address("x/goal.md")}, {})
    assert plan.not_rewritten == (Address("latin.md"),)
    assert plan.others == [Address("other.md")]
    assert plan.pinned == ()


def test_a_page_that_is_not_utf8_can_be_moved_itself(tmp_path: Path) -> None:
    with Indexed(tmp_path, LATIN) as base:
        plan = preview_moves(base.collection, {Address("latin.md"): Address("x/y.md")}, {})
    assert plan.contents[Address("x/y.md")] == LATIN["latin.md"]
    assert plan.not_rewritten == (), "its links still lead right"
    assert plan.others == [Address("plan.md")]


HUGO: dict[str, str | bytes] = {
    "hugo.toml": "title = 'x'\n",
    "content/drinks/green.md": "---\ntitle: Green tea\nurl: /tea/green/\n---\nx\n",
    "content/drinks/black.md": "---\nslug: darjeeling\naliases: [/old/black/]\n---\nx\n",
    "content/i.md": (
        "[g](/tea/green/) [g](/tea/green#x) [b](/drinks/darjeeling/) [b](/old/black/) [b](/drinks/black/) [[Green tea]]"
        " [g](drinks/green.md)\n"
    ),
    "content/drinks/j.md": "[g](/tea/green/) [b](/drinks/darjeeling/)\n",
}


@pytest.fixture(scope="module")
def hugo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    with Indexed(tmp_path_factory.mktemp("hugo"), HUGO) as indexed:
        yield indexed


def test_a_link_by_a_published_address_stays_as_long_as_the_address_does(hugo: Indexed) -> None:
    found_values = planned(hugo, {"content/drinks/green.md": "content/drinks/verde.md"})
    assert set(found_values) == {"content/drinks/verde.md", "content/i.md"}
    text = str(HUGO["content/i.md"])
    assert found_values["content/i.md"] == text.replace("(drinks/green.md)", "(drinks/verde.md)")


def test_a_link_by_a_published_address_becomes_the_new_one(hugo: Indexed) -> None:
    found_values = planned(hugo, {"content/drinks/black.md": "content/teas/schwarz.md"})
    assert found_values["content/drinks/j.md"] == "[g](/tea/green/) [b](/teas/darjeeling/)\n"
    text = str(HUGO["content/i.md"]).replace("/drinks/darjeeling/", "/teas/darjeeling/")
    assert found_values["content/i.md"] == text.replace("/drinks/black/", "/teas/schwarz/")


def test_a_page_that_moves_keeps_the_addresses_it_links_to(hugo: Indexed) -> None:
    assert planned(hugo, {"content/drinks/j.md": "content/far/j.md"}) == {
        "content/far/j.md": HUGO["content/drinks/j.md"]
    }


def test_a_page_that_takes_the_published_address_of_another_redirects_no_link(hugo: Indexed) -> None:
    found_values = planned(hugo, {"content/drinks/j.md": "content/tea/green.md"})
    assert found_values["content/i.md"].startswith("[g](drinks/green.md) [g](drinks/green.md#x) ")
    assert found_values["content/tea/green.md"].startswith("[g](../drinks/green.md) ")


REFERENCES = {
    "superseded_by: x/new": "superseded_by: y/newer",
    "superseded_by: x/new#port": "superseded_by: y/newer#port",
    "superseded_by: 'x/new.md'": "superseded_by: 'y/newer.md'",
    "superseded_by: new": "superseded_by: newer",
    "superseded_by: [x/new.md, b]": "superseded_by: [y/newer.md, b]",
    'superseded_by: "[New](x/new.md)"': 'superseded_by: "[New](y/newer.md)"',
    "status: superseded by [ADR 5](x/new.md)": "status: superseded by [ADR 5](y/newer.md)",
    "status: Superseded by x/new": "status: Superseded by y/newer",
    "superseded_by: The new": "superseded_by: The new",
    "sources:\n- x/new.md": "sources:\n- y/newer.md",
    "sources:\n- path: x/new.md\n  quote: It is 8080.": "sources:\n- path: y/newer.md\n  quote: It is 8080.",
    """sources:\n- '[S](x/new.md#port): "It is"'""": """sources:\n- '[S](y/newer.md#port): "It is"'""",
    'sources: ["[[x/new]]", x/new.md#port]': 'sources: ["[[y/newer]]", y/newer.md#port]',
    "sources:\n- '<https://example.org/a>'\n- url: https://example.org/a\n  copy: x/new.md":
    "sources:\n- '<https://example.org/a>'\n- url: https://example.org/a\n  copy: y/newer.md",
}  # fmt: skip
HEADINGS = {
    "## Port {#port status=superseded by=x/new.md#port}": "## Port {#port status=superseded by=y/newer.md#port}",
    '## Port {status=superseded by="x/new"}': '## Port {status=superseded by="y/newer"}',
    "## Port {replaced_by=new}": "## Port {replaced_by=newer}",
}


def test_what_replaces_a_page_or_section_and_sources_follow_a_move_in_every_form(tmp_path: Path) -> None:
    pages = {f"p{at}.md": (f"---\n{old}\n---\n# P\n", f"---\n{new}\n---\n# P\n")
             for at, (old, new) in enumerate(REFERENCES.items())}  # fmt: skip
    pages |= {f"h{at}.md": (f"# H\n\n{old}\n\ntext\n", f"# H\n\n{new}\n\ntext\n")
              for at, (old, new) in enumerate(HEADINGS.items())}  # fmt: skip
    pages["z/own.md"] = (
        "---\nsources:\n- src.md\n- ../x/new.md\n---\n",
        "---\nsources:\n- src.md\n- ../y/newer.md\n---\n",
    )
    files: dict[str, str | bytes] = {path: before for path, (before, _) in pages.items()}
    new = "# The new\n\n## Port\n\nIt is 8080.\n"
    with Indexed(tmp_path, {**files, "x/new.md": new, "b.md": "# B\n", "src.md": "# S\n", "z/src.md": "# S\n"}) as base:
        moved = planned(base, {"x/new.md": "y/newer.md"})
        assert {path: moved.get(path, before) for path, (before, _) in pages.items()} == {
            path: after for path, (_, after) in pages.items()
        }
        own = planned(base, {"z/src.md": "z/other.md"})
        assert own["z/own.md"] == "---\nsources:\n- other.md\n- ../x/new.md\n---\n"
        backlinks = {link.source.path for link in base.collection.index.links_to(Address("x/new.md"), sentences=False)}
        titles = {f"p{at}.md" for at, old in enumerate(REFERENCES) if old == "superseded_by: The new"}
        assert backlinks == pages.keys() - titles
        away = planned(base, {"p3.md": "q/p.md", "p9.md": "q/s.md", "h0.md": "q/h.md"})
        assert away["q/s.md"] == "---\nsources:\n- ../x/new.md\n---\n# P\n"
        assert away["q/p.md"] == files["p3.md"]
        assert "by=../x/new.md#port" in away["q/h.md"]
