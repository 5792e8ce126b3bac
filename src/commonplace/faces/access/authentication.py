"""Authentication of HTTP requests: turns an `Authorization` header into a `Caller`, or raises; and access keys."""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from commonplace.domain.activity import NO_LIMITS, WriteLimits
from commonplace.domain.addresses import parse_address
from commonplace.domain.errors import ConfigError, InvalidInputError, NotFoundError, StorageError, UnauthenticatedError
from commonplace.domain.private_files import private_folder
from commonplace.faces.access.callers import TIERS, Caller, least
from commonplace.faces.access.tokens import TokenVerifier
from commonplace.faces.access.used_once import UsedOnce
from commonplace.settings import Tier

log = logging.getLogger(__name__)

# Authentication of HTTP requests: turns an `Authorization` header into a `Caller`, or raises.


BEARER_SCHEME = "bearer "
SIGNED_OUT = "signed out"
"""Purpose of tokens and cookies in `UsedOnce` that no longer sign anybody in."""
DEFAULT_TIER: Tier = "write"
"""Default tier of a caller who needs no key or uses the server's own key."""


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Authenticates callers.

    A key is required if the server has its own key, a key was ever created, or an identity provider is configured.
    Revoking the last key does not open the server.
    """

    keys: KeyStore
    always_closed: bool
    """Whether a key is required even if none exists."""
    own_key: str = ""
    """The server's own key, from its environment."""
    tokens: TokenVerifier | None = None
    tier: Tier | None = None
    """Upper limit of every caller's tier; None for the tier of the key or token."""
    used: UsedOnce | None = None
    """The tokens that were signed out; None if tokens are valid until they expire."""

    @property
    def is_open(self) -> bool:
        """Whether requests need no key."""
        return not self.always_closed and not self.own_key and self.tokens is None and not self.keys.ever()

    def is_local(self, authorization: str | None) -> bool:
        """Whether `authenticate` can answer without a network call; it reads at most the key file."""
        if self.tokens is None or authorization is None:
            return True
        return authorization[len(BEARER_SCHEME) :].strip().startswith(KEY_PREFIX)

    def authenticate(self, authorization: str | None) -> Caller:
        """The caller that this header identifies.

        Raises:
            UnauthenticatedError: a key is required, and the header has no valid one.
        """
        if self.is_open:
            return Caller("", self.tier or DEFAULT_TIER, is_default=self.tier is None)
        caller = self._known(_token(authorization))
        return replace(caller, tier=least(caller.tier, self.tier)) if self.tier else caller

    def _known(self, token: str) -> Caller:
        if self.own_key and hmac.compare_digest(digest(self.own_key), digest(token)):
            return Caller("key:own", self.tier or DEFAULT_TIER, is_default=self.tier is None)
        key = self.keys.find(token)
        if key is not None:
            self.keys.note_use(key)
            return key.caller
        is_token = not token.startswith(KEY_PREFIX) and token.count(".") == 2  # noqa: PLR2004 - a JWT
        if self.tokens is not None and is_token and not (self.used and self.used.has(SIGNED_OUT, token)):
            return self.tokens.verify_token(token)
        raise UnauthenticatedError(
            "The key is not known here.", kind="token", hint="Send a valid key as 'Authorization: Bearer KEY'."
        )


def _token(authorization: str | None) -> str:
    if authorization is None or not authorization.lower().startswith(BEARER_SCHEME):
        raise UnauthenticatedError("A key is needed here.", kind="key", hint="Send it as 'Authorization: Bearer KEY'.")
    return authorization[len(BEARER_SCHEME) :].strip()


# Access keys: random, shown once, and stored as SHA-256 with their permissions.


