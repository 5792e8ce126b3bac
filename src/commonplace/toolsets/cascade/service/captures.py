"""Captures: what agents find out in a session, written into the live layer after their user has seen it."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import count, filterfalse
from threading import Lock

from commonplace.domain.activity import moment_of_write
from commonplace.domain.addresses import Address
from commonplace.domain.documents import Finding
from commonplace.domain.errors import AlreadyExistsError, ConfigError, InvalidInputError, NotFoundError, StorageError
from commonplace.domain.findings import finding_of
from commonplace.domain.frontmatter import read_frontmatter
from commonplace.domain.json import Json
from commonplace.domain.records import iso_timestamp
from commonplace.domain.slugs import slug
from commonplace.domain.words.text_decoder import decoded
from commonplace.services.checks import BundleReport
from commonplace.services.collections import Collection
from commonplace.services.findings import Issue
from commonplace.services.writes import documents
from commonplace.services.writes.overwrites import WriteRequest
from commonplace.toolsets.cascade.rules.concepts import CAPTURES, concept_address, id_at, read_concept, section_spans
from commonplace.toolsets.cascade.rules.manifest import names_secret
from commonplace.toolsets.cascade.rules.output import frontmatter_text
from commonplace.toolsets.cascade.rules.values import Concept, scalar_as_text
from commonplace.toolsets.cascade.service.layers import FolderLayer

KINDS: Mapping[str, tuple[str, ...]] = {
    "investigation": ("problem", "attempts", "root-cause", "fix"),
    "decision": ("choice", "alternatives", "why"),
    "gotcha": ("body",),
    "artifact": ("summary", "pointer"),
}
"""The sections of each kind of capture, in order."""
OPTIONAL = frozenset({"attempts", "root-cause", "alternatives"})
"""Sections that a capture may lack."""
STAGED_SECONDS = 600.0
"""Seconds for which a staged capture can be confirmed."""
MAX_STAGED = 256
"""Maximum number of staged captures; the oldest one is dropped for another."""
MAX_CAPTURE_CHARS = 65_536
MAX_NAME_BYTES = 120
"""Maximum length of a capture's file name without suffix and number, in bytes of UTF-8."""
_SECTION = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """A finding of a session."""

    kind: str
    title: str
    sections: Mapping[str, str]
    confidence: str = ""
    links: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class StagedCapture:
    """A capture that waits for its user's consent."""

    token: str
    """Names the capture in `confirm`; valid once."""
    id: str
    """Id of the concept that would be written now."""
    text: str
    """The document."""
    expires: float = field(compare=False)
    """Monotonic time in seconds."""


class LiveLayer:
    """The layer into which captures are written.

    Args:
        layer: The layer.
        author: The author that captures name; "" for none.
    """

    def __init__(self, layer: FolderLayer, author: str) -> None:
        self.layer = layer
        self._author = author
        self._lock = Lock()
        self._staged: dict[str, StagedCapture] = {}

    def over(self, layer: FolderLayer) -> LiveLayer:
        """The same live layer over another state of its collection, with the captures that are staged."""
        live = LiveLayer(layer, self._author)
        live._lock, live._staged = self._lock, self._staged
        return live

    def stage(self, capture: Capture) -> StagedCapture:
        """Check a capture, and return the document that `confirm` would write. Writes nothing.

        Raises:
            InvalidInputError: kind "capture": a part is missing, too long, or holds a credential.
        """
        _check(capture)
        title = slug(capture.title)
        name = f"{slug(self._author)}--{title}" if self._author else title
        name = name.encode()[:MAX_NAME_BYTES].decode(errors="ignore").rstrip("-")
        now = time.monotonic()
        staged = StagedCapture(
            token=secrets.token_urlsafe(16),
            id=self._free(f"{CAPTURES}{capture.kind}/{name}").path.removesuffix(".md"),
            text=_document(capture, self._author),
            expires=now + STAGED_SECONDS,
        )
        with self._lock:
            for expired in [token for token, capture in self._staged.items() if capture.expires <= now]:
                del self._staged[expired]
            while len(self._staged) >= MAX_STAGED:
                del self._staged[next(iter(self._staged))]
            self._staged[staged.token] = staged
        return staged

    def confirm(self, token: str, request: WriteRequest) -> str:
        """Write a staged capture, and return its id.

        Raises:
            NotFoundError: kind "capture": no capture with this token waits.
            ReadOnlyError, UnavailableError, StorageError, GitError: from the store; nothing was written.
        """
        with self._lock:
            staged = self._staged.pop(token, None)
        if staged is None or staged.expires < time.monotonic():
            raise NotFoundError(
                "No capture with this token waits: it was confirmed, or is older than ten minutes.",
                kind="capture",
                hint="Call log_capture again, and show the preview to the user.",
            )
        address = concept_address(staged.id)
        while True:
            try:
                documents.create(self._collection, address, staged.text.encode(), request)
            except AlreadyExistsError:  # another session has written a capture of this name meanwhile
                address = self._free(staged.id)
            else:
                return address.path.removesuffix(".md")

    @property
    def _collection(self) -> Collection:
        collection = self.layer.collection
        if collection is None:
            raise ConfigError(
                f"The folder of the live layer {self.layer.rank.name!r} does not exist.",
                kind="manifest",
                hint="Create it, or name another one in the manifest.",
            )
        return collection

    def _free(self, identifier: str) -> Address:
        """The first free address of `id`, `id-2`, `id-3`, …."""
        names = (f"{identifier}-{number}" if number > 1 else identifier for number in count(1))
        store = self._collection.store
        return next(address for address in map(concept_address, names) if store.stat(address) is None)


