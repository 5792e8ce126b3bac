"""Parts of MDX that are not Markdown are ignored, and every byte and offset stays."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.documents import Document
from commonplace.domain.markdown.mdx import without_jsx

PAGE = """---
title: Tabs
---
import Tabs from '@theme/Tabs';
import { Foo } from "x"

export const meta = {
  title: 'not a heading',

  draw: (x) => <div># {x}</div>,
}

# Hello <Badge text="new" title="Fresh"/>

<Tabs groupId="os" values={[{label: 'a', value: "b>c"}]}>
  <TabItem value="apple" label="Apple trees">

    ## Inside

    This is [a link](./x.md) and [[y]].

    - one
      - two [z](z.md)

    ```js
    const x = <div>not a tag</div> [n](no.md)
    ```

    after the fence [k](k.md)
  </TabItem>
</Tabs>

{/* a comment [no](no2.md) */}

Text with `<b>` and a < b and <br/> more <>fragment [f](f.md)</>.

<Card title="Title text" href="/x">Children **bold**</Card>
"""


def read(text: str) -> Document:
    return read_document(Address("page.mdx"), text.encode())


def test_headings_and_links_inside_of_elements_are_read() -> None:
    document = read(PAGE)
    assert [section.heading for section in document.sections] == ["", "Hello Fresh", "Inside"]
    assert [link.target for link in document.links] == ["./x.md", "y", "z.md", "k.md", "f.md"]
    for link in document.links:
        assert document.raw[slice(*link.target_span)].decode() == link.target


def test_a_text_is_what_readers_see() -> None:
    document = read(PAGE)
    text = document.source[document.body_start :].decode()
    for word in ("import", "meta", "TabItem", "groupId", "comment", "href", "Card"):
        assert word not in text
    for words in ("Apple trees", "Title text", "Children **bold**", "fragment [f](f.md)"):
        assert words in text
    assert "const x = <div>not a tag</div>" in text, "code stays code"


def test_the_bytes_of_a_file_are_kept() -> None:
    document = read(PAGE)
    assert document.raw == PAGE.encode()
    assert len(document.source) == len(document.raw)


def test_markdown_files_are_read_as_they_are() -> None:
    document = read_document(Address("page.md"), PAGE.encode())
    assert document.source == document.raw


@each_case("text", ["a < b and c > d", "<https://example.org>", "2 <3", "\\<div>", "`<a>`", "<!-- x -->"])
def test_what_is_no_tag_stays(text: str) -> None:
    assert without_jsx(text.encode())[0] == text.encode()


@each_case(
    ("text", "rest"),
    [
        ("import a from 'b'\n\ntext", "                 \n\ntext"),
        ("important words\n", "important words\n"),
        ("text\nimport a from 'b'\n", "text\nimport a from 'b'\n"),
        ("<a b={() => <c/>}>x</a>", "\n" * 18 + "x    "),
        ("<a\n  b='>'\n>x</a>", "  \n       \n x    "),
    ],
)
def test_statements_and_tags_become_blanks(text: str, rest: str) -> None:
    assert without_jsx(text.encode())[0].decode() == rest


@given(st.text(alphabet="<>/{}`*\"'= \n#ab-~\\import", max_size=200))
def test_the_length_stays_and_nothing_is_invented(text: str) -> None:
    source = text.encode()
    blanked = without_jsx(source)[0]
    assert len(blanked) == len(source)
    assert all(new == old or chr(new) in " \n" for new, old in zip(blanked, source, strict=True))
    read(text)


def test_references_of_hugo_are_links_whose_targets_are_in_their_places() -> None:
    raw = b'See [a]({{< ref "docs/x.md#f" >}}) and [b]({{% relref "z.md" %}}).\n'
    document = read_document(Address("page.md"), raw)
    assert [(link.target, link.fragment) for link in document.links] == [("docs/x.md", "f"), ("z.md", "")]
    assert [raw[slice(*link.target_span)] for link in document.links] == [b"docs/x.md", b"z.md"]
