"""Parts of a file that are not Markdown are blanked, and every offset stays."""

from __future__ import annotations

from itertools import product

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.markdown.mdx import readable_source

PAGE = Address("a.md")
SHORTCODES = [
    '{{< ref "b.md" >}}',
    "{{< relref 'b.md' >}}",
    '{{% ref "b.md" %}}',
    "{{<ref `b.md`>}}",
    '{{< ref path="b.md" lang="de" >}}',
    '{{<\tref\t"b.md"\t>}}',
]


@each_case("shortcode", SHORTCODES)
def test_a_reference_of_hugo_is_read_as_a_link_to_its_page(shortcode: str) -> None:
    raw = f"Größe: [b]({shortcode}) 漢字\r\n".encode()
    document = read_document(PAGE, raw)
    assert len(document.source) == len(raw)
    assert [link.target for link in document.links] == ["b.md"]
    span = document.links[0].target_span
    assert raw[span.start : span.end] == b"b.md"


@each_case(
    "source",
    [
        b"",
        b"{{ ref }}",
        b"{{< figure src='b.md' >}}",
        b"{{< ref b.md >}} ref",
        b'{{< ref "two words" >}}',
        b'{{< ref "b.md" }}',
        b'{{< ref "b.md"\n>}}',
        b"{{< ref \"b.md' >}}",
    ],
)
def test_what_is_no_reference_stays(source: bytes) -> None:
    assert readable_source(PAGE, source).text == source


def test_a_source_that_is_all_markdown_is_itself() -> None:
    source = b"# A\n\n<Badge/> {curly}\n"
    assert readable_source(PAGE, source).text is source


@pytest.mark.parametrize("path", ["a.mdx", "x/A.MDX"])
def test_jsx_is_set_aside_in_mdx_alone(path: str) -> None:
    source = b"# A <Badge/>\n"
    assert b"Badge" not in readable_source(Address(path), source).text
    assert b"Badge" in readable_source(PAGE, source).text


def test_no_source_changes_its_length() -> None:
    pieces = [SHORTCODES[0], "{{<", "ref ", '"', ">}}", "ü", "\n"]
    for text in map("".join, product(pieces, repeat=4)):
        assert len(readable_source(PAGE, text.encode()).text) == len(text.encode())
