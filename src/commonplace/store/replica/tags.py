"""Stores the tags of a remote in a replica's clone.

Each tag is stored as a ref to the commit that it names, even an annotated one: tag messages are not shown, so no tag
objects are transferred or parsed. Tags of commits that the clone lacks, such as those of another branch, are omitted.
All tags are in one file, `packed-refs`, which is replaced as a whole; this includes moved and deleted tags.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress

from pygit2.enums import ObjectType

from commonplace.store.disk.durable import Unsynced
from commonplace.store.disk.file_swap import storage_errors
from commonplace.store.git.layout import gitdir_files
from commonplace.store.git.past.revision_names import is_tag_name
from commonplace.store.git.repository import GitRepository, guarded
from commonplace.store.names import is_object_id

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
