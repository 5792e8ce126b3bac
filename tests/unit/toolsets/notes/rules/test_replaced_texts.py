"""Superseding keeps the old text, marked; sources of a change stand in the page's own style."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.citations import citations_of
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.status import declared_statuses
from commonplace.toolsets.notes.rules.page_edits import PageChange, apply_changes, is_appended
from commonplace.toolsets.notes.rules.replaced_texts import text_with_sources

PAGE = "---\nstatus: accepted\n---\n# Network\n\n## Port {#port}\n\nIt is 8080.\n\n## Host\n\nIt is alpha.\n"


def _changed(text: str, /, **change: object) -> str:
    document = read_document(Address("notes/network.md"), text.encode())
    return apply_changes(document, [PageChange(**change)]).decode()  # type: ignore[arg-type]


def _statuses(text: str) -> list[tuple[int, str, str]]:
    statuses = declared_statuses(read_document(Address("notes/network.md"), text.encode()))
    return [(status.ordinal, status.word, status.by) for status in statuses]


def test_a_page_is_superseded_by_another() -> None:
    text = _changed(PAGE, kind="supersede", by="new.md", reason="It  moved.")
    assert text.startswith(
        "---\nstatus: superseded\nsuperseded_by: new.md\nsuperseded_reason: It moved.\n---\n# Network"
    )
    assert _statuses(text) == [(0, "superseded", "new.md")]
    for by in ("", "notes/network.md", "notes/network#port"):
        with pytest.raises(InvalidInputError):
            _changed(PAGE, kind="supersede", by=by)


def test_a_section_gets_a_new_text_and_the_old_one_goes_to_the_history() -> None:
    day = datetime.now(UTC).date().isoformat()
    text = _changed(PAGE, kind="supersede", section="Port", text="It is 9090.", reason="Moved.")
    assert "## Port {#port}\n\nIt is 9090.\n\n## Host" in text
    rest = f'## History\n\n### Port, until {day} {{status=superseded by="#port"}}\n\nIt is 8080.\n\nSuperseded: Moved.'
    assert rest.replace('"', "") in text.replace('"', "")
    again = _changed(text, kind="supersede", section="Port", text="It is 7070.")
    assert again.count("## History") == 1
    assert again.index("It is 9090.") < again.index("It is 8080.")
    assert [by for _, _, by in _statuses(again) if by] == ["#port", "#port"]


def test_a_passage_and_a_heading() -> None:
    text = _changed(PAGE, kind="supersede", old="It is alpha.", text="It is beta.")
    assert "## Host\n\nIt is beta.\n\n## History\n\n### Host, until" in text
    assert "It is alpha." in text
    marked = _changed(PAGE, kind="supersede", section="Port", by="new.md#port")
    assert "## Port {#port status=superseded by=new.md#port}\n\nIt is 8080." in marked
    marked = _changed(PAGE, kind="supersede", section="Host", by="a page.md")
    assert '## Host {#host status=superseded by="a page.md"}' in marked
    assert [by for _, _, by in _statuses(marked) if by] == ["a page.md"]
    with pytest.raises(InvalidInputError):
        _changed(PAGE, kind="supersede", section="Port")


def test_sources_are_footnotes_or_items_of_the_list() -> None:
    sources = ('guide/setup.md#install "Install it."', "src/app.py#L1-L9@1a2b3c4", "https://example.org/a")
    text = _changed(PAGE, kind="append", section="Host", text="Sure.", sources=sources)
    assert "Sure.[^1][^2][^3]\n" in text
    assert '[^1]: [setup](../guide/setup.md#install): "Install it."\n[^2]: `src/app.py#L1-L9@1a2b3c4`\n' in text
    assert text.endswith("[^3]: <https://example.org/a>\n")
    assert len(citations_of(read_document(Address("notes/network.md"), text.encode()))) == 3
    more = _changed(text, kind="append", section="Port", text="Yes.", sources=("[[Setup]]",))
    assert "Yes.[^4]" in more
    assert more.endswith("[^4]: [[Setup]]\n")
    listed = _changed("---\nsources:\n  - a.md\n---\n# A\n", kind="append", text="Yes.", sources=("b.md",))
    assert "sources:\n  - a.md\n  - " in listed
    assert "[^" not in listed
    with pytest.raises(InvalidInputError, match="names no source"):
        _changed(PAGE, kind="append", text="No.", sources=("",))
    for change in ({"by": "new.md"}, {"by": "new.md", "section": "Port"}):  # no new text that could refer to a footnote
        lapsed = _changed(PAGE, kind="supersede", sources=("why.md",), **change)
        assert "sources:\n" in lapsed.partition("# Network")[0]
        assert "It is 8080." in lapsed
        assert "[^" not in lapsed
    numbered = text_with_sources(Address("a.md"), "# A\n\nOne.[^2] Two.[^1]\n", ["b.md", "c.md", "d.md"])
    assert numbered.startswith("# A\n\nOne.[^2] Two.[^1][^3]\n\n[^1]: [b]")
    assert [line[:7] for line in numbered.splitlines()[4:]] == ["[^1]: [", "[^2]: [", "[^3]: ["]
    bare = text_with_sources(Address("a.md"), "# A\n", ["b.md"])
    assert bare == "# A\n\n[^1]\n\n[^1]: [b](b.md)\n"
    whole = text_with_sources(Address("a.md"), "# A\n\nText.\n", ["b.md"])
    assert whole == "# A\n\nText.[^1]\n\n[^1]: [b](b.md)\n"


def test_a_source_that_the_page_cites_already_is_not_cited_twice() -> None:
    sources = ('guide/setup.md#install "Install it."', "https://example.org/a")
    text = _changed(PAGE, kind="append", section="Port", text="Sure.", sources=sources)
    again = _changed(text, kind="append", section="Host", text="Yes.[^2]", sources=(*sources[::-1], "b.md", "b.md"))
    assert again.startswith(text[: text.index("## Host")] + "## Host\n\nIt is alpha.\n")
    assert "Yes.[^2][^1][^3]\n" in again
    assert [line[:6] for line in again.splitlines() if line.startswith("[^")] == ["[^1]: ", "[^2]: ", "[^3]: "]
    assert '[^1]: [setup](../guide/setup.md#install): "Install it."' in again
    other = _changed(text, kind="append", section="Port", text="Not.", sources=('guide/setup.md#install "Other."',))
    assert "Not.[^3]" in other
    whole = text_with_sources(Address("notes/network.md"), text, sources)
    assert whole == text
    page = "---\nsources:\n  - path: b.md\n    quote: “One two three.”\n---\n# A\n"
    assert _changed(page, kind="append", text="x", sources=('[[b.md]] "one two  three."',)).count("b.md") == 1
    assert is_appended(
        read_document(Address("notes/network.md"), again.encode()),
        PageChange(kind="append", section="Host", text="Yes.[^2]", sources=(*sources[::-1], "b.md")),
    )


def test_a_review_sets_its_day_and_the_next() -> None:
    today = datetime.now(UTC).date().isoformat()
    text = _changed("---\nlast_reviewed_on: 2020-01-01\nreview_in: 6 months\n---\n# A\n", kind="reviewed", by="Ada")
    assert text == f"---\nlast_reviewed_on: {today}\nreview_in: 6 months\nreviewed_by: Ada\n---\n# A\n"
    text = _changed("---\nreview_by: 2020-01-01\n---\n# A\n", kind="reviewed", fields={"review_by": "2999-01-01"})
    assert "review_by: 2999-01-01" in text
    with pytest.raises(InvalidInputError, match="no day of a next review"):
        _changed("# A\n", kind="reviewed", fields={"review_by": "2020-01-01"})


def test_wikitext_gets_no_history_and_no_sources_and_a_tiddler_in_markdown_both() -> None:
    wikitext = "title: T\n\n! Port\n\nIt is 8080.\n"
    markdown = "title: T\ntype: text/x-markdown\n\n# Port\n\nIt is 8080.\n"
    changes: list[dict[str, object]] = [
        {"kind": "supersede", "section": "Port", "text": "It is 9090."},
        {"kind": "supersede", "section": "Port", "by": "new.md"},
        {"kind": "supersede", "old": "It is 8080.", "text": "It is 9090."},
        {"kind": "append", "text": "More.", "sources": ("guide.md",)},
    ]
    for change in changes:
        with pytest.raises(InvalidInputError, match="wikitext of TiddlyWiki, which has no form for"):
            apply_changes(read_document(Address("a.tid"), wikitext.encode()), [PageChange(**change)])  # type: ignore[arg-type]
        assert apply_changes(read_document(Address("a.tid"), markdown.encode()), [PageChange(**change)])  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="no form for sources"):
        text_with_sources(Address("a.tid"), wikitext, ["guide.md"])
    assert "[^1]: " in text_with_sources(Address("a.tid"), markdown, ["guide.md"])
