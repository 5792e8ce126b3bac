"""Values that describe a write and its result."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, Self, TypeAlias

from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError

Revision = str
"""The state of a document: the Git blob id of its bytes, 40 hex digits. The same with and without Git."""


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a commit."""

    name: str
    email: str
    commits: bool = False
    """Whether the author is also the committer, regardless of Git's configuration."""


_DISGUISES = r"\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
"""Characters that turn text around or are never seen: a line with them says something else than it shows.

The joiners, spaces and marks without width that languages need are none of them.
"""
_FORBIDDEN = re.compile(rf"[\x00-\x1f\x7f<>\ud800-\udfff\u0085\u2028\u2029{_DISGUISES}]")
_OUTER = " .,:;\"'"
_NOT_IN_MAILBOXES = re.compile(r"[^a-z0-9._-]+")
MAX_NAME = 100
"""Maximum length of the name of a program or a person in a commit, in characters."""


def clean_name(name: str) -> str:
    """A name without the characters that a commit cannot have in it; "" if nothing is left."""
    return _FORBIDDEN.sub("", name).strip(_OUTER)


def person_of(name: str) -> Author | None:
    """A program or a person by its name: `Claude Code` is `Claude Code <claude-code@localhost>`.

    None for a name without letters and digits.
    """
    name = clean_name(name[:MAX_NAME])
    mailbox = _NOT_IN_MAILBOXES.sub("-", name.lower()).strip("-.")
    return Author(name, f"{mailbox or 'client'}@localhost") if any(map(str.isalnum, name)) else None


UNNAMED_PROGRAM = "an unnamed client"
"""The client of a program that states no name in a commit, so that its writes are not the author's own."""
MAX_VERSION = 40
"""Maximum length of the version of a program in a commit, in characters."""
_CLIENT, _SESSION, _KEY = "Commonplace-Client:", "Commonplace-Session:", "Commonplace-Key:"
"""Beginnings of the lines that say through which program, in which session and with which key a commit was made."""

ClientCredit: TypeAlias = Literal["none", "co-author", "author"]
"""Way in which a commit credits the client program: not at all, in a `Co-authored-by` line, or as author."""


@dataclass(frozen=True, slots=True)
class ClientProgram:
    """The program through which a caller writes."""

    name: str
    """The name by which the program identifies itself; not verified."""
    credit: ClientCredit = "none"
    version: str = ""
    """The version that the program states; not verified."""
    session: str = ""
    """Public id of the caller's session, as the log of activity has it; "" for a caller without one."""
    key: str = ""
    """Name of the caller's key; "" for none."""

    def trailers(self, author: str) -> list[str]:
        """The lines of a commit that say through what an author wrote: none without credit, and no key of that name."""
        if self.credit == "none":
            return []
        program, version, key = person_of(self.name), clean_name("".join(self.version.split())), clean_name(self.key)
        values = {
            _CLIENT: f"{program.name} {version[:MAX_VERSION]}" if program else UNNAMED_PROGRAM,
            _SESSION: self.session,
            _KEY: key if key != author else "",
        }
        return [f"{name} {value.strip()}" for name, value in values.items() if value]


COMMITTER: ContextVar[Author | None] = ContextVar("committer", default=None)
"""The person who commits in the current context; None for whoever Git's configuration names."""


@contextmanager
def committed_by(person: Author | None) -> Generator[None]:
    """Let a person be the committer of the commits of the block; None changes nothing."""
    token = COMMITTER.set(person or COMMITTER.get())
    try:
        yield
    finally:
        COMMITTER.reset(token)


WRITER: ContextVar[Author | None] = ContextVar("writer", default=None)
"""The person who writes in the current context; None for whoever Git's configuration names."""


@contextmanager
def written_by(person: Author | None) -> Generator[None]:
    """Let a person be the author of the commits of the block that name no other."""
    token = WRITER.set(person)
    try:
        yield
    finally:
        WRITER.reset(token)


CURRENT_CLIENT: ContextVar[ClientProgram | None] = ContextVar("client", default=None)
"""The client program of the current thread's caller; None if unknown."""


class FileStat(NamedTuple):
    """The file metadata that `stat` returns. Two equal values mean an unchanged file.

    A named tuple, because every scan creates and compares one per file.
    """

    size: int
    """Size in bytes."""
    mtime_ns: int
    ctime_ns: int
    inode: int


_CONTROLS = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{_DISGUISES}]")
"""Control characters but tab and line end; some of them steer terminals, end lines, or disguise text."""
_TRAILERS_READ = re.compile(
    r"(?im)^(?=(?:co-authored-by|assisted-by|generated-by|signed-off-by|undoes|moved|commonplace-[a-z-]+|proposal(?:-[a-z]+)?)"
    r"[ \t]*:)"
)
"""Beginnings of the lines of a commit's message by which this program or Git says who did what."""


