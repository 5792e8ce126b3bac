"""Superseding keeps the old text, marked; sources of a change stand in the page's own style."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.citations import citations_of
from commonplace.domain.document_reader import read_document
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.status import declared_statuses
from commonplace.toolsets.notes.rules.page_edits import PageChange, apply_changes, is_appended
from commonplace.toolsets.notes.rules.replaced_texts import source_line, source_texts, text_with_sources

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
    reason = _changed(PAGE, kind="supersede", section="Port", by="new.md#port", reason="It moved.")
    assert "by=new.md#port}\n\nIt is 8080.\n\nSuperseded: It moved.\n\n## Host" in reason
    with pytest.raises(InvalidInputError):
        _changed(PAGE, kind="supersede", section="Port")
    for ignored in ({"text": "New."}, {"block": "^x"}):
        with pytest.raises(InvalidInputError, match="would be ignored"):
            _changed(PAGE, kind="supersede", by="new.md", **ignored)


def test_an_outline_of_blocks_gets_sources_as_blocks_and_no_history() -> None:
    page = "- ## Alpha\n\t- one\n- ## Beta\n\t- two\n"
    for change in ({"section": "Alpha", "text": "- three"}, {"old": "two", "text": "three"}):
        with pytest.raises(InvalidInputError, match="is an outline of blocks"):
            _changed(page, kind="supersede", **change)
    assert "- ## Alpha {#alpha status=superseded by=x.md}\n\t- one\n" in _changed(
        page, kind="supersede", section="Alpha", by="x.md"
    )
    text = _changed(page, kind="append", section="Alpha", text="three", sources=("notes/b.md", "https://example.org/a"))
    assert text.startswith("- ## Alpha\n\t- one\n\t- three[^1][^2]\n- ## Beta\n\t- two\n- [^1]: [b](")
    assert text.endswith(")\n- [^2]: <https://example.org/a>\n")
    citations = citations_of(read_document(Address("notes/network.md"), text.encode()))
    assert [(citation.label, citation.target) for citation in citations] == [
        ("1", "b.md"),
        ("2", "https://example.org/a"),
    ]
    blocks = read_document(Address("notes/network.md"), b"- one\n").with_properties()
    assert text_with_sources(blocks, ["notes/b.md"]) == "- one[^1]\n- [^1]: [b](b.md)\n"


def test_a_source_keeps_all_of_its_parts_or_is_refused() -> None:
    address = Address("notes/network.md")
    for source, text in (
        ({"path": "net/port.md", "quote": "The port is 80."}, '[port](../net/port.md): "The port is 80."'),
        ("{path: net/port.md, quote: The port is 80.}", '[port](../net/port.md): "The port is 80."'),
        ({"path": "Old page", "section": "Port", "commit": "1a2b3c4"}, "[[Old page#Port@1a2b3c4]]"),
        ({"url": "https://a.org/b", "read": "2026-01-03"}, "<https://a.org/b>, read 2026-01-03"),
        ({"path": "notes/a.md", "quote": 'She says "yes it is".'}, '[a](a.md): \u201cShe says "yes it is".\u201d'),
        ("https://a.org/b, section 4 of the handbook", "<https://a.org/b>, section 4 of the handbook"),
        ('src/a.py#L3 "x = 1", the default', '`src/a.py#L3`: "x = 1", the default'),
        ("Setup guide", "[[Setup guide]]"),
        ("a.md", "[a](../a.md)"),
    ):
        line = source_line(source, lambda citation: citation)
        assert source_texts([line], address.folder) == [text], source
        page = read_document(address, b"# A\n\nB.\n")
        assert text_with_sources(page, [line]).endswith(f"[^1]: {text}\n"), source
    for source, reason in (
        ("src/a.py#L3@HEAD", "'@HEAD' is no commit"),
        ("src/a.py#L5-L3", "'L5-L3' end before they begin"),
        ("https://a.org, read 2026-13-45", "'2026-13-45' is no day"),
        ("https://a.org, read 2999-01-01", "lies in the future"),
        ({"url": "https://a.org", "read": "soon"}, "day of reading, which is none"),
        ({"path": "a.md", "page_number": "4"}, "key 'page_number'"),
        ({"url": "https://a.org", "copy": "sources/a.html"}, "key 'copy'"),
        ("Smith, J. (2020). A book.", "names no source"),
        ({"quote": "Alone."}, "names no source"),
        ({}, "names no source"),
    ):
        with pytest.raises(InvalidInputError) as caught:
            source_line(source, lambda citation: citation)
        assert reason in str(caught.value), source
    line = source_line("src/a.py#L3, the default", lambda citation: citation._replace(commit="1a2b3c4"))
    assert line == "`src/a.py#L3@1a2b3c4`, the default"


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
    numbered = text_with_sources(
        read_document(Address("a.md"), b"# A\n\nOne.[^2] Two.[^1]\n"), ["b.md", "c.md", "d.md"]
    )
    assert numbered.startswith("# A\n\nOne.[^2] Two.[^1][^3]\n\n[^1]: [b]")
    assert [line[:7] for line in numbered.splitlines()[4:]] == ["[^1]: [", "[^2]: [", "[^3]: ["]
    bare = text_with_sources(read_document(Address("a.md"), b"# A\n"), ["b.md"])
    assert bare == "# A\n\n[^1]\n\n[^1]: [b](b.md)\n"
    whole = text_with_sources(read_document(Address("a.md"), b"# A\n\nText.\n"), ["b.md"])
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
    whole = text_with_sources(read_document(Address("notes/network.md"), text.encode()), sources)
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
        text_with_sources(read_document(Address("a.tid"), wikitext.encode()), ["guide.md"])
    assert "[^1]: " in text_with_sources(read_document(Address("a.tid"), markdown.encode()), ["guide.md"])


def _page(random: Random, number: int) -> str:
    """A page of sections whose every line of text is its own, and a history at some place."""
    lines, level = [f"# Page {number}", "", "intro line"], 1
    headings = [f"Part {at}" for at in range(random.randint(1, 5))]
    headings.insert(random.randint(0, len(headings)), random.choice(("History", "Archive", "Plain")))
    for at, heading in enumerate(headings):
        level = random.randint(1 if random.random() < 0.2 else 2, min(level + 1, 6))
        attributes = random.choice(("", "", "", " {status=draft}", f" {{#own-{at}}}"))
        lines += [
            "",
            f"{'#' * level} {heading}{attributes}",
            *random.choice(([], ["", f"own text {at}", f"- item {at}"])),
        ]
        if random.random() < 0.3:
            lines += ["", "```", f"# code {at}", "```"]
        if heading in {"History", "Archive"} and level < 6 and random.random() < 0.5:
            lines += [
                "",
                f"{'#' * (level + 1)} Gone, until 2020-01-01 {{status=superseded by=#own-1}}",
                "",
                "gone text",
            ]
    if random.random() < 0.4:
        lines += ["", "[^1]: <https://example.org/a>", "[link]: other.md"]
    return "\n".join(lines) + random.choice(("\n", ""))


def _lines(text: str) -> dict[str, tuple[str, str, bool]]:
    """The headings above each line of text, its status, and whether it lapsed."""
    document = read_document(Address("notes/page.md"), text.encode())
    statuses = declared_statuses(document)
    lines: dict[str, tuple[str, str, bool]] = {}
    for section in document.sections:
        every = [status for status in statuses if status.ordinal <= section.ordinal <= status.last]
        lapsed = any(status.word == "superseded" for status in every)
        for line in document.raw[section.content : section.end].decode().splitlines():
            if line.strip() and line != "```":
                lines[line] = (" > ".join(section.path), every[-1].word if every else "", lapsed)
    return lines


def test_superseding_keeps_every_other_line_and_its_status() -> None:
    random = Random(20261130)
    superseded = 0
    for number in range(50):
        page = _page(random, number)
        document = read_document(Address("notes/page.md"), page.encode())
        for section in document.sections[1:]:
            before = _lines(page)
            named = _lines(page.encode()[section.content : section.tree_end].decode())
            try:
                after_text = _changed(page, kind="supersede", section=f"#{section.anchor}", text="the new text")
            except InvalidInputError as error:
                assert "already: a new text in it would not hold" in str(error)  # noqa: PT017
                assert before.get("gone text", ("", "", False))[2]
                continue
            superseded += 1
            after = _lines(after_text)
            assert not after["the new text"][2], (page, section.anchor, after_text)
            assert after["the new text"][0] == " > ".join(section.path)
            assert set(before) <= set(after), (page, section.anchor, after_text)
            for line, place in before.items():
                if line not in named:
                    assert after[line] == place, (line, page, section.anchor, after_text)
                elif line.startswith(("own", "- item", "# code", "intro")) and not after[line][2]:
                    assert any(part in after[line][0] for part in ("History", "Archive")), (line, page, after_text)
                    assert section.heading not in {"History", "Archive"}, (line, page, after_text)
    assert superseded > 120


def test_superseding_in_a_page_with_a_history_of_its_own() -> None:
    day = datetime.now(UTC).date().isoformat()
    text = _changed("# ZZ\n\n## Rule\n\nOld rule.\n\n## End\n", kind="supersede", section="Rule", text="New rule.")
    text = _changed(text, kind="supersede", section="History", text="Short history.")
    kept = f"### Rule, until {day} {{status=superseded by=#rule}}\n\nOld rule.\n"
    assert text == f"# ZZ\n\n## Rule\n\nNew rule.\n\n## End\n\n## History\n\nShort history.\n\n{kept}"
    text = _changed(text, kind="supersede", section="History", text="Shorter.")
    mark = f"### History, until {day} {{status=superseded by=#history}}\n\nShort history.\n"
    assert text.endswith(f"## History\n\nShorter.\n\n{mark}\n{kept}")
    assert "## End\n\nMore.\n\n## History" in _changed(text, kind="append", text="More.")
    with pytest.raises(InvalidInputError, match="is superseded already"):
        _changed(text, kind="supersede", old="Old rule.", text="Older rule.")
    town = "# Town\n\n## History\n\nFounded in 900.\n\n## Mayor\n\nAda.\n\n### Term\n\n```\n# x\n```\n"
    text = _changed(town, kind="supersede", section="Mayor", text="Bob.")
    mark = f"### Mayor, until {day} {{status=superseded by=#mayor}}\n\nAda.\n\n#### Term\n\n```\n# x\n```\n"
    assert text == f"# Town\n\n## History\n\nFounded in 900.\n\n{mark}\n## Mayor\n\nBob.\n"
