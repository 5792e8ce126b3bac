"""commonplace: one knowledge server over Markdown files in Git, for AI agents and for people."""

__version__ = "0.1.0"


UNSUPPORTED = "commonplace runs on Linux and macOS; on Windows install and run it in WSL.\n"
"""Message on Windows, which lacks system calls that the program needs."""

WORKER_VARIABLE = "_COMMONPLACE_WORKER"
"""Environment variable of a worker process. Workers do not repeat messages that the supervisor has printed."""


def build() -> str:
    """The version. In a build from a checkout, the commit follows in parentheses."""
    commit = _commit()
    return f"{__version__} ({commit})" if commit else __version__


def _commit() -> str:
    """The commit recorded in the installed package, else that of the source checkout; "" if there is neither."""
    import os  # noqa: PLC0415 - only callers that ask for the version need it
    from pathlib import Path  # noqa: PLC0415

    here = Path(__file__).parent
    try:
        return here.joinpath("commit.txt").read_text(encoding="utf-8").strip()
    except OSError:
        root = here.parents[1]
    if not os.path.exists(root / ".git"):
        return ""
    import subprocess  # noqa: PLC0415

    command = ["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=5)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
