"""A lock and a journal are for their user alone unless told otherwise, and a refusal says how they are shared."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from commonplace.store.disk.own_files import PRIVATE, open_own, unshared


def test_a_file_gets_its_mode_whatever_it_had_and_one_with_another_name_keeps_its_own(tmp_path: Path) -> None:
    os.umask(0)
    file, other = tmp_path / "journal", tmp_path / "other"
    for mode in (PRIVATE, 0o660, PRIVATE):
        os.close(open_own(file, os.O_RDWR, mode))
        assert stat.S_IMODE(file.stat().st_mode) == mode
    file.chmod(0o644)
    other.hardlink_to(file)
    os.close(open_own(file, os.O_RDWR, PRIVATE))
    assert stat.S_IMODE(other.stat().st_mode) == 0o644


def test_a_folder_that_its_group_may_write_shares_them_with_the_group(tmp_path: Path) -> None:
    tmp_path.chmod(0o2775)
    os.close(open_own(tmp_path / "journal", os.O_RDWR, PRIVATE))
    assert stat.S_IMODE((tmp_path / "journal").stat().st_mode) == 0o660


def test_a_refusal_names_the_repository_or_the_state_folder(tmp_path: Path) -> None:
    assert "state_dir" in unshared(tmp_path / "key.journal").hint
    (tmp_path / "HEAD").touch()
    assert "core.sharedRepository group" in unshared(tmp_path / "commonplace.journal").hint
