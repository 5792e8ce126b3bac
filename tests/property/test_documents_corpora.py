"""Every file of the real corpora opens, holds what callers rely on, and survives an edit that changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from commonplace.domain import edits
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document, LinkKind, Span
from commonplace.domain.edits import with_unix_line_ends
from commonplace.domain.frontmatter import set_fields
from commonplace.domain.links import NamedDocument, link_key, resolve
from pages import check_document
from support import Amount, Corpora

FILES = {"cpp-docs": 9_751, "powershell-docs": 3_096}


class Tree:
    """The paths of a folder, as the rules of links ask for them."""

    sites = ()
    own_names = ()

    def __init__(self, folder: Path) -> None:
        self.paths = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        self.others: dict[str, list[Address]] = {}
        for other in sorted(path for path in self.paths if not Address(path).is_document):
            self.others.setdefault(link_key(other), []).append(Address(other))

    def at(self, path: str) -> Address | None:
        return Address(path) if path in self.paths else None

    def has_names(self) -> bool:
        return False

    def named(self, key: str) -> Sequence[NamedDocument]:
        del key
        return ()

    def files(self, key: str) -> Sequence[Address]:
        return self.others.get(key, ())


def files(folder: Path, count: int) -> list[Path]:
    """About `count` files of the folder, evenly spread."""
    paths = sorted(path for path in folder.rglob("*.md") if path.is_file())
    return paths[:: max(len(paths) // count, 1)]


def check_rewriting(document: Document, tree: Tree) -> None:
    """Check that a document is unchanged if its parsed values are written back."""
    raw = document.raw
    if not any(finding.rule == "bad_yaml" for finding in document.findings):
        values = {key: value for key, value in document.frontmatter.values.items() if value is not None}
        assert set_fields(document, values) == raw
    assert edits.replace_text(document, document.text) == raw
    assert edits.replace_text(document, with_unix_line_ends(document.text)) == raw
    assert edits.replace_body(document, raw[document.body_start :].decode()) == raw
    for section in document.sections:
        end = section.tree_end if section.level else section.end
        assert edits.replace_section(document, section, raw[section.content : end].decode()) == raw
        own = raw[section.start : section.end].decode()
        assert edits.replace_section(document, section, own, keep_heading=False, subsections=False) == raw
    there = {index: resolve(link, document.address, tree) for index, link in enumerate(document.links)}
    targets = {index: address for index, address in there.items() if address}
    assert edits.rewrite_links(document, targets, moved_to=document.address) == raw


@pytest.mark.parametrize("corpus", FILES)
def test_every_file_is_read_and_rewritten_byte_for_byte(corpus: str, corpora: Corpora, amount: Amount) -> None:
    folder = corpora(corpus)
    chosen = files(folder, amount(300, FILES[corpus]))
    assert len(chosen) >= amount(300, FILES[corpus])
    tree = Tree(folder)
    placed = links = 0
    for path in chosen:
        raw = path.read_bytes()
        document = read_document(Address(path.relative_to(folder).as_posix()), raw)
        assert document.raw == raw
        assert document.text.encode() in {raw, raw.removeprefix(b"\xef\xbb\xbf")} or not document.decodable
        check_document(document)
        if document.decodable:
            check_rewriting(document, tree)
        own = [link for link in document.links if link.kind is not LinkKind.FRONTMATTER]
        links += len(own)
        placed += sum(link.target_span != Span(0, 0) for link in own)
    assert placed == links, "the path of every link is found to the byte"
