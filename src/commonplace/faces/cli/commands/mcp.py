"""Commands that serve folders on standard input and output: to an agent, and to an editor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import typer

from commonplace.faces.cli.options import (
    ADOPT,
    LayerOptions,
    ReplicaOptions,
    require_consistent_replicas,
    require_layers_alone,
)
from commonplace.faces.cli.session import HttpOptions, Session, require_files
from commonplace.settings import Flags, about, names_layers, require_folders

Transport: TypeAlias = Literal["stdio", "http", "sse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpOptions:
    """Options of the server."""

    toolset: Annotated[str | None, typer.Option(metavar="NAME", help=about("toolset"))] = None
    tier: Annotated[str | None, typer.Option(metavar="read|propose|write|admin", help=about("tier"))] = None
    confirm: Annotated[str | None, typer.Option(metavar="always|bulk|never", help=about("confirm"))] = None
    commit: Annotated[str | None, typer.Option(metavar="manual|auto", help=about("commit"))] = None
    transport: Annotated[
        Transport, typer.Option(metavar="stdio|http|sse", help="How messages travel; over HTTP at /mcp.")
    ] = "stdio"
    host: Annotated[str | None, typer.Option(metavar="ADDRESS", help=about("host"), show_default=False)] = None
    port: Annotated[str | None, typer.Option(metavar="N", help=about("port"), show_default=False)] = None
    adopt: Annotated[bool, typer.Option("--adopt", help=ADOPT)] = False
    no_embed: Annotated[bool, typer.Option("--no-embed", help="Search by words alone; embed nothing.")] = False
    resident: Annotated[bool | None, typer.Option(help=about("resident"), show_default=False)] = None

    def flags(self) -> Flags:
        """The settings among the options, for `load_settings`."""
        return {
            "toolset": self.toolset,
            "tier": self.tier,
            "confirm": self.confirm,
            "commit": self.commit,
            "host": self.host,
            "port": self.port,
            "embed": "false" if self.no_embed else None,
            "adopt": "true" if self.adopt else None,
            "resident": None if self.resident is None else str(self.resident).lower(),
        }


def mcp_command(
    session: Session,
    paths: Annotated[list[str] | None, typer.Argument(metavar="PATH", hidden=True)] = None,
    *,
    layers: LayerOptions,
    replicas: ReplicaOptions,
    serving: McpOptions,
) -> None:
    """Serve folders of Markdown to an MCP client, on standard input and output.

    Examples:
        commonplace mcp ~/notes
        commonplace mcp ~/notes ~/work/docs --tier write
        commonplace mcp . --tier write --commit auto
        commonplace mcp --manifest layers.json
        commonplace mcp ~/notes --transport http --port 8090
        commonplace mcp --replica-of https://git.example.org/team/notes.git

    PATHs are the folders to serve, by default those of --kb. A folder needs no preparation, and nothing is written into
    it but what the client writes. The server answers its client at once and indexes in the background. With --toolset
    projects the one PATH is the store, by default $KNOWLEDGE_MCP_HOME, else ~/.knowledge-mcp; a folder that holds other
    files and is no store is refused.
    """
    given_values: Flags = {"kb": paths} if paths else {}
    settings = session.configured({**serving.flags(), **replicas.flags(), **layers.flags(), **given_values})
    require_layers_alone(settings, paths=paths, flags=session.flags, toolset=serving.toolset)
    require_consistent_replicas(settings)
    is_named = names_layers(settings) or settings.replica_of
    if not is_named and session.dependencies.store_folder(settings.kb, settings) is None:
        require_folders(settings.kb)
    session.out.message(session.dependencies.store_refusal(settings))  # clients get the same message with every call
    if serving.transport == "stdio":
        session.dependencies.serve(settings)
    else:
        session.dependencies.serve_http(
            settings, HttpOptions(mcp_only=True, sse="instead" if serving.transport == "sse" else "off")
        )


def lsp_command(
    session: Session, paths: Annotated[list[str] | None, typer.Argument(metavar="PATH", hidden=True)] = None
) -> None:
    """Serve folders of Markdown to an editor: the Language Server Protocol on standard input and output.

    Examples:
        commonplace lsp
        commonplace lsp ~/notes

    PATHs are the folders to serve, by default those that the editor has open. docs/editors.md has the entries for
    VS Code, Neovim, Helix, Zed and Emacs. The server writes nothing: the editor makes every edit. Needs the
    libraries of the extra lsp; if they are missing, the command prints how to install them here.
    """
    given_values: Flags = {"kb": paths} if paths else {}
    if any("://" in path for path in paths or session.flags.get("kb") or ()):
        require_files(session, "An editor")
    session.dependencies.serve_editor(session.configured(given_values))
