"""The part of a proposal that a person accepts: which files, which section, and the person's own text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from commonplace.domain.addresses import Address, address_or_none, fold, parse_address
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.proposals import ProposedFile
from commonplace.services.collections import Collection, Collections, find_document
from commonplace.services.history import now_at

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
    seen: str | None = None
    """Revision of the served page over which `text` was written; "" for no page, None for whatever it is now."""


@dataclass(frozen=True, slots=True)
class AcceptedPart:
    """The files that are accepted, and how."""

    files: Sequence[ProposedFile]
    section: str = ""
    """Heading of the one section that is accepted; "" for the whole files."""
    final: Mapping[Address, bytes | None] = field(default_factory=dict[Address, bytes | None])
    """The bytes that files are to have, whatever is proposed; None for no file."""
    seen: str | None = None
    """Revision of the served page over which the final bytes were written, as in the request."""

    @property
    def addresses(self) -> frozenset[Address]:
        """The addresses of the files."""
        return frozenset(file.address for file in self.files)


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
    taken = _with_moves(files, {named_file(collection, files, page).address for page in request.pages})
    chosen = [file for file in files if file.address in taken]
    final: dict[Address, bytes | None] = {}
    if request.text is not None:
        page = next((file.address for file in chosen if file.moved_from), min(taken))
        final = {**dict.fromkeys(taken), page: request.text.encode()}
    return AcceptedPart(chosen, request.section, final, request.seen)


def _with_moves(files: Sequence[ProposedFile], named: set[Address]) -> set[Address]:
    """The addresses, and those with which they change places."""
    taken = set(named)
    for file in files:
        if file.moved_from and {file.address, file.moved_from} & taken:
            taken |= {file.address, file.moved_from}
    return taken


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


def named_file(collection: Collection, files: Sequence[ProposedFile], page: str) -> ProposedFile:
    """The file of a proposal that a reader means: by path, with or without its suffix, else as `find_document` does.

    Raises:
        InvalidInputError: no page can have this name.
        NotFoundError: the proposal does not change such a page.
    """
    by_address = {file.address: file for file in files}

    def place(served: Address) -> Address | None:
        file = moved_file(collection, files, served.__eq__)
        return file.address if file else None

    if address := named_address(collection, list(by_address), page, place):
        return by_address[address]
    parse_address(page.removeprefix(f"{collection.name}:"))
    raise NotFoundError(
        f"The proposal does not change {page!r}.",
        kind="document",
        hint=f"It changes {shown_paths([address.path for address in by_address])}.",
    )


def named_address(
    collection: Collection,
    addresses: Sequence[Address],
    page: str,
    place: Callable[[Address], Address | None] = lambda _: None,
) -> Address | None:
    """The address, among these, that a reader means; None if there is none.

    Args:
        collection: The collection.
        addresses: The addresses.
        page: A path, with or without its suffix, else a name as for `find_document`; `NAME:` of the collection may be
            before it.
        place: Returns the address among these that a served page had; None if it had none.
    """
    name = page.removeprefix(f"{collection.name}:")
    if at_path := _at_path(addresses, name):
        return at_path
    with suppress(NotFoundError):
        served = find_document(Collections(lambda: [collection]), name).record.address
        if address := served if served in addresses else place(served):
            return address
    alike = [address for address in addresses if fold(address.stem) == fold(name)]
    return alike[0] if len(alike) == 1 else None


def _at_path(addresses: Sequence[Address], name: str) -> Address | None:
    forms = (address_or_none(form.removeprefix("/")) for form in (name, f"{name}.md"))
    return next((form for form in forms if form is not None and form in addresses), None)


def moved_file(
    collection: Collection, files: Sequence[ProposedFile], is_meant: Callable[[Address], bool]
) -> ProposedFile | None:
    """The file whose page others have moved since to an address that is meant; None if there is none."""
    gone = (file for file in files if file.base and collection.store.stat(file.address) is None)
    places = ((file, now_at(collection, file.address)) for file in gone)
    return next((file for file, now in places if now is not None and is_meant(now)), None)


def shown_paths(paths: Sequence[str]) -> str:
    """The first paths, and the number of the others."""
    more = f" and {len(paths) - MAX_NAMED:,} more" if len(paths) > MAX_NAMED else ""
    return f"{', '.join(paths[:MAX_NAMED])}{more}"
