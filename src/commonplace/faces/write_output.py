"""Parts of the answer to a write, the same in every face: retained bytes, redirected links, and new findings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from commonplace.domain.addresses import Address
from commonplace.domain.changes import RetainedCopy
from commonplace.domain.findings import NewFindings
from commonplace.domain.json import Json
from commonplace.domain.words.amounts import amount

if TYPE_CHECKING:  # a server answers its client before it loads these modules
    from commonplace.services.collections import Collection
    from commonplace.services.writes.links_after import RedirectedLink

MAX_NAMED = 20
"""Maximum number of files that one answer names; `commonplace restore` lists all."""


def in_no_commit(copies: Sequence[RetainedCopy]) -> list[RetainedCopy]:
    """Files whose bytes are only in the trash or in a Git object outside any commit."""
    return [copy for copy in copies if copy.place != "commit"]


def retained_json(copy: RetainedCopy) -> dict[str, Json]:
    """The members `path`, `revision`, `place` and `restore`, and `commit` or `until`, depending on the place.

    `staged` is true for text that was only in Git's index; otherwise it is absent.
    """
    shown: dict[str, Json] = {"path": copy.address.path, "revision": copy.revision, "place": copy.place}
    if copy.commit:
        shown["commit"] = copy.commit
    if copy.until:
        shown["until"] = day(copy.until)
    if copy.staged:
        shown["staged"] = True
    return shown | {"restore": restore_command(copy.address, copy.commit or copy.revision)}


def retained_list(copies: Sequence[RetainedCopy]) -> list[Json]:
    """The JSON of the first `MAX_NAMED` copies."""
    return [retained_json(copy) for copy in copies[:MAX_NAMED]]


def restore_command(address: Address, at: str) -> str:
    """The command that restores a state of a file."""
    return f"commonplace restore {shell_word(address.path)} --at {at[:12]}"


def read_call(address: Address, at: str) -> str:
    """The call of the tool `read` that shows a state of a file."""
    return f"read {json.dumps({'page': address.path, 'at': at[:12]}, ensure_ascii=False)}"


def retained_lines(copies: Sequence[RetainedCopy], way: Callable[[Address, str], str] = restore_command) -> list[str]:
    """One sentence for each of the first `MAX_NAMED` copies, and one for the number of the others.

    Args:
        copies: The copies.
        way: Returns the command or the call that gives a state of a file back, by its address and commit or revision.
    """
    lines = [retained_line(copy, way) for copy in copies[:MAX_NAMED]]
    more = len(copies) - len(lines)
    if more > 0:
        kept_too = f"{amount(more, 'more file')} {'was' if more == 1 else 'were'} kept"
        lines.append(f"{kept_too}: commonplace restore lists them." if way is restore_command else f"{kept_too}.")
    return lines


def retained_line(copy: RetainedCopy, way: Callable[[Address, str], str] = restore_command) -> str:
    """One sentence about a copy, with the command or the call that shows or restores it."""
    back = way(copy.address, copy.commit or copy.revision)
    if copy.place == "commit":
        return f"Commit {copy.commit[:10]} has the last text of {copy.address}: {back}"
    where = f"kept until {day(copy.until)}" if copy.place == "trash" else "a Git object until Git prunes it"
    what = "staged text" if copy.staged else "old text"
    return f"No commit had the {what} of {copy.address}: it is {where}, revision {copy.revision}: {back}"


def day(seconds: float) -> str:
    """A day as `YYYY-MM-DD`, UTC."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"


def shell_word(path: str) -> str:
    """A path as one word of a shell command: quoted if it has special characters or begins with a dash."""
    plain = path.replace("/", "").replace(".", "").replace("_", "").replace("-", "")
    return path if plain.isalnum() and not path.startswith("-") else "'" + path.replace("'", "'\\''") + "'"


# Messages about links that get another target through a write.


MAX_NAMED_PAGES = 5
"""Maximum number of pages that one line names."""


def redirect_lines(
    links: Iterable[RedirectedLink], here: Address | None = None, name: Callable[[Address], str] = str
) -> list[str]:
    """One line for each pair of old and new target, with the pages that contain the links.

    Args:
        links: The links.
        here: The page that is written; lines call it "here".
        name: Returns the name of any other page.
    """
    sources: dict[tuple[Address | None, Address | None], dict[str, None]] = {}
    for link in links:
        sources.setdefault((link.found.target, link.now), {})[name(link.found.source)] = None
    lines: list[str] = []
    for (before, now), pages in sources.items():
        which = f"Links to {name(before)}" if before else "Links that led nowhere"
        where = "here" if now and now == here else f"to {name(now)}" if now else "nowhere"
        lines.append(f"{which} now lead {where} in {named_pages(list(pages))}")
    return lines


