"""The program: arguments become settings, settings open the folders, and one face serves them."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module

from commonplace import __version__

TYPE_CHECKING = False  # as type checkers know it; `typing` would cost a shell that completes a third of its time
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from commonplace.faces.cli.session import AddedCommand, Hosting
    from commonplace.faces.mcp.dialect import Dialect
    from commonplace.settings import CommitMode, Settings

TOOLSETS = {
    "cascade": "commonplace.faces.mcp.toolsets.cascade:CASCADE",
    "kb": "commonplace.faces.mcp.toolsets.kb:KB",
    "pages": "commonplace.faces.mcp.toolsets.pages:PAGES",
    "projects": "commonplace.faces.mcp.toolsets.projects:PROJECTS",
    "wiki": "commonplace.faces.mcp.toolsets.wiki:WIKI",
}
"""Where the value of each toolset stands; loaded when it is asked for."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line.

    Args:
        argv: Without the program's name; None for the process's own.

    Returns:
        The exit code.
    """
    arguments = sys.argv[1:] if argv is None else argv
    if list(arguments) == ["--version"]:
        # Needs nothing of the product, so that scripts may ask as often as they like.
        sys.stdout.write(f"commonplace {__version__}\n")
        return 0
    if list(arguments[:1]) == ["__complete"]:
        from commonplace.completing import answer

        return answer(list(arguments[1:]))
    try:
        return _run(arguments)
    except KeyboardInterrupt:  # while loading; later ones end where the command runs
        from commonplace.faces.cli.failures import INTERRUPTED

        return INTERRUPTED


def _run(arguments: Sequence[str]) -> int:
    from commonplace.faces.late import begin_loading

    begin_loading()
    from commonplace.bootstrap import Workplace, examine, git_command, install_model
    from commonplace.faces.cli.app import run
    from commonplace.faces.cli.session import Parts

    parts = Parts(
        open=Workplace,
        commit_mode=_commit_mode,
        serve=_serve,
        host=_host,
        install_model=install_model,
        git_command=git_command,
        examine=examine,
        commands=_commands,
        plugin_faults=_plugin_faults,
    )
    return run(arguments, parts)


def _commands() -> Mapping[str, AddedCommand]:
    from commonplace.faces.cli.session import AddedCommand
    from commonplace.plugins.loading import installed_plugins

    added = installed_plugins().commands().items()
    return {name: AddedCommand(function, partial(one.fault, "get_cli_commands")) for name, (one, function) in added}


def _plugin_faults(settings: Settings) -> list[tuple[str, str]]:
    """What is wrong with the installed plugins, after everything was asked of them that a server asks."""
    from commonplace.plugins.gathering import faults_of
    from commonplace.plugins.loading import installed_plugins
    from commonplace.plugins.offers import extended

    plugins = installed_plugins()
    if plugins.loaded:
        extended(_dialect("kb"), plugins)
    return [(fault.plugin, str(fault)) for fault in faults_of(plugins, settings.state_dir)]


def _serve(settings: Settings) -> None:
    """Serve folders over MCP on standard input and output until the client goes."""
    from commonplace.faces.working import end_abandoned_calls

    _serve_until_gone(settings)
    end_abandoned_calls()


def _serve_until_gone(settings: Settings) -> None:
    from commonplace.bootstrap import Workplace
    from commonplace.spaces import toolset_of

    toolset = toolset_of(settings)
    if toolset == "pages":
        from commonplace.cn import serve_space

        serve_space(settings, lambda _: None)
        return
    workplace = Workplace(settings.kb, settings)
    dialect = _dialect("cascade" if workplace.services.cascade else toolset)
    if dialect.name == "kb" and workplace.plugins.loaded:
        from commonplace.plugins.offers import extended

        dialect = extended(dialect, workplace.plugins)
    from commonplace.faces.late import end_loading
    from commonplace.faces.mcp.server import build_server
    from commonplace.faces.mcp.transports.stdio import Lifetime, serve_stdio

    server = build_server(dialect, workplace.services, settings.tier or dialect.default_tier)

    def start() -> None:
        workplace.start()
        end_loading()

    try:
        serve_stdio(server, Lifetime(start=start, stop=workplace.close))
    finally:
        workplace.close()


def _host(settings: Settings, hosting: Hosting) -> None:
    """Serve folders over HTTP until a signal ends the process."""
    from commonplace.faces.working import end_abandoned_calls
    from commonplace.hosting import host

    host(settings, hosting, {name: partial(_dialect, name) for name in TOOLSETS})
    end_abandoned_calls()


def _commit_mode(folder: Path) -> CommitMode:
    from commonplace.settings.folders import in_git

    return "auto" if in_git(folder) else "manual"


def _dialect(toolset: str) -> Dialect:
    from commonplace.domain.errors import ConfigError

    where = TOOLSETS.get(toolset)
    if where is None:
        raise ConfigError(f"Unknown toolset {toolset!r}: expected one of {', '.join(TOOLSETS)}.", kind="toolset")
    module, _, name = where.partition(":")
    dialect: Dialect = getattr(import_module(module), name)
    return dialect


if __name__ == "__main__":
    sys.exit(main())
