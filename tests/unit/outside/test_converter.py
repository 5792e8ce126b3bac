"""The converter's own readers, in this process."""

from __future__ import annotations

from pathlib import Path

from commonplace.outside import converter


def test_a_zipped_file_says_its_title_once_and_a_table_keeps_its_width(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\xef\xbb\xbfname,heat\ntea\n,,\n")
    assert converter._csv(path, "")["text"].splitlines() == [
        "| name | heat |  |",
        "| --- | --- | --- |",
        "| tea |  |  |",
        "|  |  |  |",
    ]
    path.write_bytes("<meta charset=koi8-r><title>\u0447\u0430\u0439</title>".encode("koi8-r"))
    assert converter._html(path, "")["title"] == "\u0447\u0430\u0439"
