"""Merges two versions of a file if a plain line merge conflicts only in dates or the list of projects."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.domain.merge import merge_texts
from commonplace.toolsets.projects.rules.chapters import metadata_of, with_updated
from commonplace.toolsets.projects.rules.registry import INDEX_FILE, merge_registries

_DATED = re.compile(r"projects/[^/]+/(?:knowledge|TODO/\d+)/[^/]+\.md")
_TODO = re.compile(r"projects/[^/]+/TODO/\d+/")


@dataclass(frozen=True, slots=True)
class MergeSides:
    """Three versions of a file."""

    base: bytes
    """The common ancestor; empty if there is none."""
    ours: bytes
    theirs: bytes


MergeLines = Callable[[MergeSides], bytes | None]
"""A merge of lines; returns None on conflict."""


def merge_file(path: str, sides: MergeSides, merge: MergeLines) -> bytes | None:
    """The merged file; None on a real conflict.

    The list of projects is merged by project. In dated files both sides always change the `updated` line, so that line
    is set to the later date on all sides before the lines are merged.
    """
    if path == INDEX_FILE:
        return merge_registries(sides.base, sides.ours, sides.theirs)
    if not _DATED.fullmatch(path):
        return None
    latest = max(_updated(sides.ours), _updated(sides.theirs))
    if not latest:
        return None
    return merge(MergeSides(_dated(sides.base, latest), _dated(sides.ours, latest), _dated(sides.theirs, latest)))


def merge_proposed(path: str, base: bytes, proposed: bytes, current: bytes) -> bytes | None:
    """The merged file of a proposal, as `merge_file` merges the commits of two machines; None on a real conflict."""
    sides = MergeSides(base, ours=current, theirs=proposed)
    return merge_file(path, sides, lambda dated: merge_texts(dated.base, dated.theirs, dated.ours).content)


def conflict_unit(path: str) -> str:
    """The folder of files that conflict together with a file (its to-do list); "" if the file conflicts alone."""
    match = _TODO.match(path)
    return match[0] if match else ""


def _updated(raw: bytes) -> str:
    return metadata_of(read_document(Address("side.md"), raw)).updated


def _dated(raw: bytes, latest: str) -> bytes:
    document = read_document(Address("side.md"), raw)
    return with_updated(document, raw, latest) if document.decodable else raw
