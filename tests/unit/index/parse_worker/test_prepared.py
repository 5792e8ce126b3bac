"""The stored data of a document is the same after it is passed between processes."""

from __future__ import annotations

import marshal

import pytest

from commonplace.index.parse_worker import FileToParse, from_plain, prepare, to_plain

PAGES = {
    "notes/a.md": "---\nid: one\ntype: Note\ntags: [X, x/y]\naliases: [Eins, 'Ein \"s\"']\ndate: 2024-02-29\n"
    "created_at: 2024-01-01T10:00:00Z\nextra: {deep: [1, null, true]}\n---\n# Titel #tag\n\n"
    "[[b|c]] ![i](i.png)\n\n## Teil\n",
    "empty.md": "",
    "broken.md": "---\ntags: [a\n---\n# A\n\n日本語のページ and Größe\n",
}


@pytest.mark.parametrize("path", PAGES)
def test_a_document_of_plain_values_is_the_document(path: str) -> None:
    document = prepare(FileToParse(path, "revision", PAGES[path].encode()))
    assert from_plain(marshal.loads(marshal.dumps(to_plain(document)))) == document  # noqa: S302 - written here


def test_a_document_has_its_names_its_links_and_its_text() -> None:
    document = prepare(FileToParse("notes/a.md", "revision", PAGES["notes/a.md"].encode()))
    assert document.columns.names.aliases == ("Eins", 'Ein "s"')
    assert set(document.links.keys) == {"a", "one", "titel #tag", "titel", "eins", 'ein "s"'}
    assert [[target for target, *_ in sides] for sides in document.links.rows] == [
        [("", "b", "", False), ("", "c", "", False)],
        [("", "i.png", "", True)],
    ]
    assert document.text.title.startswith("titel")
    assert document.columns.tags == (("x", "X"), ("x/y", "x/y"), ("tag", "tag"))
