"""The commands of `cn` that speak to Confluence: login, clone, pull, status, diff, push, and what belongs to them."""

from __future__ import annotations

import getpass
import json
import os
import sys
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from commonplace.domain.errors import InvalidInputError, NotFoundError, UnauthenticatedError
from commonplace.toolsets.pages.cli.failures import CnDependencies, exit_code, message, out

if TYPE_CHECKING:
    from commonplace.toolsets.pages.confluence.credentials import Login
    from commonplace.toolsets.pages.confluence.pull import PullReport
    from commonplace.toolsets.pages.confluence.workspace import Workspace

CONFLICT = 8
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
Pages = Annotated[
    list[str] | None, typer.Argument(metavar="[PAGE]...", help="Paths or ids of pages.", show_default="all")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginOptions:
    """Credentials on the command line."""

    email: Annotated[
        str, typer.Option(help="E-mail address of the account; none for a personal token of Data Center.")
    ] = ""
    token_stdin: Annotated[bool, typer.Option("--token-stdin", help="Read the token from standard input.")] = False
    cloud_id: Annotated[
        str,
        typer.Option("--cloud-id", metavar="ID", help="Send requests to api.atlassian.com, as scoped tokens need."),
    ] = ""
    oauth: Annotated[
        str, typer.Option("--oauth", metavar="CLIENT_ID", help="Sign in by the browser, with an OAuth app of yours.")
    ] = ""
    port: Annotated[int, typer.Option(metavar="PORT", help="Port of the app's callback URL.", min=1, max=65535)] = 8976


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneOptions:
    """Source and extent of a clone."""

    site: Annotated[str, typer.Option(metavar="URL", help="The site; else the only one you signed in to.")] = ""
    comments: Annotated[
        bool, typer.Option("--comments", help="Also keep the comments, in a file beside each page.")
    ] = False


def login(
    parts: CnDependencies,  # noqa: ARG001 - every command has it
    site: Annotated[str, typer.Argument(metavar="SITE", help="The site, such as https://acme.atlassian.net.")],
    *,
    options: LoginOptions,
) -> int:
    """Keep who signs in to a site: an e-mail address with an API token, a personal token of Data Center, or OAuth.

    The token is kept by the system's keyring, else in a file that only you can read. It is never in a space and never
    in a log. With --oauth, the secret of the app takes the token's place, and tokens are renewed as they expire.
    """
    from commonplace.toolsets.pages.confluence import credentials
    from commonplace.toolsets.pages.confluence.space_sync import connected

    url = credentials.site_url(site)
    chosen = _login(url, options)
    try:
        api = connected(url, chosen)
    except UnauthenticatedError:
        raise UnauthenticatedError(
            f"{url} rejects the token.",
            kind="site",
            hint="An API token of the cloud needs --email; a personal token of Data Center has none.",
        ) from None
    api.close()
    place = credentials.save_login(api.site, chosen, Path.home())
    message(f"Signed in to {api.site}; the token is in {place}.")
    return 0


def _login(site: str, options: LoginOptions) -> Login:
    from commonplace.toolsets.pages.confluence import credentials, oauth

    secret = _secret("Secret of the app: " if options.oauth else "API token: ", from_stdin=options.token_stdin)
    if options.oauth:
        return oauth.sign_in(site, credentials.OAuthApp(options.oauth, secret), options.port, _show_address)
    api_url = f"{oauth.GATEWAY}/ex/confluence/{quote(options.cloud_id, safe='')}" if options.cloud_id else ""
    return credentials.Login("basic" if options.email else "bearer", options.email, secret, api_url)


def _show_address(url: str) -> None:
    message(f"Sign in here: {url}")
    webbrowser.open(url)


def _secret(question: str, *, from_stdin: bool) -> str:
    if not from_stdin and not sys.stdin.isatty():
        raise InvalidInputError(
            "There is no terminal to ask for the token.", kind="token", hint="Pipe it in, with --token-stdin."
        )
    secret = (sys.stdin.readline() if from_stdin else getpass.getpass(question)).strip()
    if not secret:
        raise InvalidInputError("The token is empty.", kind="token")
    return secret


def clone(
    parts: CnDependencies,  # noqa: ARG001 - every command has it
    space: Annotated[str, typer.Argument(metavar="SPACE", help="Key of the space, such as ENG.")],
    folder: Annotated[str, typer.Argument(metavar="[DIR]", help="The new folder.", show_default="the key")] = "",
    *,
    options: CloneOptions,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Copy a space into a new folder of Markdown in Git. A clone that was ended goes on where it was."""
    from commonplace.toolsets.pages.confluence import credentials
    from commonplace.toolsets.pages.confluence.pull import PullOptions
    from commonplace.toolsets.pages.confluence.pull import clone as clone_space
    from commonplace.toolsets.pages.confluence.space_sync import connected

    home = Path.home()
    url = credentials.site_url(options.site or os.environ.get("CN_SITE") or credentials.only_site(home))
    url = credentials.known_site(url, home)
    target = Path(folder or space.lower()).absolute()
    options_of_pull = PullOptions(dry_run=dry_run, comments=options.comments)
    with closing(connected(url, credentials.login_for(url, home, os.environ))) as api:
        report = clone_space(api, space, target, options_of_pull, _say(as_json))
    return _pulled(report, as_json, target.name)


def pull(
    parts: CnDependencies,  # noqa: ARG001 - every command has it
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Also if more than a fifth of the pages are gone.")] = False,
    comments: Annotated[
        bool | None,
        typer.Option(
            "--comments/--no-comments", help="Keep comments from now on or no more.", show_default="as before"
        ),
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Bring the space in this folder up to date, in one commit. Your edits are merged, or left alone in a conflict."""
    from commonplace.toolsets.pages.confluence.pull import PullOptions
    from commonplace.toolsets.pages.confluence.space_sync import pull_space

    options = PullOptions(dry_run=dry_run, confirmed=yes, comments=comments)
    report = pull_space(_folder(), options, _say(as_json))
    return _pulled(report, as_json, "", dry_run=dry_run)


def status(parts: CnDependencies, *, as_json: AsJson = False) -> int:  # noqa: ARG001 - every command has it
    """Say which pages differ from the last pull or push."""
    from commonplace.toolsets.pages.confluence.push import status as status_of

    current = status_of(_workspace())
    if as_json:
        out(_json(current.values))
        return 0
    for change in current.changes:
        out(f"{change.path}: {change.summary}")
    for name, paths in (
        ("the file is gone ('git restore' brings it back); a push deletes nothing on the site", current.missing),
        ("the site no longer shows the page", current.restricted),
        ("has the id of another page", current.repeated),
    ):
        for path in paths:
            out(f"{path}: {name}")
    if not (current.changes or current.missing or current.restricted or current.repeated):
        out("Nothing changed.")
    return 0


def diff(parts: CnDependencies, pages: Pages = None, *, as_json: AsJson = False) -> int:  # noqa: ARG001
    """Show the edits that a push would write."""
    from commonplace.toolsets.pages.confluence.space_sync import diffs

    texts = diffs(_workspace(), pages or [], Path.cwd())
    if as_json:
        out(_json([{"path": path, "diff": text} for path, text in texts.items()]))
    elif texts:
        out("\n".join(texts.values()))
    return 0


def push(
    parts: CnDependencies,  # noqa: ARG001 - every command has it
    pages: Pages = None,
    *,
    allow_loss: Annotated[
        bool, typer.Option("--allow-loss", help="Also remove placeholders, with what they stand for on the site.")
    ] = False,
    note: Annotated[str, typer.Option("--message", metavar="TEXT", help="Message of the new versions.")] = "",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> int:
    """Write your edits to the site: texts, titles, labels and places, and new pages. Everything else stays as it is."""
    from commonplace.toolsets.pages.confluence.push import MESSAGE, PushOptions
    from commonplace.toolsets.pages.confluence.space_sync import push_pages

    folder, options = _folder(), PushOptions(dry_run=dry_run, allow_loss=allow_loss, message=note or MESSAGE)
    report = push_pages(folder, pages or [], options, _say(as_json), here=Path.cwd(), collection=None)
    if as_json:
        out(_json(report.values))
    else:
        for path, error in report.refused.items():
            message(f"Error: {path}: {error.advice}")
        if not report.pushed and not report.refused:
            out("Nothing to push.")
    codes = [exit_code(error) for error in report.refused.values()]
    return CONFLICT if CONFLICT in codes else max(codes, default=0)


def new(
    parts: CnDependencies,  # noqa: ARG001 - every command has it
    title: Annotated[str, typer.Argument(metavar="TITLE", help="Title of the page.")],
    *,
    parent: Annotated[
        str, typer.Option(metavar="PAGE", help="Path or id of the page above.", show_default="home")
    ] = "",
    dry_run: DryRun = False,
) -> int:
    """Begin a page: write its file. A push creates it on the site."""
    from commonplace.toolsets.pages.confluence.push import new_page

    out(new_page(_workspace(), title, parent, dry_run=dry_run))
    return 0


def attach(
    parts: CnDependencies,  # noqa: ARG001 - every command has it
    page: Annotated[str, typer.Argument(metavar="PAGE", help="Path or id of the page.")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="The files.")],
    *,
    dry_run: DryRun = False,
) -> int:
    """Add files to a page on the site, or new versions of them, and say how to link to each."""
    from commonplace.toolsets.pages.confluence.push import attach as attach_files
    from commonplace.toolsets.pages.confluence.space_sync import api_of, locked_workspace

    with locked_workspace(_folder()) as workspace, api_of(workspace) as api:
        for link in attach_files(api, workspace, _page_path(workspace, page), files, dry_run=dry_run):
            out(link)
    return 0


def label(
    parts: CnDependencies,  # noqa: ARG001 - every command has it
    page: Annotated[str, typer.Argument(metavar="PAGE", help="Path or id of the page.")],
    labels: Annotated[
        list[str], typer.Argument(metavar="LABEL...", help="Labels to add; with - before it, to remove.")
    ],
    *,
    dry_run: DryRun = False,
) -> int:
    """Change the labels in a page's file. A push writes them to the site. Put `--` before a label to remove."""
    from commonplace.toolsets.pages.confluence.push import set_labels

    workspace = _workspace()
    added = [name for name in labels if not name.startswith("-")]
    removed = [name.removeprefix("-") for name in labels if name.startswith("-")]
    out(", ".join(set_labels(workspace, _page_path(workspace, page), added, removed, dry_run=dry_run)))
    return 0


def open_page(
    parts: CnDependencies,  # noqa: ARG001 - every command has it
    page: Annotated[str, typer.Argument(metavar="PAGE", help="Path or id of the page.")],
    *,
    dry_run: DryRun = False,
) -> int:
    """Open a page of the site in the browser."""
    workspace = _workspace()
    path = _page_path(workspace, page)
    url = workspace.page_url(path)
    out(url)
    if not dry_run:
        webbrowser.open(url)
    return 0


COMMANDS: Mapping[str, Callable[..., int]] = {
    "login": login,
    "clone": clone,
    "pull": pull,
    "status": status,
    "diff": diff,
    "push": push,
    "new": new,
    "attach": attach,
    "label": label,
    "open": open_page,
}


def _folder() -> Path:
    """The space's folder: the current one, or one above it."""
    from commonplace.toolsets.pages.rules.space import SPACE_FILE

    here = Path.cwd()
    folders = (folder for folder in (here, *here.parents) if (folder / SPACE_FILE.path).is_file())
    folder = next(folders, None)
    if folder is None:
        raise NotFoundError(
            "There is no space here or in a folder above.",
            kind="space",
            hint="Change into its folder, or run 'cn clone SPACE'.",
        )
    return folder


def _workspace() -> Workspace:
    from commonplace.toolsets.pages.confluence.workspace import Workspace

    return Workspace(_folder())


def _page_path(workspace: Workspace, page: str) -> str:
    from commonplace.toolsets.pages.confluence.space_sync import page_path

    return page_path(workspace, page, Path.cwd())


def _pulled(report: PullReport, as_json: bool, folder: str, *, dry_run: bool = False) -> int:
    if as_json:
        out(_json(report.values))
    else:
        out(f"{folder}: {report.summary}" if folder else report.summary[:1].upper() + report.summary[1:])
        for path in report.restricted:
            message(f"{path}: the site no longer shows this page; it is kept.")
        for name in report.unreadable:
            message(f"{name}: could not be fetched.")
        for note in report.notes:
            message(f"Warning: {note}")
        for path in report.conflicts:
            way_out = (
                f" The site's text is in {path}.remote: bring it into the page, and set `version` to the one that is "
                "named there."
            )
            message(f"Error: {path}: you and the site changed the same place.{'' if dry_run else way_out}")
    return CONFLICT if report.conflicts else 0


def _say(as_json: bool) -> Callable[[str], None]:
    return (lambda _: None) if as_json else message


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
