"""Markdown as events."""

from __future__ import annotations

from cases import each_case
from commonplace.faces.web.markup.parser import (
    LinkKey,
    definitions,
    link_key,
    missing_definitions,
    parse,
    written_links,
)


@each_case("text", ["", "# Ä *b*\n\n- 茶\n", "a\r\nb\r\n", "|a|\n|-|\n|😀|\n", "$x$ and [[w]]"])
def test_events_cover_byte_ranges_of_the_source(text: str) -> None:
    parsed = parse(text.encode())
    assert parsed.source == text.encode()
    for event, start, end in parsed.events:
        assert 0 <= start <= end <= len(parsed.source)
        if isinstance(event, dict) and "Text" in event and "\\" not in text:
            assert event["Text"].strip() in parsed.source[start:end].decode()


def test_links_to_pages_and_files_are_found_once_each_and_urls_are_not() -> None:
    source = b"[[a]] [x](b.md#c) ![i](d.png) ![[e]] [[a]] [u](https://x.example) [y](#here)"
    links = written_links([parse(source), parse(b"[x](b.md#c)")])
    assert {key.destination: (key.wiki, key.image) for key in links if key.destination != "#here"} == {
        "a": (True, False),
        "b.md#c": (False, False),
        "d.png": (False, True),
        "e": (True, True),
    }
    assert links[LinkKey(wiki=False, image=False, destination="b.md#c")].fragment == "c"


@each_case(
    ("text", "expected"),
    [
        ("", ""),
        ("no definitions [a] here", ""),
        ("[a][b]\n\n[b]: other.md 'T'\n", "[b]: other.md 'T'"),
        ("[a]: <x y>\n[b]: z\n", "[a]: <x y>\n[b]: z"),
        ("```\n[a]: x\n```\n", ""),
        ("ü\n\n[ä]: x\n", "[ä]: x"),
    ],
)
def test_link_definitions_are_taken_out_of_a_text(text: str, expected: str) -> None:
    assert sorted(definitions(text.encode()).decode().splitlines()) == sorted(expected.splitlines())


WHOLE = "[t]: https://x.example\n\n[^1]: one\n    more\n\n[^2]: two [t]\n\n[^ü]: three\n".encode()


@each_case(
    ("part", "has", "lacks"),
    [
        (b"plain", (), (b"[t]", b"[^1]", b"[^2]")),
        (b"see [x][t]", (b"[t]: https",), (b"[^1]", b"[^2]:")),
        (b"one[^1]", (b"[^1]: one\n    more",), (b"[^2]:",)),
        (b"two[^2] and [^2]", (b"[^2]: two",), (b"[^1]:",)),
        ("x[^ü]".encode(), ("[^ü]: three".encode(),), (b"[^1]:",)),
        (b"one[^1]\n\n[^1]: here\n", (), (b"one\n    more",)),
        (b"no[^9]", (), (b"[^1]:",)),
    ],
)
def test_a_part_gets_what_it_refers_to_and_does_not_define(
    part: bytes, has: tuple[bytes, ...], lacks: tuple[bytes, ...]
) -> None:
    found_text = b"\n\n".join(missing_definitions(part, WHOLE))
    assert all(element in found_text for element in has), found_text
    assert not any(lack in found_text for lack in lacks), found_text


def test_an_address_of_mail_is_no_page() -> None:
    parsed = parse(b"Write to <ada@example.org>.")
    assert written_links([parsed]) == {}
    starts = [event["Start"] for event, _, _ in parsed.events if isinstance(event, dict) and "Start" in event]
    (data,) = [start["Link"] for start in starts if isinstance(start, dict)]
    assert link_key(data, b"", image=False) == LinkKey(wiki=False, image=False, destination="mailto:ada@example.org")


def test_bytes_that_are_no_utf8_are_parsed_with_marks() -> None:
    assert any(isinstance(event, dict) and "�" in event.get("Text", "") for event, _, _ in parse(b"a \xff b").events)
