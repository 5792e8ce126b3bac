"""The path for a name without a folder and suffix, for a new page and for a moved one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from functools import partial
from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.errors import AlreadyExistsError, InvalidInputError
from commonplace.services.collections import Collection, record_of
from commonplace.services.writes.new_paths import (
    daily_address,
    declared_daily_note,
    has_folder,
    moved_address,
    new_page_address,
    new_page_text,
    written_moment,
)
from indexed import Indexed
from ways.linear import assert_linear

FILES: dict[str, str | bytes] = {
    "home/Compost.md": "# Heap\n",
    "home/Restic.markdown": "# Backups\n",
    "notes/a.md": "---\nid: first\n---\n# A\n",
    "top.md": "# Top\n",
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    with Indexed(tmp_path_factory.mktemp("paths"), FILES) as indexed:
        yield indexed


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("new", "new.md"),
        ("top", "top.md"),
        ("Compost.md", "Compost.md"),
        ("/Compost", "Compost.md"),
        ("home/Compost", "home/Compost.md"),
        ("other/Compost", "other/Compost.md"),
        ("notes.md", "notes.md"),
        ("notes/b", "notes/b.md"),
    ],
)
def test_a_path_says_where_a_page_goes(base: Indexed, given: str, path: str) -> None:
    assert new_page_address(base.collection, given) == Address(path)


@pytest.mark.parametrize(
    ("given", "there"),
    [("Compost", "home/Compost.md"), ("compost", "home/Compost.md"), ("Heap", "home/Compost.md"),
     ("first", "notes/a.md"), ("Restic", "home/Restic.markdown")],
)  # fmt: skip
def test_a_name_that_another_page_has_is_refused_with_its_path(base: Indexed, given: str, there: str) -> None:
    with pytest.raises(AlreadyExistsError, match="There is a page of this name") as caught:
        new_page_address(base.collection, given)
    assert caught.value.context["nearest"] == [there]
    assert f"{given}.md" in caught.value.hint


def test_a_name_that_a_folder_has_is_refused_with_both_ways_on(base: Indexed) -> None:
    with pytest.raises(InvalidInputError, match="'notes' is a folder") as caught:
        new_page_address(base.collection, "notes")
    assert "'notes/NAME'" in caught.value.hint
    assert "'notes.md'" in caught.value.hint


@pytest.mark.parametrize(
    ("old", "to", "path"),
    [
        ("home/Compost.md", "Heap", "home/Heap.md"),
        ("home/Compost.md", "Heap.md", "Heap.md"),
        ("home/Compost.md", "/Heap", "Heap.md"),
        ("home/Compost.md", "./Heap", "Heap.md"),
        ("home/Compost.md", "notes/", "notes/Compost.md"),
        ("home/Compost.md", "notes/Heap", "notes/Heap.md"),
        ("home/Restic.markdown", "Borg", "home/Borg.markdown"),
        ("home/Restic.markdown", "notes/Borg", "notes/Borg.markdown"),
        ("home/Restic.markdown", "notes/", "notes/Restic.markdown"),
        ("top.md", "Bottom", "Bottom.md"),
    ],
)
def test_a_mere_name_keeps_the_folder_of_the_page_that_moves(base: Indexed, old: str, to: str, path: str) -> None:
    assert moved_address(base.collection, Address(old), to) == Address(path)


@pytest.mark.parametrize(("old", "to"), [("top.md", "notes"), ("home/Compost.md", "notes"), ("top.md", "/notes")])
def test_a_move_onto_the_name_of_a_folder_is_refused_with_both_ways_on(base: Indexed, old: str, to: str) -> None:
    with pytest.raises(InvalidInputError, match="'notes' is a folder") as caught:
        moved_address(base.collection, Address(old), to)
    assert "'notes/'" in caught.value.hint


def test_a_folder_is_one_with_pages(base: Indexed) -> None:
    assert has_folder(base.collection, "notes/")
    assert not has_folder(base.collection, "none")


def test_a_file_that_is_no_page_is_not_taken_for_a_page_of_its_name(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a/p.png": b"\x89PNG", "a/p.png.md": "# P\n", "v1.2.md": "# V\n"}) as base:
        with pytest.raises(InvalidInputError, match=r"a/p\.png is a file and no page") as caught:
            new_page_address(base.collection, "a/p.png")
        assert "'a/p.png.md'" in caught.value.hint
        assert record_of(base.index, "a/p.png") is None
        assert [record_of(base.index, reference) is not None for reference in ("a/p.png.md", "v1.2", "v1.2.md")] == [
            True
        ] * 3


def test_in_a_graph_of_logseq_a_name_gets_the_file_that_logseq_gives_it(tmp_path: Path) -> None:
    files = {"logseq/config.edn": "{:file/name-format :triple-lowbar}", "pages/a___b.md": "- x\n", "c.md": "- y\n"}
    with Indexed(tmp_path, files) as base:
        collection, old = base.collection, Address("pages/a___b.md")
        assert new_page_address(collection, "term/new").path == "pages/term___new.md"
        assert new_page_address(collection, "Nov 29th, 2026").path == "journals/2026_11_29.md"
        assert new_page_address(collection, "pages/d").path == "pages/d.md"
        assert moved_address(collection, old, "term/dot?").path == "pages/term___dot%3F.md"
        assert moved_address(collection, old, "pages/x___y.md").path == "pages/x___y.md"
        assert daily_address(collection, date(2026, 11, 29)).path == "journals/2026_11_29.md"


NOW = datetime(2026, 3, 1, 15, 4, 5)  # noqa: DTZ001 - a local time, as the command line has it
FOAM = {".vscode/extensions.json": '{"recommendations": ["foam.foam-vscode"]}'}
SETTINGS = ".vscode/settings.json"
TEMPLATE = ".foam/templates/daily-note.md"
DAILY = ".obsidian/daily-notes.json"


def test_a_moment_is_written_in_the_letters_of_moment() -> None:
    for form, text in (
        ("YYYY-MM-DD", "2026-03-01"),
        ("dddd, MMMM Do YYYY [at] HH:mm:ss", "Sunday, March 1st 2026 at 15:04:05"),
        ("YY/M/D ddd dd hh:mm a A", "26/3/1 Sun Su 03:04 pm PM"),
        ("GGGG-[W]WW-E Q", "2026-W09-7 1"),
    ):
        assert written_moment(NOW, form) == text


@each_case("unit", ["/* ", '\\"', "/", "//", ", ", '"\\'])
def test_settings_without_an_end_are_read_once(unit: str, tmp_path: Path) -> None:
    with Indexed(tmp_path, {"a.md": "# A\n"}) as base:
        collection = Collection("base", base.store, base.index)

        def work(size: int) -> Callable[[], object]:
            def read() -> None:
                base.write(DAILY, unit * size)
                assert declared_daily_note(collection, NOW) is None

            return read

        assert_linear(work, 10_000)
    assert_linear(lambda size: partial(written_moment, NOW, "[" * size), 5_000)


def test_the_page_of_a_day_is_that_of_the_settings(tmp_path: Path) -> None:
    path = "/journal/$FOAM_DATE_YEAR/${FOAM_DATE_MONTH}-$FOAM_DATE_DATE.md"
    text = f"---\nfoam_template:\n  filepath: '{path}'\n%s---\n# $FOAM_TITLE $1\n"
    cases: Sequence[tuple[dict[str, str], str, str | None]] = (
        ({}, "daily/2026-03-01.md", "# 2026-03-01\n\n"),
        (FOAM, "journals/2026-03-01.md", "# 2026-03-01\n\n"),
        (FOAM | {"days/2026-02-28.md": "x"}, "days/2026-03-01.md", "# 2026-03-01\n\n"),
        (
            FOAM | {SETTINGS: '{"foam.openDailyNote.directory": "log", // here\n"editor.x": "//", }'},
            "log/2026-03-01.md",
            "# 2026-03-01\n",
        ),
        (
            FOAM
            | {
                SETTINGS: '{"foam.openDailyNote.filenameFormat": "yyyy/mmm dd", "foam.openDailyNote.titleFormat":'
                ' "fullDate", "foam.openDailyNote.fileExtension": "markdown"}'
            },
            "2026/Mar 01.markdown",
            "# Sunday, March 1, 2026\n",
        ),
        (FOAM | {TEMPLATE: text % ""}, "journal/2026/03-01.md", "# 2026-03-01 \n"),
        (
            FOAM | {TEMPLATE: text % "type: day\n", SETTINGS: '{"foam.openDailyNote.directory": "log"}'},
            "journal/2026/03-01.md",
            "---\ntype: day\n---\n# 2026-03-01 \n",
        ),
        (
            FOAM | {TEMPLATE: "${FOAM_DATE_FORMAT:dddd} ${1:x} $OTHER $5 {{date}}\n"},
            "journals/2026-03-01.md",
            "Sunday x $OTHER  {{date}}\n",
        ),
        (FOAM | {SETTINGS: '{"foam.openDailyNote.directory": "../out"}'}, "journals/2026-03-01.md", None),
        (FOAM | {SETTINGS: '{"foam.openDailyNote.directory": ".git"}'}, "journals/2026-03-01.md", None),
        (FOAM | {SETTINGS: '{"foam.openDailyNote.fileExtension": "exe"}'}, "journals/2026-03-01.md", None),
        (FOAM | {SETTINGS: "[" * 9_999}, "journals/2026-03-01.md", None),
        ({DAILY: '{"folder": "Log", "format": "YYYY/MM/DD"}'}, "Log/2026/03/01.md", "# 01\n\n"),
        (
            {DAILY: '{"template": "T/Day"}', "T/Day.md": "{{title}} {{date:dddd}} {{time}} {{x}}\n"},
            "2026-03-01.md",
            "2026-03-01 Sunday 15:04 {{x}}\n",
        ),
        ({DAILY: '{"folder": "../x", "template": "../../etc/passwd"}'}, "daily/2026-03-01.md", "# 2026-03-01\n\n"),
    )
    for number, (files, path, content) in enumerate(cases):
        with Indexed(tmp_path / str(number), files) as base:
            address = daily_address(base.collection, NOW)
            assert address.path == path, files
            if content is not None:
                assert new_page_text(base.collection, address.stem, NOW, daily=True) == content, files


def test_the_page_of_a_day_in_tiddlywiki_is_a_journal(tmp_path: Path) -> None:
    place, title = "tiddlers/$__config_NewJournal_", "title: $:/config/NewJournal/"
    settings = {
        f"{place}Title.tid": f"{title}Title\n\nYYYY-0MM-0DD \\D DDD mmm WW hh12 am\n",
        f"{place}Tags.tid": f"{title}Tags\n\nJournal [[my day]]\n",
        f"{place}Text.tid": f"{title}Text\n\n! Plan\n",
    }
    markdown = {"tiddlywiki.info": '{"plugins": ["tiddlywiki/markdown"]}'}
    wikitext = {"tiddlywiki.info": "{}"}
    first = "tags: Journal\ntitle: 1st March 2026\ntype: text/{}\n\n"
    day = "2026-03-01 D Sunday Mar 9 3 pm"
    own = f"tags: Journal [[my day]]\ntitle: {day}\ntype: text/vnd.tiddlywiki\n\n! Plan"
    there = {"tiddlers/x.tid": "title: 1st March 2026\n\nText\n"}
    cases: Sequence[tuple[dict[str, str], str, str]] = (
        (wikitext, "tiddlers/1st March 2026.tid", first.format("vnd.tiddlywiki")),
        (markdown, "tiddlers/1st March 2026.tid", first.format("x-markdown")),
        (markdown | settings, f"tiddlers/{day}.tid", own),
        (wikitext | there, "tiddlers/x.tid", first.format("vnd.tiddlywiki")),
    )
    for number, (files, path, content) in enumerate(cases):
        with Indexed(tmp_path / str(number), files) as base:
            assert daily_address(base.collection, NOW).path == path
            text = new_page_text(base.collection, "", NOW, daily=True)
            head, modified, rest = text.split("\n", 2)
            assert (head[:9], modified[:10], rest) == ("created: ", "modified: ", content)