def named_pages(names: Sequence[str]) -> str:
    """The first `MAX_NAMED_PAGES` names, and the number of the others."""
    more = f" and {len(names) - MAX_NAMED_PAGES} more" if len(names) > MAX_NAMED_PAGES else ""
    return f"{', '.join(names[:MAX_NAMED_PAGES])}{more}"


def moved_link_lines(pinned: Sequence[str], gained: Sequence[str]) -> list[str]:
    """Messages about links that a move affects.

    Args:
        pinned: Pages with links that would have changed their target; the links were replaced by paths.
        gained: Pages with broken links that the move resolves.
    """
    lines: list[str] = []
    if pinned:
        lines.append(f"Links to another page of that name now give its path, in {named_pages(pinned)}")
    if gained:
        lines.append(f"Links that led nowhere now lead here in {named_pages(gained)}")
    return lines


def kept_title_lines(titles: Mapping[str, str]) -> list[str]:
    """The message about own titles of moved pages, by which links name them; none without such pages.

    Args:
        titles: The title by the name of the file.
    """
    shown = named_pages([f"{title!r} ({name})" for name, title in titles.items()])
    return [f"Links name the page's own title, which a move does not change: {shown}"] if titles else []


def own_titles(collection: Collection, addresses: Iterable[Address]) -> dict[str, str]:
    """The titles of those of some moved pages that links name by a title of their own, by path.

    These are tiddlers, and pages of Logseq with a property `title::`.
    """
    records = filter(None, map(collection.index.record, addresses))
    return {record.address.path: record.title for record in records if _has_own_title(collection, record.address)}


def _has_own_title(collection: Collection, address: Address) -> bool:
    from commonplace.domain.markdown.wikitext import TIDDLER_SUFFIX  # noqa: PLC0415 - few writes need it, no start does
    from commonplace.domain.sites import site_of  # noqa: PLC0415 - as above

    sites = collection.index.lookup().sites
    site = site_of(sites, address) if sites else None
    if site is None or site.graph is None or not site.graph.slashes:
        return address.path.lower().endswith(TIDDLER_SUFFIX)
    return "title" in collection.index.document(address).frontmatter.values


def ignored_lines(names: Sequence[str]) -> list[str]:
    """The message about files that a move of their folder leaves where they are; none without such files."""
    return (
        [f"Ignore files exclude {named_pages(names)}, so {'they stay' if len(names) > 1 else 'it stays'}"]
        if names
        else []
    )


def not_rewritten_lines(names: Sequence[str], *, would: bool = False) -> list[str]:
    """The message about links in pages that are not UTF-8; none without such pages.

    Args:
        names: The pages.
        would: Whether the move is only planned.
    """
    if not names:
        return []
    links = "Links would not be rewritten" if would else "Links were not rewritten"
    remedy = "Convert such a page to UTF-8 " + ("first." if would else "and correct its links.")
    return [f"{links} in {named_pages(names)}: not UTF-8, and never changed. {remedy}"]


# Lines and JSON of the findings that writes newly cause, the same in the answers of all faces.


UNCHECKED = "The write is done. Not all that it newly causes was found in time; see check."


def new_finding_lines(new: NewFindings) -> list[str]:
    """One line for each new finding, and one for the number of the others; [] if all is well."""
    lines: list[str] = []
    for finding in new.shown:
        place = f"{finding.path}:{finding.line}" if finding.line else finding.path
        lines.append(f"{finding.severity.value.capitalize()} in {place}: {finding.message} [{finding.rule}]")
    if new.more:
        lines.append(f"{new.more:,} more findings are new; see check.")
    return lines if new.complete else [*lines, UNCHECKED]


def new_finding_json(new: NewFindings) -> dict[str, Json]:
    """`findings` with each new finding, and `more_findings`; {} if there are none.

    `findings_note` is there if not all were found in time.
    """
    if not new.shown:
        return {} if new.complete else {"findings_note": UNCHECKED}
    rows: list[Json] = [
        {
            "path": finding.path,
            "line": finding.line,
            "severity": finding.severity.value,
            "rule": finding.rule,
            "message": finding.message,
        }
        for finding in new.shown
    ]
    shown: dict[str, Json] = {"findings": rows, **({"more_findings": new.more} if new.more else {})}
    return shown if new.complete else {**shown, "findings_note": UNCHECKED}
