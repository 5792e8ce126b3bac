"""Author and committer of a commit, with the time: from the environment, Git's configuration, or the default."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from commonplace.domain.changes import Author

DEFAULT_AUTHOR = Author("commonplace", "commonplace@localhost")
ConfigReader = Callable[[str], str]
"""Returns a value of Git's configuration; "" if it is not set."""

MAX_PROGRAM = 100
"""Maximum length of a program's name in a commit, in characters."""
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f<>\ud800-\udfff\u0085\u2028\u2029]")
_OUTER = " .,:;\"'"
_NOT_IN_MAILBOXES = re.compile(r"[^a-z0-9._-]+")
_TRAILER = re.compile(r"[A-Za-z0-9-]+: |\s")
_RAW_DATE = re.compile(r"@?(\d{1,11}) ([+-])(\d\d)(\d\d)")


@dataclass(frozen=True, slots=True)
class Signature:
    """Author or committer of a commit, with the time."""

    author: Author
    when: int
    """Time in Unix seconds."""
    offset: int
    """Time zone in minutes east of UTC."""

    def __bytes__(self) -> bytes:
        sign, (hours, minutes) = "-" if self.offset < 0 else "+", divmod(abs(self.offset), 60)
        text = f"{self.author.name} <{self.author.email}> {self.when} {sign}{hours:02}{minutes:02}"
        return text.encode("utf-8", "replace")


def signature(role: str, setting: ConfigReader, given: Author | None = None) -> Signature:
    """The signature of a role.

    Args:
        role: "author" or "committer".
        setting: Git's configuration.
        given: A person who takes precedence over environment and configuration; None for nobody.
    """
    name, email = (given.name, given.email) if given else ("", "")
    environment = f"GIT_{role.upper()}"
    person = Author(
        _first(
            name,
            os.environ.get(f"{environment}_NAME"),
            setting(f"{role}.name"),
            setting("user.name"),
            DEFAULT_AUTHOR.name,
        ),
        _first(
            email,
            os.environ.get(f"{environment}_EMAIL"),
            setting(f"{role}.email"),
            setting("user.email"),
            DEFAULT_AUTHOR.email,
        ),
    )
    when, offset = _date(os.environ.get(f"{environment}_DATE", "")) or _now()
    return Signature(person, when, offset)


def clean_message(message: str) -> str:
    """A commit message in the form that Git stores: no NUL, no outer blank lines, one final line end."""
    return message.replace("\0", "").replace("\r\n", "\n").strip() + "\n"


def person_of(program: str) -> Author | None:
    """A program as a person: `Claude Code` is `Claude Code <claude-code@localhost>`; None without letters or digits."""
    name = _FORBIDDEN.sub("", program[:MAX_PROGRAM]).strip(_OUTER)
    mailbox = _NOT_IN_MAILBOXES.sub("-", name.lower()).strip("-.")
    return Author(name, f"{mailbox or 'client'}@localhost") if any(map(str.isalnum, name)) else None


def with_trailer(message: str, line: str) -> str:
    """A cleaned message with a trailer (`Signed-off-by: …`), in its last paragraph if that consists of trailers."""
    if line in message.splitlines():
        return message
    last = message.rstrip("\n").rpartition("\n\n")[2]
    has_trailers = "\n\n" in message and all(_TRAILER.match(text) for text in last.splitlines())
    return f"{message}{'' if has_trailers else chr(10)}{line}\n"


def _first(*candidates: str | None) -> str:
    cleaned = (_FORBIDDEN.sub("", candidate or "").strip(_OUTER) for candidate in candidates)
    return next(candidate for candidate in cleaned if candidate)


def _now() -> tuple[int, int]:
    now = int(time.time())
    return now, time.localtime(now).tm_gmtoff // 60


def _date(text: str) -> tuple[int, int] | None:
    """Parse Git's own form (`<seconds> <+hhmm>`) or ISO 8601; None for any other."""
    if raw := _RAW_DATE.fullmatch(text.strip()):
        seconds, sign, hours, minutes = raw.groups()
        offset = int(hours) * 60 + int(minutes)
        return int(seconds), -offset if sign == "-" else offset
    try:
        moment = datetime.fromisoformat(text.strip()).astimezone()
    except ValueError:
        return None
    offset = moment.utcoffset()
    return int(moment.timestamp()), int(offset.total_seconds()) // 60 if offset else 0
