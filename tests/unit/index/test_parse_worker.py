"""The process that parses files for another one."""

from __future__ import annotations

import subprocess
import sys
from io import BytesIO

import pytest

from commonplace.domain.addresses import read_also
from commonplace.index.parse_worker import FileToParse, from_plain, prepare, read_frame, serve, write_frame

FILES = [("a.md", "1", b"# A\n\n[[b]] and [c](c.qmd)\n"), ("b.md", "2", b"---\ntags: [x]\n---\ntext\n")]


def frames(*values: object) -> BytesIO:
    made = BytesIO()
    for value in values:
        write_frame(made, value)
    return BytesIO(made.getvalue())


def test_every_file_of_a_frame_is_parsed_until_the_input_ends() -> None:
    target = BytesIO()
    serve(frames([], FILES, FILES[:1]), target)
    source = BytesIO(target.getvalue())
    expected = [prepare(FileToParse(*file)) for file in FILES]
    for count in (2, 1):
        documents = read_frame(source)
        assert isinstance(documents, list)
        assert [from_plain(document) for document in documents] == expected[:count]
    with pytest.raises(EOFError):
        read_frame(source)


def test_the_first_frame_names_what_else_is_read_as_a_document() -> None:
    also = [("page.qmd", "1", b"text")]
    try:
        target = BytesIO()
        serve(frames([".qmd"], also), target)
        documents = read_frame(BytesIO(target.getvalue()))
        assert isinstance(documents, list)
        assert from_plain(documents[0]) == prepare(FileToParse(*also[0]))
        assert from_plain(documents[0]).columns.ident == "page"
    finally:
        read_also([])


def test_a_frame_that_was_cut_off_ends_the_input() -> None:
    whole = frames([], FILES).getvalue()
    target = BytesIO()
    serve(BytesIO(whole[:-1]), target)
    assert target.getvalue() == b""


def test_the_process_ends_when_its_input_ends() -> None:
    command = [sys.executable, "-P", "-m", "commonplace.index.parse_worker"]
    done = subprocess.run(command, input=frames([], FILES).getvalue(), capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    documents = read_frame(BytesIO(done.stdout))
    assert isinstance(documents, list)
    assert [from_plain(document).columns.path for document in documents] == ["a.md", "b.md"]
