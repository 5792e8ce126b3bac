"""What kind of file a source is, by its bytes."""

from __future__ import annotations

import io
import zipfile

import pytest

from commonplace.domain.errors import InvalidInputError
from commonplace.domain.sources import SourceFile, kind_of, stored_name
from papers import docx, pdf, zipped


def test_the_bytes_say_what_a_file_is() -> None:
    for name, content, stored in (
        ("report.pdf", b"<!-- x --><!DOCTYPE HTML><p>", "report.html"),
        ("index.php", b"<!-- x --><!DOCTYPE HTML><p>", "index.html"),
        ("v1.2 notes", b"plain text", "v1.2 notes.txt"),
        ("Paper.PDF", pdf(["x"]), "Paper.PDF"),
        ("../../etc/passwd", b"x", "passwd.txt"),
        (".hidden", b"x", "hidden.txt"),
        ("a.markdown", b"# x", "a.markdown"),
        ("", b"x", "source.txt"),
    ):
        source = SourceFile(name, content)
        assert stored_name(source, kind_of(source)) == stored


def bomb() -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("word/document.xml", "w") as part:
            for _ in range(100):
                part.write(bytes(1_000_000))
        for _ in range(5):  # the same part again and again: its length is what is read
            archive.filelist.append(archive.filelist[0])
    return raw.getvalue()


def encrypted_archive() -> bytes:
    raw = bytearray(zipped({"word/document.xml": "x"}))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(mark) + at] |= 1
    return bytes(raw)


def test_what_cannot_be_read_is_refused_with_the_reason() -> None:
    broken = docx("a").replace(b"PK\x01\x02", b"PK\x01\x03")
    for content, reason in (
        (b"", "empty"),
        (b"\x7fELF\0\0", "none that has text"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "encrypted, or of the time before"),
        (encrypted_archive(), "The file is encrypted"),
        (bomb(), "unpacks to more than 536,870,912 bytes"),
        (zipped({"a.txt": "x"}), "archive"),
        (broken, "damaged"),
    ):
        with pytest.raises(InvalidInputError, match=reason):
            kind_of(SourceFile("x", content))
