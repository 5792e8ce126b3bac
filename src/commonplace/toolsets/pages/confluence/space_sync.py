"""Status, edits and pushes of a cloned space: what the command line and the MCP tools both show."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from commonplace.domain.activity import PlannedWrite, require_decision
from commonplace.domain.addresses import Address
from commonplace.domain.errors import KnowledgeError, NotFoundError
from commonplace.domain.json import JsonObject
from commonplace.services import writes
from commonplace.services.collections import Collection
from commonplace.toolsets.pages.confluence import credentials
from commonplace.toolsets.pages.confluence.api import Api
from commonplace.toolsets.pages.confluence.pull import Say
from commonplace.toolsets.pages.confluence.push import (
    LocalChange,
    PushOptions,
    PushReport,
    diff,
    edited_body,
    placed,
    push,
    status,
)
from commonplace.toolsets.pages.confluence.workspace import Workspace


def open_api(site: str) -> Api:
    """The API of a site with its login.

    Raises:
        UnauthenticatedError: there is no login.
    """
    url = credentials.site_url(site)
    return Api(url, credentials.login_for(url, Path.home(), os.environ))


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


def edit_section(folder: Path, collection: Collection, page: str, heading: str, text: str) -> JsonObject:
    """Replace the text under a heading of a page's file. Nothing is sent to the site.

    Returns:
        The page's path, all its edits as a diff, and why a push would refuse them; None if it would not.

    Raises:
        NotFoundError, InvalidInputError: there is no such page or section.
        UnavailableError: the folder is being synced.
    """
    workspace = Workspace(folder)
    path = page_path(workspace, page, folder)
    with workspace.repository.locked():
        writes.edit_section(collection, Address(path), heading, text)
    change = next(iter(chosen(workspace, [path], folder)), None)
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
    workspace = Workspace(folder)
    with closing(open_api(workspace.state.site)) as api, workspace.repository.locked():
        workspace = Workspace(folder)
        changes = chosen(workspace, pages, here)
        if collection is not None and changes:
            _require_rights(collection, changes)
        return push(api, workspace, changes, options, say)


def _require_rights(collection: Collection, changes: Sequence[LocalChange]) -> None:
    files: dict[Address, bytes | None] = {Address(change.path): change.file.raw for change in changes}
    require_decision(lambda: PlannedWrite(collection.name, collection.store.identity, files, files))
