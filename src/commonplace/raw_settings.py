"""The raw settings file, for programs that must start within a few milliseconds: nothing of the settings is imported.

Values are not checked here. A program that finds an invalid one behaves as without it, and the settings report it.
"""

from __future__ import annotations

import os


def base_folder(name: str, default: str) -> str:
    """A base directory of the XDG specification; a relative one is ignored, as the settings do.

    Args:
        name: The environment variable.
        default: The default, relative to the home folder.
    """
    folder = os.environ.get(name, "")
    return folder if os.path.isabs(folder) else os.path.join(os.path.expanduser("~"), default)


def configured(*names: str) -> dict[str, object]:
    """The table of the settings file; empty if it is missing or invalid, or if it names none of these settings."""
    base = base_folder("XDG_CONFIG_HOME", ".config")
    path = os.environ.get("COMMONPLACE_CONFIG") or os.path.join(base, "commonplace", "config.toml")
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except OSError:
        return {}
    if not any(name.encode() in raw for name in names):
        return {}
    import tomllib

    try:
        return tomllib.loads(raw.decode())
    except ValueError:
        return {}
