"""A backup has everything or is refused, and nothing that exists is replaced by it."""

from __future__ import annotations

import io
import json
import tarfile
from hashlib import sha256
from pathlib import Path

import pytest

from commonplace.domain.errors import InvalidInputError
from commonplace.store.backup import LIST, restore_backup, write_backup


def backup(tmp_path: Path) -> Path:
    state = tmp_path / "state"
    (state / "audit").mkdir(parents=True)
    (state / "keys.json").write_text("{}")
    (state / "audit" / "day").write_text("a line\n")
    (state / "keys.lock").write_text("")
    out = tmp_path / "out.tar.gz"
    names = write_backup(out, state, {"settings/config.toml": tmp_path / "none.toml"}, [])
    assert names == ["state/audit/day", "state/keys.json"]
    return out


def made(out: Path, files: dict[str, bytes], listed: dict[str, bytes]) -> Path:
    with tarfile.open(out, "w:gz") as archive:
        index = json.dumps({"files": {name: sha256(content).hexdigest() for name, content in listed.items()}}).encode()
        for name, content in {**files, LIST: index}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out


def test_what_was_saved_comes_back_private(tmp_path: Path) -> None:
    out, target = backup(tmp_path), tmp_path / "new"
    assert restore_backup(out, target, {}, []) == ["state/audit/day", "state/keys.json"]
    assert (target / "audit" / "day").read_text() == "a line\n"
    assert [path.stat().st_mode & 0o77 for path in (target / "audit", target / "keys.json", out)] == [0, 0, 0]


def test_a_backup_replaces_no_file_and_no_state_in_use(tmp_path: Path) -> None:
    out = backup(tmp_path)
    with pytest.raises(InvalidInputError, match="exists"):
        write_backup(out, tmp_path / "state", {}, [])
    with pytest.raises(InvalidInputError, match=r"keys\.json and audit"):
        restore_backup(out, tmp_path / "state", {}, [])


@pytest.mark.parametrize("name", ["../out", "/etc/out", "state/../../out"])
def test_a_name_that_leads_out_is_no_backup(tmp_path: Path, name: str) -> None:
    out = made(tmp_path / "bad.tar.gz", {name: b"x"}, {name: b"x"})
    with pytest.raises(InvalidInputError, match="not a whole backup"):
        restore_backup(out, tmp_path / "new", {}, [])
    assert not (tmp_path / "new").exists()


def test_a_cut_or_changed_backup_restores_nothing(tmp_path: Path) -> None:
    whole = backup(tmp_path).read_bytes()
    cut, target = tmp_path / "cut.tar.gz", tmp_path / "new"
    cut.write_bytes(whole[: len(whole) // 2])
    changed = made(tmp_path / "changed.tar.gz", {"state/keys.json": b"[]"}, {"state/keys.json": b"{}"})
    extra = made(tmp_path / "extra.tar.gz", {"state/keys.json": b"{}"}, {})
    for source in (cut, changed, extra, tmp_path / "none"):
        with pytest.raises(InvalidInputError, match="not a whole backup"):
            restore_backup(source, target, {}, [])
    assert not target.exists()