def _check(capture: Capture) -> None:
    required = KINDS.get(capture.kind, ())
    missing = [key for key in required if key not in OPTIONAL and not capture.sections.get(key, "").strip()]
    odd = next(filterfalse(_SECTION.fullmatch, capture.sections), None)
    texts = [capture.title, capture.confidence, *capture.links, *capture.sections, *capture.sections.values()]
    if capture.kind not in KINDS:
        raise _invalid(f"the kind {capture.kind[:40]!r} is not one of {', '.join(KINDS)}")
    if not capture.title.strip():
        raise _invalid("it has no title")
    if missing:
        raise _invalid(f"a capture of the kind {capture.kind!r} needs the section {missing[0]!r}")
    if odd is not None:
        raise _invalid(f"the section {odd[:40]!r} is not a name such as 'root-cause'")
    if sum(map(len, texts)) > MAX_CAPTURE_CHARS:
        raise _invalid(f"it has more than {MAX_CAPTURE_CHARS:,} characters")
    if any(map(names_secret, texts)):
        raise _invalid("it seems to hold a credential, and a capture is never shared with one")


def _document(capture: Capture, author: str) -> str:
    """The capture as a concept."""
    title = " ".join(capture.title.split())
    values = {
        "type": "capture",
        "kind": capture.kind,
        "title": title,
        "author": author,
        "captured": iso_timestamp(moment_of_write().timestamp()),
        "status": "unreviewed",
        "confidence": capture.confidence,
    }
    frontmatter: dict[str, Json] = {key: value for key, value in values.items() if value}
    block = frontmatter_text({**frontmatter, "links": list(capture.links)} if capture.links else frontmatter)
    order = list(dict.fromkeys((*KINDS[capture.kind], *capture.sections)))
    written = [(key, capture.sections[key].strip()) for key in order if capture.sections.get(key, "").strip()]
    sections = [f"## {key.replace('-', ' ').capitalize()} {{#{key}}}\n\n{text}\n" for key, text in written]
    return "\n".join([block, f"# {title}\n", *sections])


def _invalid(reason: str) -> InvalidInputError:
    return InvalidInputError(
        f"The capture is not valid: {reason}.", kind="capture", hint="Correct it, and call log_capture again."
    )


# Checks of a folder as an OKF bundle.


def check_bundle(collection: Collection) -> BundleReport:
    """Check every file of a folder against the rules of OKF v0.2. Read-only; needs no index."""
    addresses = sorted(address for address, _ in collection.store.scan())
    problems: list[Issue] = []
    for address in addresses:
        try:
            findings = nonconformities(address, collection.store.read(address))
        except (NotFoundError, StorageError) as error:
            findings = [finding_of("unreadable", str(error))]
        problems += (
            Issue(
                collection=collection,
                path=address.path,
                line=finding.line,
                rule=finding.rule,
                severity=finding.severity,
                message=finding.message,
            )
            for finding in findings
        )
    return BundleReport(len(addresses), tuple(problems))


# Conformance of a file to OKF v0.2: three rules; everything else is up to the author.
#
# A concept has readable frontmatter with a non-empty `type`. An `index.md` has no frontmatter, except for an
# `okf_version` at the root. The dated headings of a `log.md` begin with an ISO date.


VERSION_KEY = "okf_version"

_BREAKS = frozenset({"bad_yaml", "not_utf8", "unterminated_frontmatter"})
_DATED = re.compile(r"##[ \t]+(.*)")


def nonconformities(address: Address, raw: bytes) -> list[Finding]:
    """The violations of OKF in one file of a bundle; [] for a file outside the scope of OKF."""
    if address.name == "index.md":
        return list(_index(address, raw))
    if address.name == "log.md":
        return list(_log(raw))
    identifier = id_at(address)
    return list(_concept(read_concept(identifier, raw), raw)) if identifier else []


def _concept(concept: Concept, raw: bytes) -> Iterator[Finding]:
    broken = [finding for finding in concept.findings if finding.rule in _BREAKS]
    yield from (_error(finding.rule, finding.message, finding.line) for finding in broken)
    if broken:
        return
    if not read_frontmatter(raw.removeprefix(b"\xef\xbb\xbf")).present:
        yield _error("okf_frontmatter", "A concept begins with frontmatter between two lines '---'.", 1)
    elif not isinstance(concept.frontmatter.get("type"), str) or not scalar_as_text(concept.frontmatter["type"]):
        yield _error("okf_type", "A concept's frontmatter has a 'type' that is a text and not empty.", 1)


def _index(address: Address, raw: bytes) -> Iterator[Finding]:
    frontmatter = read_frontmatter(raw.removeprefix(b"\xef\xbb\xbf"))
    extra = [key for key in frontmatter.values if address.folder or key != VERSION_KEY]
    if extra or any(finding.rule == "bad_yaml" for finding in frontmatter.findings):
        yield _error("okf_index", f"An index.md has no frontmatter; only the root's may state {VERSION_KEY}.", 1)


def _log(raw: bytes) -> Iterator[Finding]:
    source = decoded(raw.removeprefix(b"\xef\xbb\xbf")).encode()
    for _, start, end in section_spans(source, read_frontmatter(source).span.end):
        heading = source[start:end].decode().partition("\n")[0].strip(" \r")
        match = _DATED.fullmatch(heading)
        if match and not _begins_with_day(match[1].lstrip("[*_ ")):
            line = source.count(b"\n", 0, start) + 1
            yield _error("okf_log", "The headings '## …' of a log.md begin with a date YYYY-MM-DD.", line)


def _begins_with_day(text: str) -> bool:
    try:
        date.fromisoformat(text[:10])
    except ValueError:
        return False
    return not text[10:11].isalnum()


def _error(rule: str, message: str, line: int) -> Finding:
    return finding_of(rule, message, line=line)
