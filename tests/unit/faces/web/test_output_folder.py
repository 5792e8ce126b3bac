"""The folder of a publication: only what differs is written, and nothing that is not of a publication is touched."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from commonplace.domain.errors import InvalidInputError
from commonplace.faces.web import output_folder
from commonplace.faces.web.output_folder import MANIFEST, OutputFolder


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path / "base"
    folder.mkdir()
    return folder


def published(path: Path, base: Path, files: dict[str, bytes]) -> OutputFolder:
    output = OutputFolder(path, base)
    for name, content in files.items():
        output.put(name, content)
    output.finish({"n": 1})
    return output


def test_a_second_publication_writes_and_removes_what_differs(tmp_path: Path, base: Path) -> None:
    place = tmp_path / "out"
    first = published(place, base, {"a.html": b"a", "b/c.html": b"c", "b/d.html": b"d"})
    assert (first.written, first.removed) == (3, 0)
    second = published(place, base, {"a.html": b"a", "b/c.html": b"C"})
    assert (second.written, second.removed, second.state) == (1, 1, {"n": 1})
    assert sorted(path.relative_to(place).as_posix() for path in place.rglob("*.html")) == ["a.html", "b/c.html"]
    assert published(place, base, {"a.html": b"a"}).removed == 1
    assert not (place / "b").exists(), "an emptied folder goes"


def test_a_file_that_was_seen_is_read_again_only_if_it_has_changed(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, cache = tmp_path / "out", tmp_path / "cache"
    files = {"a.html": b"a", "b/c.html": b"c"}
    monkeypatch.setattr(output_folder, "RECENT_NS", 0)
    opened: list[str] = []
    sys.addaudithook(lambda event, values: opened.append(str(values[0])) if event == "open" else None)

    def publish(cached: Path | None) -> tuple[list[str], int]:
        folder = OutputFolder(place, base, cached)
        opened.clear()
        kept = [name for name in files if folder.keeps(name)]
        in_folder = [name for name in files if str(place / name) in opened]
        for name in files.keys() - set(kept):
            folder.put(name, files[name])
        folder.finish({})
        return in_folder, folder.written

    assert publish(cache) == ([], 2)
    manifest = (place / MANIFEST).read_bytes()
    assert publish(cache) == ([], 0)
    assert publish(None) == (["a.html", "b/c.html"], 0)
    (place / "a.html").write_bytes(b"A")  # as long as before
    os.utime(place / "a.html", ns=(0, (place / "b/c.html").stat().st_mtime_ns))
    assert publish(cache) == (["a.html"], 1)
    assert publish(cache) == ([], 0)
    monkeypatch.setattr(output_folder, "RECENT_NS", 10**18)
    publish(cache)
    assert publish(cache) == (["a.html", "b/c.html"], 0), "a change that follows at once may have the same times"
    (seen,) = (cache / "published").iterdir()
    old, recent = seen.with_name("old"), seen.with_name("recent")
    for other, days in ((old, 61), (recent, 59), (seen, 61)):
        other.touch()
        os.utime(other, ns=(seconds := time.time_ns() - days * 86_400_000_000_000, seconds))
    publish(cache)
    assert (old.exists(), recent.exists(), seen.exists()) == (False, True, True), "lists of folders no longer published"
    recent.unlink()
    for text in ("", "[]", '{"a.html":[]}', '{"a.html":7}'):
        seen.write_text(text)
        assert publish(cache) == (["a.html", "b/c.html"], 0)
    assert (place / MANIFEST).read_bytes() == manifest, "what is published does not tell of this machine"


def test_a_web_server_of_another_user_can_read_what_is_new(tmp_path: Path, base: Path) -> None:
    place = tmp_path / "new" / "out"
    before = os.umask(0o077)  # as every command sets it
    try:
        published(place, base, {"b/c.html": b"c"})
    finally:
        os.umask(before)
    assert [
        oct(path.stat().st_mode & 0o777) for path in (place.parent, place, place / "b", place / "b" / "c.html")
    ] == [
        *["0o755"] * 3,
        "0o644",
    ]


def test_a_file_that_was_changed_since_stays_and_is_named(tmp_path: Path, base: Path) -> None:
    place = tmp_path / "out"
    published(place, base, {"a.html": b"a", "b.html": b"b"})
    (place / "b.html").write_bytes(b"by hand")
    output = published(place, base, {"a.html": b"a"})
    assert (output.removed, output.foreign, (place / "b.html").read_bytes()) == (0, {"b.html"}, b"by hand")


def test_a_file_that_became_a_link_is_a_file_again_and_its_target_stays(tmp_path: Path, base: Path) -> None:
    place, other = tmp_path / "out", tmp_path / "other"
    published(place, base, {"a.html": b"a"})
    other.write_bytes(b"a")
    (place / "a.html").unlink()
    (place / "a.html").symlink_to(other)
    published(place, base, {"a.html": b"new"})
    assert not (place / "a.html").is_symlink()
    assert (other.read_bytes(), (place / "a.html").read_bytes()) == (b"a", b"new")


def test_folders_that_are_links_are_refused(tmp_path: Path, base: Path) -> None:
    place, other = tmp_path / "out", tmp_path / "other"
    published(place, base, {"a.html": b"a"})
    other.mkdir()
    (place / "b").symlink_to(other)
    with pytest.raises(InvalidInputError, match="is a link"):
        OutputFolder(place, base).put("b/c.html", b"c")
    assert list(other.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["../victim", "/victim", "a/../../victim", "a//b", "./a", "", "a\0b", "a/.."], ids=ascii
)
def test_a_list_of_files_that_leads_elsewhere_is_none(tmp_path: Path, base: Path, name: str) -> None:
    place, victim = tmp_path / "out", tmp_path / "victim"
    place.mkdir()
    victim.write_bytes(b"here")
    (place / MANIFEST).write_text(json.dumps({"format": 1, "files": {name: "x"}, "state": {}}))
    with pytest.raises(InvalidInputError, match="that no publication wrote"):
        OutputFolder(place, base)
    assert victim.exists()


@pytest.mark.parametrize("text", ["xx", "[]", '{"format":9}', '{"format":1,"files":5,"state":{}}', "{"])
def test_a_manifest_of_another_form_is_none(tmp_path: Path, base: Path, text: str) -> None:
    place = tmp_path / "out"
    place.mkdir()
    (place / MANIFEST).write_text(text)
    with pytest.raises(InvalidInputError, match="that no publication wrote"):
        OutputFolder(place, base)


def test_the_base_and_folders_of_others_are_refused(tmp_path: Path, base: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "new")
    for place in (base, base / "site", tmp_path, tmp_path / "file", tmp_path / "link"):
        with pytest.raises(InvalidInputError, match="Nothing was published"):
            OutputFolder(place, base)
    assert list(base.iterdir()) == []
