"""`commonplace projects`: the store of project knowledge from the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from commonplace.domain.errors import ConfigError, NotFoundError
from commonplace.domain.json import JsonObject
from commonplace.domain.words.amounts import amount
from commonplace.faces.cli.options import ADOPT
from commonplace.faces.cli.output import BOLD, FAINT
from commonplace.faces.cli.session import Session, require_folders
from commonplace.faces.cli.text_input import read_text
from commonplace.settings import Settings
from commonplace.toolsets.projects.service import PROJECTS_KEY, instructions, knowledge
from commonplace.toolsets.projects.service.project_store import ProjectStore

_LOOKS = frozenset({"list", "show", "status"})
_MAKES_ONE = "commonplace projects import FILE --project ID makes one, as the first start of its server does."
ProjectsAction = Literal["list", "show", "import", "status", "sync"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectOptions:
    """The project, and options for its output."""

    project: Annotated[str, typer.Option("--project", metavar="ID", help="The project; for show and import.")] = ""
    force: Annotated[bool, typer.Option("--force", help="Replace instructions that are there already.")] = False
    adopt: Annotated[bool, typer.Option("--adopt", help=ADOPT)] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With sync: only tell what would be done.")] = False

    def require(self, action: ProjectsAction, files: Sequence[str]) -> None:
        """Check that the action has what it needs, and nothing else.

        Raises:
            ConfigError: it has not.
        """
        if action in {"show", "import"} and not self.project:
            raise ConfigError(f"projects {action} needs --project ID.", kind="option", hint="See projects list.")
        if (action == "import") != bool(files):
            raise ConfigError("FILEs are given to import, and to nothing else.", kind="option")
        if self.dry_run and action != "sync":
            raise ConfigError("--dry-run is for sync alone.", kind="option", hint="See projects --help.")


PROJECTS_JSON = """As JSON: `list`: `{"projects": [{"project_id", "has_main", "file_count", "updated"}]}`; `show`:
`{"project_id", "main", "files": [{"filename", "title", "keywords", "updated"}]}`; `status` and `sync`: as the tools
`get_storage_status` and `sync_storage`; `sync --dry-run`: `{"would_commit": [LINE], "remote_status"}`; `import`:
`{"project_id", "imported": [NAME]}`."""


def projects_command(
    session: Session,
    action: Annotated[ProjectsAction, typer.Argument(metavar="list|show|import|status|sync")] = "list",
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE", hidden=True)] = None,
    *,
    what: ProjectOptions,
) -> None:
    """Look into the store of project knowledge, bring instruction files in, synchronise it.

    Examples:
        commonplace projects list
        commonplace projects show --project my-app
        commonplace projects import CLAUDE.md AGENTS.md --project my-app
        commonplace projects status
        commonplace projects sync --dry-run

    The store is --kb, else $KNOWLEDGE_MCP_HOME, else ~/.knowledge-mcp. A folder that holds other files and is no store
    is refused, unless --adopt makes one there. Several files that are imported become one text, in their order.
    Imported files stay where they are.
    """
    what.require(action, files or ())
    texts = [(Path(file).name, read_text(file, session.out).decode("utf-8-sig", "replace")) for file in files or ()]
    settings = replace(session.settings, toolset="projects", adopt=what.adopt or session.settings.adopt)
    if (action in _LOOKS or what.dry_run) and (missing := _missing_store(session, settings)) is not None:
        _show_missing(session, action, missing)
        return
    with session.opened_application(settings, creates_folder=action in {"import", "sync"}) as application:
        store = application.services.of(PROJECTS_KEY)
        if action != "sync":  # `sync` itself fetches
            store.upstream.wait_started()
        _run(session, store, action, what, texts)


def _run(
    session: Session, store: ProjectStore, action: ProjectsAction, what: ProjectOptions, texts: list[tuple[str, str]]
) -> None:
    match action:
        case "list":
            _list(session, store)
        case "show":
            _show(session, store, what.project)
        case "import":
            instructions.import_main(store, what.project, texts, replace=what.force)
            names = [name for name, _ in texts]
            message = f"Imported {', '.join(names)} into {what.project}"
            _tell(session, {"project_id": what.project, "imported": names}, message)
        case "status":
            _status(session, store)
        case "sync":
            (_plan if what.dry_run else _sync)(session, store)


def _missing_store(session: Session, settings: Settings) -> Path | None:
    """The path of the store if there is none yet; None if the folder has content. Does not create the folder."""
    require_folders(settings.kb)
    path = session.dependencies.store_folder(settings.kb, settings)
    if path is None or (path.exists() and (not path.is_dir() or any(path.iterdir()))):
        return None
    return path


def _show_missing(session: Session, action: ProjectsAction, path: Path) -> None:
    """Report that there is no store. A list is then empty.

    Raises:
        NotFoundError: the action is not `list`.
    """
    if action != "list":
        raise NotFoundError(f"There is no store of projects at {path}.", kind="collection", hint=_MAKES_ONE)
    if session.out.as_json:
        session.out.json({"projects": []})
    else:
        session.out.message(f"No projects: there is no store at {path}. {_MAKES_ONE}")


def _list(session: Session, store: ProjectStore) -> None:
    projects = instructions.list_projects(store)
    if session.out.as_json:
        rows = [
            {
                "project_id": project.id,
                "has_main": project.main is not None,
                "file_count": project.documents,
                "updated": project.updated or None,
            }
            for project in projects
        ]
        session.out.json({"projects": rows})
        return
    for project in projects:
        marks = f"{amount(project.documents, 'document')}  {project.updated[:10]}"
        session.out.line(f"{session.out.styled(BOLD, project.id)}  {session.out.styled(FAINT, marks)}")
    if not projects:
        session.out.message("No projects.")


def _show(session: Session, store: ProjectStore, project_id: str) -> None:
    documents = knowledge.list_documents(store, project_id)
    main = instructions.get_main(store, project_id)
    if session.out.as_json:
        files = [
            {
                "filename": document.filename,
                "title": document.metadata.title,
                "keywords": list(document.metadata.keywords),
                "updated": document.metadata.updated or None,
            }
            for document in documents
        ]
        session.out.json({"project_id": project_id, "main": main.content if main.exists else None, "files": files})
        return
    session.out.raw(main.content.encode())
    for item in documents:
        session.out.line(f"{session.out.styled(BOLD, item.filename)}  {session.out.styled(FAINT, item.metadata.title)}")


def _status(session: Session, store: ProjectStore) -> None:
    status = store.upstream.status()
    if session.out.as_json:
        session.out.json(
            {
                "storage_path": store.path,
                "has_changes": bool(status.uncommitted),
                "current_branch": status.branch,
                "last_commit": status.last_commit,
                "remote_status": status.remote,
                "uncommitted_files": len(status.uncommitted),
                "status_details": "\n".join(status.uncommitted),
                "rescue_branches": list(status.rescued),
                **({"push_error": status.withheld} if status.withheld else {}),
            }
        )
        return
    out = session.out
    out.line(f"{out.styled(BOLD, store.path)}  {out.styled(FAINT, status.branch)}")
    out.line(out.styled("", f"Last commit: {status.last_commit}"))
    out.line(status.remote)
    if status.withheld:
        out.line(f"Not pushed: {status.withheld}")
    for line in (*status.uncommitted, *(f"Rescued: {name}" for name in status.rescued)):
        out.line(out.styled("", line))


def _plan(session: Session, store: ProjectStore) -> None:
    status = store.upstream.status()
    if session.out.as_json:
        session.out.json({"would_commit": list(status.uncommitted), "remote_status": status.remote})
        return
    session.out.line(f"Would commit {amount(len(status.uncommitted), 'file')}, bring in what the remote has, and push")
    session.out.line(status.remote)
    for line in status.uncommitted:
        session.out.line(session.out.styled("", line))


def _sync(session: Session, store: ProjectStore) -> None:
    done = store.upstream.sync()
    answer: dict[str, str | int | bool | None] = {
        "message": done.told,
        "files_committed": done.files,
        "pushed": done.pushed,
        "commit_message": done.message or None,
    }
    _tell(session, answer if done.pushed else {**answer, "push_error": done.error}, done.told)


def _tell(session: Session, answer: JsonObject, message: str) -> None:
    if session.out.as_json:
        session.out.json(answer)
    else:
        session.out.line(session.out.styled("", message))
