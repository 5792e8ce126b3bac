"""Commands that change a page: write, move and delete it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated

import typer

from commonplace.domain.addresses import Address
from commonplace.domain.changes import RetainedCopy, recording_retained
from commonplace.domain.errors import AlreadyExistsError, ConfigError, ConflictError, InvalidInputError
from commonplace.domain.findings import NewFindings
from commonplace.domain.json import Json
from commonplace.domain.query import Record
from commonplace.domain.words.amounts import amount
from commonplace.domain.yaml_loader import load
from commonplace.faces.cli.options import PageArgument, exclusive, pair
from commonplace.faces.cli.output import BOLD, FAINT, one_line
from commonplace.faces.cli.pages import located
from commonplace.faces.cli.session import Session
from commonplace.faces.cli.text_input import read_text
from commonplace.faces.write_output import (
    ignored_lines,
    in_no_commit,
    kept_title_lines,
    moved_link_lines,
    named_pages,
    new_finding_json,
    new_finding_lines,
    not_rewritten_lines,
    own_titles,
    redirect_lines,
    retained_lines,
    retained_list,
)
from commonplace.services import typed_entries, writes
from commonplace.services.collections import Collection, Collections, record_of
from commonplace.services.findings import findings_of_writes
from commonplace.services.writes import WriteReceipt, WriteRequest
from commonplace.services.writes.links_after import LinksAfter, RedirectedLink, redirected_by
from commonplace.services.writes.new_paths import has_folder, moved_address, new_page_address
from commonplace.services.writes.overwrites import RewrittenLinks
from commonplace.services.writes.recorded import RecordedWrites, recording_writes
from commonplace.services.writes.renames import links_of


@dataclass(frozen=True, slots=True, kw_only=True)
class EditOptions:
    """The kind of change; without any of these options, the whole text is written."""

    append: Annotated[
        bool,
        typer.Option("--append", help="Add the text at the end, after a blank line unless it goes on a list or table."),
    ] = False
    section: Annotated[
        str | None, typer.Option(metavar="HEADING", help='Replace the text of one section: "Set-up > Linux".')
    ] = None
    replace: Annotated[
        tuple[str, str] | None, typer.Option(metavar="OLD NEW", help="Replace the one place where OLD stands.")
    ] = None
    set_: Annotated[
        list[str], typer.Option("--set", metavar="KEY=VALUE", help="Set a frontmatter field; KEY= removes it.")
    ] = field(default_factory=list[str])
    rename: Annotated[
        str | None, typer.Option(metavar="NEW", help="Give it this name, or path; links to it are rewritten.")
    ] = None
    delete: Annotated[bool, typer.Option("--delete", help="Delete it.")] = False

    @property
    def chosen_option(self) -> str:
        """The one option that was given; "" if none was.

        Raises:
            ConfigError: several options were given.
        """
        options = {
            "--append": self.append,
            "--section": self.section is not None,
            "--replace": self.replace is not None,
            "--set": bool(self.set_),
            "--rename": self.rename is not None,
            "--delete": self.delete,
        }
        exclusive(**options)
        return next((option for option, is_given in options.items() if is_given), "")

    def require_fit(self, file: str | None, *, dry_run: bool) -> None:
        """Check that FILE and `--dry-run` go with the kind of change.

        Raises:
            ConfigError: they do not, or several kinds were given.
        """
        way = self.chosen_option
        if way not in NEEDS_TEXT and file is not None:
            raise ConfigError(f"{way} takes no FILE.", kind="option", hint="Leave it out.")
        if dry_run and way not in {"--rename", "--delete"}:
            hint = "Only they concern several pages."
            raise ConfigError("--dry-run goes with --rename and --delete.", kind="option", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitOptions:
    """The writer's revision, message and flags."""

    revision: Annotated[
        str, typer.Option(metavar="R", help="The revision that you read (see read --json); refused if it is outdated.")
    ] = ""
    force: Annotated[bool, typer.Option("--force", help="Overwrite or delete what you have not read.")] = False
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="The commit's message.")] = ""
    no_commit: Annotated[bool, typer.Option("--no-commit", help="Write the file and leave committing to you.")] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what a rename or deletion would change.")] = (
        False
    )


