"""A source is stored once, whatever its name, and its page never overwrites another."""

from __future__ import annotations

from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.domain.sources import ConvertedText, SourceFile
from commonplace.services.sources import add_source, citation_lines
from indexed import Indexed


class Reader:
    """A reader without a process."""

    def download(self, url: str) -> SourceFile:
        return SourceFile("", b"", url)

    def convert(self, kind: str, source: SourceFile) -> ConvertedText:
        return ConvertedText(source.content.decode(), title=f"The {kind}")


def test_the_same_bytes_are_one_source_and_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "# A\n"}) as base:
        _adds(base)


def _adds(base: Indexed) -> None:
    def added(name: str, text: str) -> tuple[str, str, bool]:
        done = add_source(base.collection, SourceFile(name, text.encode()), Reader())
        return done.file.path, done.page.path, done.created

    assert added("a.txt", "one") == ("sources/a.txt", "sources/a.md", True)
    assert added("b.txt", "one") == ("sources/a.txt", "sources/a.md", False)
    assert added("a.txt", "two") == ("sources/a-2.txt", "sources/a-2.md", True)
    assert added("a.md", "# own") == ("sources/a-3.md", "sources/a-3.md", True)
    assert added("part.html", "<h1>A</h1><p>b") == ("sources/part.html", "sources/part.md", True)
    assert base.collection.store.read(Address("sources/a-3.md")) == b"# own"
    for name, text, part in (
        ("c.txt", "one line", ""),
        ("c.txt", "one line", ""),
        ("d.md", "# D\n\n## E\n", "#HEADING"),
    ):
        (line,) = citation_lines(add_source(base.collection, SourceFile(name, text.encode()), Reader()))[-1:]
        assert line == f"Cite: sources: [sources/{name[0]}.md{part}]"
    text = base.collection.store.read(Address("sources/a.md")).decode()
    assert text.startswith("---\ntitle: The txt\nfrom: a.txt\nadded: ")
    assert text.endswith("# The txt\n\nSource: [a.txt](<a.txt>)\n\none\n")