CREDITS_COMMITTER = "Co-authored-by: {committer}"
"""A trailer of a `StatedMessage` that credits the committer with a part of the text; left out for the author's own."""


class StatedMessage(str):
    """A commit's message with trailers of this program. The lines of any other message are its caller's words."""

    __slots__ = ("text", "trailers")
    text: str
    trailers: tuple[str, ...]

    def __new__(cls, message: str, *trailers: str) -> Self:
        """A message with trailers after its text, and after those that it has already."""
        text, earlier = (message.text, message.trailers) if isinstance(message, StatedMessage) else (message, ())
        text, every = text.rstrip(), (*earlier, *trailers)
        stated = super().__new__(cls, f"{text}\n{trailer_gap(text)}{chr(10).join(every)}")
        stated.text, stated.trailers = text, every
        return stated


def plain_message(text: str) -> str:
    """A caller's message, in which no line is a trailer that this program reads, and no control character.

    Raises:
        InvalidInputError: the message contains a NUL, where Git would end it.
    """
    if "\0" in text:
        raise InvalidInputError(
            "The commit message contains a NUL character, where Git would end it.",
            hint="Send the message without it. Nothing was written.",
        )
    text = _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _TRAILERS_READ.sub(" ", text)


def escaped_controls(text: str) -> str:
    r"""A text with its control characters written out (`\x1b`), but tab and line end."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


_TRAILER = re.compile(r"[A-Za-z0-9-]+: ")
_CONTINUED = re.compile(r"[ \t]+\S")


def split_trailers(message: str) -> tuple[str, tuple[str, ...]]:
    """A commit message without its trailers (`Signed-off-by: …`), and these: a last paragraph of nothing else.

    As Git reads them: an indented line goes on with the trailer before it, and a paragraph of such lines has none.
    """
    text, blank, last = message.rstrip("\n").rpartition("\n\n")
    lines = tuple(last.splitlines())
    are_trailers = _TRAILER.match(last) and all(_TRAILER.match(line) or _CONTINUED.match(line) for line in lines)
    return (text, lines) if blank and are_trailers else (message, ())


def trailer_gap(message: str) -> str:
    """The text between a message, with its line end, and a trailer: a blank line, unless it ends in trailers."""
    return "" if split_trailers(message)[1] else "\n"


@dataclass(frozen=True, slots=True)
class Commit:
    """One entry of a history."""

    id: str
    """40 hex digits."""
    author: Author
    when: int
    """Author date in Unix seconds."""
    message: str
    addresses: tuple[Address, ...] = ()
    """The documents that the commit touched, by their addresses in it; empty unless requested."""
    committed: int = 0
    """Commit date in Unix seconds, which a rebase renews; 0 if unknown."""
    is_shown: bool = True
    """Whether it touched anything but ignored files. Lists of changes leave the others out."""

    @property
    def latest(self) -> int:
        """The later one of both dates."""
        return max(self.when, self.committed)


CREDITS = ("co-authored-by:", "assisted-by:", "generated-by:")
"""Beginnings of message lines that credit an agent or a program, lower case."""
MAX_CREDITED = 5
"""Maximum number of agents and programs that an answer names beside an author."""


def credited(message: str) -> tuple[str, ...]:
    """The agents and programs that a commit's message credits."""
    lines = message.splitlines()
    parts = (line.partition(":")[2].partition("<")[0].strip() for line in lines if line.lower().startswith(CREDITS))
    return tuple(dict.fromkeys(name for name in parts if name))


def through(message: str) -> tuple[str, ...]:
    """The programs, with their versions, through which the author of a commit wrote."""
    names = (line.removeprefix(_CLIENT).strip() for line in message.splitlines() if line.startswith(_CLIENT))
    return tuple(dict.fromkeys(name for name in names if name))


def is_credit(line: str) -> bool:
    """Whether a line of a message credits an agent or a program, or says through what the commit was made."""
    return line.lower().startswith((*CREDITS, *(name.lower() for name in (_CLIENT, _SESSION, _KEY))))


def uncredited(text: str) -> str:
    """A message, or a part of one, without the lines that credit an agent or a program."""
    return "\n".join(line for line in text.splitlines() if not is_credit(line)).strip()


def people_of(commit: Commit) -> str:
    """The author of a commit and whom its message names: `Ada, through claude-code 2.1`, `Ada, with Eve`.

    The same in every face.
    """
    return people_line(commit.author.name, commit.message)


