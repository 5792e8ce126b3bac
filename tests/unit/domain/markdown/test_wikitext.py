"""Tiddlers of TiddlyWiki: their fields, and their wikitext as Markdown of the same length."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.markdown.wikitext import as_markdown
from commonplace.services.writes.renames import rename
from indexed import Indexed

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
