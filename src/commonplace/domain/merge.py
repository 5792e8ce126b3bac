"""Three-way merge of texts by lines. Pure, and never a guess: what both sides changed differently is a conflict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from difflib import SequenceMatcher

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import find_section, read_document
from commonplace.domain.documents import Document, Section
from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.status import history_of, kept_texts

FileMerge = Callable[[str, bytes, bytes, bytes], "bytes | None"]
"""Merges a file whose lines conflict: path, base, proposed and current bytes. Returns None if it cannot."""
Lines = Sequence[bytes]
"""Lines with their line ends."""
MAX_COMPARED_LINES = 20_000
"""Maximum number of differing lines of each side that are compared; longer ranges count as changed as a whole."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """A range of lines that differs: the lines from `start` to `end` of the base are `lines` on the other side."""

    start: int
    end: int
    lines: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class TextConflict:
    """A place that both sides changed differently."""

    line: int
    """Line number of the place in the current text, from 1."""
    base: bytes
    proposed: bytes
    current: bytes
    reason: str = ""
    """A sentence about the fate of the file, if it is not lines of it that meet; else ""."""
    hint: str = ""
    """Advice about that."""


@dataclass(frozen=True, slots=True)
class MergedText:
    """The result of a merge."""

    content: bytes | None
    """The merged bytes; None if there is a conflict, or if both sides deleted the text."""
    conflicts: tuple[TextConflict, ...] = ()


def split_lines(raw: bytes) -> list[bytes]:
    """The lines of a text with their line ends. Only LF ends a line, so that no byte is lost."""
    return [*(line + b"\n" for line in raw.split(b"\n")[:-1]), *filter(None, raw.split(b"\n")[-1:])]


def hunks(base: Lines, other: Lines) -> list[Hunk]:
    """The differences of two texts, in order."""
    start = 0
    least = min(len(base), len(other))
    while start < least and base[start] == other[start]:
        start += 1
    tail = 0
    while tail < least - start and base[-1 - tail] == other[-1 - tail]:
        tail += 1
    old, new = base[start : len(base) - tail], other[start : len(other) - tail]
    if not old and not new:
        return []
    if max(len(old), len(new)) > MAX_COMPARED_LINES:
        return [Hunk(start, start + len(old), tuple(new))]
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [Hunk(start + i1, start + i2, tuple(new[j1:j2])) for tag, i1, i2, j1, j2 in codes if tag != "equal"]


def applied(base: Lines, chosen: Sequence[Hunk]) -> bytes:
    """The base with some of its hunks, which are in order."""
    parts: list[bytes] = []
    at = 0
    for hunk in chosen:
        parts += [*base[at : hunk.start], *hunk.lines]
        at = hunk.end
    return b"".join([*parts, *base[at:]])


def with_rewritten(base: bytes, current: bytes, rewritten: bytes, others: bytes | None = None) -> bytes:
    """The current text with the lines that differ from the base as rewritten, and the others as they are.

    Args:
        base: The text that both come from.
        current: The current text.
        rewritten: The current text with changes within its lines.
        others: The base with changes within its lines, as which the others are to be; None for the base.
    """
    old, lines, new = (split_lines(text) for text in (base, current, rewritten))
    left = old if others is None else split_lines(others)
    if len(lines) != len(new) or len(left) != len(old):
        return rewritten
    chosen: list[Hunk] = []
    shift = 0
    for hunk in hunks(old, lines):
        start = hunk.start + shift
        chosen.append(Hunk(hunk.start, hunk.end, tuple(new[start : start + len(hunk.lines)])))
        shift += len(hunk.lines) - (hunk.end - hunk.start)
    return applied(left, chosen)


def with_shared(base: bytes, proposed: bytes, current: bytes) -> bytes:
    """The base with the hunks of the proposed text that the current one has, too."""
    lines = split_lines(base)
    there = set(hunks(lines, split_lines(current)))
    return applied(lines, [hunk for hunk in hunks(lines, split_lines(proposed)) if hunk in there])


def merge_texts(
    base: bytes | None, proposed: bytes | None, current: bytes | None, *, adjacent: bool = False
) -> MergedText:
    """Merge what was proposed on top of `base` into the current text. None stands for no file.

    A side that equals the base gives way to the other one. Equal sides agree. Otherwise both changed the text; their
    hunks are merged if none of them touch. A deletion never merges with a change.

    Args:
        base: The text that both sides come from.
        proposed: One side.
        current: The other side.
        adjacent: Whether hunks that touch, but have no line and no place of insertion in common, are merged, too.
    """
    if current in {proposed, base}:
        return MergedText(proposed)
    if proposed == base:
        return MergedText(current)
    if base is None or proposed is None or current is None:
        return MergedText(None, (TextConflict(1, base or b"", proposed or b"", current or b""),))
    return _merge_texts(base, proposed, current, adjacent=adjacent)


@dataclass(frozen=True, slots=True)
class MergeRegion:
    """A range of the base that at least one side changed, with what each side has there."""

    start: int
    """First line in the base, from 0."""
    end: int
    """The line of the base after the range."""
    line: int
    """Line number of the place in the current text, from 1."""
    base: bytes
    proposed: bytes
    current: bytes

    @property
    def merged(self) -> bytes | None:
        """The merged bytes; None if both sides changed the range differently."""
        if self.current in {self.proposed, self.base}:
            return self.proposed
        return self.current if self.proposed == self.base else None


def merge_regions(base: bytes, proposed: bytes, current: bytes, *, adjacent: bool = False) -> list[MergeRegion]:
    """The ranges of the base that the proposed or the current text changed, in order. See `merge_texts`."""
    lines, regions = split_lines(base), list[MergeRegion]()
    shift = 0  # the length of the current text before a place, less that of the base
    sides = hunks(lines, split_lines(proposed)), hunks(lines, split_lines(current))
    for start, end, ours, theirs in _regions(*sides, adjacent=adjacent):
        mine, other = _side(lines, start, end, ours), _side(lines, start, end, theirs)
        texts = (b"".join(side) for side in (lines[start:end], mine, other))
        regions.append(MergeRegion(start, end, start + shift + 1, *texts))
        shift += len(other) - (end - start)
    return regions


def with_regions(base: bytes, regions: Sequence[MergeRegion], contents: Sequence[bytes]) -> bytes:
    """The base with one content in the place of each region, in order."""
    lines, parts, at = split_lines(base), list[bytes](), 0
    for region, content in zip(regions, contents, strict=True):
        parts += [*lines[at : region.start], content]
        at = region.end
    return b"".join([*parts, *lines[at:]])


def _merge_texts(base: bytes, proposed: bytes, current: bytes, *, adjacent: bool) -> MergedText:
    regions = merge_regions(base, proposed, current, adjacent=adjacent)
    conflicts = [
        TextConflict(region.line, region.base, region.proposed, region.current)
        for region in regions
        if region.merged is None
    ]
    if conflicts:
        return MergedText(None, tuple(conflicts))
    return MergedText(with_regions(base, regions, [region.merged or b"" for region in regions]))


def _regions(
    ours: Sequence[Hunk], theirs: Sequence[Hunk], *, adjacent: bool
) -> Iterator[tuple[int, int, list[Hunk], list[Hunk]]]:
    """The ranges of the base that a side changed. Hunks that overlap are in one range, and those that touch as well.

    With `adjacent`, hunks that touch are apart, unless both insert at one place.
    """
    pending = sorted(
        [(hunk.start, hunk.end, 0, hunk) for hunk in ours] + [(hunk.start, hunk.end, 1, hunk) for hunk in theirs]
    )
    while pending:
        start, end, side, hunk = pending.pop(0)
        sides: tuple[list[Hunk], list[Hunk]] = ([], [])
        sides[side].append(hunk)
        while pending and (pending[0][0] < end or (pending[0][0] == end and not (adjacent and pending[0][1] > start))):
            _, last, side, hunk = pending.pop(0)
            sides[side].append(hunk)
            end = max(end, last)
        yield start, end, *sides


def _side(base: Lines, start: int, end: int, side: Sequence[Hunk]) -> tuple[bytes, ...]:
    """The lines that a side has in a range of the base."""
    lines: list[bytes] = []
    at = start
    for hunk in side:
        lines += [*base[at : hunk.start], *hunk.lines]
        at = hunk.end
    return (*lines, *base[at:end])


def with_change(base: bytes, changed: bytes, other: bytes) -> bytes:
    """The other text with the change from `base` to `changed`, which wins where both differ from the base."""
    regions = merge_regions(base, changed, other, adjacent=True)
    return with_regions(
        base, regions, [region.proposed if region.merged is None else region.merged for region in regions]
    )


def with_section(address: Address, base: bytes | None, proposed: bytes | None, section: str) -> bytes:
    """The base with the proposed changes in one section, and with what they put from it into the history of the page.

    Raises:
        NotFoundError: neither version has the section.
        InvalidInputError: the page is new or deleted.
    """
    if base is None or proposed is None:
        raise InvalidInputError(
            f"{address} is new or deleted in this proposal, so it is accepted as a whole.",
            kind="section",
            hint="Accept the page without a section.",
        )
    spans = [_lines_of_section(address, raw, section) for raw in (base, proposed)]
    if spans == [None, None]:
        raise NotFoundError(
            f"{address} has no section {section!r}.", kind="section", hint="Give a heading as it stands in the page."
        )
    parts = _by_section(address, base, proposed)
    accepted = applied(split_lines(base), [part.hunk for part in parts if _is_in(part, spans)])
    before, after = (split_lines(raw)[_range(span)] for raw, span in zip((base, proposed), spans, strict=True))
    if None not in spans and not _has_section(address, accepted, section, after):  # moved text counts as unchanged
        lines, span = split_lines(base), _range(spans[0])
        accepted = b"".join([*lines[: span.start], *after, *lines[span.stop :]])
    return _with_kept(address, accepted, proposed, _words(before) - _words(after))


def _range(span: tuple[int, int] | None) -> slice[int, int, None]:
    return slice(*(span or (0, 0)))


def _has_section(address: Address, raw: bytes, section: str, lines: Lines) -> bool:
    """Whether a page has a section with these lines, apart from blank ones."""
    span = _lines_of_section(address, raw, section)
    inside = split_lines(raw)[slice(*span)] if span else ()
    return [line for line in inside if line.strip()] == [line for line in lines if line.strip()]


def changes_section(address: Address, before: bytes | None, after: bytes | None, section: str) -> bool:
    """Whether a change of a page changes one section of it."""
    try:
        return with_section(address, before, after, section) != before
    except NotFoundError:
        return False
    except KnowledgeError:  # the page is new or deleted, so all of it changes
        return True


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of a hunk that is in one section."""

    hunk: Hunk
    at: int
    """First line of the part in the proposed text that counts for its section, from 0: a heading, if one begins it."""
    end: int
    """The line of the proposed text after the part."""


