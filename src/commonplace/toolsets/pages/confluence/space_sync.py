"""Status, edits and pushes of a cloned space: what the command line and the MCP tools both show."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from commonplace.domain.activity import PlannedWrite, require_decision
from commonplace.domain.addresses import Address
from commonplace.domain.errors import KnowledgeError, NotFoundError, UnavailableError
from commonplace.domain.json import JsonObject
from commonplace.services import writes
from commonplace.services.collections import Collection
from commonplace.toolsets.pages.confluence import credentials, oauth
from commonplace.toolsets.pages.confluence.api import Api
from commonplace.toolsets.pages.confluence.credentials import Login
from commonplace.toolsets.pages.confluence.data_center import DataCenterApi
from commonplace.toolsets.pages.confluence.pull import PullOptions, PullReport, Say, pull
from commonplace.toolsets.pages.confluence.push import (
    LocalChange,
    PushOptions,
    PushReport,
    change_at,
    diff,
    edited_body,
    placed,
    push,
    status,
)
from commonplace.toolsets.pages.confluence.remote import Product
from commonplace.toolsets.pages.confluence.repository import SpaceRepository
from commonplace.toolsets.pages.confluence.workspace import Workspace
from commonplace.toolsets.pages.rules.space import SPACE_FILE, no_space

_API: Mapping[Product, type[Api]] = {"cloud": Api, "data center": DataCenterApi}


def connected(site: str, login: Login) -> Api:
    """The API that a site has, for this login.

    Raises:
        UnauthenticatedError: the site rejects the login.
        UnavailableError: it has no API of Confluence, or cannot be reached.
    """
    contexts = ("",) if site.count("/") > 2 else ("", "/wiki", "/confluence")  # noqa: PLR2004 - two of the scheme
    elsewhere = [] if login.api else [(DataCenterApi, f"{site}{context}") for context in contexts]
    for face, url in [(Api, site), *elsewhere]:
        api = _signed_in(face, url, login)
        try:
            if api.answers():
                return api
        except KnowledgeError:
            api.close()
            raise
        api.close()
    raise UnavailableError(
        f"{site} does not answer as Confluence does, or a proxy or a sign-in page stands before it.",
        kind="site",
        hint=f"Open {site} in a browser from here, and name it with its context path if it has one.",
    )


def _signed_in(face: type[Api], site: str, login: Login) -> Api:
    return face(site, login, renewal=(lambda expired: _renewed(site, expired)) if login.app else None)


def _renewed(site: str, expired: Login) -> Login:
    """The login after one that has expired: another `cn` may have renewed it already."""
    home = Path.home()
    saved = credentials.login_for(site, home, {})
    if saved.token != expired.token:
        return saved
    login = oauth.renewed(saved)
    credentials.save_login(site, login, home)
    return login


def pull_space(folder: Path, options: PullOptions, say: Say) -> PullReport:
    """Bring a space's folder up to date, as `pull` does.

    Raises:
        NotFoundError: the folder is no space, or the space is gone.
        UnauthenticatedError: there is no login.
        UnavailableError: the site cannot be reached, or the folder is being synced.
        PreconditionError: more than a fifth of the pages would be deleted, and nobody confirmed it.
    """
    with locked_workspace(folder) as workspace, api_of(workspace) as api:
        return pull(api, workspace, options, say)


@contextmanager
def locked_workspace(folder: Path) -> Generator[Workspace]:
    """The workspace of a folder that nothing else syncs meanwhile.

    Raises:
        NotFoundError, ConfigError: the folder is no clone of a space.
        UnavailableError: the folder is being synced.
    """
    if not (folder / SPACE_FILE.path).is_file():
        raise no_space()
    with SpaceRepository(folder).locked():
        yield Workspace(folder)


def api_of(workspace: Workspace) -> closing[Api]:
    """The API of a workspace's site, to be used in a `with` block.

    Raises:
        UnauthenticatedError: there is no login.
    """
    site = workspace.state.site
    credentials.require_encrypted(site)
    login = credentials.login_for(site, Path.home(), os.environ)
    return closing(_signed_in(_API[workspace.state.product], site, login))


def page_path(workspace: Workspace, page: str, here: Path) -> str:
    """Path of the page that a caller in the folder `here` names by its path or id.

    Raises:
        NotFoundError: there is no such page.
    """
    path = workspace.path_of(page, here)
    if path is None:
        raise NotFoundError(f"There is no page {page!r}.", kind="page", hint="Name it by its path or id.")
    return path


def chosen(workspace: Workspace, pages: Sequence[str], here: Path) -> list[LocalChange]:
    """The edits of these pages; of all without any."""
    paths = {page_path(workspace, page, here) for page in pages}
    return [change for change in status(workspace).changes if not pages or change.path in paths]


def diffs(workspace: Workspace, pages: Sequence[str], here: Path) -> dict[str, str]:
    """The unified diff of each edited page, by path."""
    return {change.path: diff(workspace, change) for change in chosen(workspace, pages, here)}


@dataclass(frozen=True, slots=True)
class SectionEdit:
    """New text under a heading."""

    page: str
    """Path or id of the page."""
    heading: str
    text: str


def edit_section(folder: Path, collection: Collection, section: SectionEdit, *, proposed: bool = False) -> JsonObject:
    """Replace the text under a heading of a page. Nothing is sent to the site.

    Args:
        folder: The space's folder.
        collection: The collection in which the page is written.
        section: The new text.
        proposed: Whether the collection is that of a proposer, so that the folder itself is only read.

    Returns:
        The page's path, all its edits as a diff, and why a push would refuse them; None if it would not.

    Raises:
        NotFoundError, InvalidInputError: there is no such page or section.
        UnavailableError: the folder is being synced.
    """
    workspace = Workspace(folder)
    path = page_path(workspace, section.page, folder)
    with nullcontext() if proposed else workspace.repository.locked():
        writes.edit_section(collection, Address(path), section.heading, section.text)
    change = change_at(workspace, path, collection.store.read(Address(path)))
    return {
        "path": path,
        "diff": diff(workspace, change) if change else "",
        "refusal": _refusal(workspace, change) if change else None,
    }


def _refusal(workspace: Workspace, change: LocalChange) -> str | None:
    """Why the site would not get an edit as it is; None if it would."""
    if change.page is None:
        return None
    try:
        edited_body(workspace, change, change.page)
    except KnowledgeError as error:
        return placed(error, change).advice
    return None


def push_pages(
    folder: Path, pages: Sequence[str], options: PushOptions, say: Say, *, here: Path, collection: Collection | None
) -> PushReport:
    """Push the edits of these pages; of all without any.

    Args:
        folder: The space's folder.
        pages: Paths or ids.
        options: Permissions of the push.
        say: Receives a line for each pushed page.
        here: Folder to which paths are relative.
        collection: The collection in which the caller must have the right to write these pages; None for no check.

    Raises:
        NotFoundError: there is no such page.
        ForbiddenError: the caller may not write it.
        UnauthenticatedError: there is no login.
        UnavailableError: the site cannot be reached, or the folder is being synced.
    """
    with locked_workspace(folder) as workspace, api_of(workspace) as api:
        changes = chosen(workspace, pages, here)
        if collection is not None and changes:
            _require_rights(collection, changes)
        return push(api, workspace, changes, options, say)


def _require_rights(collection: Collection, changes: Sequence[LocalChange]) -> None:
    files: dict[Address, bytes | None] = {Address(change.path): change.file.raw for change in changes}
    require_decision(lambda: PlannedWrite(collection.name, collection.store.identity, files, files))
