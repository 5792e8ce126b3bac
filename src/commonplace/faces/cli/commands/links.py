"""Commands on links: those of a page both ways, those that lead nowhere, and pages that none leads to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from commonplace.domain.errors import ConfigError
from commonplace.domain.json import Json
from commonplace.domain.words.amounts import amount
from commonplace.faces.cli.options import AtOption, OptionalPageArgument, exclusive
from commonplace.faces.cli.output import BOLD, FAINT, INDENT, RED, one_line
from commonplace.faces.cli.pages import located_at, page_name, place_json, record_json, record_line
from commonplace.faces.cli.session import Session, at_moment
from commonplace.services import findings, links
from commonplace.services.collections import Collections, FoundDocument
from commonplace.services.links import DEFAULT_RELATION, LinkedDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class EndOptions:
    """The kinds of links to list."""

    out: Annotated[bool, typer.Option("--out", help="Only what the page links to.")] = False
    back: Annotated[bool, typer.Option("--back", help="Only what links to the page.")] = False


LINKS_JSON = """As JSON: for a page `{"page": {"collection", "id", "path", "title", "revision"}, "out": [..], "back":
[..]}`, with `--out` or `--back` only that list; each link is `{"collection", "id", "path", "title", "target",
"fragment", "label", "kind", "relation", "broken", "sentence"}`, the first four being of the page at its other end
and null where there is none. For `--broken` `{"total", "broken": [{"collection", "path", "line", "target"}]}`, for
`--orphans` `{"total", "orphans": [..]}` with the records of `list`. With `--at` also `"at": {folder: commit}`."""


def links_command(
    session: Session,
    page: OptionalPageArgument = None,
    *,
    ends: EndOptions,
    broken: Annotated[bool, typer.Option("--broken", help="Links that lead nowhere, of PAGE or of all pages.")] = False,
    orphans: Annotated[bool, typer.Option("--orphans", help="Pages that no other page links to.")] = False,
    at: AtOption = "",
) -> None:
    """Follow the links between pages, both ways.

    Examples:
        commonplace links notes/idea
        commonplace links notes/idea --back
        commonplace links --broken
        commonplace links --orphans --json
        commonplace links notes/idea --at "before 1a2b3c4"

    Each backlink comes with the sentence that it stands in. PAGE is a path with or without .md, an id, or a title.
    """
    exclusive(**{"--out": ends.out, "--back": ends.back, "--broken": broken, "--orphans": orphans})
    if orphans and page:
        raise ConfigError("--orphans is about all pages.", kind="option", hint="Leave out PAGE.")
    if not page and not broken and not orphans:
        raise ConfigError("Missing PAGE.", kind="option", hint="Name a page, or ask for --broken or --orphans.")
    with session.opened() as present, at_moment(session, present, at) as (collections, moment):
        shown = _Shown(session, collections, moment)
        document = located_at(present, collections, session.relative(page)) if page else None
        if orphans:
            _show_orphans(shown)
        elif broken:
            _show_broken(shown, document)
        elif document:
            _show_links(shown, document, ends)


@dataclass(frozen=True, slots=True)
class _Shown:
    """The data and the output of one answer."""

    session: Session
    collections: Collections
    moment: dict[str, Json]
    """The moment of `--at` as JSON; empty for the present."""


def _show_links(shown: _Shown, document: FoundDocument, ends: EndOptions) -> None:
    session, collections = shown.session, shown.collections
    collection, address = document.collection, document.record.address
    outgoing = [] if ends.back else links.outgoing(collections, collection, address)
    incoming = [] if ends.out else links.incoming(collections, collection, address)
    if session.out.as_json:
        value: dict[str, Json] = {"page": place_json(collection, document.record), **shown.moment}
        value |= {} if ends.back else {"out": list[Json](map(_link_json, outgoing))}
        value |= {} if ends.out else {"back": list[Json](map(_link_json, incoming))}
        session.out.json(value)
        return
    for arrow, neighbours in (("->", outgoing), ("<-", incoming)):
        dead = links.dead_fragments(collection, neighbours)
        for same in _merged(neighbours):
            fragments = dead.get((same[0].resolved.source, same[0].resolved.target), ())
            _show_link(session, collections, arrow, same, fragments)
    if not outgoing and not incoming:
        session.out.message("No links.")


def _merged(neighbours: Sequence[LinkedDocument]) -> list[list[LinkedDocument]]:
    """The links, grouped by target and relation, in the order of the first link of each group."""
    places: dict[tuple[str, ...], list[LinkedDocument]] = {}
    for document in neighbours:
        if document.found:
            place: tuple[str, ...] = (document.found.collection.name, document.found.record.address.path)
        else:
            place = (document.resolved.target.path if document.resolved.target else document.resolved.link.raw,)
        places.setdefault((document.relation, *place), []).append(document)
    return list(places.values())


def _show_link(
    session: Session,
    collections: Collections,
    arrow: str,
    same: Sequence[LinkedDocument],
    dead_fragments: Iterable[str],
) -> None:
    out, neighbour = session.out, same[0]
    resolved = neighbour.resolved
    if neighbour.found:
        name = page_name(session, collections, neighbour.found.collection, neighbour.found.record.address)
        end = f"{name}  {one_line(neighbour.found.record.title)}"
    elif resolved.target:
        end = out.styled(BOLD, resolved.target.path)
    else:
        end = f"{out.styled(RED, one_line(resolved.link.raw))}  (broken)"
    relation = "" if neighbour.relation == DEFAULT_RELATION else f"  {out.styled(FAINT, neighbour.relation)}"
    out.line(f"{arrow} {end}{relation}", INDENT + 1)
    for sentence in dict.fromkeys(document.resolved.sentence for document in same if document.resolved.sentence):
        out.line(f"     {one_line(sentence)}")
    for fragment in dead_fragments:
        out.line(f"     {out.styled(RED, one_line(f'#{fragment}'))}  (not there)")


def _show_broken(shown: _Shown, document: FoundDocument | None) -> None:
    out, collections = shown.session.out, shown.collections
    chosen, address = ([document.collection], document.record.address) if document else (collections.members, None)
    broken = [link for collection in chosen for link in findings.broken_links(collections, collection, address)]
    if out.as_json:
        rows: list[Json] = [
            {"collection": link.collection.name, "path": link.path, "line": link.line, "target": link.resolved.link.raw}
            for link in broken
        ]
        out.json({"total": len(broken), "broken": rows, **shown.moment})
        return
    pages: set[tuple[str, str]] = set()
    targets: set[tuple[object, ...]] = set()
    for link in broken:
        page = (link.collection.name, link.path)
        shown_page = ":".join(page) if len(collections.members) > 1 else link.path
        out.line(f"{out.styled(BOLD, f'{shown_page}:{link.line}')}: {one_line(link.resolved.link.raw)}", INDENT)
        pages.add(page)
        targets.add((link.collection.name, *links.target_key(link.resolved)))
    if not broken:
        out.message("No broken links.")
        return
    once = "" if len(targets) == len(broken) else f"; `check` counts a target once in a page: {len(targets):,}"
    out.message(f"{amount(len(broken), 'broken link')} in {amount(len(pages), 'page')}{once}.")


def _show_orphans(shown: _Shown) -> None:
    session, collections = shown.session, shown.collections
    documents = [
        FoundDocument(collection, record) for collection in collections for record in links.orphans(collection)
    ]
    if session.out.as_json:
        session.out.json(
            {"total": len(documents), "orphans": [record_json(document) for document in documents], **shown.moment}
        )
        return
    for document in documents:
        session.out.line(record_line(session, collections, document), INDENT)
    if not documents:
        session.out.message("No orphans.")


def _link_json(neighbour: LinkedDocument) -> dict[str, Json]:
    document, resolved = neighbour.found, neighbour.resolved
    return {
        "collection": document.collection.name if document else None,
        "id": document.record.id if document else None,
        "path": document.record.address.path if document else resolved.target.path if resolved.target else None,
        "title": document.record.title if document else None,
        "target": resolved.link.raw,
        "fragment": resolved.link.fragment,
        "label": resolved.link.label,
        "kind": resolved.link.kind.value,
        "relation": neighbour.relation,
        "broken": document is None and resolved.target is None,
        "sentence": resolved.sentence,
    }


ORPHANS_JSON = """As JSON: as `links --orphans`."""


def orphans_command(session: Session) -> None:
    """List the pages that no other page links to.

    Examples:
        commonplace orphans
        commonplace orphans --json
    """
    links_command(session, ends=EndOptions(), orphans=True)
