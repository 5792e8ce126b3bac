"""File systems that are swept periodically."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.store.disk.inotify import reports_changes

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/share /home/me/nfs nfs4 rw 0 0
/dev/sdb1 /home/me/nfs/local xfs rw 0 0
host /my\\040work fuse.sshfs rw 0 0
host0 /mnt/host 9p rw 0 0
tmpfs /mnt/host/tmp tmpfs rw 0 0
overlay /var/lib/box overlay rw 0 0
"""


@pytest.mark.parametrize(
    ("folder", "told"),
    [
        ("/home/me", True),
        ("/home/me/nfs", False),
        ("/home/me/nfs/notes", False),
        ("/home/me/nfs-not", True),
        ("/home/me/nfs/local/notes", True),
        ("/my work/notes", False),
        ("/mnt/host/x", False),
        ("/mnt/host/tmp/x", True),
        ("/var/lib/box/x", True),
    ],
)
def test_changes_on_a_network_are_not_told(tmp_path: Path, folder: str, told: bool) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)
    assert reports_changes(Path(folder), tmp_path / "mounts") is told


def test_without_a_table_changes_are_taken_to_be_told(tmp_path: Path) -> None:
    assert reports_changes(tmp_path, tmp_path / "none") is True
    assert reports_changes(tmp_path) is True
