"""Texts that a person merges in a browser: the places that both sides changed, and the choice at each of them."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.domain.addresses import Address
from commonplace.domain.browser_text import browser_text
from commonplace.domain.document_reader import read_document
from commonplace.domain.merge import MergeRegion, with_regions
from commonplace.faces.web import shown
from commonplace.services.collections import Collection
from commonplace.services.history import is_changed_since
from commonplace.services.writes.saves import MAX_EDITED_BYTES, StaleTextError

MAX_REGIONS = 400
"""Maximum number of places of two versions that are shown side by side."""


@dataclass(frozen=True, slots=True)
class MergingSide:
    """The words for the side of a merge that is not what the page says now."""

    by: str
    """The one who changed the place."""
    name: str
    """Title of the side."""
    short: str
    """The side in a choice."""
    base: str
    """Title of the text that both sides come from."""
    since: str
    """The moment at which the side began, in words."""
    now: str = "As it is now"
    """Title of the other side."""
    theirs: str = "what it says now"
    """The other side in a choice."""


PERSON = MergingSide("you", "Yours", "yours", "As you opened it", "you opened it")
AMENDED = MergingSide(
    "you", "Yours", "yours", "As you opened it", "you opened it", now="As amended", theirs="the amendment"
)
PROPOSER = MergingSide("the proposal", "Proposed", "what is proposed", "As the proposer saw it", "it was proposed")


@dataclass(frozen=True, slots=True)
class MergeRow:
    """A place of the page that the person or others changed."""

    number: int
    """Number of the conflict, from 1; 0 if the place needs no decision."""
    line: int
    base: str
    theirs: str
    mine: str
    by: str
    """The side that changed it: `you`, `others`, or `both` in the same way; unused for a conflict."""


def merge_rows(regions: Sequence[MergeRegion], contents: Sequence[bytes | None]) -> list[MergeRow]:
    """The places as rows; a place without a content is a conflict."""
    rows: list[MergeRow] = []
    conflicts = 0
    for region, content in zip(regions, contents, strict=True):
        conflicts += content is None
        by = "others" if region.proposed == region.base else "you" if region.current == region.base else "both"
        sides = (side.decode("utf-8", "replace") for side in (region.base, region.current, region.proposed))
        rows.append(MergeRow(conflicts if content is None else 0, region.line, *sides, by=by))
    return rows


def with_choices(versions: StaleTextError, choices: Mapping[str, str]) -> bytes:
    """The merged text with the choices that a form has at the conflicts; without the base each place is one."""
    theirs = versions.theirs or b""
    contents: list[bytes] = []
    number = 0
    regions = versions.regions
    for region in regions:
        merged = None if versions.base is None else region.merged
        number += merged is None
        contents.append(_chosen(region, choices.get(f"choice-{number}", "")) if merged is None else merged)
    return with_regions(theirs if versions.base is None else versions.base, regions, contents)


def _chosen(region: MergeRegion, choice: str) -> bytes:
    """The bytes that a person chose at a conflict; both versions unless only one is wanted."""
    if choice == "theirs":
        return region.current
    if choice == "mine":
        return region.proposed
    between = b"" if not region.current or region.current.endswith(b"\n") else b"\n"
    return region.current + between + region.proposed


def packed(content: bytes | None) -> str:
    """A version for a field of a form; "" for none."""
    return "" if content is None else b64encode(zlib.compress(content)).decode()


def unpacked(base: str) -> bytes | None:
    """The version that a form carries; None if it carries none that is readable."""
    try:
        decompressor = zlib.decompressobj()
        return decompressor.decompress(b64decode(base, validate=True), MAX_EDITED_BYTES) if base else None
    except (ValueError, zlib.error):
        return None


def text_of(address: Address, raw: bytes) -> str:
    """The text of a page as a form shows it."""
    return browser_text(read_document(address, raw))


@dataclass(frozen=True, slots=True)
class LastChange:
    """The change that made a page what it is now, for the words of a conflict."""

    commit: shown.ShownCommit | None
    """The latest commit of the page; None without one, and if its change is in no commit."""
    is_uncommitted: bool
    """Whether the page has changed after its latest commit, so that nobody is known to have changed it."""


UNKNOWN_CHANGE = LastChange(None, is_uncommitted=False)


def last_change(collection: Collection, address: Address, content: bytes | None) -> LastChange:
    """The change that gave a page its present content, None for a deleted page."""
    history = collection.store.history
    if is_changed_since(collection, address, content):
        return LastChange(None, is_uncommitted=True)
    commits = history.log(address, limit=1) if history.available else []
    return LastChange(shown.shown_commit(commits[0]) if commits else None, is_uncommitted=False)
