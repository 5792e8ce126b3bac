"""The page of a day as the settings of Foam, Obsidian and TiddlyWiki want it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from cases import each_case
from commonplace.services.collections import Collection
from commonplace.services.writes.daily_notes import declared_daily_note, written_moment
from commonplace.services.writes.new_paths import daily_address, new_page_text
from indexed import Indexed
from ways.linear import assert_linear

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
