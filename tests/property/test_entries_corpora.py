"""Nothing is lost by an update: one changed field leaves every other byte of every real entry as it was."""

from __future__ import annotations

import re
from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.frontmatter import set_fields
from support import ROOT, Amount, Corpora

FILES = 3_096
NEW = re.compile(rb"shelf: 7\r?\n")
BLOCK = re.compile(rb"---\r?\nshelf: 7\r?\n---\r?\n(?:\r?\n)?")


def check_added(document: Document) -> None:
    """A field that was not there is one line more, or a block of it alone."""
    raw = document.raw
    after = set_fields(document, {"shelf": 7})
    at = after.index(b"shelf: 7")
    line = NEW.match(after, at)
    assert line is not None
    rest = after[:at] + after[line.end() :]
    assert rest == raw or (not document.frontmatter.present and BLOCK.sub(b"", after, count=1) == raw)
    assert read_document(document.address, after).frontmatter.values == {**document.frontmatter.values, "shelf": 7}


def check_changed(document: Document, key: str) -> None:
    """A field that was there has another value, and all lines that are not its own are as they were."""
    raw = document.raw
    after = set_fields(document, {key: "Another one"})
    again = read_document(document.address, after)
    assert again.frontmatter.values == {**document.frontmatter.values, key: "Another one"}
    before_lines, after_lines = raw.splitlines(keepends=True), after.splitlines(keepends=True)
    own = next(at for at, line in enumerate(before_lines) if line.startswith(f"{key}:".encode()))
    behind = len(after_lines) - own - 1
    assert after_lines[:own] == before_lines[:own]
    written = after_lines[own].removeprefix(f"{key}:".encode()).strip()
    assert written.startswith((b"Another one", b'"Another one"', b"'Another one'")), "in the quotes that stood there"
    assert after_lines[own + 1 :] == before_lines[len(before_lines) - behind :]
    lost = before_lines[own + 1 : len(before_lines) - behind]
    assert all(line.startswith((b" ", b"\t", b"-")) for line in lost), "only lines of the value itself"


def page_issues(path: Path, folder: Path) -> bool:
    """Whether the entry has frontmatter that could be changed."""
    document = read_document(Address(path.relative_to(folder).as_posix()), path.read_bytes())
    if not document.decodable or any(finding.rule == "bad_yaml" for finding in document.findings):
        return False
    check_added(document)
    values = document.frontmatter.values
    for key in ("title", "ms.date", "tags"):
        if key in values and values[key] != "Another one":
            check_changed(document, key)
    return document.frontmatter.present


def test_one_changed_field_leaves_every_other_byte_of_the_example_base() -> None:
    folder = ROOT / "examples" / "kb"
    assert sum(page_issues(path, folder) for path in sorted(folder.rglob("*.md"))) >= 30


def test_one_changed_field_leaves_every_other_byte_of_a_real_base(corpora: Corpora, amount: Amount) -> None:
    folder = corpora("powershell-docs")
    paths = sorted(path for path in folder.rglob("*.md") if path.is_file())
    wanted_amount = amount(300, FILES)
    chosen = paths[:: max(len(paths) // wanted_amount, 1)]
    assert len(chosen) >= wanted_amount
    assert sum(page_issues(path, folder) for path in chosen) > 0.9 * wanted_amount
