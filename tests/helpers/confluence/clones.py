"""A site with some pages, and its clone."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from commonplace.toolsets.pages.confluence.api import Api
from commonplace.toolsets.pages.confluence.credentials import Login
from commonplace.toolsets.pages.confluence.pull import PullOptions, PullReport, clone, pull
from commonplace.toolsets.pages.confluence.push import PushOptions, PushReport, push, status
from commonplace.toolsets.pages.confluence.space_sync import locked_workspace
from commonplace.toolsets.pages.confluence.workspace import Workspace
from confluence.bodies import BLOCKS
from confluence.server import SiteHandler, SiteServer, serving
from confluence.site import Page, Site


def small_site() -> Site:
    """A home page, a page with two children, a folder with one, and every kind of block."""
    site = Site()
    run = site.add("Runbooks", body='<p>See <ac:link><ri:page ri:content-title="Deploy" /></ac:link>.</p>')
    deploy = site.add(
        "Deploy",
        run.id,
        '<p>alpha</p><p>beta</p><p>gamma</p><p><ac:image><ri:attachment ri:filename="a b.png" /></ac:image></p>',
    )
    deploy.files["a b.png"] = (1, b"PNG")
    deploy.labels = {"ops", "runbook"}
    site.add("Blocks", run.id, "".join(BLOCKS.values()))
    folder = site.add("Drawer", kind="folder")
    site.add("Inside", folder.id, "<p>inside</p>")
    return site


@dataclass
class Clone:
    """A clone of a site."""

    server: SiteServer
    folder: Path
    face: type[Api] = Api

    @property
    def site(self) -> Site:
        return self.server.site

    def page(self, title: str) -> Page:
        return next(page for page in self.site.pages.values() if page.title == title and page.status == "current")

    @contextmanager
    def api(self) -> Iterator[Api]:
        login = Login("basic", "ann@example.org", "secret")
        with closing(self.face(self.server.url, login, sleep=lambda _: None)) as api:
            yield api

    def clone(self) -> PullReport:
        with self.api() as api:
            return clone(api, self.site.key, self.folder, PullOptions(), lambda _: None)

    def pull(self, **options: bool) -> PullReport:
        with locked_workspace(self.folder) as workspace, self.api() as api:
            return pull(api, workspace, PullOptions(**options), lambda _: None)

    def push(self, **options: bool) -> PushReport:
        workspace = Workspace(self.folder)
        with workspace.repository.locked(), self.api() as api:
            workspace = Workspace(self.folder)
            return push(api, workspace, status(workspace).changes, PushOptions(**options), lambda _: None)

    def changes(self) -> dict[str, str]:
        return {change.path: change.summary for change in status(Workspace(self.folder)).changes}

    def read(self, path: str) -> str:
        return (self.folder / path).read_text()

    def edit(self, path: str, old: str, new: str) -> None:
        text = self.read(path)
        assert old in text, text
        (self.folder / path).write_text(text.replace(old, new, 1))

    def tree(self) -> dict[str, bytes]:
        """The folder's files without the moment of the sync."""
        return {
            str(path.relative_to(self.folder)): b"\n".join(
                line for line in path.read_bytes().split(b"\n") if b"synced_at" not in line and b"lastSync" not in line
            )
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and ".git" not in path.parts
        }

    def git(self, *arguments: str) -> str:
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@y", *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True).stdout


@contextmanager
def served_clone(
    folder: Path, site: Site | None = None, handler: type[SiteHandler] | None = None, face: type[Api] = Api
) -> Iterator[Clone]:
    """A clone to be, with its site served; what the API's description does not allow fails at the end."""
    with serving(site or small_site(), handler) as server:
        yield Clone(server, folder / "eng", face)
        assert server.violations == []
