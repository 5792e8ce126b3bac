"""Files become Markdown in a process of their own, with limits and without a network."""

from __future__ import annotations

import io
import sys
import zipfile
from datetime import datetime, time
from pathlib import Path
from time import thread_time

import pytest

from commonplace.domain.errors import ConfigError, InvalidInputError, KnowledgeError
from commonplace.domain.sources import SourceFile, kind_of
from commonplace.outside import conversion, converter
from commonplace.outside.conversion import SourceAdapter
from papers import book, docx, pdf, slides, xlsx

HEAT = [["name", "heat"], ["tea", 80]]


def converted(name: str, content: bytes, url: str = "", adapter: SourceAdapter | None = None) -> str:
    source = SourceFile(name, content, url)
    result = (adapter or SourceAdapter()).convert(kind_of(source), source)
    facts = " ".join(filter(None, (result.title, result.author, result.date)))
    return "\n".join([f"<{facts}>", result.text, *result.notes])


def test_each_format_keeps_its_text_and_what_it_says_of_itself() -> None:
    report = converted("r.pdf", pdf(["A turnover of 12 million", "", "Third page"]))
    assert "<Annual report Ada Brown 2024-03-01>" in report
    assert "## Page 1\n\nA turnover of 12 million\n\n## Page 3\n\nThird page" in report
    assert "1 of 3 pages have no text" in report
    minutes = converted("m.docx", docx("Minutes", "All agreed to move.", macros=True))
    assert "<Minutes & more Ada Brown 2024-03-01>\n# Minutes\n\nAll agreed to move." in minutes
    assert "macros, which were not run" in minutes
    assert "## Sheet\n\n| name | heat |\n| --- | --- |\n| tea | 80 |" in converted("t.xlsx", xlsx(HEAT))
    assert "## Slide 2\n### Second\nLast" in converted("d.pptx", slides(("First", "x"), ("Second", "Last")))
    novel = converted("b.epub", book("It was a dark night.", "The end."))
    assert "<A book Bo 2020-02-02>" in novel
    assert "It was a dark night." in novel


def test_links_to_parts_of_a_file_become_text_and_those_to_the_web_stay() -> None:
    links = '<a href="c1.xhtml#n">next</a>, <a href="#n1">[1]</a>, <a href="https://example.org/a">web</a>'
    novel = converted("b.epub", book(f"See {links}.", "The end."))
    assert "See next, [1], [web](https://example.org/a)." in novel.replace("\\", "")
    links = "[a " * 20_000 + "](" * 20_000
    before = thread_time()
    assert converter.without_inner_links(links) == links
    assert thread_time() - before < 1


def test_plain_files_are_decoded_and_tables_become_tables() -> None:
    assert converted("a.csv", b"x;y\n1;2|\n") == "<>\n| x | y |\n| --- | --- |\n| 1 | 2\\| |"
    assert "Gr\u00fc\u00dfe" in converted("n.txt", "Gr\u00fc\u00dfe".encode("cp1252"))
    assert "Gr\u00fc\u00dfe" in converted("n.txt", "Gr\u00fc\u00dfe".encode("utf-16"))


def test_the_cells_of_a_workbook_are_as_a_table_program_shows_them() -> None:
    rows = [
        ["name", "value", None],
        ["whole", 10_000_000],
        ["float", 5.0],
        ["sum", 0.1 + 0.2],
        [],
        ["none", None, "n/a"],
        ["NA", "a|b\nc"],
        ["day", datetime(2026, 5, 4)],  # noqa: DTZ001 - a table has no zones
        ["moment", datetime(2026, 5, 4, 9, 30)],  # noqa: DTZ001
        ["time", time(9, 5)],
        ["yes", True],
        ["formula", "=B2+B3"],
    ]
    assert converted("t.xlsx", xlsx(rows)).split("\n")[1:] == [
        "## Sheet",
        "",
        "| name | value |  |",
        "| --- | --- | --- |",
        "| whole | 10000000 |  |",
        "| float | 5 |  |",
        "| sum | 0.3 |  |",
        "| none |  | n/a |",
        "| NA | a\\|b c |  |",
        "| day | 2026-05-04 |  |",
        "| moment | 2026-05-04 09:30 |  |",
        "| time | 09:05 |  |",
        "| yes | TRUE |  |",
        "| formula | =B2+B3 |  |",
        "Formulas without a stored value, which are in the text as they are written: 1.",
    ]
    assert converted("e.xlsx", xlsx([])).split("\n")[1:] == ["## Sheet"]
    stored = zipped_again(xlsx([["a", "b"], ["x", "=1+1"]]), b"</f><v></v>", b"</f><v>2</v>")
    assert converted("f.xlsx", stored).split("\n")[-1] == "| x | 2 |"


