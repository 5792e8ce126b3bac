"""Commands that tell other programs of commonplace: MCP clients, and shells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from commonplace.domain.errors import ConfigError
from commonplace.domain.json import Json
from commonplace.faces import clients
from commonplace.faces.cli.options import LayerOptions, require_layers_alone
from commonplace.faces.cli.output import show_diff
from commonplace.faces.cli.session import Session
from commonplace.settings import CURRENT_FOLDER, Settings, about, is_remote, names_layers, require_folders


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryOptions:
    """Server options in the entry."""

    toolset: Annotated[str | None, typer.Option(metavar="NAME", help=about("toolset"))] = None
    tier: Annotated[str | None, typer.Option(metavar="read|propose|write|admin", help=about("tier"))] = None
    commit: Annotated[str | None, typer.Option(metavar="manual|auto", help=about("commit"))] = None

    def args(self) -> list[str]:
        """The options in the form of arguments for `commonplace mcp`."""
        given_values = {"--toolset": self.toolset, "--tier": self.tier, "--commit": self.commit}
        return [part for option, value in given_values.items() if value for part in (option, value)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigOptions:
    """The entry and its file."""

    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="One entry of this name; default: one for each folder, named after it."),
    ] = None
    file: Annotated[str | None, typer.Option(metavar="FILE", help="Another file than the client's usual one.")] = None
    remove: Annotated[bool, typer.Option("--remove", help="Take the entry out of the client's configuration.")] = False
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write the change.")] = False


CONNECT_JSON = """As JSON: `{"client", "file", "name", "names", "entry": {..}, "diff", "written"}`; `name` is the
first of `names`, and `diff` is "" when the client knows them already."""


def connect_command(
    session: Session,
    client: Annotated[clients.ClientName, typer.Argument(metavar="CLIENT", hidden=True)],
    *,
    served: EntryOptions,
    layers: LayerOptions,
    entry: ConfigOptions,
) -> None:
    """Connect an MCP client to folders: show the change in its configuration, and write it with --yes.

    Examples:
        commonplace connect claude-code
        commonplace connect claude-desktop -C ~/notes --yes
        commonplace connect vscode --tier write --commit auto --yes
        commonplace connect codex -C ~/notes -C ~/work/docs --yes
        commonplace connect codex -C https://git.example.org/team/notes.git
        commonplace connect zed --remove --name notes --yes
        commonplace connect cursor --json
        commonplace connect claude-code --toolset projects --yes
        commonplace connect claude-code --manifest layers.json --yes

    With --toolset projects the entry names the store of project knowledge: the folder of -C, else $KNOWLEDGE_MCP_HOME,
    else ~/.knowledge-mcp. CLIENT is claude-code (.mcp.json), claude-desktop, vscode (.vscode/mcp.json), cursor, codex,
    gemini, windsurf or zed. The first and third have a file for each project: in the folder of -C, unless there are
    several, else here. Nothing else in the file changes, and nothing at all without --yes.
    """
    target = Path(entry.file).expanduser() if entry.file else clients.client_config_file(client, _project(session))
    if entry.remove:
        settings = session.configured(layers.flags())
        names = _names(session, settings, entry)
        made = clients.config_removal(client, names, target)
        _finish(session, client, made, {}, names, yes=entry.yes)
        return
    settings = session.configured(
        {"toolset": served.toolset, "tier": served.tier, "commit": served.commit, **layers.flags()}
    )
    require_layers_alone(settings, paths=None, flags=session.flags, toolset=served.toolset)
    program = clients.this_program("commonplace")
    groups = _groups(session, settings, entry)
    servers = {
        name: clients.LaunchCommand(program, ["mcp", *map(str, group), *served.args()])
        for name, group in zip(_names(session, settings, entry), groups, strict=True)
    }
    made = clients.config_change(client, servers, target)
    _finish(session, client, made, clients.server_entry(client, servers), list(servers), yes=entry.yes)


def _project(session: Session) -> Path:
    """The folder in which a client opens the file of a project: the only local folder of `-C`, else the current one."""
    folders = session.configured({}).kb if session.flags.get("kb") else ()
    return folders[0].expanduser() if len(folders) == 1 and folders[0].expanduser().is_dir() else Path.cwd()


def _names(session: Session, settings: Settings, entry: ConfigOptions) -> list[str]:
    """The names of the entries."""
    return [entry.name] if entry.name else clients.entry_names(_named_after(session, settings))


def _groups(session: Session, settings: Settings, entry: ConfigOptions) -> list[list[Path | str]]:
    """The arguments that name what each entry serves, independent of variables and the current folder."""
    if names_layers(settings):
        return [_layer_arguments(settings)]
    store = _store(session, settings)
    if remotes := _remotes(session, settings):
        writes = ["--replica-writes"] if settings.tier in {"write", "admin"} else []
        return [["--replica-of", remote, *writes] for remote in remotes]
    folders: list[Path | str] = [store] if store is not None else [*map(_folder, settings.kb)]
    return [folders] if entry.name else [[folder] for folder in folders]


def _layer_arguments(settings: Settings) -> list[Path | str]:
    manifest = settings.manifest
    if manifest is not None and not manifest.expanduser().is_file():
        raise ConfigError(f"There is no manifest {manifest.name!r}.", kind="manifest", hint="Name one that exists.")
    named = {"--manifest": manifest, "--personal": settings.personal, "--shared": settings.shared}
    parts = [part for option, place in named.items() if place is not None for part in (option, _absolute(place))]
    return parts if settings.profile is None else [*parts, "--profile", settings.profile]


def _named_after(session: Session, settings: Settings) -> list[Path]:
    """The folders that determine the names of entries.

    Layers are named after the manifest's folder or the shared layer.
    """
    if names_layers(settings):
        if settings.manifest is None and is_remote(settings.shared or ""):
            return [_named_as_remote(settings.shared or "")]
        shared = Path(settings.shared or "")
        return [
            (settings.manifest.absolute().parent if settings.manifest else shared).expanduser().absolute().resolve()
        ]
    return _given(session, settings)


def _finish(
    session: Session,
    client: clients.ClientName,
    made: clients.ConfigChange,
    entry: dict[str, Json],
    names: list[str],
    *,
    yes: bool,
) -> None:
    """Write the change if `yes` is set, and show it."""
    written = yes and bool(made.diff)
    if written:
        clients.write_config(made)
    out = session.out
    if out.as_json:
        out.json(
            {
                "client": client,
                "file": str(made.file),
                "name": names[0],
                "names": list[Json](names),
                "entry": entry,
                "diff": made.diff,
                "written": written,
            }
        )
        return
    show_diff(out, made.diff)
    out.message(_outcome(made, written=written, removed=not entry))


def _outcome(made: clients.ConfigChange, *, written: bool, removed: bool) -> str:
    if not made.diff:
        return f"{made.file} has {'no such entry' if removed else 'this entry already'}."
    return f"Written: {made.file}" if written else f"Nothing was written; --yes writes it to {made.file}."


def _given(session: Session, settings: Settings) -> list[Path]:
    """The folders, which need not exist: the store that the toolset creates, or the folders of the settings."""
    if remotes := _remotes(session, settings):
        return [_named_as_remote(remote) for remote in remotes]
    store = _store(session, settings)
    return [path.expanduser().absolute().resolve() for path in settings.kb] if store is None else [store]


def _named_as_remote(remote: str) -> Path:
    """A path whose last part is the name of a remote."""
    return Path(remote.partition("#")[0].removesuffix(".git"))


def _absolute(place: Path | str) -> Path | str:
    """The absolute path of a manifest or a folder; a URL is returned unchanged."""
    return place if is_remote(str(place)) else Path(place).expanduser().absolute()


def _remotes(session: Session, settings: Settings) -> Sequence[str]:
    """The remotes named by `-C`."""
    return settings.replica_of if session.flags.get("kb") else ()


def _store(session: Session, settings: Settings) -> Path | None:
    """The store that the toolset creates, in the folder of `-C` or in the default one; None if it creates none.

    Raises:
        ConfigError: several folders are given.
    """
    named = settings.kb if session.flags.get("kb") else CURRENT_FOLDER
    store = session.dependencies.store_folder(named, settings)
    return None if store is None else store.expanduser().resolve()


def _folder(path: Path) -> Path:
    require_folders([path])
    return path.expanduser().absolute().resolve()


ShellName: TypeAlias = Literal["bash", "zsh", "fish"]

BASH = r"""
_commonplace() {
  local line current="${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS= read -r line; do
    if [ "$line" = ":files" ]; then
      compopt -o default 2>/dev/null
      return
    fi
    line="${line%%$'\t'*}"
    case "$line" in */) compopt -o nospace 2>/dev/null ;; *) line="$(printf '%q' "$line")" ;; esac
    COMPREPLY+=("$line")
  done < <(commonplace __complete "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$current" 2>/dev/null)
}
complete -F _commonplace commonplace
"""

ZSH = r"""
#compdef commonplace
_commonplace() {
  local line current="${(Q)words[CURRENT]}"
  local -a names texts folders
  while IFS= read -r line; do
    if [[ $line == ":files" ]]; then
      _files
      return
    fi
    if [[ $line == */ ]]; then
      folders+=("$line")
    else
      names+=("${line%%$'\t'*}")
      texts+=("${line//$'\t'/  -- }")
    fi
  done < <(commonplace __complete "${(@Q)words[2,CURRENT-1]}" "${current#[\"\']}" 2>/dev/null)
  (( $#folders )) && compadd -S '' -- $folders
  (( $#names )) && compadd -l -d texts -- $names
}
if [[ $funcstack[1] == _commonplace ]]; then
  _commonplace "$@"
elif (( $+functions[compdef] )); then
  compdef _commonplace commonplace
fi
"""

FISH = r"""
function __commonplace_complete
    set -l words (commandline -opc)
    set -l typed (string replace -r '^["\']' '' -- (commandline -ct))
    set -l current (string unescape -- "$typed"; or printf '%s' "$typed")
    set -l found (commonplace __complete $words[2..-1] "$current" 2>/dev/null)
    if test "$found[1]" = ":files"
        __fish_complete_path "$current"
    else
        printf '%s\n' $found
    end
end
complete -c commonplace -f -a '(__commonplace_complete)'
"""

SCRIPTS: dict[ShellName, str] = {"bash": BASH, "zsh": ZSH, "fish": FISH}
"""The script of each shell."""


COMPLETION_JSON = """As JSON: `{"shell", "script"}`."""


def completion_command(
    session: Session,
    shell: Annotated[ShellName, typer.Argument(metavar="bash|zsh|fish", hidden=True)],
) -> None:
    """Let your shell complete commands, options, pages and tags.

    Examples:
        source <(commonplace completion bash)     # in ~/.bashrc
        source <(commonplace completion zsh)      # in ~/.zshrc, behind compinit
        commonplace completion fish > ~/.config/fish/completions/commonplace.fish

    Pages, types and tags come from the index as the last command left it. Where a folder has very many pages, they are
    offered folder by folder.
    """
    script = SCRIPTS[shell].lstrip("\n")
    if session.out.as_json:
        session.out.json({"shell": shell, "script": script})
    else:
        session.out.raw(script.encode())
