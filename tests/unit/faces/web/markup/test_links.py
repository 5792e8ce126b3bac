"""HTML of a document's links."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.faces.web.markup.links import DocumentLinks, external_link, page_link
from commonplace.faces.web.markup.parser import LinkKey, parse, written_links
from commonplace.faces.web.urls import Urls
from commonplace.services.collections import Collection, Collections
from commonplace.services.site.documents import LinkTarget
from indexed import Indexed


def embedded(target: LinkTarget, *part: str) -> str:
    return f"[{target.title}:{':'.join(part)}]"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocumentLinks]:
    files = {
        "notes/here.md": "# Here\n\n## Part One\n\nText. ^block\n",
        "notes/a b.md": "# A b\n\n## One Two\n",
        "pic.png": b"x",
        "x.zip": b"x",
    }
    place: Path = tmp_path_factory.mktemp("linked")
    with Indexed(place, files) as base:
        collection = Collection("base", base.store, base.index)
        document = base.index.document(Address("notes/here.md"))
        collections = Collections(lambda: [collection])
        yield DocumentLinks(
            collections,
            collection,
            Urls("base"),
            document,
            page=document.address,
            embedded=embedded,
        )


def shown(source: DocumentLinks, markdown: str, label: str = "", title: str = "") -> str:
    """The start tag of the only link, or what is embedded."""
    links = written_links([parse(markdown.encode())])
    ((_, html),) = source.shown(links).items()
    return html.embed(label, title) if html.embed and markdown.startswith("!") else html.open


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("[[a b]]", '<a class="page-link" href="/p/notes/a%20b">'),
        ("[x](<a b.md#One Two>)", '<a class="page-link" href="/p/notes/a%20b#one-two">'),
        ("[[here#Part One]]", '<a class="page-link" href="#part-one">'),
        ("[[here]]", '<a class="page-link" href="/p/notes/here">'),
        ("[[here#^block]]", '<a class="page-link" href="#^block">'),
        ("[x](../x.zip)", '<a class="file" href="/files/x.zip">'),
        ("[[gone]]", '<a class="wanted" href="/wanted/gone" title="This page does not exist yet">'),
        (
            "[[a b#<]]",
            '<a class="page-link wanted" href="/p/notes/a%20b#%3C" title="This page has no heading or block “&lt;”">',
        ),
        (
            "[[#^gone]]",
            '<a class="page-link wanted" href="#^gone" title="This page has no heading or block “^gone”">',
        ),
    ],
)
def test_a_link_leads_where_the_index_says(source: DocumentLinks, markdown: str, expected: str) -> None:
    assert shown(source, markdown) == expected


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("[[a b#One]]", "a b > One"),
        ("[[a b#One#Two]]", "a b > One > Two"),
        ("[[a b#^id]]", "a b"),
        ("[[#Part]]", "Part"),
        ("[[gone#Part]]", "gone > Part"),
        ("[[a b#One|label]]", None),
        ("[[a b]]", None),
        ("[x](<a b.md#one>)", None),
    ],
)
def test_a_link_to_a_heading_shows_the_way_to_it(source: DocumentLinks, markdown: str, expected: str | None) -> None:
    ((_, html),) = source.shown(written_links([parse(markdown.encode())])).items()
    assert html.label == expected


def test_embeds_show_the_document_the_file_or_what_is_wanted(source: DocumentLinks) -> None:
    assert shown(source, "![[a b#Part]]") == "[A b:Part:part]"
    assert shown(source, "![[pic.png]]", "20") == '<img src="/files/pic.png" alt="pic" width="20" loading="lazy">'
    assert shown(source, "![[gone.png]]", "<b>").endswith(">&lt;b&gt;</a>")
    assert 'class="wanted"' in shown(source, "![[gone.png]]")


def test_nothing_is_asked_for_a_page_without_links(source: DocumentLinks) -> None:
    assert source.shown({}) == {}


def test_an_external_image_is_a_link_and_never_loaded() -> None:
    html = external_link(LinkKey(wiki=False, image=True, destination='https://x.example/?a="b"&c'))
    assert html.embed is not None
    opening = '<a class="external" href="https://x.example/?a=&quot;b&quot;&amp;c">'
    assert html.embed("<i>", "") == f"{opening}&lt;i&gt;</a>"
    assert html.embed("", "T") == f"{opening}T</a>"
    assert html.embed("", "").startswith(opening + "https://")


def test_a_link_without_a_destination_leads_nowhere() -> None:
    html = external_link(LinkKey(wiki=False, image=False, destination=""))
    assert f"{html.open}={html.close}" == '<span class="unresolved">[=]()</span>'
    assert page_link("/p/a?b&c").open == '<a class="page-link" href="/p/a?b&amp;c">'
