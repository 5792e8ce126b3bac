"""Git objects: writing them (blobs, trees and commits), and reading loose ones without libgit2."""

from __future__ import annotations

import os
import re
import struct
import zlib
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from hashlib import sha1
from itertools import accumulate
from pathlib import Path
from typing import Protocol

import pygit2
from pygit2.enums import ObjectType

from commonplace.store.disk.durable import Unsynced
from commonplace.store.disk.folder import opened_below, opened_folder
from commonplace.store.git import gitdir_files
from commonplace.store.git.shared_modes import sharing_of

# Writes Git objects (blobs, trees and commits), syncs them together, and then renames them to their final names.
#
# Loose objects are written here and not by libgit2 for two reasons. A commit needs four or more of them, and syncing
# each separately took 20 ms of the 25 that a write may take. A killed process leaves temporary files; these contain
# the transaction's token, so that the next writer can remove them.


MODE_FILE = 0o100644
MODE_EXECUTABLE = 0o100755
MODE_LINK = 0o120000
MODE_FOLDER = 0o040000
MODE_GITLINK = 0o160000
"""Mode of a submodule in a tree; the modes above are those of the other kinds of entries."""
FILE_MODES = frozenset({MODE_FILE, MODE_EXECUTABLE})
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
FOLDER_MODE = b"40000"
"""Spelling of `MODE_FOLDER` in a tree object."""
MIN_PACKED = 100
"""Minimum number of new objects that are written as one pack, by which Git itself decides for what it fetches."""
MAX_PACKED_BYTES = 2**31 - 1
"""Maximum size of their contents in bytes: the index of a pack has offsets of 31 bits."""
MAX_INSERTED = 100
"""Maximum number of new entries that are inserted one by one; if there are more, the whole tree is sorted."""
_TREE_ENTRY = re.compile(rb"(\d+) ([^\0]+)\0(.{20})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """An entry of a tree."""

    mode: int
    id: str
    """Object id, 40 hex digits."""


def id_of(entry: TreeEntry | None) -> str:
    """The object id of an entry; "" for none."""
    return entry.id if entry else ""


def is_file(entry: TreeEntry) -> bool:
    """Whether an entry is a file or a link, not a folder or a submodule."""
    return entry.mode not in {MODE_FOLDER, MODE_GITLINK}


RawTree = dict[bytes, tuple[bytes, bytes]]
"""Entries of a tree in order: name to mode (octal digits) and id (20 bytes)."""


class KnownTrees(Protocol):
    """A cache of trees; implemented by `TreeCache`."""

    def tree(self, identifier: str) -> RawTree:
        """Entries of a tree, read-only; none for ""."""
        ...

    def keep(self, identifier: str, tree: RawTree) -> None:
        """Add a tree to the cache."""
        ...


class NewObjects:
    """Objects of one transaction: collect with `add`, then `write`, sync, `place`."""

    def __init__(self, folder: Path, token: str, exists: Callable[[str], bool]) -> None:
        """Create an empty collection.

        Args:
            folder: The repository's `objects`.
            token: Token of the transaction.
            exists: Whether the repository has an object already.
        """
        self.token = token
        self._folder = folder
        self._exists = exists
        self._contents: dict[str, bytes] = {}
        self._written: dict[str, str] = {}

    def add(self, kind: str, content: bytes) -> str:
        """Add an object and return its id. The object exists in the repository after `place`."""
        raw = b"%s %d\0%s" % (kind.encode(), len(content), content)
        identifier = sha1(raw, usedforsecurity=False).hexdigest()
        if not self._exists(identifier):
            self._contents[identifier] = raw
        return identifier

    def write(self, unsynced: Unsynced) -> None:
        """Write the missing objects under temporary names, many of them as one pack."""
        if not self._contents:
            return
        sharing = sharing_of(self._folder.parent)
        with self._opened() as folder:
            for number, (target, content) in enumerate(self._files()):
                beside = f"{temporary_prefix(self.token)}{number}_{target.rpartition('/')[2]}"
                self._written[target] = beside
                sharing.give(unsynced.create(beside, content, mode=0o444, dir_fd=folder, of_git=True))

    def place(self) -> list[Path]:
        """Rename the written files to their final names; returns the folders whose names have changed, in order."""
        touched: list[Path] = []
        if self._written:
            with self._opened() as folder:
                for target, beside in self._written.items():
                    if _placed(self._folder.parent, folder, beside, target):
                        touched.append(self._folder)
                    touched.append(self._folder / target.rpartition("/")[0])
        self._written.clear()
        self._contents.clear()
        return touched

    def discard(self) -> None:
        """Remove the written files that were not placed."""
        if self._written:
            discard_unplaced(self._folder, self.token)
        self._written.clear()

    def _files(self) -> Iterator[tuple[str, bytes]]:
        """The files to write: paths below the folder of the objects, and contents."""
        if len(self._contents) >= MIN_PACKED and sum(map(len, self._contents.values())) <= MAX_PACKED_BYTES:
            yield from _packed(self._contents)
            return
        for identifier, raw in self._contents.items():
            yield f"{identifier[:_FOLDER_DIGITS]}/{identifier[_FOLDER_DIGITS:]}", zlib.compress(raw, 1)

    def _opened(self) -> AbstractContextManager[int]:
        """The folder of the objects, opened without following links."""
        return opened_folder(self._folder.parent, [self._folder.name])


def _packed(contents: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """The files of a pack of whole objects, its index last, which makes it known (gitformat-pack(5), versions 2)."""
    entries, rows, offset = list[bytes](), list[tuple[bytes, int, int]](), 12
    for identifier, raw in contents.items():
        header, _, content = raw.partition(b"\0")
        entry = _entry_header(_KINDS[header.partition(b" ")[0]], len(content)) + zlib.compress(content, 1)
        rows.append((bytes.fromhex(identifier), zlib.crc32(entry), offset))
        entries.append(entry)
        offset += len(entry)
    pack = b"".join([struct.pack(">4sLL", b"PACK", 2, len(entries)), *entries])
    digest = sha1(pack, usedforsecurity=False).digest()
    rows.sort()
    identifiers, checksums, offsets = zip(*rows, strict=True)
    firsts = Counter(identifier[0] for identifier in identifiers)
    numbers = [*accumulate(firsts[first] for first in range(256)), *checksums, *offsets]
    tables = struct.pack(f">{len(numbers)}L", *numbers)
    index = b"".join([b"\xfftOc\0\0\0\2", tables[:1024], *identifiers, tables[1024:], digest])
    yield f"pack/pack-{digest.hex()}.pack", pack + digest
    yield f"pack/pack-{digest.hex()}.idx", index + sha1(index, usedforsecurity=False).digest()


def _entry_header(kind: int, size: int) -> bytes:
    """Kind and size of an object in a pack: four bits of the size, then seven a byte while the highest bit is set."""
    header, size = bytearray([kind << 4 | size & 15]), size >> 4
    while size:
        header[-1] |= 0x80
        header.append(size & 0x7F)
        size >>= 7
    return bytes(header)


def _placed(base: Path, folder: int, beside: str, target: str) -> bool:
    """Rename a file in the open folder of the objects to its final path in it; returns whether its folder is new."""
    name, _, rest = target.partition("/")
    is_new = False
    try:
        with opened_below(folder, name) as inner:
            os.rename(beside, rest, src_dir_fd=folder, dst_dir_fd=inner)
    except FileNotFoundError:
        with suppress(FileExistsError):
            gitdir_files.make_folder(base, name, folder)
            is_new = True
        with opened_below(folder, name) as inner:
            os.rename(beside, rest, src_dir_fd=folder, dst_dir_fd=inner)
    return is_new


def temporary_prefix(token: str) -> str:
    """Prefix of the names of a transaction's unplaced files. `git gc` removes old files with such names."""
    return f"tmp_obj_commonplace_{token}_"


def discard_unplaced(folder: Path, token: str) -> None:
    """Remove the temporary files of a transaction that failed or was killed, and a pack that has no index yet."""
    prefix = temporary_prefix(token)
    with suppress(FileNotFoundError):
        for name in os.listdir(folder):  # noqa: PTH208 - names are enough
            if not name.startswith(prefix):
                continue
            target = name.removeprefix(prefix).partition("_")[2]
            if target.endswith(".idx") and not os.path.lexists(folder / "pack" / target):
                gitdir_files.unlink(folder.parent, f"{folder.name}/pack/{target.removesuffix('.idx')}.pack")
            gitdir_files.unlink(folder.parent, f"{folder.name}/{name}")


def changed_tree(objects: NewObjects, trees: KnownTrees, base: str, changes: Mapping[str, TreeEntry | None]) -> str:
    """Id of a tree that differs from another one in these paths only.

    Args:
        objects: The new trees are added to these objects.
        trees: Cache of trees; the new trees are added.
        base: The tree to change; "" for an empty one.
        changes: The entry of each changed path; None for a removed one.

    Returns:
        The new tree's id; `base` itself if nothing differs.
    """
    tree = dict(trees.tree(base))
    entries = dict(_direct(changes))
    for name, inner in _nested(changes):
        old = tree.get(name)
        folder = old[1].hex() if old and old[0] == FOLDER_MODE else ""
        if folder or any(inner.values()):  # else all changes are removals from a missing folder
            changed = changed_tree(objects, trees, folder, inner)
            if changed == EMPTY_TREE:
                entries.setdefault(name, None)  # unless a file takes the name of the emptied folder
            else:
                entries[name] = TreeEntry(MODE_FOLDER, changed)
    added: RawTree = {}
    for name, entry in entries.items():
        _set(tree, added, name, entry)
    tree = _merged(tree, added) if added else tree
    identifier = objects.add("tree", format_tree(tree))
    trees.keep(identifier, tree)
    return identifier


def parse_tree(raw: bytes) -> RawTree:
    """The entries of a tree object's content."""
    return {name: (mode, identifier) for mode, name, identifier in _TREE_ENTRY.findall(raw)}


def in_order(tree: RawTree) -> RawTree:
    """The entries in Git's order, in which a folder sorts as if its name ended in a slash."""
    return dict(sorted(tree.items(), key=_sort_key))


def _sort_key(item: tuple[bytes, tuple[bytes, bytes]]) -> bytes:
    name, (mode, _) = item
    return name + b"/" if mode == FOLDER_MODE else name


def _merged(tree: RawTree, added: RawTree) -> RawTree:
    """An ordered tree with further entries inserted, which is quicker than sorting a large tree again."""
    if len(added) > MAX_INSERTED:
        return in_order(tree | added)
    items = list(tree.items())
    for item in added.items():
        insort(items, item, key=_sort_key)
    return dict(items)


def format_tree(tree: RawTree) -> bytes:
    """The content of a tree object with these ordered entries."""
    return b"".join([b"%s %s\0%s" % (mode, name, identifier) for name, (mode, identifier) in tree.items()])


def _set(tree: RawTree, added: RawTree, name: bytes, entry: TreeEntry | None) -> None:
    """Set or remove an entry of an ordered tree. An entry whose position changes is moved to `added`."""
    if entry is None:
        tree.pop(name, None)
        return
    mode, old = b"%o" % entry.mode, tree.get(name)
    if old is not None and (old[0] == FOLDER_MODE) == (mode == FOLDER_MODE):
        tree[name] = (mode, bytes.fromhex(entry.id))
    else:
        tree.pop(name, None)
        added[name] = (mode, bytes.fromhex(entry.id))


def _direct(changes: Mapping[str, TreeEntry | None]) -> list[tuple[bytes, TreeEntry | None]]:
    return [(os.fsencode(path), entry) for path, entry in changes.items() if "/" not in path]


def _nested(changes: Mapping[str, TreeEntry | None]) -> list[tuple[bytes, dict[str, TreeEntry | None]]]:
    below: dict[str, dict[str, TreeEntry | None]] = {}
    for path, entry in changes.items():
        name, slash, rest = path.partition("/")
        if slash:
            below.setdefault(name, {})[rest] = entry
    return [(os.fsencode(name), inner) for name, inner in below.items()]


# A repository's object database that reads loose objects without libgit2.
#
# libgit2 1.9 loops for ever on a loose object whose compressed data ends too early, while it holds Python's global
# lock. An interrupted copy, a full disk or a crafted repository can cause this.


MAX_HEADER_BYTES = 32
"""Maximum size in bytes of an object's header: type and length."""
FIRST_BYTES = 4096
"""Number of compressed bytes that contain the header, which follows zlib's table of codes."""
MAX_MESSAGE_BYTES = 10_000_000
"""Maximum size in bytes of a commit or tag, most of which is the message; the rest of a larger one is not read."""
_KINDS = {
    b"commit": ObjectType.COMMIT,
    b"tree": ObjectType.TREE,
    b"blob": ObjectType.BLOB,
    b"tag": ObjectType.TAG,
}
_WITH_MESSAGE = (b"commit ", b"tag ")
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_HEX_DIGITS = 40
_FOLDER_DIGITS = 2


def object_database(folders: Sequence[str], max_bytes: int) -> pygit2.Odb:
    """The object database of a repository.

    Args:
        folders: The repository's `objects`, then those of its alternates.
        max_bytes: Maximum size in bytes of a loose object; the rest of a larger one is not read.

    Raises:
        pygit2.GitError: a folder of packs cannot be read.
    """
    database = pygit2.Odb()
    for number, folder in enumerate(folders):  # libgit2 asks its backends in descending order of their priority
        database.add_backend(pygit2.OdbBackendPack(folder), 2 * (len(folders) - number))
    database.add_backend(LooseObjects(folders, max_bytes), 1)
    return database


class LooseObjects(pygit2.OdbBackend):
    """A backend of libgit2's object database for loose objects.

    For a damaged object, the bytes that can be inflated are returned. libgit2 then rejects them, because their hash
    differs. `KeyError` means "not found" to libgit2; pygit2 would leave any other exception pending.
    """

    def __init__(self, folders: Sequence[str], max_bytes: int) -> None:
        """Create a backend; the arguments are those of `object_database`."""
        super().__init__()  # pyright: ignore[reportUnknownMemberType] - pygit2 declares no types for it
        self._folders = tuple(folders)
        self._max_bytes = max_bytes

    def read_cb(self, identifier: pygit2.Oid) -> tuple[int, bytes]:
        """The type and the content of an object.

        Raises:
            KeyError: there is no such loose object.
        """
        return _parsed(self._inflated(str(identifier), self._max_bytes))

    def read_prefix_cb(self, prefix: str) -> tuple[int, bytes, pygit2.Oid]:
        """Type, content and id of the only object whose id begins with the prefix. Raises as `exists_prefix_cb`."""
        identifier = self.exists_prefix_cb(prefix)
        return *self.read_cb(identifier), identifier

    def read_header_cb(self, identifier: pygit2.Oid) -> tuple[int, int]:
        """The type and the size in bytes of an object."""
        name = str(identifier)
        kind, _, size = self._inflated(name, MAX_HEADER_BYTES).partition(b"\0")[0].partition(b" ")
        if kind not in _KINDS or not size.isdigit():
            raise KeyError(name)
        return _KINDS[kind], min(int(size), self._max_bytes + 1)

    def exists_cb(self, identifier: pygit2.Oid) -> bool:
        """Whether there is such a loose object."""
        name = str(identifier)
        return any(os.path.isfile(_file(folder, name)) for folder in self._folders)

    def exists_prefix_cb(self, prefix: str) -> pygit2.Oid:
        """The id that begins with the prefix. Raises KeyError if there is none, ValueError if there are several."""
        if len(prefix) == _HEX_DIGITS:
            prefixes = {prefix} if self.exists_cb(pygit2.Oid(hex=prefix)) else set[str]()
        else:
            prefixes = {name for name in self._names(prefix[:_FOLDER_DIGITS]) if name.startswith(prefix)}
        if len(prefixes) > 1:
            raise ValueError(prefix)
        if not prefixes:
            raise KeyError(prefix)
        return pygit2.Oid(hex=prefixes.pop())

    def write_cb(self, identifier: pygit2.Oid, content: bytes, kind: int) -> None:
        """Write a loose object by means of libgit2."""
        objects, name = Path(self._folders[0]), str(identifier)
        folder = f"{objects.name}/{name[:_FOLDER_DIGITS]}"
        file = f"{folder}/{name[_FOLDER_DIGITS:]}"
        with gitdir_files.written_by_libgit2(objects.parent, folder, file):
            pygit2.Odb(self._folders[0]).write(kind, content)

    def refresh_cb(self) -> None:
        """Do nothing, because nothing is cached."""

    def __iter__(self) -> Iterator[pygit2.Oid]:
        """The ids of all loose objects."""
        for number in range(256):
            for name in self._names(f"{number:02x}"):
                yield pygit2.Oid(hex=name)

    def _names(self, beginning: str) -> set[str]:
        """The ids of the loose objects that begin with these two digits, in all databases."""
        names: set[str] = set()
        for folder in self._folders:
            with suppress(OSError):
                names.update(beginning + rest for rest in os.listdir(f"{folder}/{beginning}"))  # noqa: PTH208
        return {name for name in names if len(name) == _HEX_DIGITS and set(name) <= set("0123456789abcdef")}

    def _inflated(self, name: str, max_bytes: int) -> bytes:
        for folder in self._folders:
            try:
                compressed = _content(_file(folder, name), max(max_bytes, FIRST_BYTES))
            except OSError:
                continue
            inflater = zlib.decompressobj()
            try:
                head = inflater.decompress(compressed, MAX_HEADER_BYTES)
                most = min(max_bytes, MAX_MESSAGE_BYTES) if head.startswith(_WITH_MESSAGE) else max_bytes
                rest = max(most + MAX_HEADER_BYTES - len(head), 0)
                return head + inflater.decompress(inflater.unconsumed_tail, rest) if rest else head
            except zlib.error:
                return b""
        raise KeyError(name)


def _file(folder: str, name: str) -> str:
    return f"{folder}/{name[:_FOLDER_DIGITS]}/{name[_FOLDER_DIGITS:]}"


def _content(file: str, max_bytes: int) -> bytes:
    descriptor = os.open(file, _READ)
    try:
        return os.read(descriptor, min(os.fstat(descriptor).st_size, max_bytes))
    finally:
        os.close(descriptor)


def _parsed(raw: bytes) -> tuple[int, bytes]:
    header, _, content = raw.partition(b"\0")
    return _KINDS.get(header.partition(b" ")[0], ObjectType.BLOB), content
