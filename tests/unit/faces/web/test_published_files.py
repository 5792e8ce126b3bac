"""Files beside the pages of a publication: which may be published, and which are read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.json import Json
from commonplace.domain.ports import Store
from commonplace.domain.site_file import PublishRules
from commonplace.faces.web import published_files
from commonplace.faces.web.output_folder import OutputFolder
from commonplace.faces.web.published_files import PublishedFiles
from indexed import Indexed

FILES = {
    "a.md": "# A\n",
    "files/a.png": "one",
    "files/b.png": "two",
    "files/runs.svg": "<svg><script>run()</script></svg>",
    "files/names.canvas": '{"text": "Secret plan"}',
    "inner/c.png": "three",
    "ignored/d.png": "four",
    ".commonplaceignore": "ignored/\n",
}


class CountedStore:
    """A store that notes what is read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.paths: list[str] = []

    def read(self, address: Address) -> bytes:
        self.paths.append(address.path)
        return self._store.read(address)

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


def test_files_that_are_not_there_ignored_excluded_or_unsafe_are_left_out(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        files = PublishedFiles(base.store, PublishRules(exclude=("inner",)), {"secret plan"}, None)
        names = [*FILES, "files/none.png", "../a.png", "files"]
        assert [name for name in names if files.attach(name)] == ["files/a.png", "files/b.png"]
        assert {name: left.reason.partition(":")[0] for name, left in files.left_out.items()} == {
            "files/runs.svg": "not a picture alone",
            "files/names.canvas": "names a page left out",
        }
        assert files.used == ["files/a.png", "files/b.png", "files/runs.svg", "files/names.canvas"]


def test_only_changed_files_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published_files, "RECENT_NS", -(10**12))
    names = ["files/a.png", "files/b.png"]
    with Indexed(tmp_path, FILES) as base:

        def written(stored: Json) -> tuple[list[str], Json]:
            folder = OutputFolder(tmp_path / "out", base.folder)
            store = CountedStore(base.store)
            known = PublishedFiles(store, PublishRules(), frozenset(), stored).write(folder, names)  # type: ignore[arg-type]
            folder.finish({})
            return store.paths, known

        read, known = written(None)
        assert read == names
        read, known = written(known)
        assert read == []
        base.write("files/b.png", "TWO")
        read, known = written(known)
        assert read == ["files/b.png"]
        (tmp_path / "out/files/a.png").write_text("changed by somebody")
        assert written(known)[0] == ["files/a.png"]
        assert written({"files/a.png": [], "files/b.png": "x"})[0] == names
    assert (tmp_path / "out/files/a.png").read_text() == "one"
