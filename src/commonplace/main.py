"""The program: parses arguments and settings, opens the folders, and starts one face."""

from __future__ import annotations

import os
import sys
from functools import partial

from commonplace import UNSUPPORTED, build

TYPE_CHECKING = (
    False  # equivalent for type checkers; importing `typing` would take a third of the time of shell completion
)
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from commonplace.faces.cli.session import AddedCommand, HttpOptions
    from commonplace.services.checks import BundleReport
    from commonplace.services.collections import Collection
    from commonplace.services.site.publication import PublishReport
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
        # Handled without further imports, so that scripts can call it often.
        sys.stdout.write(f"commonplace {build()}\n")
        return 0
    if list(arguments[:1]) == ["__complete"]:
        from commonplace.completion import write_candidates

        return write_candidates(list(arguments[1:]))
    if argv is None and arguments[:1] == ["mcp"]:  # a start of the program, whose standard streams are its own
        from commonplace.relay import attach

        code = attach("commonplace", arguments)
        if code is not None:
            return code
    return run_here(arguments)


def run_here(arguments: Sequence[str]) -> int:
    """Run one command line in this process, not in a resident; returns the exit code."""
    try:
        return _run(arguments)
    except KeyboardInterrupt:  # during imports; later ones are handled by the command
        from commonplace.faces.cli.failures import INTERRUPTED

        return INTERRUPTED


def _run(arguments: Sequence[str]) -> int:
    from commonplace.domain.private_files import keep_private
    from commonplace.faces.lazy_module import relax_gc

    relax_gc()
    keep_private()
    from commonplace.bootstrap import (
        back_up,
        diagnose,
        diagnose_clones,
        git_command,
        install_model,
        open_activity,
        open_application,
    )
    from commonplace.faces.cli.app import run
    from commonplace.faces.cli.session import CliDependencies
    from commonplace.registration import store_folder, toolset_commands

    parts = CliDependencies(
        open=open_application,
        commit_mode=_commit_mode,
        serve=_serve,
        serve_http=partial(_host, arguments),
        serve_editor=_serve_editor,
        install_model=install_model,
        run_embed_worker=_embed_for_cluster,
        publish=_publish,
        git_command=git_command,
        diagnose_clones=diagnose_clones,
        diagnose=diagnose,
        activity=open_activity,
        back_up=back_up,
        check_bundle=_check_bundle,
        toolset_commands=toolset_commands,
        store_folder=store_folder,
        store_refusal=_start_refusal,
        commands=_commands,
        plugin_faults=_plugin_faults,
    )
    return run(arguments, parts)


def _start_refusal(settings: Settings) -> str:
    """The reason why writes will be refused, with a remedy: the toolset's, or that proposals need Git; "" for none."""
    from commonplace.bootstrap import proposal_refusal
    from commonplace.registration import store_refusal

    return store_refusal(settings) or proposal_refusal(settings)


def _publish(collection: Collection, base: Path, out: Path, url: str, search: bool, cache: Path) -> PublishReport:
    from commonplace.faces.web.published_site import publish

    return publish(collection, base, out, url, search=search, cache=cache)


def _check_bundle(folder: Collection) -> BundleReport:
    from commonplace.registration import bundle_check

    return bundle_check()(folder)


def _commands() -> Mapping[str, AddedCommand]:
    from commonplace.faces.cli.session import AddedCommand
    from commonplace.plugins.loader import installed_plugins

    added = installed_plugins().commands().items()
    return {name: AddedCommand(function, partial(item.fault, "get_cli_commands")) for name, (item, function) in added}


def _plugin_faults(settings: Settings) -> list[tuple[str, str]]:
    """Faults of the installed plugins and toolsets, after loading everything that a server would load."""
    from commonplace.plugins.loader import installed_plugins
    from commonplace.plugins.service_extensions import faults_of
    from commonplace.registration import load_toolset, registered, registration_faults

    plugins = installed_plugins()
    for registration in registered():
        if registration.extend:
            load_toolset(registration.name, lambda: plugins)
    faults = [(fault.plugin, str(fault)) for fault in faults_of(plugins, settings.state_dir)]
    return [*registration_faults(), *faults]


def _serve(settings: Settings) -> None:
    """Serve folders over MCP on standard input and output until the client disconnects."""
    from commonplace.faces.worker_threads import end_process

    _serve_until_gone(settings)
    end_process()


def _embed_for_cluster(settings: Settings, names: Sequence[str], once: bool, tell: Callable[[str], None]) -> int:
    """Embed documents without vectors in the search cluster; see `shared_engine.run_worker`."""
    from commonplace.bootstrap import open_embedding
    from commonplace.shared_engine import run_worker

    return run_worker(settings, open_embedding(settings), names, once, tell)


def _serve_editor(settings: Settings) -> None:
    from commonplace.faces.worker_threads import end_process
    from commonplace.lsp_server import serve_editor

    serve_editor(settings)
    end_process()


def _serve_until_gone(settings: Settings) -> None:
    from commonplace.bootstrap import open_application
    from commonplace.registration import load, load_toolset, own_stdio_server, stdio_toolset, with_declared_store

    settings = with_declared_store(settings)
    own = "" if settings.replica_of else own_stdio_server(settings)
    if own:
        load(own)(settings)
        return
    application = open_application(settings.kb, settings)
    loaded = load_toolset(stdio_toolset(application.settings), lambda: application.plugins)
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


def _host(arguments: Sequence[str], settings: Settings, hosting: HttpOptions) -> None:
    """Serve folders over HTTP until a signal ends the process. Starts worker processes if there are to be several."""
    from commonplace.faces.http.inherited import inherited

    given_inherited = inherited(os.environ)
    if given_inherited is None and settings.workers != 1:
        from commonplace.faces.http.inherited import BindAddress, listening
        from commonplace.faces.http.supervisor import default_count, supervise

        _require_shareable(settings, hosting)
        listener = listening(BindAddress(settings.host, settings.port))
        sys.exit(supervise(arguments, settings.workers or default_count(), listener))
    from commonplace.faces.worker_threads import end_process
    from commonplace.http_server import serve_http
    from commonplace.registration import with_declared_store

    serve_http(with_declared_store(settings), hosting, given_inherited)
    end_process()


def _require_shareable(settings: Settings, hosting: HttpOptions) -> None:
    from commonplace.domain.errors import ConfigError
    from commonplace.registration import followed_remotes

    if hosting.sse != "off":
        what = "sessions of the older SSE transport"
    elif followed_remotes(settings) and not settings.replica_of:
        what = "layers of Git remotes"
    else:
        return
    raise ConfigError(f"Several workers cannot serve {what}.", kind="workers", hint="Use --workers 1.")


def _commit_mode(folder: Path) -> CommitMode:
    from commonplace.settings import in_git

    return "auto" if in_git(folder) else "manual"


if __name__ == "__main__":
    sys.exit(main())