def zipped_again(raw: bytes, old: bytes, new: bytes) -> bytes:
    """An archive with one text replaced in all of its files."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as source, zipfile.ZipFile(target, "w") as archive:
        contents = {name: source.read(name) for name in source.namelist()}
        assert sum(old in content for content in contents.values()) == 1
        for name, content in contents.items():
            archive.writestr(name, content.replace(old, new))
    return target.getvalue()


def program(tmp_path: Path, text: str) -> tuple[str, ...]:
    """A converter that does as this text says, behind our own limits."""
    path = tmp_path / "converter.py"
    path.write_text(f"import sys\nfrom commonplace.outside import converter\n{text}\nconverter.main()\n")
    return (sys.executable, str(path))


def test_a_converter_that_hangs_dies_or_takes_too_much_ends(tmp_path: Path) -> None:
    for number, (text, reason) in enumerate(
        (
            ("converter._CONVERTERS = {'txt': lambda *_: exec('while True: pass')}", "takes too long"),
            ("import time; time.sleep(600)", "takes too long"),
            ("import os; os.abort()", "ended without a text"),
            ("converter._CONVERTERS = {'txt': lambda *_: bytearray(4_000_000_000)}", "too much memory"),
            ("converter._CONVERTERS = {'txt': lambda *_: {'text': 'x' * 20_000_000}}", "more than 12,582,912 bytes"),
            ("open(sys.argv[3], 'w').write('no JSON'); sys.exit()", "ended without a text"),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        seconds = 1 if "too long" in reason else 60
        adapter = SourceAdapter(cpu_seconds=seconds, program=program(folder, text))
        with pytest.raises(KnowledgeError, match=reason):
            converted("a.txt", b"text", adapter=adapter)


def test_a_damaged_file_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="It is damaged"):
        converted("x", b"%PDF-1.4 nothing")


def test_a_converter_has_no_network_and_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_KEY", "secret")
    tries = "\n".join(
        (
            "import os, socket, subprocess",
            "def attempt(run):",
            "    try: run()",
            "    except PermissionError: return 'refused'",
            "    except OSError as error: return str(error)",
            "    return 'done'",
            "def tries(*_):",
            "    local = lambda: socket.create_connection(('127.0.0.1', 9))",
            "    named = lambda: socket.getaddrinfo('example.org', 443)",
            "    shell = lambda: subprocess.run(['true'])",
            "    said = [attempt(run) for run in (local, named, shell, os.fork, lambda: os.system('true'))]",
            "    return {'text': ' '.join([*said, os.environ.get('COMMONPLACE_KEY', 'none')])}",
            "converter._CONVERTERS = {'txt': tries}",
        )
    )
    text = converted("a.txt", b"text", adapter=SourceAdapter(program=program(tmp_path, tries)))
    assert text == "<>\n" + "refused " * 5 + "none"


def test_a_missing_library_is_named_with_the_command_that_adds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion, "LIBRARIES", ("markitdown", "no_such_library"))
    with pytest.raises(ConfigError, match="no_such_library") as caught:
        converted("r.pdf", pdf(["x"]))
    assert "markitdown" in caught.value.hint
    assert converted("a.txt", b"text") == "<>\ntext"
