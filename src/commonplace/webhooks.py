"""Webhooks: notices of changes and proposals that `serve` posts to other programs.

Git is the queue. For each URL and base a small file has the last commit and the proposals of which the receiver was
told, so nothing is lost while the receiver or this server is down, and nothing grows. A notice is written there before
it is sent, and is repeated as it is until it is taken, with the same id, also by the next server. One process of a
machine sends the notices of a URL.

A host on a private network is refused unless the settings permit it. The address that was checked is the one that is
connected to, and no redirect is followed.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import hmac
import json
import logging
import os
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import cast
from urllib.parse import parse_qsl

from commonplace import __version__
from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConfigError, KnowledgeError, UnavailableError
from commonplace.domain.json import Json
from commonplace.domain.private_files import private_folder
from commonplace.domain.records import iso_timestamp
from commonplace.domain.sources import url_parts
from commonplace.outside.web import (
    HTTP_PORTS,
    CheckedConnection,
    Lookup,
    exchange,
    is_public,
    port_of,
    resolved,
    system_lookup,
)
from commonplace.services import notices
from commonplace.services.collections import Collection
from commonplace.services.notices import ChangeEvent, NoticeFilter, ProposedEvent
from commonplace.services.services import Services
from commonplace.settings import Settings

log = logging.getLogger(__name__)

MAX_TARGETS = 20
"""Maximum number of URLs."""
MIN_SECRET = 16
"""Minimum length of the secret in characters."""
MAX_BODY = 64_000
"""Maximum size of a notice in bytes; further commits go into the next one."""
MAX_FILES, MAX_FILE_CHARS = 100, 8_000
"""Maximum number of paths of one commit or proposal, and of their characters."""
MAX_SUBJECT = 300
"""Maximum length of a subject, title, or word in characters."""
POLL_SECONDS = 5.0
"""Interval in seconds of looking for commits of other programs and for proposals."""
TIMEOUT = 10.0
"""Timeout in seconds of one notice, from the connection to the head of the answer."""
LONGEST_PAUSE = 600.0
"""Maximum pause in seconds between two attempts; the first pause is a second, and each one is twice the last."""
MAX_WAIT_DIGITS = 6
_NAMES = ("of", "folder", "tag", "author", "base")


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """A receiver of notices."""

    url: str
    """URL without its fragment."""
    wanted: NoticeFilter
    kinds: frozenset[str]
    """`changes`, `proposals`, or both."""
    key: str
    """Digest of the whole setting."""

    @property
    def host(self) -> str:
        """Host and port, for messages."""
        return url_parts(self.url).netloc


def parse_target(text: str, *, allow_private: bool) -> WebhookTarget:
    """The receiver that a setting names: `URL#folder=F&tag=T&author=A&base=B&of=changes`.

    Raises:
        ConfigError: the URL is none of http or https, has a password, is private, or its fragment is not understood.
    """
    parts = url_parts(text)
    has_password = parts.username or parts.password
    if parts.scheme not in HTTP_PORTS or not parts.hostname or has_password or not port_of(text):
        raise _wrong("It is no URL of http or https without a password", "Write https://HOST/PATH.")
    notices, kinds = _chosen_notices(parts.fragment)
    if not allow_private and parts.scheme == "http":
        raise _wrong("It is not encrypted", "Use https, or set notice_private for a receiver of your own network.")
    with suppress(ValueError):
        if not allow_private and not is_public(ip_address(parts.hostname)):
            raise _private(parts.hostname)
    return WebhookTarget(
        parts._replace(fragment="").geturl(),
        notices,
        kinds,
        hashlib.sha256(text.encode()).hexdigest()[:32],
    )


def _chosen_notices(fragment: str) -> tuple[NoticeFilter, frozenset[str]]:
    """The filter and the kinds of notices that the fragment of a setting names."""
    fields = parse_qsl(fragment, keep_blank_values=True)
    names = dict(fields)
    kind = names.pop("of", "")
    if len(names) + bool(kind) != len(fields) or names.keys() - set(_NAMES) or kind not in {"", "changes", "proposals"}:
        raise _wrong(
            "What follows the # is not understood",
            "Write folder=F, tag=T, author=A, base=NAME, of=changes or of=proposals, each once, with & between them.",
        )
    return NoticeFilter(**names), frozenset({kind} if kind else {"changes", "proposals"})


def _wrong(problem: str, hint: str) -> ConfigError:
    return ConfigError(f"Invalid notice_url: {problem[0].lower()}{problem[1:]}.", kind="setting", hint=hint)


def _private(host: str) -> ConfigError:
    return ConfigError(
        f"Notices do not go to {host}, which is on a private network or this machine.",
        kind="setting",
        hint="Set notice_private if it is meant.",
    )


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    allow_private: bool,
    timeout: float = TIMEOUT,
    lookup: Lookup = system_lookup,
) -> None:
    """Send a notice once.

    Args:
        url: The receiver's URL.
        body: The notice.
        headers: The headers.
        allow_private: Whether the host may be on a private network.
        timeout: Timeout in seconds of the whole exchange.
        lookup: Returns the addresses of a host.

    Raises:
        UnavailableError: the receiver did not take it; the context may have `retry_after` in seconds.
        ConfigError: the host is private.
    """
    host, port = cast("str", url_parts(url).hostname), port_of(url)
    address = resolved(host, port, _private, allow_private=allow_private, lookup=lookup)
    connection = CheckedConnection(url, address, timeout)
    with exchange(connection, ("POST", url, body, headers), timeout, "notice") as answer:
        status, wait = answer.status, answer.headers.get("retry-after", "")
    if 300 <= status < 400:  # noqa: PLR2004 - redirects
        raise UnavailableError(f"{host} redirects, which is not followed ({status}).", kind="notice")
    if not 200 <= status < 300:  # noqa: PLR2004 - success
        retry = min(int(wait), int(LONGEST_PAUSE)) if wait.isdecimal() and len(wait) <= MAX_WAIT_DIGITS else 0
        raise UnavailableError(f"{host} answers {status}.", kind="notice", retry_after=retry)


def signed_headers(secret: str, identity: str, body: bytes, now: float) -> dict[str, str]:
    """The headers of a notice, signed as Standard Webhooks describes it (standardwebhooks.com).

    Args:
        secret: The secret that sender and receiver share; its UTF-8 bytes are the key.
        identity: Id of the notice.
        body: The notice.
        now: Time in Unix seconds.
    """
    signed = hmac.digest(secret.encode(), f"{identity}.{int(now)}.".encode() + body, "sha256")
    return {
        "content-type": "application/json",
        "user-agent": f"commonplace/{__version__}",
        "webhook-id": identity,
        "webhook-timestamp": str(int(now)),
        "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
    }


# Notices as JSON.


def change_json(event: ChangeEvent) -> dict[str, Json]:
    """A commit in a notice."""
    commit = event.commit
    return {
        "id": commit.id,
        "author": _cut(commit.author.name),
        "when": iso_timestamp(commit.when),
        "subject": _cut(commit.message.partition("\n")[0]),
        **_files(event.files),
    }


def proposal_json(event: ProposedEvent) -> dict[str, Json]:
    """A proposal in a notice."""
    proposal = event.found.proposal
    return {
        "type": "proposal",
        "base": event.found.collection.name,
        "event": event.event,
        "id": proposal.id,
        "tip": proposal.tip,
        "title": _cut(proposal.title),
        "author": _cut(proposal.author.name),
        "client": _cut(proposal.proposer.client),
        "when": iso_timestamp(proposal.when),
        "word": _cut(proposal.word),
        "commit": proposal.commit,
        **_files(event.files),
    }


def _files(addresses: Sequence[Address]) -> dict[str, Json]:
    left = MAX_FILE_CHARS
    paths: list[Json] = []
    for address in addresses[:MAX_FILES]:
        left -= len(address.path)
        if left < 0:
            break
        paths.append(address.path)
    return {"files": paths, "more_files": len(addresses) - len(paths)}


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SUBJECT else f"{text[: MAX_SUBJECT - 1]}\u2026"


def _encoded(value: Mapping[str, Json]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice before it is sent."""

    body: bytes
    names: tuple[str, ...]
    """Facts in which it differs from all other notices of its receiver."""
    then: tuple[str, str]
    """The mark once it is taken: id and latest commit of a proposal, or "" and a commit of the base."""