KEY_PREFIX = "cpk_"
"""Prefix of every key, so that secret scanners recognize leaked keys."""
RANDOM_BYTES = 32
KEY_FILE = "keys.json"
USES_FOLDER = "key-uses"
"""Folder with an empty file for each key, whose time is that of the last use."""
USE_SECONDS = 60.0
"""Resolution in seconds of the time of the last use."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"(?! )[\w .@-]{1,60}(?<! )")


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessKey:
    """A stored key, without the key itself."""

    id: str
    name: str
    sha256: str
    """64 hex digits."""
    tier: Tier
    collections: tuple[str, ...] | None
    """Names of the permitted collections; None for all."""
    created: str
    """ISO 8601, UTC."""
    limits: WriteLimits = NO_LIMITS
    """Limits of what the key may write."""

    @property
    def is_whole(self) -> bool:
        """Whether the key administers everything."""
        return (self.tier, self.collections, self.limits) == ("admin", None, NO_LIMITS)

    @property
    def caller(self) -> Caller:
        """The `Caller` that this key identifies."""
        collections = None if self.collections is None else frozenset(self.collections)
        return Caller(f"key:{self.id}", self.tier, collections, name=self.name, limits=self.limits)


class KeyStore:
    """The access keys of one machine, in one file that only its owner can read; or in a file that all servers have.

    Every request sees changes by other processes, so a revoked key is invalid at once. While the file is damaged, such
    as one that is being written, the keys that it had last are valid.

    Args:
        folder: The state folder.
        file: Another file with the keys, mounted into all servers for example; None for that of the state folder.
    """

    def __init__(self, folder: Path, file: Path | None = None) -> None:
        self._path = file or folder / KEY_FILE
        self._problem = ""
        """The last problem of the file, which was logged; "" if it was read."""
        self._read: tuple[tuple[int, int, int] | None, tuple[AccessKey, ...]] = (None, ())
        self._any = False
        self._uses = folder / USES_FOLDER
        self._noted: dict[str, float] = {}
        """Time of `time.monotonic` at which the last use of each key was noted, by id."""
        self._first = self._stamp()
        """Stamp of the file at construction. If the file has changed since, it has contained a key."""

    def create(
        self, name: str, tier: Tier, collections: Sequence[str] | None = None, limits: WriteLimits = NO_LIMITS
    ) -> tuple[str, AccessKey]:
        """Create a key. Returns the secret, which is not stored and cannot be shown again, and its record.

        Raises:
            InvalidInputError: the name is empty, too long, or contains characters that are not permitted.
        """
        if not _NAME.fullmatch(name):
            raise InvalidInputError(
                f"Invalid name {name[:60]!r}: expected 1 to 60 letters, digits, . _ @ -, or blanks between them",
                kind="name",
                hint="Name the key after who will use it.",
            )
        token = KEY_PREFIX + secrets.token_urlsafe(RANDOM_BYTES)
        key = AccessKey(
            id=secrets.token_hex(4),
            name=name,
            sha256=digest(token),
            tier=tier,
            collections=None if collections is None else tuple(collections),
            created=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            limits=limits,
        )
        with self._locked():
            self._write((*self.all(), key))
        return token, key

    def revoke(self, id_or_name: str) -> AccessKey:
        """Revoke a key. Running servers reject it at once.

        Raises:
            NotFoundError: no key has this id or name.
            InvalidInputError: several keys have this name, or it is the last key that administers everything.
        """
        with self._locked():
            revoked = self._named(id_or_name)
            self._require_another(revoked, "revoked")
            self._write([key for key in self.all() if key != revoked])
        (self._uses / revoked.id).unlink(missing_ok=True)
        return revoked

    def limit(self, id_or_name: str, limits: WriteLimits) -> AccessKey:
        """Replace the limits of a key. Running servers heed them at once.

        Raises:
            NotFoundError, InvalidInputError: as for `revoke`.
        """
        with self._locked():
            old = self._named(id_or_name)
            new = replace(old, limits=limits)
            if not new.is_whole:
                self._require_another(old, "limited")
            self._write([new if key == old else key for key in self.all()])
        return new

    def note_use(self, key: AccessKey) -> None:
        """Record that a key was used, at most once in `USE_SECONDS`."""
        now = time.monotonic()
        if now - self._noted.get(key.id, -USE_SECONDS) < USE_SECONDS:
            return
        self._noted[key.id] = now
        with suppress(OSError):  # whoever has a valid key is let in all the same
            private_folder(self._uses)
            (self._uses / key.id).touch(mode=0o600)

    def last_use(self, key: AccessKey) -> float | None:
        """Time of the last use of a key in Unix seconds, to a minute; None if it was not used."""
        try:
            return (self._uses / key.id).stat().st_mtime
        except OSError:
            return None

    def _require_another(self, key: AccessKey, change: str) -> None:
        """Check that without this key another one administers everything: else nobody could make keys in the browser.

        Raises:
            InvalidInputError: kind "key": there is none.
        """
        if key.is_whole and not any(other.is_whole for other in self.all() if other != key):
            raise InvalidInputError(
                f"{key.name} is the last key of the tier admin without limits, so it is not {change}.",
                kind="key",
                hint="Create another one first: commonplace keys create NAME --tier admin",
            )

    def _named(self, id_or_name: str) -> AccessKey:
        keys = self.all()
        access_keys = [key for key in keys if key.id == id_or_name] or [key for key in keys if key.name == id_or_name]
        if not access_keys:
            raise NotFoundError(
                f"There is no key {id_or_name[:60]!r}.", kind="key", hint="List the keys to see their ids."
            )
        if len(access_keys) > 1:
            raise InvalidInputError(
                f"{len(access_keys)} keys are named {id_or_name!r}: {', '.join(key.id for key in access_keys)}.",
                kind="key",
                hint="Give the id.",
            )
        return access_keys[0]

    def all(self) -> tuple[AccessKey, ...]:
        """All keys in order of creation.

        Raises:
            ConfigError: the file is damaged, and was not read before.
        """
        stamp = self._stamp()
        if stamp is None:
            return ()
        if self._read[0] != stamp:
            try:
                self._read, self._problem = (stamp, _keys_in(self._path)), ""
            except ConfigError as error:
                if self._read[0] is None:
                    raise
                if str(error) != self._problem:
                    log.warning("%s The keys that it had before are valid until it is whole again.", error)
                self._problem = str(error)
            self._any = self._any or bool(self._read[1]) or stamp != self._first
        return self._read[1]

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            status = self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def ever(self) -> bool:
        """Whether a key exists, or existed at any time since construction."""
        return bool(self.all()) or self._any

    def find(self, token: str) -> AccessKey | None:
        """The key that matches this token. Digests are compared in constant time."""
        given_digest = digest(token)
        found_key: AccessKey | None = None
        for key in self.all():
            if hmac.compare_digest(key.sha256, given_digest):
                found_key = key
        return found_key

    @contextmanager
    def _locked(self) -> Generator[None]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = self._path.with_suffix(".lock").open("w")
        except OSError as error:
            raise _unwritable(error) from error
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write(self, keys: Sequence[AccessKey]) -> None:
        beside = self._path.with_suffix(".part")
        try:
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError as error:
            raise _unwritable(error) from error
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"keys": [asdict(key) for key in keys]}, file, indent=2)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path)


def _unwritable(error: OSError) -> StorageError:
    return StorageError(
        f"The file of access keys cannot be written: {error.strerror}. Nothing was changed.",
        kind="keys",
        hint="Change it where it is mounted from: make the file there with commonplace keys --keys FILE.",
    )


def tier_named(name: str) -> Tier:
    """The tier with a name.

    Raises:
        InvalidInputError: there is none.
    """
    for tier in TIERS:
        if tier == name:
            return tier
    raise InvalidInputError(f"Invalid tier {name[:60]!r}: expected one of {', '.join(TIERS)}.", kind="tier")


def write_limits(folders: Sequence[str], types: Sequence[str], pages: int | None, size: int | None) -> WriteLimits:
    """Limits as somebody states them.

    Raises:
        InvalidInputError: a folder is not a path, or names no collection before its colon.
    """
    return WriteLimits(folders=tuple(map(_folder, folders)), types=tuple(types), pages=pages, size=size)


def _folder(text: str) -> str:
    """A folder of `WriteLimits.folders` as somebody states it."""
    name, colon, path = text.rpartition(":")
    if colon and not name:
        raise InvalidInputError(
            f"Invalid folder {text[:60]!r}: a collection's name goes before the colon.",
            kind="folder",
            hint="Name a folder, NAME:FOLDER, or NAME: for all of a collection.",
        )
    path = path.strip("/")
    return f"{name}{colon}{parse_address(path).path if path or not colon else ''}"


def digest(token: str) -> str:
    """The SHA-256 of a key. A plain hash suffices: a key has 256 random bits, which no dictionary contains."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _keys_in(path: Path) -> tuple[AccessKey, ...]:
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["keys"]
        return tuple(_key(cast("dict[str, object]", row)) for row in rows)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ConfigError(
            f"The file of access keys, {path.name}, is damaged.",
            kind="keys",
            hint="Correct or remove it; nobody is let in.",
        ) from error


def _key(row: dict[str, object]) -> AccessKey:
    tier, collections, sha256 = row["tier"], row["collections"], str(row["sha256"])
    if tier not in TIERS or not isinstance(collections, list | None) or not _DIGEST.fullmatch(sha256):
        raise ValueError
    names = None if collections is None else tuple(str(name) for name in cast("list[object]", collections))
    return AccessKey(
        id=str(row["id"]),
        name=str(row["name"]),
        sha256=sha256,
        tier=tier,
        collections=names,
        created=str(row["created"]),
        limits=_limits(cast("dict[str, object]", row.get("limits") or {})),
    )


def _limits(row: dict[str, object]) -> WriteLimits:
    """The limits of a key. What is not understood is refused, so that no key is wider than it was made."""
    if row.keys() - {"folders", "types", "pages", "size"}:
        raise ValueError
    numbers = [row.get(name) for name in ("pages", "size")]
    if any(number is not None and (not isinstance(number, int) or number < 0) for number in numbers):
        raise ValueError
    folders, types = (tuple(map(str, cast("list[object]", row.get(name) or []))) for name in ("folders", "types"))
    pages, size = (cast("int | None", number) for number in numbers)
    return WriteLimits(folders=folders, types=types, pages=pages, size=size)