_CLOSED = {('"', '"'), ("'", "'"), ("[", "]"), ("{", "}")}
_LINKS_OR_PLACEHOLDER = re.compile(r"\[\[[^\[\]]*\]\]|\{\{")
"""The beginning of `[[Page]]` and of a template's `{{date}}`."""
_NULLS = {"null", "Null", "NULL", "~"}
PINNED = " (to another page of that name: they give its path)"
"""Note for pages whose links to another page were replaced by paths, as a new name would have redirected them."""
NEEDS_TEXT = frozenset({"", "--append", "--section"})
REMOVES_TEXT = frozenset({"", "--section", "--delete"})
"""Changes that delete or replace text without naming the old text."""


WRITE_JSON = """As JSON: `{"collection", "path", "id", "revision", "commit", "action", "updated": [PATH..], "kept":
[{"path", "revision", "place", "restore"}..]}`; `action` is `created`, `updated`, `unchanged`, `renamed`, `deleted`
or, with `--dry-run`, `planned`; `revision` is "" after a deletion, `commit` "" when nothing was committed, and
`updated` names the other pages whose links a rename rewrites (with `--dry-run`, those whose links a deletion would
break). `kept` is there where text was deleted, or was replaced and is in no commit: `place` is `commit` (with
`commit`), `trash` (with `until`) or `object`, and `staged` is true for text that only Git's index had. `findings`
has what the write newly causes, as rows `{"path", "line", "severity", "rule", "message"}`, and `more_findings` the
number of further ones."""


def write_command(
    session: Session,
    page: PageArgument,
    file: Annotated[str | None, typer.Argument(metavar="FILE", hidden=True)] = None,
    *,
    how: EditOptions,
    consent: CommitOptions,
) -> None:
    """Create a page, or change one without touching its other bytes.

    Examples:
        commonplace write notes/new.md draft.md -m "Add a first draft"
        date | commonplace write journal/today --append
        commonplace write notes/idea --set status=done --set tags="[a, b]"
        commonplace write notes/idea --replace teh the
        date | commonplace write notes/idea --section Linux --revision 1a2b3c4
        commonplace write notes/idea --rename archive/idea --dry-run
        commonplace write notes/idea --delete --dry-run
        commonplace write notes/idea --delete --force

    PAGE is a path with or without .md, or an id. The text comes from FILE, or from standard input (-, the default). In
    a Git repository each write is one commit. What takes away text without naming it (a whole page, a section, a
    deletion) needs --revision, or --force, which sends what no commit has to the trash for 30 days (see restore).
    """
    how.require_fit(file, dry_run=consent.dry_run)
    way = how.chosen_option
    text = read_text(file or "-", session.out) if way in NEEDS_TEXT else b""
    intent = _intent(consent)
    with session.opened_for_writing(commit=not consent.no_commit) as collections, recording_writes() as done:
        reference = session.relative(page).removeprefix("./")
        how = replace(how, rename=how.rename and session.relative(how.rename))
        collection = collections.members[0]
        record = record_of(collection.index, reference)
        if record is None and way == "" and not consent.revision:
            created, copies, redirected = _create(collection, reference, (text, intent))
            _show(session, collections, (created, done), "created", copies, redirected)
            return
        record = record or _located(collections, reference, way)
        _require_seen(collection, record, way, text, consent)
        if consent.dry_run:
            _show_plan(session, collection, record, how)
            return
        with recording_retained() as retained_copies:
            written = _change(collection, record, how, (text, intent))
        lost = retained_copies if how.delete else in_no_commit(retained_copies)
        _show(session, collections, (written, done), _action(way, record, written), lost)


def _intent(consent: CommitOptions) -> WriteRequest:
    unseen = "keep" if consent.force else "refuse"
    return WriteRequest(expected=consent.revision, message=consent.message, unseen=unseen)


def _located(collections: Collections, reference: str, way: str) -> Record:
    folder = reference.strip("/")
    if way == "--rename" and has_folder(collections.members[0], folder):
        hint = f"Give a page, or move the folder: commonplace mv {folder}/ NEW/"
        raise InvalidInputError(f"{folder!r} is a folder.", kind="path", hint=hint)
    return located(collections, reference).record