@dataclass(slots=True)
class ToldState:
    """The commit and the proposals of one base of which a receiver was told, and what it is being told, in a file."""

    path: Path
    commit: str = ""
    proposals: dict[str, str] = field(default_factory=dict[str, str])
    """The latest commit by id of the proposal."""
    notice: Notice | None = None
    """The notice that is being sent. It may have arrived already."""

    def read(self) -> bool:
        """Read the file. Returns False if there is none, or it is damaged."""
        try:
            row = cast("dict[str, object]", json.loads(self.path.read_bytes()))
            self.commit = str(row["commit"])
            self.proposals = {str(text): str(tip) for text, tip in cast("dict[str, object]", row["proposals"]).items()}
            self.notice = _notice_of(cast("dict[str, object] | None", row.get("notice")))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False
        return True

    def write(self) -> None:
        """Replace the file, durably."""
        private_folder(self.path.parent)
        beside = self.path.with_suffix(".part")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            notice = self.notice and {
                "body": self.notice.body.decode(), "names": self.notice.names, "then": self.notice.then,
            }  # fmt: skip
            json.dump({"commit": self.commit, "proposals": self.proposals, "notice": notice}, file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path)

    def sending(self, notice: Notice) -> Generator[Notice]:
        """Yield a notice once it is recorded as being sent; it counts as told when the next one is asked for."""
        if notice != self.notice:
            self.notice = notice
            self.write()
        yield notice
        proposal, commit = notice.then
        if proposal:
            self.proposals[proposal] = commit
        else:
            self.commit = commit
        self.notice = None
        self.write()


