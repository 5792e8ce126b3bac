"""Parses the remote of a replica: a URL or a path, with an optional branch or commit after `#`."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from commonplace.domain.errors import ConfigError
from commonplace.store.git_command import redacted
from commonplace.store.names import BRANCHES, is_object_id, is_ref

SCHEMES = frozenset({"file", "http", "https", "ssh"})
_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_UNSUITED = re.compile(r"[^A-Za-z0-9._-]+")
_SCP = re.compile(r"(?:[^@/:]+@)?[^/:]+:(?P<path>[^:].*)", re.DOTALL)
"""An address `host:path`, as in scp(1)."""
MAX_NAME = 80
"""Maximum length in characters of a folder's name."""


@dataclass(frozen=True, slots=True)
class ReplicaSource:
    """A remote and the branch to follow, or the commit to stay at."""

    url: str
    """URL or absolute path of the remote, as passed to Git."""
    branch: str = ""
    """Full name of the ref; "" for the branch that the remote's HEAD names."""
    commit: str = ""
    """The only commit to fetch, as 40 hex digits; "" to follow the branch."""

    @property
    def name(self) -> str:
        """The last part of the URL, without `.git`."""
        last = path_of(self.url).rstrip("/").rpartition("/")[2].removesuffix(".git")
        return _UNSUITED.sub("-", last).lstrip(".-")[:MAX_NAME] or "base"

    @property
    def folder(self) -> str:
        """Path of the clone, relative to the folder of all clones; the same in each process."""
        return f"{self.key}/{self.name}.git"

    @property
    def key(self) -> str:
        """A digest of address and branch or commit, 16 hex digits; the same in each process."""
        return hashlib.sha256(
            f"{self.url}#{self.commit or self.branch}".encode("utf-8", "surrogateescape")
        ).hexdigest()[:16]


def parse_source(text: str) -> ReplicaSource:
    """The remote that a text names.

    Args:
        text: A URL (`https://…`, `ssh://…`, `host:path`, `file://…`) or a path, and optionally `#` with a branch or
            a whole commit id.

    Raises:
        ConfigError: Git would not accept the address or the branch, or would run a program for it.
    """
    url, _, branch = text.partition("#")
    if not url or url.startswith("-") or _CONTROL.search(url):
        raise _invalid(text, "it is no address of a repository")
    scheme, colon, rest = url.partition("://")
    if colon and scheme.lower() not in SCHEMES:
        raise _invalid(text, f"{redacted(scheme)[:20]!r} is not one of {', '.join(sorted(SCHEMES))}")
    if not colon and "::" in scheme.partition("/")[0]:
        raise _invalid(text, "remote helpers are programs, and none is run")
    if colon and not rest.strip("/"):
        raise _invalid(text, "it names no repository")
    commit = branch if is_object_id(branch) else ""
    reference = f"{BRANCHES}{branch}" if branch and not commit else ""
    if reference and not is_ref(reference):
        raise _invalid(text, "what follows # is no name of a branch")
    place = os.path.abspath(os.path.expanduser(url)) if _is_path(url) else url  # noqa: PTH100, PTH111 - of text
    return ReplicaSource(place, reference, commit)


def path_of(url: str) -> str:
    """The path in a URL, in an scp-like address, or the plain path itself."""
    if "://" in url:
        return urlsplit(url).path
    scp = None if _is_path(url) else _SCP.fullmatch(url)
    return scp["path"] if scp else url


def host_of(url: str) -> str:
    """Host and port of a server's URL, without its credentials, for the log."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname or ""


def _is_path(url: str) -> bool:
    """Whether Git interprets an address as a path: it has no colon before its first slash."""
    colon, slash = url.find(":"), url.find("/")
    return colon < 0 or 0 <= slash < colon


def _invalid(text: str, reason: str) -> ConfigError:
    return ConfigError(
        f"Cannot follow {redacted(text)[:80]!r}: {reason}.",
        kind="replica",
        hint="Give a file, http, https or ssh URL or a path, and a branch after # if not the remote's own.",
    )
