"""Views of projects: the list, one project with its instructions, a document with its chapters, a to-do list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

from commonplace.domain.documents import Link
from commonplace.domain.errors import NotFoundError
from commonplace.domain.slugs import anchor
from commonplace.domain.words.amounts import amount
from commonplace.faces.web.exchange import CardRow, HomeCard, PageRequest, PageResponse, ToolsetPages, redirect
from commonplace.faces.web.markup.html import LinkHtml
from commonplace.faces.web.markup.links import page_link
from commonplace.faces.web.markup.page import TextRenderer
from commonplace.faces.web.markup.parser import LinkKey
from commonplace.faces.web.pages import page
from commonplace.faces.web.urls import with_query
from commonplace.toolsets.projects.rules.chapters import introduction_of, metadata_of, read_chapters
from commonplace.toolsets.projects.rules.registry import DOCUMENT_SUFFIX
from commonplace.toolsets.projects.service import PROJECTS_KEY, instructions, knowledge, todos
from commonplace.toolsets.projects.service.project_store import ProjectStore

PROJECTS = "/projects/"
"""Prefix of the URL of a project."""
MAX_NUMBER = 9
"""Maximum number of digits of a to-do list's number."""
MAX_ON_CARD = 12
"""Maximum number of projects on the home page's card."""


def project_url(project_id: str, **query: str) -> str:
    """The URL of a project, or with `document` or `todo` of its document or list."""
    return with_query(PROJECTS + quote(project_id, safe=""), **query)


@dataclass(frozen=True, slots=True)
class ProjectLinks:
    """Links in a project's text.

    Links to the project's own documents go by file name; all others are shown as missing.
    """

    project_id: str
    filenames: frozenset[str]

    def shown(self, links: Mapping[LinkKey, Link]) -> Mapping[LinkKey, LinkHtml]:
        """Every link to a document or file."""
        return {key: self._link(link) for key, link in links.items()}

    def _link(self, link: Link) -> LinkHtml:
        name = link.target.rpartition("/")[2]
        filename = name if name.endswith(DOCUMENT_SUFFIX) else f"{name}{DOCUMENT_SUFFIX}"
        fragment = f"#{quote(chapter_anchor(link.fragment))}" if link.fragment else ""
        if filename in self.filenames:
            return page_link(project_url(self.project_id, document=filename) + fragment)
        if not link.target and link.fragment:
            return page_link(fragment)
        title = f"The project has no document {name}"
        return LinkHtml(f'<a class="unresolved" title="{escape(title)}">')


def chapter_anchor(title: str) -> str:
    """The `id` of a chapter's element."""
    return f"chapter-{anchor(title) or 'text'}"


def projects(request: PageRequest) -> PageResponse:
    """The list of projects, or the page of one project, document or to-do list."""
    store = request.services.of(PROJECTS_KEY)
    if not request.path:
        return page(request, "projects.html", projects=instructions.list_projects(store), url=project_url)
    document, todo = request.query.get("document", ""), request.query.get("todo", "")
    if document:
        return _document(request, store, request.path, document)
    if todo:
        return _todo(request, store, request.path, todo)
    return _project(request, store, request.path)


def _project(request: PageRequest, store: ProjectStore, project_id: str) -> PageResponse:
    store.folder(project_id)
    documents = knowledge.list_documents(store, project_id)
    main = instructions.get_main(store, project_id)
    text = _text(store, project_id)
    return page(
        request,
        "project.html",
        project_id=project_id,
        documents=documents,
        todos=todos.list_todos(store, project_id),
        exists=main.exists,
        html=text.html(main.content),
        footnotes=text.footnotes(),
        url=project_url,
    )


def _document(request: PageRequest, store: ProjectStore, project_id: str, filename: str) -> PageResponse:
    document = knowledge.get_document(store, project_id, filename)
    if document.address.name != filename:
        return redirect(project_url(project_id, document=document.address.name))
    text = _text(store, project_id, document.text)
    chapters = [
        (chapter.title, chapter_anchor(chapter.title), chapter.section.level, text.html(chapter.whole))
        for chapter in read_chapters(document)
    ]
    return page(
        request,
        "project_document.html",
        project_id=project_id,
        about=metadata_of(document),
        filename=filename,
        introduction=text.html(introduction_of(document)),
        chapters=chapters,
        footnotes=text.footnotes(),
        url=project_url,
    )


def _todo(request: PageRequest, store: ProjectStore, project_id: str, number: str) -> PageResponse:
    if not (number.isascii() and number.isdigit() and len(number) <= MAX_NUMBER):
        raise NotFoundError(f"There is no to-do list {number[:40]!r}.", kind="todo", hint="See the project's page.")
    todo = todos.get_todo(store, project_id, int(number))
    text = _text(store, project_id)
    return page(
        request,
        "project_todo.html",
        project_id=project_id,
        todo=todo,
        tasks=[(task, text.html(task.content)) for task in todo.tasks],
        footnotes=text.footnotes(),
        url=project_url,
    )


def _text(store: ProjectStore, project_id: str, whole: str = "") -> TextRenderer:
    """The renderer for texts of a project, or for parts of the text `whole`."""
    filenames = frozenset(document.filename for document in knowledge.list_documents(store, project_id))
    return TextRenderer(ProjectLinks(project_id, filenames), (PROJECTS,), whole=whole)


def card(request: PageRequest) -> HomeCard | None:
    """The card of projects on the home page."""
    found_projects = instructions.list_projects(request.services.of(PROJECTS_KEY))
    newest = sorted(found_projects, key=lambda project: project.updated, reverse=True)[:MAX_ON_CARD]
    rows = tuple(
        CardRow(project.id, project_url(project.id), amount(project.documents, "document")) for project in newest
    )
    about = f"{len(found_projects):,} with their instructions, documents and to-do lists, the latest first."
    return HomeCard("Projects", "/projects", about if found_projects else "There is none yet.", rows)


PROJECT_PAGES = ToolsetPages(
    views={"projects": projects},
    templates=Path(__file__).parent / "templates",
    menu=(("Projects", "/projects"),),
    card=card,
)
"""The web pages of a server of projects."""