def _create(
    collection: Collection, reference: str, what: tuple[bytes, WriteRequest]
) -> tuple[WriteReceipt, list[RetainedCopy], Sequence[RedirectedLink]]:
    address = new_page_address(collection, reference)
    redirected = redirected_by(collection, address, None, what[0])
    with recording_retained() as copies:
        written = writes.create(collection, address, *what)
    return written, in_no_commit(copies), redirected


def _change(collection: Collection, record: Record, how: EditOptions, what: tuple[bytes, WriteRequest]) -> WriteReceipt:
    (text, intent), address = what, record.address
    if how.append:
        written = writes.append(collection, address, text.decode(), intent)
    elif how.section is not None:
        written = writes.edit_section(collection, address, how.section, text.decode(), intent)
    elif how.replace is not None:
        written = writes.replace_once(collection, address, *how.replace, intent)
    elif how.set_:
        fields = dict(map(_field, how.set_))
        written = typed_entries.update_entry(collection, address, fields, intent=intent).written
    elif how.rename is not None:
        written = writes.rename(collection, address, moved_address(collection, address, how.rename), intent)
    elif how.delete:
        written = writes.delete(collection, address, intent)
    else:
        written = writes.replace(collection, address, text, intent)
    return written


def _field(assignment: str) -> tuple[str, Json]:
    """Parse `KEY=VALUE`. None for an empty value.

    The value is YAML if it is one whole quoted text, list or mapping, a number, a boolean, null or a date. Any other
    text is taken as it is, also where YAML would read a comment, a tag, an alias or, in `[[Page]]`, a nested list.
    """
    key, text = pair("--set", assignment)
    stripped = text.strip()
    if not stripped:
        return key, None
    loaded = load(f"value: {text}")
    if loaded.problems or not isinstance(loaded.value, Mapping) or set(loaded.value) != {"value"}:
        return key, text
    value = loaded.value["value"]
    return key, value if _means_value(stripped, value) else text


def _means_value(text: str, value: Json) -> bool:
    """Whether a text is meant as the value that YAML reads in it."""
    if (text[0], text[-1]) in _CLOSED:
        return not _LINKS_OR_PLACEHOLDER.match(text)
    is_word = value is not None and not isinstance(value, str | Mapping | Sequence) and " #" not in text
    return is_word or text in _NULLS


def _require_seen(collection: Collection, record: Record, way: str, text: bytes, consent: CommitOptions) -> None:
    """Refuse a change that removes text unless the writer has read it. Writing the same text again is permitted."""
    if way not in REMOVES_TEXT or consent.revision or consent.force or consent.dry_run:
        return
    if way or collection.store.read(record.address) != text:
        raise _unseen(record, way)


def _unseen(record: Record, way: str) -> ConflictError | AlreadyExistsError:
    make = ConflictError if way else AlreadyExistsError
    return make(
        f"There is a page {record.id!r}, and this would take away text of it.",
        kind="document",
        hint="Read it and give its revision: --revision R; or --force.",
        reference=record.id,
        current_revision=record.revision,
    )


def _action(way: str, record: Record, written: WriteReceipt) -> str:
    if way in {"--rename", "--delete"}:
        return f"{way[2:]}d"
    return "unchanged" if written.revision == record.revision else "updated"


def _show_plan(session: Session, collection: Collection, record: Record, how: EditOptions) -> None:
    if how.delete:
        _show_deletion(session, collection, record)
        return
    out = session.out
    new = moved_address(collection, record.address, how.rename or "")
    plan = writes.preview_moves(collection, {record.address: new}, {})
    if out.as_json:
        out.json(_planned(collection, record, new, plan.others) | _not_rewritten(plan.not_rewritten))
        return
    out.line(f"Would rename {out.styled(BOLD, record.address.path)} to {out.styled(BOLD, new.path)}")
    for address in plan.others:
        note = PINNED if address in plan.pinned else ""
        out.line(f"Would rewrite links in {out.styled(BOLD, address.path)}{note}")
    for address in plan.gained:
        out.line(f"Would lead links here that lead nowhere, in {out.styled(BOLD, address.path)}")
    for line in not_rewritten_lines(paths(plan.not_rewritten), would=True):
        out.line(line)


