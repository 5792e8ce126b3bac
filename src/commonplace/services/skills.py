"""The skills of collections: folders with a `SKILL.md`, by the Agent Skills specification."""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from threading import Lock

from commonplace.domain.addresses import Address
from commonplace.domain.changes import FileStat
from commonplace.domain.errors import InvalidInputError, NotFoundError, StorageError
from commonplace.domain.json import JsonObject
from commonplace.services.collections import Collection

SKILL_FILE = "SKILL.md"
MAX_FILES = 512
MAX_BYTES = 16 * 1024 * 1024
"""Maximum size in bytes of a skill that every host accepts (SEP-2640); larger skills are not served."""
MAX_NAME = 64
MAX_SKILL_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
MAX_CACHED_DIGESTS = 20_000
"""Maximum number of files with cached digests."""
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A file of a skill."""

    address: Address
    digest: str
    """Digest of the content: `sha256:` and 64 hex digits."""
    size: int
    """Size in bytes."""


@dataclass(frozen=True, slots=True)
class Skill:
    """A folder of instructions."""

    collection: Collection
    folder: str
    """Path of the folder; "" for the collection's own."""
    frontmatter: JsonObject
    """Frontmatter of its `SKILL.md`: `name`, `description`, and further keys."""
    files: tuple[SkillFile, ...]
    """All files by path, including those of nested skills."""

    @property
    def name(self) -> str:
        """The skill's name, which is also its folder's name."""
        return str(self.frontmatter["name"])


class Skills:
    """Finds skills, and caches the digests of unchanged files."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._digests: OrderedDict[tuple[str, str], tuple[FileStat, str]] = OrderedDict()

    def folders(self, collection: Collection) -> list[str]:
        """Folders with a `SKILL.md`, by path, whether or not they are skills."""
        addresses = (address for address in collection.index.revisions() if address.name == SKILL_FILE)
        return sorted(address.folder for address in addresses)

    def all(self, collections: Sequence[Collection]) -> Iterator[Skill]:
        """Every skill, by collection and path; invalid and unreadable skills are skipped."""
        for collection in collections:
            for folder in self.folders(collection):
                try:
                    yield self.get(collection, folder)
                except (InvalidInputError, NotFoundError, StorageError):
                    continue

    def get(self, collection: Collection, folder: str) -> Skill:
        """The skill in a folder.

        Raises:
            NotFoundError: there is no `SKILL.md`.
            InvalidInputError: the folder is not a skill; the message gives the reason.
        """
        main = Address(f"{folder}/{SKILL_FILE}" if folder else SKILL_FILE)
        frontmatter = collection.index.document(main).frontmatter.values
        _check(folder.rpartition("/")[2] or collection.name, frontmatter)
        files_belows = sorted(islice(files_below(collection, folder), MAX_FILES + 1))
        if len(files_belows) > MAX_FILES or sum(stat.size for _, stat in files_belows) > MAX_BYTES:
            raise InvalidInputError(
                f"The skill {frontmatter['name']!r} is too large: at most {MAX_FILES} files and {MAX_BYTES:,} bytes.",
                kind="skill",
                hint="Move unneeded files out of its folder.",
            )
        files = tuple(
            SkillFile(address, self._digest(collection, address, stat), stat.size) for address, stat in files_belows
        )
        return Skill(collection, folder, frontmatter, files)

    def _digest(self, collection: Collection, address: Address, stat: FileStat) -> str:
        key = (collection.store.identity, address.path)
        with self._lock:
            known_digest = self._digests.get(key)
        if known_digest is not None and known_digest[0] == stat:
            return known_digest[1]
        digest = f"sha256:{hashlib.sha256(collection.store.read(address)).hexdigest()}"
        with self._lock:
            self._digests[key] = (stat, digest)
            while len(self._digests) > MAX_CACHED_DIGESTS:
                self._digests.popitem(last=False)
        return digest


def files_below(collection: Collection, folder: str) -> Iterator[tuple[Address, FileStat]]:
    """Every file in a folder and in its subfolders."""
    yield from collection.store.files(folder)
    for inner in collection.store.folders(folder):
        yield from files_below(collection, inner)


def _unfit(frontmatter: JsonObject) -> str:
    """The problem of a skill's optional fields; "" if they are valid. Clients reject a list with an invalid skill."""
    compatibility, metadata = frontmatter.get("compatibility", "any"), frontmatter.get("metadata", {})
    if not isinstance(compatibility, str) or not 0 < len(compatibility) <= MAX_COMPATIBILITY:
        return f"its `compatibility` is not a text of 1 to {MAX_COMPATIBILITY} characters"
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        return "its `metadata` does not map names to texts (quote numbers and dates)"
    return ""


def _check(folder: str, frontmatter: JsonObject) -> None:
    """Check a skill's frontmatter against the specification."""
    name, description = frontmatter.get("name"), frontmatter.get("description")
    reason = ""
    if not isinstance(name, str) or len(name) > MAX_NAME or not _NAME.fullmatch(name):
        reason = f"its `name` is not 1 to {MAX_NAME} small letters, digits and single hyphens"
    elif name != folder:
        reason = f"its `name` is {name!r} and its folder's is {folder!r}"
    elif not isinstance(description, str) or not 0 < len(description.strip()) <= MAX_SKILL_DESCRIPTION:
        reason = f"its `description` is not a text of 1 to {MAX_SKILL_DESCRIPTION} characters"
    else:
        reason = _unfit(frontmatter)
    if reason:
        raise InvalidInputError(
            f"The folder {folder!r} is not a skill: {reason}.", kind="skill", hint=f"Correct its {SKILL_FILE}."
        )
