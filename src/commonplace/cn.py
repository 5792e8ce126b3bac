"""The program `cn`: one synced space on the command line, or served over MCP."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from commonplace import UNSUPPORTED, build

if TYPE_CHECKING:
    from types import FrameType

    from commonplace.settings import Settings
    from commonplace.toolsets.pages.spaces import SpaceApplication

MessageSink = Callable[[str], None]

START_SECONDS = 5.0
"""Timeout in seconds of the start for the index; only the first index of a large space takes longer."""
FIRST_SECONDS = 3600.0
"""Timeout in seconds for the first index of a large space."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line of `cn`.

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
        sys.stdout.write(f"cn {build()}\n")
        return 0
    if argv is None and arguments[:1] == ["mcp"]:  # a start of the program, whose standard streams are its own
        from commonplace.relay import attach

        code = attach("cn", arguments)
        if code is not None:
            return code
    return run_here(arguments)


def run_here(arguments: Sequence[str]) -> int:
    """Run one command line in this process, not in a resident; returns the exit code."""
    from commonplace.domain.private_files import keep_private
    from commonplace.faces.lazy_module import relax_gc

    relax_gc()
    keep_private()
    from commonplace.toolsets.pages.cli.app import run
    from commonplace.toolsets.pages.cli.failures import CnDependencies
    from commonplace.toolsets.pages.spaces import SpaceApplication

    return run(arguments, CnDependencies(open=SpaceApplication, serve=_serve_to_the_end))


def serve_space(settings: Settings, say: MessageSink) -> None:
    """Serve a space over MCP on standard input and output until the client disconnects or a signal arrives.

    Args:
        settings: `kb` names the folder.
        say: Called with each line of the start's progress.

    Raises:
        KnowledgeError: a step of the start failed; the following ones are not run.
    """
    for number in (
        signal.SIGTERM,
        signal.SIGINT,
    ):  # the transport installs its own handlers later
        signal.signal(number, _end)
    from commonplace.domain.errors import ConfigError
    from commonplace.toolsets.pages.spaces import SpaceApplication

    if settings.tier == "propose":
        raise ConfigError(
            "cn serves no proposals.",
            kind="tier",
            hint="Run: commonplace mcp FOLDER --toolset pages --tier propose",
        )
    place = SpaceApplication(settings)
    try:
        space = place.space()
        say(f'serving space "{space.name}" ({space.key})')
        say(place.engine.connect())
        place.start()
        _await_index(place, say)
        _serve(place, settings, say)
    finally:
        place.close()


def _serve_to_the_end(settings: Settings, say: MessageSink) -> None:
    from commonplace.faces.worker_threads import end_process

    serve_space(settings, say)
    end_process()


def serve_stdio_space(settings: Settings) -> None:
    """Serve a space over MCP on standard input and output like `commonplace mcp`, without messages about the start.

    Raises:
        KnowledgeError: a step of the start failed; the following ones are not run.
    """
    serve_space(settings, lambda _: None)


def _end(_: int, __: FrameType | None) -> None:
    sys.exit(0)


def _serve(place: SpaceApplication, settings: Settings, say: MessageSink) -> None:
    from commonplace.faces.lazy_module import load_lazy_modules
    from commonplace.faces.mcp.server import build_server
    from commonplace.faces.mcp.transports.stdio import StdioLifespan, serve_stdio
    from commonplace.toolsets.pages.mcp import PAGES

    server = build_server(PAGES, place.services, settings.tier or PAGES.default_tier)
    say("MCP server running on stdio")
    serve_stdio(server, StdioLifespan(start=load_lazy_modules, stop=place.close))


def _await_index(place: SpaceApplication, say: MessageSink) -> None:
    """Report the number of indexed pages. If indexing takes long, report in a thread, so that clients can be served."""
    from commonplace.domain.errors import IndexingError, KnowledgeError

    def report(seconds: float) -> None:
        count = place.engine.count(seconds)
        say(f'index "{place.space().index_name}" ready ({count} documents)')

    def report_late() -> None:
        try:
            report(FIRST_SECONDS)
        except KnowledgeError as error:
            say(f"the index is not ready: {error}")

    try:
        report(START_SECONDS)
    except IndexingError:
        threading.Thread(target=report_late, name="ready", daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
