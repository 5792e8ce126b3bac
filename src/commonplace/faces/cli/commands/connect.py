"""`commonplace connect`: tell an MCP client of the folder.

As JSON: `{"client", "file", "name", "entry": {..}, "diff", "written"}`; `diff` is "" when the client knows it already.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from commonplace.domain.errors import ConfigError
from commonplace.faces import clients
from commonplace.faces.cli.output import show_diff
from commonplace.faces.cli.session import Session
from commonplace.settings import Settings, about
from commonplace.settings.folders import is_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryOptions:
    """What the entry says of the server."""

    toolset: Annotated[str | None, typer.Option(metavar="NAME", help=about("toolset"))] = None
    tier: Annotated[str | None, typer.Option(metavar="read|write|admin", help=about("tier"))] = None
    commit: Annotated[str | None, typer.Option(metavar="manual|auto", help=about("commit"))] = None

    def args(self) -> list[str]:
        """The options as `commonplace mcp` takes them."""
        given = {"--toolset": self.toolset, "--tier": self.tier, "--commit": self.commit}
        return [part for option, value in given.items() if value for part in (option, value)]


def command(
    session: Session,
    client: Annotated[clients.ClientName, typer.Argument(metavar="CLIENT", hidden=True)],
    *,
    served: EntryOptions,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the client calls it; default: the folder's name.")
    ] = None,
    file: Annotated[str | None, typer.Option(metavar="FILE", help="Another file than the client's usual one.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write the change.")] = False,
) -> None:
    """Tell an MCP client of the folder: show the change in its configuration, and write it with --yes.

    Examples:
        commonplace connect claude-code
        commonplace connect claude-desktop -C ~/notes --yes
        commonplace connect vscode --tier write --commit auto --yes
        commonplace connect cursor --json
        commonplace connect claude-code --toolset projects --yes

    With --toolset projects the entry names the store of project knowledge: the folder of -C, else $KNOWLEDGE_MCP_HOME,
    else ~/.knowledge-mcp. CLIENT is claude-code (.mcp.json here), claude-desktop, vscode (.vscode/mcp.json here) or
    cursor. Nothing else in the file changes, and nothing at all without --yes.
    """
    settings = session.configured({"toolset": served.toolset, "tier": served.tier, "commit": served.commit})
    folders = _stores(session, settings) if settings.toolset == "projects" else [_folder(path) for path in settings.kb]
    launch = clients.LaunchCommand(clients.this_program("commonplace"), ["mcp", *map(str, folders), *served.args()])
    known_as = name or _name(folders[0])
    made = clients.config_change(
        client, known_as, launch, Path(file).expanduser() if file else clients.client_config_file(client)
    )
    written = yes and bool(made.diff)
    if written:
        clients.write_config(made)
    out = session.out
    if out.as_json:
        out.json(
            {
                "client": client,
                "file": str(made.file),
                "name": known_as,
                "entry": clients.server_entry(client, known_as, launch),
                "diff": made.diff,
                "written": written,
            }
        )
        return
    show_diff(out, made.diff)
    out.message(_outcome(made, written=written))


def _outcome(made: clients.ConfigChange, *, written: bool) -> str:
    if not made.diff:
        return f"{made.file} has this entry already."
    return f"Written: {made.file}" if written else f"Nothing was written; --yes writes it to {made.file}."


def _stores(session: Session, settings: Settings) -> list[Path]:
    """The store of project knowledge, which need not be there yet: the folder of -C, else the usual one.

    Raises:
        ConfigError: several folders are given.
    """
    given = session.flags.get("kb")
    if given and len(settings.kb) > 1:
        raise ConfigError("Projects have one store: name one folder.", kind="kb")
    return [path.expanduser().resolve() for path in (settings.kb if given else (settings.knowledge_home,))]


def _folder(path: Path) -> Path:
    folder = path.expanduser().absolute()
    if not is_folder(folder):
        raise ConfigError(f"There is no folder {path.name!r}.", kind="kb", hint="Give an existing folder: -C PATH.")
    return folder.resolve()


def _name(folder: Path) -> str:
    """A name that every client takes: letters, digits, `-` and `_`."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", folder.name).strip("-")[:48] or "commonplace"
