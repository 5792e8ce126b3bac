"""The version of the index is raised when what it holds of the same documents changes.

An index that was made by an older program is used on when its version is the same. What this program derives from a
small collection is therefore compared with what was recorded for the version.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from commonplace.index.index_version import SCHEMA_VERSION
from indexed import MANY, Indexed

RECORDED = {46: "673a2818bd013db1fb2129ba761e53a475ff0d43d08d50954f8d6b8dfc6e0bda"}
"""The digest of what is derived from `DOCUMENTS` among many, by version."""
DOCUMENTS = {
    "guide/brewing.md": (
        "---\ntitle: Brewing Tea\nid: brewing\naliases: [Tea, Chá]\ntags: [drink/hot, Green]\ntype: guide\n"
        "date: 2026-01-02\nupdated: 2026-02-03\nimportance: 7\nstatus: open\n---\n"
        "# Brewing Tea\n\nGreen tea wants water of 80 degrees; see [[beans]], [[nowhere#Top]], "
        "[[beans|the beans]] and ![cup](cup.png).\n\n"
        "## Steps\n\n1. `heat()` the water\n2. Wait for HTTP_TIMEOUT seconds, don't hurry\n\n"
        "#### Deep\n\nÜber naïve café.\n"
    ),
    "beans.md": "# Coffee beans\n\nRoasted; [back](guide/brewing.md#steps) ^b\n\n> [!note] Keep cool\n\n#roast\n",
    "多言語.md": "# 緑茶の温度\n\n緑茶は八十度の湯でいれる。 กาแฟร้อน дом и сад\n",
    "plain.md": "no heading, only words\n",
    "broken.md": "---\ntitle: [\n---\n# Broken front matter\n",
    "cited.md": "# Cited\n\nAs in [[1]](beans.md) and [[2]][tea], `[[3]](code.md)`.\n\n[tea]: guide/brewing.md\n",
    "wiki/Cup.tid": "title: Cup\ntags: [[hot drink]]\n\n! Sizes\n\n[[Cup]] [[Saucer]] [[$:/Menu]] <<list [[no]]>>\n",
    "wiki/Jug.tid": "title: Jug\ntype: text/x-markdown\n\n# Jug\n\n[a cup](#Cup)\n",
}
FILE_TIME = 1_767_225_600
"""Seconds of the epoch; every file's."""
OUTSIDE = {"ctime_ns", "inode", "mtime_ns", "created", "created_day", "dated"}
"""Columns that the file system and the history fill."""
TEXT_FILES = {".term", ".idx", ".pos", ".fieldnorm"}
"""Suffixes of the full text's files that depend on words: terms, positions, and lengths of texts."""


def test_what_the_index_holds_of_a_document_changes_only_with_the_version(tmp_path: Path) -> None:
    for path, text in (DOCUMENTS | MANY).items():
        file = tmp_path / "base" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        os.utime(file, (FILE_TIME, FILE_TIME))
    with Indexed(tmp_path):
        pass
    derived = held_by_catalogue(tmp_path) | held_by_full_text(tmp_path)
    digest = hashlib.sha256(json.dumps(derived, sort_keys=True).encode()).hexdigest()
    assert digest == RECORDED.get(SCHEMA_VERSION), (
        "What the index holds has changed. Raise SCHEMA_VERSION, so that indexes of older programs are built anew, "
        f"and record {{{SCHEMA_VERSION}: {digest!r}}} for the new version."
    )


def held_by_catalogue(place: Path) -> dict[str, object]:
    """Every table's definition and rows, without what the machine and the history give."""
    (file,) = place.rglob("catalogue.sqlite3")
    with closing(sqlite3.connect(file)) as connection:
        connection.row_factory = sqlite3.Row
        tables = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
        ).fetchall()
        held: dict[str, object] = {"definitions": [tuple(table) for table in tables]}
        names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'meta' ORDER BY name"
        for (name,) in connection.execute(names).fetchall():
            rows = connection.execute(f"SELECT * FROM {name}").fetchall()  # noqa: S608 - a name of our own table
            held[name] = sorted(
                (json.dumps({key: row[key] for key in row.keys() if key not in OUTSIDE}) for row in rows),  # noqa: SIM118
            )
    return held


def held_by_full_text(place: Path) -> dict[str, object]:
    """The full text's fields, and the bytes of its terms and positions."""
    held: dict[str, object] = {}
    for folder in (file.parent for file in place.rglob("meta.json")):
        held[f"{folder.name} schema"] = json.loads((folder / "meta.json").read_text())["schema"]
        files = [file for file in sorted(folder.iterdir()) if file.suffix in TEXT_FILES]
        held[folder.name] = sorted((file.suffix, hashlib.sha256(file.read_bytes()).hexdigest()) for file in files)
    return held
