"""The bare repository of a replica's clone: the remote that it follows, its tags, and what a new commit changed."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pygit2.enums import ObjectType

from commonplace.domain.addresses import Address, parse_address
from commonplace.domain.errors import ConfigError, GitError, InvalidInputError, StorageError
from commonplace.domain.sources import url_parts
from commonplace.store.disk.durable import Unsynced
from commonplace.store.disk.file_swap import storage_errors
from commonplace.store.git import gitdir_files
from commonplace.store.git.past.revision_names import is_tag_name
from commonplace.store.git.refs import set_ref
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.git.trees import TreeDiff
from commonplace.store.git_command import redacted
from commonplace.store.names import BRANCHES, is_object_id, is_ref

# Creates and opens the bare repository of a replica's clone.


BRANCH = "refs/heads/replica"
"""The only branch of a clone."""
REMOTE = "origin"
_DISK_PROBLEMS = tuple(os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS))
SHOWN_ID = 12
"""Characters of a commit's id in messages."""


def readable_repository(path: Path) -> GitRepository:
    """The repository at a path.

    Raises:
        GitError: the repository, its HEAD or the commit of its branch cannot be read.
    """
    repository = GitRepository(path)
    if not repository.setting(f"remote.{REMOTE}.url"):
        raise GitError("Its configuration names no remote.", kind="repository")
    _ = repository.head
    if tip := repository.tip(BRANCH):
        repository.content(repository.tree_of(tip))
    return repository


@contextmanager
def cache_errors(name: str) -> Generator[None]:
    """Convert an OSError of the block, in which nothing is changed, to the error of `cache_error`."""
    try:
        yield
    except OSError as error:
        raise cache_error(name, error.strerror or type(error).__name__) from error


def cache_error(name: str, reason: str) -> StorageError:
    """The error for callers if the clone of a remote cannot be written: not their call is wrong, but the cache.

    Args:
        name: Name of the remote.
        reason: What the system says.
    """
    return StorageError(
        f"This server's clone of {name} cannot be written: {reason}. Nothing was changed.",
        kind="collection",
        hint="Free space in the server's cache_dir, make it writable, or set another one. The call itself is valid.",
    )


def disk_problem(output: str) -> str:
    """The problem of this machine's disk in a program's output; "" if none. Lines from the remote are ignored."""
    own = [line for line in output.splitlines() if not line.startswith("remote:")]
    return next((problem for problem in _DISK_PROBLEMS if any(problem in line for line in own)), "")


def set_branch(repository: GitRepository, commit: str, name: str) -> None:
    """Move the clone's branch to a commit.

    Raises:
        StorageError: the clone cannot be written.
        UnavailableError: another program holds the branch's lock.
    """
    try:
        set_ref(repository.common, BRANCH, commit)
    except StorageError as error:
        reason = error.__cause__.strerror if isinstance(error.__cause__, OSError) else ""
        raise cache_error(name, reason or "the disk refused it") from error


def common_commit(repository: GitRepository, commit: str) -> str:
    """A commit while the branch has it, else the last one of its history that the branch has.

    Returns:
        "" if there is none, or a part of the history cannot be read.
    """
    tip = repository.tip(BRANCH)
    if not tip or tip == commit:
        return commit
    if not repository.has_object(commit) or not repository.has_object(tip):
        return ""
    with suppress(GitError):
        return str(guarded(lambda: repository.handle.merge_base(tip, commit)) or "")
    return ""


def make_repository(path: Path, url: str) -> None:
    """Create an empty bare repository in a folder, replacing the remains of another one.

    HEAD is written last: a repository without HEAD counts as missing, so a killed process leaves no partial one. `git
    init` is not used, because it copies templates, with hooks.
    """
    path.mkdir(parents=True, exist_ok=True)
    for name in ("objects", "refs"):
        shutil.rmtree(path / name, ignore_errors=True)
    for name in ("packed-refs", "shallow"):
        (path / name).unlink(missing_ok=True)
    for name in ("objects/info", "objects/pack", "refs/heads"):
        (path / name).mkdir(parents=True)
    config = path / "config"
    config.unlink(missing_ok=True)
    config.touch(0o600)  # the URL may contain credentials
    quoted = url.replace("\\", "\\\\").replace('"', '\\"')
    config.write_text(
        f'[core]\n\trepositoryformatversion = 0\n\tbare = true\n[remote "{REMOTE}"]\n\turl = "{quoted}"\n',
        encoding="utf-8",
        errors="surrogateescape",
    )
    made = path / f"HEAD.{secrets.token_hex(6)}"
    made.write_text(f"ref: {BRANCH}\n", encoding="utf-8")
    made.replace(path / "HEAD")