def _with_kept(address: Address, accepted: bytes, proposed: bytes, gone: AbstractSet[bytes]) -> bytes:
    """A page with the proposed texts of its history that keep lines which go, as `supersede` writes them.

    Args:
        address: Address of the page.
        accepted: The page with what is accepted.
        proposed: The proposed page.
        gone: The lines that go, without the blanks around them.
    """
    try:
        document = read_document(address, proposed)
    except KnowledgeError:
        return accepted
    history = history_of(document)
    if history is None or not gone:
        return accepted
    chosen = _kept_parts(document, history, _by_section(address, accepted, proposed), gone)
    return applied(split_lines(accepted), [part.hunk for part in chosen])


def _kept_parts(
    document: Document, history: Section, parts: Sequence[_Part], gone: AbstractSet[bytes]
) -> Sequence[_Part]:
    """The parts with texts of the history that keep lines which go, and with its heading."""
    chosen: list[_Part] = []
    for text in kept_texts(document, history):
        inside = _parts_in(document, text, parts)
        if gone & _words([line for part in inside for line in part.hunk.lines]):
            chosen += inside
    first = _section_lines(document, history)[0]
    return [part for part in parts if part in chosen or (chosen and part.at == first and part.hunk.lines)]


def _parts_in(document: Document, section: Section, parts: Sequence[_Part]) -> Sequence[_Part]:
    start, end = _section_lines(document, section)
    return [part for part in parts if part.hunk.lines and start <= part.at < end]


