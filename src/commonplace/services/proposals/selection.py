"""The part of a proposal that a person accepts: which files, which section, and the person's own text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from commonplace.domain.addresses import Address, address_or_none, fold, parse_address
from commonplace.domain.document_reader import find_section, read_document
from commonplace.domain.errors import InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.merge import Hunk, applied, hunks, split_lines
from commonplace.domain.proposals import ProposedFile
from commonplace.services.collections import Collection, Collections, find_document

MAX_NAMED = 10
"""Maximum number of pages that an error names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptRequest:
    """The part of a proposal that a person accepts."""

    pages: tuple[str, ...] = ()
    """The pages to accept, as a reader names them; () for all."""
    section: str = ""
    """Heading of the one section to accept, of the one page that is named; "" for the whole pages."""
    text: str | None = None
    """The final text of the one page that is named, in the place of the proposed one; None for the proposed one."""
    word: str = ""
    """Words to the proposer."""
    tip: str = ""
    """Commit of the proposal that the person saw; "" for whatever it is now."""


@dataclass(frozen=True, slots=True)
class AcceptedPart:
    """The files that are accepted, and how."""

    files: Sequence[ProposedFile]
    section: str = ""
    """Heading of the one section that is accepted; "" for the whole files."""
    final: Mapping[Address, bytes | None] = field(default_factory=dict[Address, bytes | None])
    """The bytes that files are to have, whatever is proposed and served; None for no file."""

    @property
    def addresses(self) -> frozenset[Address]:
        """The addresses of the files."""
        return frozenset(one.address for one in self.files)


def select(collection: Collection, files: Sequence[ProposedFile], request: AcceptRequest) -> AcceptedPart:
    """The part of a proposal that a request names. With a moved file goes the one whose place it takes.

    Args:
        collection: The collection that is served.
        files: The files of the proposal.
        request: The request.

    Raises:
        InvalidInputError: a section or a text of other than one page, or both; a name is invalid.
        NotFoundError: the proposal does not change a named page.
    """
    _require_one_page(request)
    if not request.pages:
        return AcceptedPart(files)
    taken = {_named(collection, files, page).address for page in request.pages}
    moves = {one.address: one.moved_from for one in files if one.moved_from}
    final: dict[Address, bytes | None] = {}
    for new, old in moves.items():
        if {new, old} & taken:
            taken |= {new, old}
    if request.text is not None:
        page = next((new for new in moves if new in taken), min(taken))
        final = {**dict.fromkeys(taken), page: request.text.encode()}
    return AcceptedPart([one for one in files if one.address in taken], request.section, final)


def _require_one_page(request: AcceptRequest) -> None:
    if request.text is not None and len(request.pages) != 1:
        raise InvalidInputError("Of which page is the text?", kind="text", hint="Name one page beside the text.")
    if request.section and len(request.pages) != 1:
        raise InvalidInputError(
            "A section is accepted of one page.", kind="section", hint="Name that page, and the section's heading."
        )
    if request.section and request.text is not None:
        raise InvalidInputError(
            "The text is that of the whole page, so it goes with no section.",
            kind="section",
            hint="Give the page without the section.",
        )


def _named(collection: Collection, files: Sequence[ProposedFile], page: str) -> ProposedFile:
    """The file of a proposal that a reader means: by path, with or without its suffix, else as `find_document` does.

    Raises:
        InvalidInputError: no page can have this name.
        NotFoundError: the proposal does not change such a page.
    """
    base, colon, rest = page.partition(":")
    name = rest if colon and base == collection.name else page
    by_address = {one.address: one for one in files}
    forms = (address_or_none(form.removeprefix("/")) for form in (name, f"{name}.md"))
    for form in forms:
        if form in by_address:
            return by_address[form]
    with suppress(NotFoundError):
        served = find_document(Collections(lambda: [collection]), name).record.address
        if served in by_address:
            return by_address[served]
    alike = [one for one in files if fold(one.address.stem) == fold(name)]
    if len(alike) == 1:
        return alike[0]
    parse_address(name)
    paths = [one.path for one in by_address]
    more = f" and {len(paths) - MAX_NAMED:,} more" if len(paths) > MAX_NAMED else ""
    raise NotFoundError(
        f"The proposal does not change {page!r}.",
        kind="document",
        hint=f"It changes {', '.join(paths[:MAX_NAMED])}{more}.",
    )


def with_section(address: Address, base: bytes | None, proposed: bytes | None, section: str) -> bytes:
    """The base with the proposed changes in one section.

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
    lines = split_lines(base)
    chosen: list[Hunk] = []
    shift = 0
    for hunk in hunks(lines, split_lines(proposed)):
        start = hunk.start + shift
        shift += len(hunk.lines) - (hunk.end - hunk.start)
        if _touches(spans[0], hunk.start, hunk.end) or _touches(spans[1], start, start + len(hunk.lines)):
            chosen.append(hunk)
    return applied(lines, chosen)


def _lines_of_section(address: Address, raw: bytes, section: str) -> tuple[int, int] | None:
    """First line of a section from 0, and the line after its last one; None without such a section."""
    try:
        found = find_section(read_document(address, raw), [part.strip() for part in section.split(" > ")])
    except KnowledgeError:
        return None
    return raw.count(b"\n", 0, found.start), len(split_lines(raw[: found.tree_end]))


def _touches(span: tuple[int, int] | None, start: int, end: int) -> bool:
    return span is not None and start < span[1] and (end > span[0] or start == end >= span[0])