def _show_deletion(session: Session, collection: Collection, record: Record) -> None:
    out, after = session.out, LinksAfter(collection, {}, {record.address})
    links = [link for link in after.redirected() if link.found.target == record.address]
    targets = {link.found.source: link.now for link in links if link.found.source != record.address}
    if out.as_json:
        out.json(_planned(collection, record, record.address, sorted(targets)))
        return
    out.line(f"Would delete {out.styled(BOLD, record.address.path)}")
    for source, now in sorted(targets.items()):
        page = out.styled(BOLD, source.path)
        out.line(f"Would lead links in {page} to {now}" if now else f"Would break links in {page}")


def _planned(collection: Collection, record: Record, new: Address, others: Sequence[Address]) -> dict[str, Json]:
    return {
        "collection": collection.name,
        "path": new.path,
        "id": record.id,
        "revision": record.revision,
        "commit": "",
        "action": "planned",
        "updated": list[Json](paths(others)),
    }


def paths(addresses: Iterable[Address]) -> list[str]:
    """The paths of addresses."""
    return [address.path for address in addresses]


def _not_rewritten(pages: Sequence[Address]) -> dict[str, Json]:
    return {"not_rewritten": list[Json](paths(pages))} if pages else {}


def commit_mark(revision: str, commit: str) -> str:
    """The first characters of a revision and of a commit's id, for people; "" stands for none."""
    names = {"revision": revision, "commit": commit}
    return "  ".join(f"{name} {value[:10]}" for name, value in names.items() if value)


def _show(
    session: Session,
    collections: Collections,
    done: tuple[WriteReceipt, RecordedWrites],
    action: str,
    copies: Sequence[RetainedCopy] = (),
    redirected: Sequence[RedirectedLink] = (),
) -> None:
    out, (written, recorded), collection = session.out, done, collections.members[0]
    new = findings_of_writes(collections, recorded)
    look = partial(collection.index.record, written.address)
    record = written.answer_by.within(look, f"{written.address}: looking up its id")
    if out.as_json:
        out.json(
            {
                "collection": collection.name,
                "path": written.address.path,
                "id": record.id if record else written.address.id,
                "revision": written.revision,
                "commit": written.commit,
                "action": action,
                "updated": list[Json](paths(written.links.updated)),
                **_not_rewritten(written.links.not_rewritten),
                **({"kept": retained_list(copies)} if copies else {}),
                **new_finding_json(new),
            }
        )
        return
    mark = out.styled(FAINT, commit_mark(written.revision, written.commit))
    out.line(f"{action.capitalize()} {out.styled(BOLD, written.address.path)}  {mark}")
    for address in written.links.updated:
        note = PINNED if address in written.links.pinned else ""
        out.line(f"Rewrote links in {out.styled(BOLD, address.path)}{note}")
    for address in written.links.gained:
        out.line(f"Links that led nowhere now lead here in {out.styled(BOLD, address.path)}")
    lost = not_rewritten_lines(paths(written.links.not_rewritten))
    if action == "renamed":
        lost += kept_title_lines(own_titles(collection, [written.address]))
    for line in (*redirect_lines(redirected, written.address), *lost, *map(one_line, new_finding_lines(new))):
        out.line(line)
    for line in retained_lines(copies):
        out.line(out.styled("", line))


MV_JSON = """As JSON: as `write --rename`. For a folder, `path` is its new path with a slash at the end, `id` and
`revision` are "", and `moved` has the new path of each file by its old one; `ignored` has the files that stay
because ignore files exclude them."""


def mv_command(
    session: Session,
    page: PageArgument,
    target: Annotated[str, typer.Argument(metavar="NEW", hidden=True)],
    *,
    consent: CommitOptions,
) -> None:
    """Move or rename a page or a folder, and rewrite every link to it.

    Examples:
        commonplace mv idea notes/idea
        commonplace mv notes/idea archive/
        commonplace mv notes/idea plan --dry-run
        commonplace mv notes/ archive/2026/

    A NEW without a slash and without .md is a new name: the page stays in its folder (./plan is at the top). With a
    slash at its end it is a folder, into which the page goes under its name; otherwise it is a path. With a slash at
    the end of PAGE, the folder gets the path NEW, with all files in it, new ones too; ignored and hidden files and
    symbolic links stay. Relative links in what moves are rewritten as well, and links to another page of a new name.
    Moving back restores the links as they were written, from Git.
    """
    if page.strip().removeprefix("./").endswith("/"):
        _move_folder(session, page.strip(), target.strip(), consent)
        return
    write_command(session, page, how=EditOptions(rename=target), consent=consent)