# Parses the remote of a replica: a URL or a path, with an optional branch or commit after `#`.


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
    if problem := _problem(url):
        raise _invalid(text, problem)
    commit = branch if is_object_id(branch) else ""
    reference = f"{BRANCHES}{branch}" if branch and not commit else ""
    if reference and not is_ref(reference):
        raise _invalid(text, "what follows # is no name of a branch")
    place = os.path.abspath(os.path.expanduser(url)) if _is_path(url) else url  # noqa: PTH100, PTH111 - of text
    return ReplicaSource(place, reference, commit)


def _problem(url: str) -> str:
    """The reason why Git is not given an address; "" for none."""
    if not url or url.startswith("-") or _CONTROL.search(url):
        return "it is no address of a repository"
    scheme, colon, rest = url.partition("://")
    if not colon:
        return "remote helpers are programs, and none is run" if "::" in url.partition("/")[0] else ""
    if scheme.lower() not in SCHEMES:
        return f"{redacted(scheme)[:20]!r} is not one of {', '.join(sorted(SCHEMES))}"
    return "" if rest.strip("/") else "it names no repository"


def path_of(url: str) -> str:
    """The path in a URL, in an scp-like address, or the plain path itself."""
    if "://" in url:
        return url_parts(url).path
    scp = None if _is_path(url) else _SCP.fullmatch(url)
    return scp["path"] if scp else url


def host_of(url: str) -> str:
    """Host and port of a server's URL, without its credentials, for the log."""
    parts = url_parts(url)
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


# Stores the tags of a remote in a replica's clone.
#
# Each tag is stored as a ref to the commit that it names, even an annotated one: tag messages are not shown, so no tag
# objects are transferred or parsed. Tags of commits that the clone lacks, such as those of another branch, are
# omitted. All tags are in one file, `packed-refs`, which is replaced as a whole; this includes moved and deleted tags.


PACKED_REFS = "packed-refs"
TAGS = "refs/tags/"
_PEELED = "^{}"
"""Suffix of the line in `git ls-remote` with the object that an annotated tag points to."""
_HEADER = "# pack-refs with: peeled fully-peeled sorted \n"
"""First line of `packed-refs`, see git-pack-refs(1). No tag has a peeled line, because each one names a commit."""


def store_tags(repository: GitRepository, listing: str) -> None:
    """Replace the tags of a clone.

    Args:
        repository: The clone. Only its tags are packed.
        listing: Output of `git ls-remote --tags`.

    Raises:
        GitError: an object of the clone cannot be read.
        StorageError: the clone cannot be written.
    """
    tags = _tags_of(listing)
    lines = [f"{target} {name}\n" for name, target in sorted(tags.items()) if _is_commit(repository, target)]
    content = "".join([_HEADER, *lines]).encode()
    with storage_errors("the tags of a replica"):
        if _stored(repository) != content:
            _write(repository, content)


def _tags_of(listing: str) -> dict[str, str]:
    """Object id of each tag with a valid name, by full name; for an annotated tag, the object that it points to."""
    tags: dict[str, str] = {}
    for name, target in _lines(listing):
        plain = name.removesuffix(_PEELED)
        if is_tag_name(plain.removeprefix(TAGS)) and (name != plain or plain not in tags):
            tags[plain] = target
    return tags


def _lines(listing: str) -> Iterator[tuple[str, str]]:
    for line in listing.split("\n"):
        target, _, name = line.partition("\t")
        if is_object_id(target) and name.startswith(TAGS):
            yield name, target


def _is_commit(repository: GitRepository, identifier: str) -> bool:
    if not repository.has_object(identifier):
        return False
    return guarded(lambda: repository.handle.odb.read_header(identifier)[0]) == ObjectType.COMMIT


def _stored(repository: GitRepository) -> bytes:
    with suppress(FileNotFoundError):
        return gitdir_files.read(repository.common, PACKED_REFS)
    return b""


def _write(repository: GitRepository, content: bytes) -> None:
    beside = f"commonplace-{secrets.token_hex(6)}.tags"
    try:
        with gitdir_files.opened_parent(repository.common, beside) as (folder, name), Unsynced() as unsynced:
            unsynced.create(name, content, dir_fd=folder, of_git=True)
            unsynced.sync()
            os.rename(name, PACKED_REFS, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        gitdir_files.unlink(repository.common, beside)


# The documents that differ between two commits of a replica's branch.


MAX_CHANGED = 100
"""Maximum number of documents that are indexed one by one."""


def changed_documents(repository: GitRepository, old: str, new: str) -> list[Address] | None:
    """The documents that differ between two commits.

    Returns:
        The documents; None if there are more than `MAX_CHANGED`, or if another file differs. An ignore file or a site's
        configuration affects unchanged documents, and an attachment affects the targets of their links.

    Raises:
        GitError: the repository lacks a part of a commit.
    """
    trees = repository.tree_of(old), repository.tree_of(new)
    addresses: list[Address] = []
    for raw in TreeDiff(repository).differing(*trees):
        try:
            address = parse_address(os.fsdecode(raw))
        except InvalidInputError:
            return None
        if not address.is_document or len(addresses) == MAX_CHANGED:
            return None
        addresses.append(address)
    return addresses
