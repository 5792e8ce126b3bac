"""The program: arguments become settings, settings open the folders, and one face serves them."""

from __future__ import annotations

import sys
from functools import partial

from commonplace import UNSUPPORTED, build

TYPE_CHECKING = (
    False  # equivalent for type checkers; importing `typing` would take a third of the time of shell completion
)
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from commonplace.faces.cli.session import AddedCommand, HttpOptions
    from commonplace.services.checks import BundleReport
    from commonplace.services.collections import Collection
    from commonplace.settings import CommitMode, Settings


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line.

    Args:
        argv: Arguments without the program's name; None for the process's own.

    Returns:
        The exit code.
    """
    arguments = sys.argv[1:] if argv is None else argv
    if sys.platform == "win32":
        sys.stderr.write(UNSUPPORTED)
        return 2
    if list(arguments) == ["--version"]:
        # Needs no further imports, so that scripts can call it often.
        sys.stdout.write(f"commonplace {build()}\n")
        return 0
    if list(arguments[:1]) == ["__complete"]:
        from commonplace.completion import write_candidates

        return write_candidates(list(arguments[1:]))
    try:
        return _run(arguments)
    except KeyboardInterrupt:  # during imports; later ones are handled by the command
        from commonplace.faces.cli.failures import INTERRUPTED

        return INTERRUPTED


def _run(arguments: Sequence[str]) -> int:
    from commonplace.faces.lazy_module import relax_gc

    relax_gc()
    from commonplace.bootstrap import Application, diagnose, git_command, install_model
    from commonplace.faces.cli.app import run
    from commonplace.faces.cli.session import CliDependencies
    from commonplace.registration import store_folder, toolset_commands

    parts = CliDependencies(
        open=Application,
        commit_mode=_commit_mode,
        serve=_serve,
        serve_http=_host,
        serve_editor=_serve_editor,
        install_model=install_model,
        git_command=git_command,
        diagnose=diagnose,
        check_bundle=_check_bundle,
        toolset_commands=toolset_commands,
        store_folder=store_folder,
        commands=_commands,
        plugin_faults=_plugin_faults,
    )
    return run(arguments, parts)


def _check_bundle(folder: Collection) -> BundleReport:
    from commonplace.registration import bundle_check

    return bundle_check()(folder)


def _commands() -> Mapping[str, AddedCommand]:
    from commonplace.faces.cli.session import AddedCommand
    from commonplace.plugins.loader import installed_plugins

    added = installed_plugins().commands().items()
    return {name: AddedCommand(function, partial(one.fault, "get_cli_commands")) for name, (one, function) in added}


def _plugin_faults(settings: Settings) -> list[tuple[str, str]]:
    """Faults of the installed plugins, after loading everything that a server would load from them."""
    from commonplace.plugins.loader import installed_plugins
    from commonplace.plugins.service_extensions import faults_of
    from commonplace.registration import load_toolset, registered

    plugins = installed_plugins()
    for one in registered():
        if one.extend:
            load_toolset(one.name, lambda: plugins)
    return [(fault.plugin, str(fault)) for fault in faults_of(plugins, settings.state_dir)]


def _serve(settings: Settings) -> None:
    """Serve folders over MCP on standard input and output until the client disconnects."""
    from commonplace.faces.worker_threads import end_abandoned_calls

    _serve_until_gone(settings)
    end_abandoned_calls()


def _serve_editor(settings: Settings) -> None:
    from commonplace.lsp_server import serve_editor

    serve_editor(settings)


def _serve_until_gone(settings: Settings) -> None:
    from commonplace.bootstrap import Application
    from commonplace.registration import load, load_toolset, own_stdio_server, stdio_toolset

    own = own_stdio_server(settings)
    if own:
        load(own)(settings)
        return
    application = Application(settings.kb, settings)
    loaded = load_toolset(stdio_toolset(settings), lambda: application.plugins)
    from commonplace.faces.lazy_module import load_lazy_modules
    from commonplace.faces.mcp.server import build_server
    from commonplace.faces.mcp.transports.stdio import StdioLifespan, serve_stdio

    server = build_server(loaded, application.services, settings.tier or loaded.default_tier)

    def start() -> None:
        application.start()
        application.wait_idle()
        load_lazy_modules()

    try:
        serve_stdio(server, StdioLifespan(start=start, stop=application.close))
    finally:
        application.close()


def _host(settings: Settings, hosting: HttpOptions) -> None:
    """Serve folders over HTTP until a signal ends the process."""
    from commonplace.faces.worker_threads import end_abandoned_calls
    from commonplace.http_server import serve_http

    serve_http(settings, hosting)
    end_abandoned_calls()


def _commit_mode(folder: Path) -> CommitMode:
    from commonplace.settings.folders import in_git

    return "auto" if in_git(folder) else "manual"


if __name__ == "__main__":
    sys.exit(main())