def people_line(author: str, message: str) -> str:
    """The line of `people_of` for the author and the message of a commit."""
    who, *names = people_named(author, message)
    more = [f"and {len(names) - MAX_CREDITED} more"] if len(names) > MAX_CREDITED else []
    return ", ".join([who, *names[:MAX_CREDITED], *more])


def people(commit: Commit) -> tuple[str, ...]:
    """The author of a commit, then whom its message names: `through claude-code 2.1`, `with Eve`.

    A program that is credited, or the author, and also the one through which the commit was made, is named once.
    """
    return people_named(commit.author.name, commit.message)


def people_named(author: str, message: str) -> tuple[str, ...]:
    """The names of `people` for the author and the message of a commit."""
    programs = through(message)
    versions = {name: program for program in programs for name in (program, program.rpartition(" ")[0])}
    others = (f"with {name}" for name in credited(message) if name not in versions)
    who = versions.get(author, author)
    return (who, *(f"through {program}" for program in programs if program != who), *others)


class CommitSpan(NamedTuple):
    """The commits of a document that its dates and revisions are read from, through its renames."""

    first: Commit
    """The commit that created it."""
    last: Commit
    """The last commit that touched it."""
    changed: Commit
    """The last commit that changed its bytes: `last`, unless that one only renamed the file."""


Loss: TypeAlias = Literal["deleted", "replaced"]
"""The kind of write that removes a file's bytes."""


@dataclass(frozen=True, slots=True)
class RetainedCopy:
    """Location of the bytes that a write deleted or replaced."""

    address: Address
    """Address of the file."""
    revision: Revision
    """Revision of the bytes."""
    place: Literal["commit", "trash", "object"]
    """A commit, the trash, or (if the trash was not writable) a Git object that no commit references."""
    commit: str = ""
    """The commit that contains the bytes; "" for another place."""
    until: int = 0
    """Unix seconds at which the trash deletes the bytes; 0 for another place."""
    staged: bool = False
    """Whether the bytes were only in Git's index, not in the file."""


_KEPT: ContextVar[list[RetainedCopy] | None] = ContextVar("kept", default=None)


@contextmanager
def recording_retained() -> Generator[list[RetainedCopy]]:
    """Collect the copies that writes of the block retain. Only writes in the current context are collected."""
    copies: list[RetainedCopy] = []
    token = _KEPT.set(copies)
    try:
        yield copies
    finally:
        _KEPT.reset(token)


def record_retained(copies: Iterable[RetainedCopy]) -> None:
    """Add the copies that a completed write retained to the list of `recording_retained`, if one is active."""
    noted = _KEPT.get()
    if noted is not None:
        noted.extend(copies)


_WAITING: ContextVar[list[str] | None] = ContextVar("waiting", default=None)


@contextmanager
def recording_waiting_index() -> Generator[list[str]]:
    """Collect what the writes of the block say of a Git index that could not be updated, each text once."""
    waiting: list[str] = []
    token = _WAITING.set(waiting)
    try:
        yield waiting
    finally:
        _WAITING.reset(token)


def record_waiting_index(text: str) -> None:
    """Add a text to the list of `recording_waiting_index`, if one is active."""
    noted = _WAITING.get()
    if noted is not None and text not in noted:
        noted.append(text)


@dataclass(frozen=True, slots=True)
class TrashItem:
    """One file in the trash, with the bytes that it had before the write that removed them."""

    address: Address
    """Address of the file before the write."""
    revision: Revision
    """Revision of the bytes, by which callers name the item."""
    size: int
    """Bytes."""
    when: float
    """Time of the write in Unix seconds."""
    until: int
    """Unix seconds at which the item expires."""
    loss: Loss
    name: str
    """Name of the item in the trash folder."""


class Trash(Protocol):
    """Deleted and replaced bytes of one folder that no commit contains. Items expire after 30 days."""

    def items(self) -> list[TrashItem]:
        """All items, newest first, then by address."""
        ...

    def content(self, item: TrashItem) -> bytes:
        """The bytes of an item.

        Raises:
            NotFoundError: the item has expired or was removed.
            StorageError: the item cannot be read, or its bytes do not match its revision.
        """
        ...

    def discard(self, item: TrashItem) -> None:
        """Remove an item. Does nothing if the item does not exist."""
        ...


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of an acknowledged write. All of it is durable when the caller receives the receipt."""

    commit: str
    """The commit's id; "" if nothing was committed (no Git, manual commits, no change)."""
    revisions: dict[Address, Revision] = field(default_factory=dict[Address, Revision])
    """The new revision of every written document. Removed documents are absent."""
    removed: tuple[Address, ...] = ()
    retained: dict[Address, RetainedCopy] = field(default_factory=dict[Address, RetainedCopy])
    """Location of the old bytes of every file that was deleted, or replaced with `keep`."""