def _notice_of(row: Mapping[str, object] | None) -> Notice | None:
    if row is None:
        return None
    names, (proposal, commit) = (cast("list[object]", row[name]) for name in ("names", "then"))
    return Notice(str(row["body"]).encode(), tuple(map(str, names)), (str(proposal), str(commit)))


def pending(collection: Collection, target: WebhookTarget, state: ToldState) -> Generator[Notice]:
    """The notices that a receiver has not got, oldest first. What was yielded counts as told when the next one is.

    Args:
        collection: The base.
        target: The receiver.
        state: What it was told; the first time, everything so far counts as told.
    """
    if not state.read():
        state.commit = notices.latest_commit(collection)
        state.proposals = _tips(collection)
        state.write()
        return
    if state.notice is not None:
        yield from state.sending(state.notice)
    if "changes" in target.kinds:
        yield from _changes(collection, target, state)
    if "proposals" in target.kinds:
        yield from _proposals(collection, target, state)


def _changes(collection: Collection, target: WebhookTarget, state: ToldState) -> Generator[Notice]:
    latest = notices.latest_commit(collection)
    if latest == state.commit:
        return
    events, complete = notices.changes_since(collection, state.commit, target.wanted)
    rows: list[Json] = []
    size, first = 0, ""
    for number, event in enumerate(events):
        row = change_json(event)
        first = first or event.commit.id
        size += len(_encoded(row)) + 1
        rows.append(row)
        is_last = number + 1 == len(events)
        if is_last or size + len(_encoded(change_json(events[number + 1]))) > MAX_BODY - 1_000:
            value: dict[str, Json] = {
                "type": "changes", "base": collection.name, "complete": complete, "commits": rows,
            }  # fmt: skip
            names = ("changes", collection.store.identity, first, event.commit.id)
            then = "", latest if is_last else event.commit.id
            yield from state.sending(Notice(_encoded(value), names, then))
            rows, size, first, complete = [], 0, "", True
    if not events:
        state.commit = latest
        state.write()


def _proposals(collection: Collection, target: WebhookTarget, state: ToldState) -> Generator[Notice]:
    now = _tips(collection)
    if now == state.proposals:
        return
    for event in notices.proposals_since(collection, state.proposals, target.wanted):
        proposal = event.found.proposal
        names, then = ("proposal", proposal.id, proposal.tip), (proposal.id, proposal.tip)
        yield from state.sending(Notice(_encoded(proposal_json(event)), names, then))
    state.proposals = now
    state.write()


def _tips(collection: Collection) -> dict[str, str]:
    return {proposal.proposal.id: proposal.proposal.tip for proposal in notices.proposals_now(collection)}


