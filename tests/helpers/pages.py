"""Documents for tests: read from text, and made at random from pieces of Markdown that mean something."""

from __future__ import annotations

import json
from urllib.parse import unquote

from hypothesis import strategies as st

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document, LinkKind, Span

PIECES = (
    "# ", "## ", "###### ", "#", " ##", "===\n", "---\n", "```\n", "~~~\n", "``", "`", "    ", "> ", "- ", "1. ", "* ",
    "| a | b |\n", "|---|---|\n", "[[", "]]", "![[", "|", "[", "](", ")", "![", "<", ">", "[a]: /u\n", "[a]", "[b][a]",
    "<!--", "-->", "<div>", "</div>", "{#key a=b}", "{", "}", "#tag", "#a/b", "**", "_", "~~", "\\", "&amp;", "&",
    "%20", "kb:id", "^block", "#heading", ".md", "/", "../", "http://x.y", "mailto:a@b.c", "title: x\n",
    "tags: [a, b]\n", "links:\n  - target: a\n", "a: *b\n", "a: &b c\n", "- [ ] ", "[^1]", "[^1]: ", "\n", "\n\n",
    "\r\n", "\r", " ", "\t", "word", "Überschrift", "标题", "नमस्ते", "🚀", "\u3000", "\u200b", "\ufeff", "\0", "\x85",
    "\u2028", "e\u0301",
)  # fmt: skip
WHOLE = (
    "# Heading\n", "## Größe {#k a=b}\n", "Setext\n===\n", "\n## 标题\r\n", "[[page]]", "[[kb:id#h|label]]",
    "![[e.png]]", "[[Über uns#^b]]", "[t](a.md)", "[t](<a b.md> 'x')", "[t](a%20b.md?v=1#f)", "[t](a\\(&amp;b.md)",
    "![i](p.png)", "[![i](p.png)](q.md)", "[x] ", "[t][X]", "\n\n[x]: y%20z.md 'T'\n", "\n\n[x]: <y z.md#f>\n",
    " #tag ", "\n#a/b\n", "`c`", "\n```\n# c [[c]] #c\n```\n", "> quote [[q]]\n", "- item [[i]]\n",
    "| a | [[b\\|c]] |\n|---|---|\n", "\n\n", "\r\n\r\n", "text ", "<b>x</b>", "<!-- [[h]] -->", "[[a]](b.md)", "[^1]",
    "\n[^1]: note [[n]]\n", "up: '[[p]]'\n", "links: [a]\n",
)  # fmt: skip

markdown = st.lists(st.sampled_from(WHOLE) | st.sampled_from(PIECES) | st.text(max_size=4), max_size=40).map("".join)
"""Texts dense in markup, whether it fits together or not."""

blocks = st.sampled_from(["", "---\n", "---\r\n", "\ufeff---\n"])
"""Beginnings of files with frontmatter."""


def page(text: str | bytes, path: str = "notes/page.md") -> Document:
    """A document with this text."""
    return read_document(Address(path), text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))


def cut(document: Document, span: Span) -> str:
    """The text of a span."""
    return document.raw[span.start : span.end].decode()


def check_document(document: Document) -> None:
    """Check the invariants on which callers rely."""
    source = document.source
    assert document.body_start <= len(source)
    at = document.body_start
    for ordinal, section in enumerate(document.sections):
        assert section.ordinal == ordinal
        assert section.start == at
        assert section.start <= section.content <= section.end <= section.tree_end <= len(source)
        assert (section.level == 0) is (ordinal == 0)
        assert section.path == () or section.path[-1] == section.heading
        at = section.end
    assert at == len(source)
    anchors = [section.anchor for section in document.sections[1:]]
    assert len(set(anchors)) == len(anchors)
    for link in document.links:
        check_span(source, link.span)
        path = check_span(source, link.target_span)
        if link.target_span != Span(0, 0) and not {"\\", "&"} & set(path):
            assert unquote(path) == link.target or path.split() == link.target.split()
        assert link.target or link.fragment
        if link.kind is not LinkKind.FRONTMATTER:
            assert document.body_start <= link.span.start < link.span.end
    assert len({tag.casefold() for tag in document.tags}) == len(document.tags)
    json.dumps(dict(document.frontmatter.values), allow_nan=False)


def check_span(source: bytes, span: Span) -> str:
    assert 0 <= span.start <= span.end <= len(source)
    return source[span.start : span.end].decode()