@dataclass(frozen=True, slots=True)
class _FolderMove:
    """A move of a folder, made or planned."""

    folder: str
    """Old path, without a slash at its end."""
    target: str
    """New path."""
    moves: Mapping[Address, Address]
    """New address by old address of the files."""
    links: RewrittenLinks
    commit: str = ""
    """The commit's id; "" for none."""
    planned: bool = False
    """Whether nothing was changed."""


def _move_folder(session: Session, page: str, new: str, consent: CommitOptions) -> None:
    if consent.revision:
        raise ConfigError("A folder has no revision.", kind="option", hint="Leave --revision out.")
    folder, target = (session.relative(other_page).removeprefix("./").strip("/") for other_page in (page, new))
    with session.opened_for_writing(commit=not consent.no_commit) as collections, recording_writes() as done:
        collection = collections.members[0]
        if consent.dry_run:
            plan = writes.preview_moves(collection, writes.require_moves(collection, folder, target), {})
            move = _FolderMove(folder, target, plan.moves, links_of(plan), planned=True)
        else:
            moves, receipt = writes.rename_folder(collection, folder, target, WriteRequest(message=consent.message))
            move = _FolderMove(folder, target, moves, receipt.links, receipt.commit)
        _show_move(session, collection, move, findings_of_writes(collections, done))


def _show_move(session: Session, collection: Collection, move: _FolderMove, new: NewFindings) -> None:
    out, links = session.out, move.links
    if out.as_json:
        out.json(_as_json(collection, move) | new_finding_json(new))
        return
    inside = f", with links rewritten in {len(links.rewritten)} of them" if links.rewritten else ""
    mark = f"  commit {move.commit[:10]}" if move.commit else ""
    verb, rewrote = ("Would move", "Would rewrite") if move.planned else ("Moved", "Rewrote")
    folder, target = out.styled(BOLD, f"{move.folder}/"), out.styled(BOLD, f"{move.target}/")
    out.line(f"{verb} {folder} to {target}: {amount(len(move.moves), 'file')}{inside}{mark}")
    others = [address.path for address in links.updated if address not in links.pinned]
    if others:
        out.line(f"{rewrote} links in {named_pages(others)}")
    for line in (
        *moved_link_lines(paths(links.pinned), paths(links.gained)),
        *ignored_lines(paths(links.ignored)),
        *kept_title_lines({} if move.planned else own_titles(collection, move.moves.values())),
        *not_rewritten_lines(paths(links.not_rewritten), would=move.planned),
        *new_finding_lines(new),
    ):
        out.line(line)


def _as_json(collection: Collection, move: _FolderMove) -> dict[str, Json]:
    ignored, lost = list[Json](paths(move.links.ignored)), list[Json](paths(move.links.not_rewritten))
    return {
        "collection": collection.name,
        "path": f"{move.target}/",
        "id": "",
        "revision": "",
        "commit": move.commit,
        "action": "planned" if move.planned else "renamed",
        "updated": list[Json](paths(move.links.updated)),
        "moved": {old.path: new.path for old, new in move.moves.items()},
        **({"ignored": ignored} if ignored else {}),
        **({"not_rewritten": lost} if lost else {}),
    }


RM_JSON = """As JSON: as `write --delete`."""


def rm_command(session: Session, page: PageArgument, *, consent: CommitOptions) -> None:
    """Delete a page. On a terminal it says which links would break, and asks.

    Examples:
        commonplace rm notes/idea
        commonplace rm notes/idea --dry-run
        commonplace rm notes/idea --force

    A program needs --revision or --force. What no commit has goes to the trash for 30 days (see restore).
    """
    how = EditOptions(delete=True)
    asks = not (consent.revision or consent.force or consent.dry_run) and sys.stdin.isatty() and not session.out.as_json
    if asks:
        write_command(session, page, how=how, consent=replace(consent, dry_run=True))
        session.out.flush()
        sys.stderr.write("Delete it? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().casefold() not in {"y", "yes"}:
            session.out.message("Nothing was deleted.")
            return
        consent = replace(consent, force=True)
    write_command(session, page, how=how, consent=consent)