def _words(lines: Lines) -> set[bytes]:
    """The lines that have a letter or a digit, without the blanks around them."""
    return {line.strip() for line in lines if any(character.isalnum() for character in line.decode("utf-8", "replace"))}


def _by_section(address: Address, base: bytes, proposed: bytes) -> list[_Part]:
    """The hunks of the proposed text, divided at the headings, so that each added section is apart."""
    old_heads, new_heads = (_heading_lines(address, raw) for raw in (base, proposed))
    parts: list[_Part] = []
    shift = 0
    for hunk in hunks(split_lines(base), split_lines(proposed)):
        start = hunk.start + shift
        shift += len(hunk.lines) - (hunk.end - hunk.start)
        heads = [line for line in new_heads if start <= line < start + len(hunk.lines)]
        olds = [line for line in old_heads if hunk.start <= line < hunk.end]
        parts += _divided(hunk, start, olds, heads)
    return parts


def _divided(hunk: Hunk, start: int, olds: Sequence[int], heads: Sequence[int]) -> Iterator[_Part]:
    """The parts of a hunk. Headings of both sides go together if there are as many; else old lines go, and new come.

    Args:
        hunk: The hunk.
        start: Its first line in the proposed text.
        olds: The lines of the headings that it replaces.
        heads: The lines of its own headings.
    """
    end = start + len(hunk.lines)
    cuts = _cuts(hunk, start, heads)
    news = list(zip([start, *cuts], [*cuts, end], [start, *heads], strict=True))
    was = list(zip([hunk.start, *olds], [*olds, hunk.end], strict=True))
    ranges = was if len(olds) == len(heads) else [was[0], *[(hunk.end, hunk.end)] * len(heads)]
    gone = [] if len(olds) == len(heads) else was[1:]
    places = [(*old, *new) for old, new in zip(ranges, news, strict=True)]
    places += [(*old, end, end, end) for old in gone]
    for first, last, at, stop, heading in sorted(places):
        if first < last or at < stop:
            yield _Part(Hunk(first, last, hunk.lines[at - start : stop - start]), heading, stop)


