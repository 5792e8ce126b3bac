"""A source is stored once, whatever its name, and its page never overwrites another."""

from __future__ import annotations

import hashlib
from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.domain.sources import ConvertedText, SourceFile
from commonplace.services.checks import check_pages
from commonplace.services.reviews import queue_of
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


def test_a_source_that_was_moved_is_the_same_source(tmp_path: Path) -> None:
    texts = {"a.txt": b"one", "b.md": b"# Two\n", "c.txt": b"three"}
    with Indexed(tmp_path) as base:

        def added(name: str, content: bytes) -> tuple[str, str, bool]:
            done = add_source(base.collection, SourceFile(name, content), Reader())
            return done.file.path, done.page.path, done.created

        for name, content in texts.items():
            assert added(name, content)[2]
        (base.folder / "sources").rename(base.folder / "library")
        (base.folder / "library/c.txt").rename(base.folder / "library/third.txt")
        page = base.folder / "library/c.md"
        page.rename(base.folder / "library/third.md")
        page = base.folder / "library/third.md"
        page.write_text(page.read_text().replace("c.txt](<c.txt>)", "third.txt](<third.txt>)"))
        base.index.sync()
        assert added("x.txt", b"one") == ("library/a.txt", "library/a.md", False)
        assert added("x.md", b"# Two\n") == ("library/b.md", "library/b.md", False)
        assert added("x.txt", b"three") == ("library/third.txt", "library/third.md", False)
        assert not (base.folder / "sources").exists()
        (base.folder / "library/a.txt").unlink()
        assert added("x.txt", b"one") == ("sources/x.txt", "sources/x.md", True)


def test_check_tells_a_stored_file_that_changed_and_nothing_of_a_pointer_to_it(tmp_path: Path) -> None:
    with Indexed(tmp_path) as base:
        add_source(base.collection, SourceFile("a.txt", b"one"), Reader())
        add_source(base.collection, SourceFile("b.txt", b"two"), Reader())
        told: list[list[tuple[str, str]]] = []
        digest = hashlib.sha256(b"one").hexdigest()
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize 3\n"
        for content in ("one", "one more", pointer):
            base.write("sources/a.txt", content)
            issues = check_pages(base.collections, base.collection)
            told.append([(issue.path, issue.message[:21]) for issue in issues if issue.rule == "source_changed"])
            assert [(item.path, item.reason[:21]) for item in queue_of([base.collection])] == told[-1]
    assert told == [[], [("sources/a.md", "sources/a.txt changed")], []]


def test_where_two_sources_are_from_is_no_contradiction(tmp_path: Path) -> None:
    with Indexed(tmp_path) as base:
        for name in ("harvest.txt", "yield.txt"):
            source = SourceFile(name, f"The text of {name}.".encode())
            add_source(base.collection, source, Reader(), title="Report of the harvest")
        issues = check_pages(base.collections, base.collection)
        assert not [issue for issue in issues if issue.rule in {"contradiction", "other_value"}]
