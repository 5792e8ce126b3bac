"""Tiddlers of TiddlyWiki: their fields, and their wikitext as Markdown of the same length."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError
from commonplace.domain.markdown.wikitext import as_markdown
from commonplace.services.reviews import mark_reviewed
from commonplace.services.typed_entries import update_entry
from commonplace.services.writes import create, replace
from commonplace.services.writes.new_paths import new_page_address, new_page_text
from commonplace.services.writes.renames import rename
from indexed import Indexed
from ways.linear import assert_linear

TIDDLER = """created: 20240102030405678
# a comment
tags: [[two words]] one
title: Getting Started
type: text/vnd.tiddlywiki

! Welcome

See [[the other|Other Tiddler]], [[Missing]] and [[a site|https://example.org/a]].
# first
## second

!!Without a blank [[Marked]]

CamelCase {{Other Tiddler}} <<list [[Missing]]>> {{{ [[Missing]get[x]] }}} <$link to="[[Missing]]"/>
---
    indented [[Other Tiddler]]

```
! no heading [[Other Tiddler]]
```
"""


def test_a_tiddler_has_the_fields_the_headings_and_the_links_that_tiddlywiki_reads() -> None:
    document = read_document(Address("a.tid"), TIDDLER.encode())
    values = document.frontmatter.values
    assert (document.title, document.tags, values["created"]) == (
        "Getting Started",
        ("two words", "one"),
        "2024-01-02T03:04:05Z",
    )
    headings = [(section.level, section.heading) for section in document.sections]
    assert headings == [(0, ""), (1, "Welcome"), (2, "Without a blank Marked")]
    links = [(link.target, document.raw[slice(*link.target_span)].decode()) for link in document.links]
    assert links == [(name, name) for name in ("Other Tiddler", "Missing", "Marked", "Other Tiddler")]
    assert len(as_markdown(TIDDLER.encode())) == len(TIDDLER)


@pytest.mark.parametrize("text", ["title: T", "title: T\r\n\r\n! H\r\n", "", "! H", "\n\ntext", ": x\n\ny"])
def test_a_tiddler_of_any_form_is_read(text: str) -> None:
    document = read_document(Address("a.tid"), text.encode())
    assert document.title == ("T" if text.startswith("title") else "a")


def test_links_of_a_base_lead_by_title_alone_also_that_of_a_file_of_fields(tmp_path: Path) -> None:
    files = {
        "tiddlywiki.info": "{}",
        "tiddlers/a.tid": TIDDLER,
        "tiddlers/b.tid": "title: Other Tiddler\n\n[[a]] [[getting started]] [[Getting Started]]\n",
        "tiddlers/c.md": "# Heading\n\n[[c]] [[Heading]] [[Marked]]\n",
        "tiddlers/c.md.meta": "title: Marked\ntype: text/x-markdown\n",
        "tiddlers/plain.tid": "title: Plain\ntype: text/x-markdown\n\n# Heading\n",
    }
    with Indexed(tmp_path, files) as base:

        def targets(path: str) -> list[str]:
            links = base.index.links_from(Address(path))
            return [link.target.path if link.target else "" for link in links]

        assert targets("tiddlers/b.tid") == ["", "", "tiddlers/a.tid"]
        assert targets("tiddlers/c.md") == ["", "", "tiddlers/c.md"]
        assert targets("tiddlers/a.tid") == [
            "tiddlers/b.tid", "", "tiddlers/c.md", "tiddlers/b.tid"
        ]  # fmt: skip
        assert base.found("indented") == ["tiddlers/a.tid"]
        assert [section.level for section in base.index.document(Address("tiddlers/plain.tid")).sections] == [0, 1]
        with pytest.raises(InvalidInputError, match="does not follow a move"):
            rename(base.collection, Address("tiddlers/c.md"), Address("tiddlers/d.md"))
        base.write("tiddlers/c.md.meta", "title: Renamed\n")
        base.index.sync()
        assert targets("tiddlers/c.md") == ["", "", ""]


def test_links_to_tiddlers_of_the_program_to_files_and_from_markdown(tmp_path: Path) -> None:
    files = {
        "tiddlywiki.info": "{}",
        "tiddlers/a.tid": "title: Two Words\n\n[[$:/ControlPanel]] [[run.js]] [[Gone]]\n",
        "tiddlers/b.js": "let x",
        "tiddlers/b.js.meta": "title: run.js\ntype: application/javascript\n",
        "tiddlers/c.tid": "title: C\ntype: text/x-markdown\n\n# H\n\n[x](#Two%20Words) [y](#H)\n",
    }
    with Indexed(tmp_path, files) as base:
        targets = [link.target.path if link.target else "" for link in base.index.links_from(Address("tiddlers/a.tid"))]
        assert targets == ["", "tiddlers/b.js", ""]
        assert [link.target for link in base.index.links_from(Address("tiddlers/c.tid"))] == [
            Address("tiddlers/a.tid"), None
        ]  # fmt: skip
        assert sorted(link.link.target or link.link.fragment for link in base.index.broken()) == ["Gone", "H"]
        assert base.index.dead_links() == []
        rename(base.collection, Address("tiddlers/a.tid"), Address("tiddlers/z.tid"))
        assert base.collection.store.read(Address("tiddlers/c.tid")).decode() == files["tiddlers/c.tid"]


def test_a_new_page_of_a_wiki_is_a_tiddler(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"tiddlywiki.info": "{}", "tiddlers/a.tid": "title: A\n\nText\n"}) as base:
        address = new_page_address(base.collection, "Tea: hot/cold?")
        create(base.collection, address, b"# H\n")
        document = base.index.document(address)
        assert (address.path, document.title) == ("tiddlers/Tea%3A hot%2Fcold%3F.tid", "Tea: hot/cold?")
        assert document.raw.endswith(b"\ntitle: Tea: hot/cold?\ntype: text/x-markdown\n\n# H\n")
        assert new_page_address(base.collection, "notes/x.md") == Address("notes/x.md")
        assert new_page_text(base.collection, "X", datetime.now(UTC)) == ""
        with pytest.raises(AlreadyExistsError):
            new_page_address(base.collection, "tea: hot/cold?")
        whole = b"title: Other\ntags: x\n\nText\n"
        create(base.collection, Address("tiddlers/o.tid"), whole)
        assert base.collection.store.read(Address("tiddlers/o.tid")) == whole


def test_fields_beside_a_page_are_not_changed_and_a_new_text_keeps_those_above_it(tmp_path: Path) -> None:
    fields = "created: 20240102030405678\ntags: x\nown: y\ntitle: A\ntype: text/vnd.tiddlywiki\n\n"
    files = {
        "tiddlywiki.info": "{}",
        "tiddlers/a.tid": f"{fields}Text\n",
        "tiddlers/b.md": "# B\n",
        "tiddlers/b.md.meta": "title: B\n",
        "tiddlers/c.md": "# C\n",
    }
    with Indexed(tmp_path, files) as base:

        def text_of(path: str) -> str:
            return base.collection.store.read(Address(path)).decode()

        for change in (
            partial(mark_reviewed, base.collection, Address("tiddlers/b.md")),
            partial(update_entry, base.collection, Address("tiddlers/b.md"), {"status": "x"}),
        ):
            with pytest.raises(InvalidInputError, match=r"in tiddlers/b\.md\.meta, of which no key is changed"):
                change()
        assert text_of("tiddlers/b.md") == "# B\n"
        mark_reviewed(base.collection, Address("tiddlers/c.md"))
        assert "last_reviewed_on:" in text_of("tiddlers/c.md")
        replace(base.collection, Address("tiddlers/a.tid"), b"New\n")
        assert text_of("tiddlers/a.tid") == f"{fields}New\n"
        replace(base.collection, Address("tiddlers/a.tid"), b"title: Z\n\nOther\n")
        assert text_of("tiddlers/a.tid") == "title: Z\n\nOther\n"


def test_code_in_wikitext_ends_where_the_program_ends_it() -> None:
    for text, links in (
        ("x ```--verbose```", []),
        ("* item\n\n  ```bash\nrun [[a]]\n```\n* [[b]]", ["b"]),
        ("```\n ```js\n ```\n[[a]]\n```\n\n[[b]]", ["b"]),
        ('<<.x """```\n[[a]]\n```""">>\n\n[[b]]', ["b"]),
        ("<<<\n[[a]]\n<<<\n\n[[b]] >>", ["a", "b"]),
        ("|`<<<`|[[a]]|\n<<.x '[[no]] >'>>", ["a"]),
        ('<$railroad text="""\n[["no"]] > <b>\n"""/> [[a]]', ["a"]),
        ("~~~\n\t\t\t[[a]]", ["a"]),
    ):
        document = read_document(Address("a.tid"), f"title: T\n\n{text}\n".encode())
        assert ([link.target for link in document.links], document.findings) == (links, ()), text
    assert_linear(lambda size: partial(as_markdown, b"<<a \"x<$b 'y{{{z" * size), 2_000)


@each_case("unit", ["<<a ", '<<a "b" ', '<<a "', '<<a """ ', "{{{a ", "<$a ", "<$a <<b ", "<$a {{{ ", "`a ", "``a "])
def test_calls_without_an_end_are_not_looked_for_again_from_each_place(unit: str) -> None:
    assert_linear(lambda size: partial(as_markdown, unit.encode() * size), 250)  # below the longest call


def test_a_wikilink_of_foam_leads_by_the_end_of_a_path_and_a_definition_is_a_link_beside_it(tmp_path: Path) -> None:
    files = {
        ".vscode/extensions.json": '{"recommendations": ["foam.foam-vscode"]}',
        "a/inbox.md": "---\naliases: [Post]\n---\n# Mail\n\n## Part\n",
        "b/README.md": "# B\n",
        "c.md": "[[INBOX]] [[a/inbox#part]] [[#d]] [[b]] [[Mail]] [[Post]] [[x]]\n\n## D\n\n"
        "[inbox]: a/inbox.md 'Mail'\n",
    }
    with Indexed(tmp_path, files) as base:
        links = base.index.links_from(Address("c.md"))
        inbox, index = "a/inbox.md", "b/README.md"
        assert [link.target.path if link.target else "" for link in links] == [
            inbox, inbox, "c.md", index, "", "", "", inbox
        ]  # fmt: skip
        assert base.index.dead_links() == []
        assert [link.link.target for link in base.index.broken()] == ["Mail", "Post", "x"]


def test_links_of_a_page_whose_fields_are_beside_it_lead_to_tiddlers(tmp_path: Path) -> None:
    meta = "title: My Note\ntype: text/x-markdown\n"
    files = {
        "tiddlywiki.info": "{}",
        "tiddlers/n.md": "# Part\n\nSee [a](<#Other Page>), [b](#None), [c](#part) and [d](n.md#part).\n",
        "tiddlers/n.md.meta": meta,
        "tiddlers/o.tid": "title: Other Page\n\nText.\n",
        "plain.md": "# Part\n\nSee [a](#part).\n",
    }
    note, other = Address("tiddlers/n.md"), Address("tiddlers/o.tid")
    tiddlers = [("Other Page", "", other), ("None", "", None), ("part", "", None), ("n.md", "part", note)]
    pages = [("", "Other Page", note), ("", "None", note), ("", "part", note), ("n.md", "part", note)]

    with Indexed(tmp_path, files) as base:

        def links() -> list[list[tuple[str, str, Address | None]]]:
            document = read_document(note, base.store.read(note))
            ways = base.index.links_from(note), base.index.resolve(document)
            return [[(row.link.target, row.link.fragment, row.target) for row in way] for way in ways]

        assert links() == [tiddlers, tiddlers]
        assert {row.source for row in base.index.links_to(other)} == {note}
        (base.folder / "tiddlers/n.md.meta").unlink()
        base.index.sync()
        assert links() == [pages, pages]
        base.write("tiddlers/n.md.meta", meta)
        base.write("tiddlers/new.tid", "title: None\n\nText.\n")
        base.index.sync()
        tiddlers[1] = ("None", "", Address("tiddlers/new.tid"))
        assert links() == [tiddlers, tiddlers]
