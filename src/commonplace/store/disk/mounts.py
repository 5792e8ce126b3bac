"""Detects file systems whose changes by other machines are not reported: network and container shares."""

from __future__ import annotations

import os
import re
from pathlib import Path

_MOUNTS = Path("/proc/self/mounts")
_SILENT = re.compile(
    r"9p|afs|beegfs|ceph|cifs|coda|drvfs|fakeowner|fuse.*|gfs2|glusterfs|lustre|ncpfs|nfs4?|ocfs2|prl_fs|smb3|smbfs"
    r"|vboxsf|virtiofs|vmhgfs"
)
"""Names of the file system types that other machines may write to, and of all FUSE file systems."""
_ESCAPED = re.compile(r"\\(\d{3})")


def reports_changes(folder: Path, mounts: Path = _MOUNTS) -> bool:
    """Whether the system reports every change in a folder. True if the file system is not known to be a share.

    Args:
        folder: Real and absolute path.
        mounts: The kernel's mount table; without one, the result is true.
    """
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return True
    best, kind = "", ""
    for line in lines:
        _, place, found, *_ = [*line.split(" "), "", ""]
        place = _ESCAPED.sub(lambda match: chr(int(match[1], 8)), place)
        inside = place == "/" or os.fspath(folder) == place or os.fspath(folder).startswith(f"{place}/")
        if inside and len(place) >= len(best):
            best, kind = place, found
    return _SILENT.fullmatch(kind) is None