def _cuts(hunk: Hunk, start: int, heads: Sequence[int]) -> list[int]:
    """The lines at which the new lines of a hunk are cut: headings, with the blank lines above if it begins so."""
    if not hunk.lines or hunk.lines[0].strip():
        return list(heads)
    cuts: list[int] = []
    for head in heads:
        cut = head
        while cut > start and not hunk.lines[cut - 1 - start].strip():
            cut -= 1
        cuts.append(cut)
    return cuts


def _heading_lines(address: Address, raw: bytes) -> list[int]:
    """The lines of the headings, from 0, in order."""
    try:
        document = read_document(address, raw)
    except KnowledgeError:
        return []
    return [raw.count(b"\n", 0, section.start) for section in document.sections if section.level]


def _lines_of_section(address: Address, raw: bytes, section: str) -> tuple[int, int] | None:
    """First line of a section from 0, and the line after its last one; None without such a section."""
    try:
        document = read_document(address, raw)
        found_section = find_section(document, [part.strip() for part in section.split(" > ")])
    except KnowledgeError:
        return None
    return _section_lines(document, found_section)


def _section_lines(document: Document, section: Section) -> tuple[int, int]:
    """First line of a section from 0, and the line after its last one."""
    raw = document.encoded
    return raw.count(b"\n", 0, section.start), len(split_lines(raw[: section.tree_end]))


def _is_in(part: _Part, spans: Sequence[tuple[int, int] | None]) -> bool:
    """Whether a part is in a section with these lines in the base and in the proposed text."""
    hunk, (old, new) = part.hunk, spans
    adds_only = hunk.start == hunk.end and new is not None
    in_old = _touches(old, hunk.start, hunk.end) and not adds_only
    return in_old or (bool(hunk.lines) and _touches(new, part.at, part.end))


def _touches(span: tuple[int, int] | None, start: int, end: int) -> bool:
    return span is not None and start < span[1] and (end > span[0] or start == end >= span[0])