class WebhookSender:
    """Sends notices to one receiver until it is closed, in a thread.

    Args:
        services: The services.
        target: The receiver.
        secret: The secret of the signatures.
        folder: Folder of the state.
        allow_private: Whether the receiver may be on a private network.
        first_pause: Pause in seconds after a first failure.
    """

    def __init__(
        self,
        services: Services,
        target: WebhookTarget,
        secret: str,
        folder: Path,
        *,
        allow_private: bool,
        first_pause: float = 1.0,
    ) -> None:
        self._services = services
        self._target = target
        self._secret = secret
        self._folder = folder
        self._allow_private = allow_private
        self._first_pause = first_pause
        self._ended = threading.Event()
        self._wake = threading.Event()
        self._problem = ""
        """The last problem that was logged."""

    def start(self) -> None:
        """Start to send. Returns at once."""
        self._services.change_feed.subscribe(lambda _: self._wake.set())
        threading.Thread(target=self._run, name="webhook", daemon=True).start()

    def close(self) -> None:
        """Stop. A notice that is being sent may be sent again at the next start."""
        self._ended.set()
        self._wake.set()

    def _run(self) -> None:
        while not self._ended.is_set():
            with self._sole_sender() as is_sole:
                while is_sole and not self._ended.is_set():
                    self._send_pending()
                    self._wake.wait(POLL_SECONDS)
                    self._wake.clear()
            self._ended.wait(POLL_SECONDS)

    @contextmanager
    def _sole_sender(self) -> Generator[bool]:
        """Whether no other process sends to this receiver, for the duration of a `with` block."""
        try:
            private_folder(self._folder)
            descriptor = os.open(
                self._folder / f"{self._target.key}.lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            self._report(f"the state of its notices cannot be written: {error.strerror}")
            yield False
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield True
        except BlockingIOError:
            yield False
        finally:
            os.close(descriptor)

    def _send_pending(self) -> None:
        try:
            collections = self._services.collections
            collections.wait_ready(POLL_SECONDS, lambda _done, _total: None)
            for collection in collections:
                wanted_flag = self._target.wanted.base in {"", collection.name}
                name = hashlib.sha256(collection.store.identity.encode()).hexdigest()[:16]
                state = ToldState(self._folder / f"{self._target.key}-{name}.json")
                for notice in pending(collection, self._target, state) if wanted_flag else ():
                    if not self._delivered(notice):
                        return
        except (KnowledgeError, OSError) as error:  # tried again at the next round
            self._report(error.advice if isinstance(error, KnowledgeError) else str(error.strerror))

    def _delivered(self, notice: Notice) -> bool:
        """Send a notice until it is taken. Returns False if the process ends before."""
        identity = hashlib.sha256("\n".join((self._target.key, *notice.names)).encode()).hexdigest()[:32]
        pause = self._first_pause
        while not self._ended.is_set():
            headers = signed_headers(self._secret, identity, notice.body, time.time())
            try:
                post(self._target.url, notice.body, headers, allow_private=self._allow_private)
            except KnowledgeError as error:
                self._report(str(error))
                wait = error.context.get("retry_after", 0)
                self._ended.wait(max(pause, wait if isinstance(wait, int) else 0))
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                self._report("")
                return True
        return False

    def _report(self, problem: str) -> None:
        """Log a new problem, or that there is none any more."""
        if problem and problem != self._problem:
            log.warning("notices to %s: %s", self._target.host, problem)
        elif self._problem and not problem:
            log.warning("notices to %s arrive again", self._target.host)
        self._problem = problem


class Webhooks:
    """The senders of one server.

    Args:
        services: The services.
        settings: The settings.

    Raises:
        ConfigError: a URL or the secret is invalid.
    """

    def __init__(self, services: Services, settings: Settings) -> None:
        secret, allow_private = settings.notice_secret or "", settings.notice_private
        if len(settings.notice_url) > MAX_TARGETS:
            raise _wrong(f"There are more than {MAX_TARGETS}", "Let one receiver pass notices on.")
        if settings.notice_url and len(secret) < MIN_SECRET:
            raise ConfigError(
                f"A notice_url needs a notice_secret of at least {MIN_SECRET} characters.",
                kind="setting",
                hint="Give the receiver the same secret, so that it can check who sends.",
            )
        targets = dict.fromkeys(parse_target(element, allow_private=allow_private) for element in settings.notice_url)
        folder = settings.state_dir / "notices"
        self._senders = [
            WebhookSender(services, target, secret, folder, allow_private=allow_private) for target in targets
        ]

    def start(self) -> None:
        """Start to send. Returns at once."""
        for sender in self._senders:
            sender.start()

    def close(self) -> None:
        """Stop to send."""
        for sender in self._senders:
            sender.close()
