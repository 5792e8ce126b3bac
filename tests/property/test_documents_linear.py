"""Pages made to hurt: twice the page costs about twice the time, whatever it is made of."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from commonplace.domain import edits
from commonplace.domain.addresses import Address
from commonplace.domain.claims import claims_of_change
from commonplace.domain.document_reader import Fragments, read_document
from commonplace.domain.frontmatter import read_frontmatter, set_fields
from pages import page
from ways.linear import ALLOWED, FLOOR, GROWTH, assert_linear, cost

SIZE = 16_000


def root(size: int) -> int:
    return int(size**0.5)


PAGES: dict[str, Callable[[int], str]] = {
    "brackets": lambda n: "[" * n,
    "open wikilinks": lambda n: "[[" * (n // 2),
    "wikilinks": lambda n: "[[a]]" * (n // 5),
    "bars": lambda n: "[[" + "|" * n,
    "half wikilinks": lambda n: "[[a|" * (n // 4),
    "nested wikilinks": lambda n: "[[" * (n // 4) + "a" + "]]" * (n // 4),
    "open images": lambda n: "![](" * (n // 4),
    "nested images": lambda n: "![a" * (n // 7) + "](b)" * (n // 7),
    "nested links": lambda n: "[a" * (n // 6) + "](b)" * (n // 6),
    "open destinations": lambda n: "[a](<b" * (n // 6),
    "open titles": lambda n: '[a](b "' * (n // 7),
    "parentheses": lambda n: "[a](" + "(" * n,
    "escaped destination": lambda n: "[a](" + "\\)" * (n // 2) + ")",
    "entities": lambda n: "[a](" + "&amp;" * (n // 5) + ")",
    "percent": lambda n: "[a](" + "%C3%A9" * (n // 6) + ".md)",
    "backticks": lambda n: "`" * n,
    "rising backticks": lambda n: "".join("`" * length + " " for length in range(root(2 * n))),
    "emphasis": lambda n: "*_" * (n // 2),
    "mixed emphasis": lambda n: "*a **b_ " * (n // 8),
    "angles": lambda n: "<" * n,
    "open tags": lambda n: "<a " * (n // 3),
    "open comments": lambda n: "a <!-- " * (n // 7),
    "open declarations": lambda n: "a <!X <? <![CDATA[ " * (n // 19),
    "definitions": lambda n: "[a]: /u\n" * (n // 8),
    "many definitions": lambda n: "".join(f"[a{i}]: /u{i}\n" for i in range(n // 14)),
    "used definitions": lambda n: "[a]: /u\n\n" + "[a] " * (n // 4),
    "many used definitions": lambda n: "".join(f"[a{i}]: /u\n\n[a{i}]\n\n" for i in range(n // 20)),
    "half definitions": lambda n: "[a]:" * (n // 4),
    "footnotes": lambda n: "".join(f"[^{i}] x\n\n[^{i}]: y\n\n" for i in range(n // 22)),
    "quotes": lambda n: ">" * n,
    "thousand-fold quotes": lambda n: ("> " * 1_000 + "a\n") * (n // 2_000),
    "lists in lists": lambda n: "- " * (n // 2) + "a",
    "indented lists": lambda n: "".join(f"{' ' * (2 * level)}- a\n" for level in range(root(n))),
    "headings": lambda n: "# a\n" * (n // 4),
    "falling headings": lambda n: "".join(f"{'#' * (i % 6 + 1)} a\n" for i in range(n // 6)),
    "setext": lambda n: "a\n" * (n // 2) + "===\n",
    "attributes": lambda n: "# a {" + ".a=b " * (n // 5) + "!}\n",
    "braces": lambda n: "# a " + "{" * (n // 2) + "}" * (n // 2) + "\n",
    "many braces": lambda n: "# a {#b}\n" * (n // 9),
    "tags": lambda n: "#a " * (n // 3),
    "hashes": lambda n: "# " + "#" * n,
    "half tags": lambda n: " #" * (n // 2),
    "table": lambda n: "|a|b|\n|-|-|\n" + "|[[a]]|#b|\n" * (n // 11),
    "wide table": lambda n: "\n".join(f"|{cell * root(n)}" for cell in ["a|", "-|", *["a|"] * (root(n) // 2)]),
    "line ends": lambda n: "\n" * n,
    "windows line ends": lambda n: "\r\n" * (n // 2),
    "blanks": lambda n: " " * n,
    "rules": lambda n: "---\n" * (n // 4),
    "open front matter": lambda n: "---\n" + "a: b\n" * (n // 5),
    "letters": lambda n: "é" * n,
}  # fmt: skip

BLOCKS: dict[str, Callable[[int], str]] = {
    "keys": lambda n: "".join(f"k{i}: v\n" for i in range(n // 10)),
    "equal keys": lambda n: "k: v\n" * (n // 5),
    "broken keys": lambda n: "k: v: w\n" * (n // 8),
    "colons": lambda n: ":" * n,
    "brackets": lambda n: "a: " + "[" * n,
    "braces": lambda n: "{" * n,
    "dashes": lambda n: "- " * (n // 2),
    "questions": lambda n: "? " * (n // 2),
    "anchors": lambda n: "".join(f"k{i}: &a{i} v\n" for i in range(n // 14)),
    "aliases": lambda n: "a: &a x\n" + "".join(f"k{i}: *a\n" for i in range(n // 10)),
    "quotes": lambda n: "a: '" + "''" * (n // 2) + "'",
    "escapes": lambda n: 'a: "' + "\\u00e9" * (n // 6) + '"',
    "wikilinks": lambda n: "a: '" + "[[b]] " * (n // 6) + "'",
    "links": lambda n: "links:\n" + "- a\n" * (n // 4),
    "long list": lambda n: "a: [" + "b, " * (n // 3) + "b]",
    "comments": lambda n: "a: 1\n" + "# c\n" * (n // 4),
    "digits": lambda n: "a: " + "9" * n,
    "underscores": lambda n: "a: " + "1_" * (n // 2),
    "blank lines": lambda n: "a: |\n" + "\n" * n,
}


def read_and_use(text: str) -> None:
    document = page(text)
    edits.replace_section(document, document.sections[-1], "new")
    edits.insert_text(document, len(document.raw), "new")


@pytest.mark.parametrize("name", PAGES)
def test_reading_is_linear(name: str) -> None:
    def work(size: int) -> Callable[[], object]:
        text = PAGES[name](size)
        return lambda: read_and_use(text)

    assert_linear(work, SIZE)


@pytest.mark.parametrize("name", BLOCKS)
def test_reading_front_matter_is_linear(name: str) -> None:
    def work(size: int) -> Callable[[], object]:
        raw = f"---\n{BLOCKS[name](size)}\n---\n".encode()
        return lambda: read_frontmatter(raw)

    assert_linear(work, 12_000)


def test_changing_front_matter_is_linear() -> None:
    def work(size: int) -> Callable[[], object]:
        raw = ("---\n" + "".join(f"k{i}:\n  - a # c\n" for i in range(size // 20)) + "---\n").encode()
        return lambda: set_fields(raw, {"k5": ["a", "b"], "k7": None, "new": "x"})

    assert_linear(work, 12_000)


def test_rewriting_links_of_front_matter_is_linear() -> None:
    def work(size: int) -> Callable[[], object]:
        document = page("---\na:\n" + "".join(f"  - '[[x/b{i}]]'\n" for i in range(size // 20)) + "---\n")
        targets = {at: Address(f"y/{link.target}.md") for at, link in enumerate(document.links)}
        old = {at: Address(f"{link.target}.md") for at, link in enumerate(document.links)}
        return lambda: edits.rewrite_links(document, targets, old=old)

    assert_linear(work, 12_000)


CLAIMS: dict[str, Callable[[int], str]] = {
    "blanks in a heading": lambda n: "# x " + " " * n + "EVIL\n",
    "blanks behind a heading": lambda n: "# x 20 ms" + " " * n + "\n",
    "braces in a heading": lambda n: "# x " + "{ " * (n // 2) + "\n",
    "marks behind a heading": lambda n: "# x " + "# " * (n // 2) + "1\n",
    "blanks in a field": lambda n: "Port" + " " * n + ": 80\n",
    "blanks behind a field": lambda n: "Port: " + " " * n + "80\n",
    "blanks in a sentence": lambda n: "The port of it is 80." + " " * n + "a 8 ms\n",
    "stops": lambda n: "The port 8 ms" + ". " * (n // 2) + "\n",
    "notes": lambda n: "The port 8 ms" + "[^" * (n // 2) + "\n",
    "links": lambda n: "The port 8 ms" + "](" * (n // 2) + "\n",
    "bars": lambda n: "| a | b |\n|---|---|\n" + "| x 8 ms " * (n // 9) + "\n",
    "digits": lambda n: "The port of the shop is " + "9" * n + "\n",
    "digits and stops": lambda n: "The port of the shop is " + "9." * (n // 2) + "\n",
    "underscores": lambda n: "The port 8 ms " + "a_" * (n // 2) + "\n",
    "long words": lambda n: "The " + "a" * n + " is 8 ms\n",
    "addresses": lambda n: "The port is https://" + "a/" * (n // 2) + "\n",
    "sentences": lambda n: "The port of the shop is 80 ms wide. " * (n // 35) + "\n",
}


@pytest.mark.parametrize("name", CLAIMS | PAGES)
def test_finding_the_claims_of_a_change_is_linear(name: str) -> None:
    def work(size: int) -> Callable[[], object]:
        text = (CLAIMS | PAGES)[name](size)
        return lambda: claims_of_change("", text)

    assert_linear(work, SIZE)


FRAGMENTS: dict[str, Callable[[int], str]] = {
    "equal headings": lambda n: "# x1\n" * (n // 5),
    "falling headings": lambda n: "".join(f"{'#' * (i % 6 + 1)} x{i}\n" for i in range(n // 9)),
    "marked headings": lambda n: "".join(f"# `x{i}`: *y*\n" for i in range(n // 14)),
    "marks": lambda n: "# " + "!" * n + "\n",
    "block ids": lambda n: "a ^x1\n\n" * (n // 8),
    "headings with block ids": lambda n: "".join(f"# a ^x{i}\n" for i in range(n // 9)),
}


@pytest.mark.parametrize("name", FRAGMENTS)
def test_comparing_many_heading_links_is_linear(name: str) -> None:
    def work(size: int) -> Callable[[], object]:
        document = page(FRAGMENTS[name](size))
        target = [
            text for number in range(size // 60) for text in (f"X{number} Y", f"x1#x{number}", f"^x{number}", "!?")
        ]

        def find() -> int:
            fragments = Fragments(document)
            return sum(fragment in fragments for fragment in target)

        return find

    assert_linear(work, SIZE)


HTML: dict[str, Callable[[int], str]] = {
    "tags": lambda n: '<img src="a.png">\n\n' * (n // 19),
    "open quotes": lambda n: '<a href="' * (n // 9),
    "both quotes": lambda n: "<a href='<a href=\"" * (n // 18),
    "open comments": lambda n: "<!-- <img src=x " * (n // 16),
    "attributes": lambda n: "<img " + "a=b " * (n // 4) + ">",
    "equal signs": lambda n: "<img " + "=" * n,
    "candidates": lambda n: '<img srcset="' + "a.png 1x, " * (n // 10) + '">',
    "entities": lambda n: '<img src="' + "&amp;" * (n // 5) + '">',
    "scripts": lambda n: "<script>" * (n // 8),
    "lines of tags": lambda n: "<b>x</b> [a](b.md)\n\n" * (n // 20),
}


@pytest.mark.parametrize("suffix", [".md", ".mdx"])
@pytest.mark.parametrize("name", HTML)
def test_reading_links_of_html_is_linear(name: str, suffix: str) -> None:
    def work(size: int) -> Callable[[], object]:
        raw = HTML[name](size).encode()
        return lambda: read_document(Address(f"a{suffix}"), raw)

    assert_linear(work, SIZE)


ELEMENTS: dict[str, Callable[[int], str]] = {
    "elements": lambda n: "".join(f"<a id='x{i}'></a>\n" for i in range(n // 18)),
    "open tags": lambda n: "<a " * (n // 3),
    "one tag": lambda n: "<a" + " id=" * (n // 4),
    "open values": lambda n: "<a" + ' id="' * (n // 5),
    "blanks": lambda n: "<a id" + " " * n,
    "blank values": lambda n: "<a id=" + " " * n + '"',
}  # fmt: skip


@pytest.mark.parametrize("name", ELEMENTS)
def test_finding_many_fragments_is_linear(name: str) -> None:
    def work(size: int) -> Callable[[], object]:
        document = page(ELEMENTS[name](size))
        wanted_texts = [f"x{number}" for number in range(size // 18)]

        def find() -> None:
            fragments = Fragments(document)
            for fragment in wanted_texts:
                assert fragment in fragments or name != "elements"

        return find

    assert_linear(work, SIZE)


@pytest.mark.parametrize("text", ["a" * SIZE, "ab" * SIZE, "\r\n" * SIZE, "a\r\n" * SIZE])
def test_replacing_in_a_repetitive_text_is_linear(text: str) -> None:
    def work(size: int) -> Callable[[], object]:
        document = page(text[:size] + "needle" + text[:size])
        return lambda: edits.replace_once(document, "needle", "thread")

    assert_linear(work, SIZE // 8)


def test_a_page_of_a_megabyte_of_everything_is_read() -> None:
    text = "\n\n".join(make(20_000) for make in PAGES.values())
    assert len(text.encode()) > 900_000
    document = page(text)
    assert document.sections[-1].end == len(document.raw)


def test_a_thousand_levels_are_read() -> None:
    for text in ("> " * 1_000 + "[[a]]", "- " * 1_000 + "[[a]]", "*" * 1_000 + "[[a]]" + "*" * 1_000):
        assert [link.target for link in page(text).links] == ["a"]
    assert page("![" * 1_000 + "[[a]]" + "](b)" * 1_000).links


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "make"), [*PAGES.items(), *(("front matter: " + key, block) for key, block in BLOCKS.items())]
)
def test_a_megabyte_of_one_kind_takes_four_times_a_quarter_of_it(
    name: str, make: Callable[[int], str], record_property: Callable[[str, object], None]
) -> None:
    """The figures are CPU seconds for 0.25, 0.5 and 1 MB."""
    blocks = name.startswith("front matter: ")

    def least(size: int) -> float:
        text = f"---\n{make(size)}\n---\n" if blocks else make(size)
        return min(cost(lambda: page(text)) for _ in range(3))

    leasts = [least(size) for size in (250_000, 500_000, 1_000_000)]
    record_property("seconds", " ".join(f"{least:.3f}" for least in leasts))
    assert leasts[2] <= max(leasts[0], FLOOR) * GROWTH * ALLOWED


@pytest.mark.soak
def test_a_file_of_fifty_megabytes_is_read() -> None:
    paragraph = "# Heading\n\nA paragraph with a [[link]], a [second](page.md#part), a #tag and some `code`.\n\n"
    document = page(paragraph * (50_000_000 // len(paragraph)))
    assert len(document.links) == 2 * (len(document.sections) - 1)
