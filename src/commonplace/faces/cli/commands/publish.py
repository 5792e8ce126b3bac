"""Commands that copy a folder: its pages as files for the web, and a backup of what is in no remote."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from commonplace.domain.json import Json
from commonplace.domain.words.amounts import amount
from commonplace.faces.cli.session import Session
from commonplace.services.checks import HISTORY_SECONDS
from commonplace.settings import require_folders

if TYPE_CHECKING:
    from commonplace.services.site.publication import PublishReport

SHOWN = 20
"""Maximum number of pages that the report names on a terminal."""


PUBLISH_JSON = """As JSON: `{"pages", "rendered", "written", "removed", "files", "redirects", "left_out": [{"path",
"reason"}], "broken": [{"path", "target"}], "search"}`; `search` is whether the pages can be searched."""


def publish_command(
    session: Session,
    folder: Annotated[str, typer.Argument(metavar="FOLDER")],
    out: Annotated[str, typer.Argument(metavar="OUT")],
    *,
    url: Annotated[
        str, typer.Option("--url", metavar="URL", help="The address of the site; else `url` in commonplace.yaml.")
    ] = "",
    no_search: Annotated[bool, typer.Option("--no-search", help="Write no search index.")] = False,
) -> None:
    """Write the pages of a folder as files for any web host.

    Examples:
        commonplace publish docs site
        commonplace publish ~/notes ~/site --url https://notes.example.org/

    OUT gets the pages that `serve` shows, with relative links, so that it works below any path. It must be empty, or
    from an earlier publication, of which only the differences are written. Left out are pages with draft: true,
    private: true or publish: false, and what commonplace.yaml excludes; the report lists them. Links to them become
    text. Searching the pages needs the extra `publish`; a sitemap and a feed need the address of the site.
    """
    inner = replace(session, settings=session.configured({"kb": [folder]}))
    require_folders(inner.settings.kb)
    with inner.opened() as collections:
        collection = collections.members[0]
        collection.index.wait_dated(HISTORY_SECONDS)
        report = session.dependencies.publish(
            collection, inner.settings.kb[0], Path(out), url, not no_search, inner.settings.cache_dir
        )
    _report(session, report, out)


def _report(session: Session, report: PublishReport, out: str) -> None:
    for notice in report.notices:
        session.out.message(notice)
    if session.out.as_json:
        left_out: list[Json] = [{"path": element.path, "reason": element.reason} for element in report.left_out]
        broken: list[Json] = [{"path": path, "target": target} for path, target in report.broken]
        session.out.json(
            {
                "pages": report.pages,
                "rendered": report.rendered,
                "written": report.written,
                "removed": report.removed,
                "files": report.files,
                "redirects": report.redirects,
                "left_out": left_out,
                "broken": broken,
                "search": report.searchable,
            }
        )
        return
    for other_left_out in report.left_out[:SHOWN]:
        session.out.line(f"left out: {other_left_out.path} ({other_left_out.reason})")
    if len(report.left_out) > SHOWN:
        session.out.line(f"left out: {amount(len(report.left_out) - SHOWN, 'more file')}; --json lists all")
    session.out.line(
        f"{amount(report.pages, 'page')}, {amount(report.files, 'other file')}, "
        f"{amount(report.redirects, 'redirect')} in {out}: {report.written:,} written, {report.removed:,} removed; "
        f"{len(report.left_out):,} left out, {amount(len(report.broken), 'broken link')}."
    )


BACKUP_JSON = """As JSON: `{"backup", "files": [..]}`, or with `--restore` `{"restored", "files": [..]}`."""


def backup_command(
    session: Session,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup.")],
    *,
    restore: Annotated[bool, typer.Option("--restore", help="Put back what FILE has.")] = False,
) -> None:
    """Back up what is in no remote, while servers run; or restore it.

    Examples:
        commonplace backup /backups/commonplace.tar.gz
        commonplace backup /backups/commonplace.tar.gz --restore

    A backup has access keys (as digests) with their limits, the logs of writes and activity, the trash, the settings
    file, the file of --keys, and the proposals of the served folders. It has no pages: these are in Git. Its file is
    for its owner alone. Restore it into an empty state folder, before the server starts. Settings and keys that exist
    stay as they are.
    """
    back_up = session.dependencies.back_up
    names = back_up(session.settings, file, restore)
    if session.out.as_json:
        session.out.json({"restored" if restore else "backup": str(file), "files": [*names]})
        return
    done = "Restored" if restore else "Backed up"
    session.out.line(f"{done} {len(names)} files.")
