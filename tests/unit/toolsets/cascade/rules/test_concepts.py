"""Sections, keys and attributes of a document, and ids of arguments."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.toolsets.cascade.rules.concepts import (
    Fact,
    ForeignNode,
    concept_id,
    concept_of,
    flat_sections,
    id_at,
    read_concept,
    section_spans,
)
from commonplace.toolsets.cascade.rules.values import date_sort_key


def keys(body: str) -> list[str]:
    return [section.key for section in read_concept("a", body.encode()).sections]


@each_case(
    ("heading", "key"),
    [
        ("# Owner", "owner"),
        ("###### Big   Words\tHere", "big words here"),
        ("## Owner {#Own}", "own"),
        ("## Owner {#own updated=2026-01-02}", "own"),
        ("## Owner {updated=2026-01-02}", "owner"),
        ("## Owner ##", "owner"),
        ("## Owner {#own} ##", "own"),
        ("## On call {#on call updated=x}", "on call"),
        ("## C#", "c#"),
        ("##", ""),
        ("   # Three blanks", "three blanks"),
        ("## ÄÖ 漢字", "äö 漢字"),
    ],
)
def test_a_heading_has_its_key(heading: str, key: str) -> None:
    assert keys(f"{heading}\ntext\n") == [key]


@each_case(
    "text",
    [
        "    # code",
        "#tag",
        "####### seven",
        "```\n# in a fence\n```",
        "~~~\n```\n# in\n~~~",
        "- ```\n  # in a list\n  ```",
    ],
)
def test_what_is_no_heading_begins_no_section(text: str) -> None:
    assert keys(f"# One\n{text}\n") == ["one"]


def test_a_fence_of_a_list_item_ends_with_the_item() -> None:
    assert keys("# One\n- ```\n  x\n# Two\n") == ["one", "two"]


def test_a_key_that_occurs_again_gets_the_first_free_number() -> None:
    assert keys("pre\n# A\n# A\n# A-2\n# A\n#\n#\n") == ["", "a", "a-2", "a-2-2", "a-3", "-2", "-3"]


def test_attributes_are_read_with_and_without_quotes() -> None:
    [section, two] = read_concept(
        "a", b"---\nupdated: 2026-01-01\n---\n# A {#a updated=\"2026-02-02\" override='None'}\n# B\n"
    ).sections
    assert (section.updated, section.override) == ("2026-02-02", "none")
    assert (two.updated, two.override) == ("2026-01-01", None)


def test_line_ends_and_a_byte_order_mark_change_nothing() -> None:
    plain = read_concept("a", b"---\na: [1,\n  2]\n---\npre\n\n# A\nx\ny\n")
    assert read_concept("a", b"\xef\xbb\xbf---\r\na: [1,\r\n  2]\r\n---\r\npre\r\n\r\n# A\r\nx\r\ny\r\n") == plain


def test_bytes_that_are_no_text_are_a_finding() -> None:
    concept = read_concept("a", b"# A\n\xff\n")
    assert [finding.rule for finding in concept.findings] == ["not_utf8"]
    assert concept.sections[0].content == "ÿ"


def test_a_heading_of_five_megabytes_is_read_in_linear_time() -> None:
    assert len(keys("# " + " " * 2_500_000 + "x" + "{ " * 1_000_000)) == 1


def test_ids_are_normal_paths_without_suffix() -> None:
    assert concept_id(" a\\b/../c.md?x#y ") == "a/c"
    assert id_at(Address("a/b.md")) == "a/b"
    assert [id_at(Address(path)) for path in ("index.md", "a/log.md", "a.markdown")] == [None, None, None]


def test_dates_are_compared_as_moments_and_every_date_is_newer_than_what_is_none() -> None:
    ordered = ["soon", "2025-12-31", "1 January 2026", "2026-01-01T12:00:00Z", "2026-02", "2026-03-01T00:30+01:00"]
    mixed = [ordered[place] for place in (3, 5, 0, 2, 4, 1)]
    assert sorted(mixed, key=date_sort_key) == ordered
    assert date_sort_key("soon") == date_sort_key(None) == date_sort_key("31 June 2026") == date_sort_key("2026-13")


@each_case(
    "body",
    [
        "",
        "\n\n",
        "text\n",
        "# A\n",
        "\n# A\none\n\n## B {#b}\ntwo",
        "pre\n# A\n# A\n#\n#\n",
        "# A\r\none\r\n## B\rtwo\r\n",
        "```\n# code\n```\n# \u00c4\n\u6f22\u5b57\u2028x\x0by\n# B\n",
    ],
)
def test_the_bytes_of_each_section_hold_its_heading_and_text(body: str) -> None:
    before = b"---\na: 1\n---\n"
    source = before + body.encode()
    spans = section_spans(source, len(before))
    sections = flat_sections(body.replace("\r\n", "\n").replace("\r", "\n"), None)

    assert [key for key, _, _ in spans] == [section.key for section in sections]
    for (_, start, end), section in zip(spans, sections, strict=True):
        (only,) = flat_sections(source[start:end].decode().replace("\r\n", "\n").replace("\r", "\n"), None)
        assert (only.heading, only.text) == (section.heading, section.text)
    assert [start for _, start, _ in spans[1:]] == [end for _, _, end in spans[:-1]]


def test_facts_become_sections_and_links_a_section_of_their_own() -> None:
    facts = (Fact("Origin  Story", " text \n", "2026-05-01"), Fact("", "unnamed", None))
    concept = concept_of("ada", ForeignNode("Ada", "person", facts, ("babbage", "math/notes")))
    assert concept.frontmatter == {"type": "person", "title": "Ada", "updated": "2026-05-01"}
    assert [(section.key, section.heading, section.text, section.updated) for section in concept.sections] == [
        ("origin story", "## Origin Story {#origin story}", "text", "2026-05-01"),
        ("note", "## Note {#note}", "unnamed", "2026-05-01"),
        ("related", "## Related {#related}", "[[babbage]], [[math/notes]]", "2026-05-01"),
    ]


def test_a_node_that_says_nothing_is_a_concept_of_its_id() -> None:
    concept = concept_of("ada", ForeignNode("", "", (), ()))
    assert (concept.frontmatter, concept.sections) == ({"type": "concept", "title": "ada"}, ())


def test_the_latest_date_counts_however_it_is_written() -> None:
    facts = tuple(Fact("t", "x", date) for date in ("2026-05-01", "2 May 2026", "someday", None, "2025"))
    concept = concept_of("a", ForeignNode("A", "", facts, ()))
    assert concept.updated == "2 May 2026"
    assert [section.updated for section in concept.sections][-2:] == ["2 May 2026", "2025"]


def test_every_section_has_a_key_of_its_own() -> None:
    facts = tuple(Fact(topic, "x", None) for topic in ("Related", "related", "A", "a", "A-1"))
    keys = [section.key for section in concept_of("a", ForeignNode("", "", facts, ("b",))).sections]
    assert len(set(keys)) == len(keys) == 6
