"""Citations are read as people write them, and quotations compared as people copy them."""

from __future__ import annotations

from functools import partial

from commonplace.domain.addresses import Address
from commonplace.domain.citations import (
    Citation,
    citation_text,
    citations_of,
    comparable,
    holds_quotation,
    is_comparable,
    read_citation,
)
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.markdown.declared_references import heading_references
from commonplace.domain.status import declared_statuses
from ways.linear import assert_linear

CITED = {
    "guide/setup.md#install": Citation("", "guide/setup.md", "install"),
    '[Setup](guide/setup.md#install): "Install it."': Citation(
        "", "guide/setup.md", "install", quotation="Install it."
    ),
    "[[Setup#Install|here]], read 2026-01-03": Citation("", "Setup", "Install", read="2026-01-03"),
    'see `src/app.py#L10-L20@1a2b3c4`: "x = 1"': Citation("", "src/app.py", "", 10, 20, "1a2b3c4", quotation="x = 1"),
    "src/app.py#L7": Citation("", "src/app.py", "", 7, 7),
    "<https://example.org/a?b=c>, accessed 2026-02-01: “So it is.”": Citation(
        "", "https://example.org/a?b=c", read="2026-02-01", quotation="So it is."
    ),
    "[a](a%20b.md) @1a2b3c4d": Citation("", "a b.md", commit="1a2b3c4d"),
}


def test_citations_are_read_and_written() -> None:
    for text, citation in CITED.items():
        assert read_citation(text) == citation
        assert read_citation(citation_text(citation)) == citation
    for text in ("", "No source at all.", "12 of 30", '"Only a quotation."'):
        assert read_citation(text) is None


def test_a_page_has_citations_in_its_front_matter_and_in_footnotes() -> None:
    text = (
        "---\nsources:\n  - guide.md#a\n"
        "  - {url: 'https://example.org', read: 2026-01-02, quote: yes it is, copy: x.md}\n"
        "  - {path: src/app.py#L1-L2, commit: 1a2b3c4}\n  - 7\n---\n# A\n\nText.[^n] More.[^2]\n\n"
        '[^n]: [Guide](guide.md#b): "quoted"\n[^2]: only a remark\n'
    )
    citations = citations_of(read_document(Address("a.md"), text.encode()))
    assert [
        (citation.label, citation.place, citation.read, citation.quotation, citation.line, citation.copy)
        for citation in citations
    ] == [
        ("1", "guide.md#a", "", "", 0, ""),
        ("2", "https://example.org", "2026-01-02", "yes it is", 0, "x.md"),
        ("3", "src/app.py#L1-L2@1a2b3c4", "", "", 0, ""),
        ("n", "guide.md#b", "", "quoted", 12, ""),
    ]


def test_quotations_are_compared_without_markup_quotes_and_dashes() -> None:
    source = comparable("It's **so** \u2013 [as said](x.md) \u2013\n> “twice”, and\nnot `once`.")
    for quotation in ('It\u2019s so - as said - "twice"', "it’s so … not once", "twice”, and not once"):  # noqa: RUF001
        assert holds_quotation(quotation, source)
    assert not holds_quotation("not once … so", source)
    assert holds_quotation("so - as said - 'twice', and", source)
    assert holds_quotation("x" * 50_000, comparable("x" * 50_000))
    assert not is_comparable("a")
    assert not is_comparable("…")


def test_declared_citations_and_statuses_are_read_in_time_in_proportion_to_the_text() -> None:
    def read(document: Document) -> None:
        citations_of(document)
        declared_statuses(document)
        list(heading_references(document.source, document.sections))

    for unit in (
        "[^a]:  ",
        "- [^a]: x\n \t",
        "\t - ",
        "  \n",
        "## A {by=\"b by='c=\n",
        "**Status**: ",
        "- **Status",
        "```x ~~~",
    ):
        pages = {size: read_document(Address("a.md"), unit.encode() * (size // len(unit))) for size in (10_000, 40_000)}
        assert_linear(lambda size, pages=pages: partial(read, pages[size]), 10_000)
