"""Folders of packages whose entry points name plugins, made without an installer."""

from __future__ import annotations

from pathlib import Path


def add_plugin(folder: Path, name: str, source: str, group: str = "commonplace.plugins") -> None:
    """Put a package into a folder that stands on `PYTHONPATH`.

    Args:
        folder: Where packages are found.
        name: Of the module, which ends in a class `Plugin`.
        source: The module's text.
        group: Of its entry point.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(source)
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{group}]\n{name} = {name}:Plugin\n")
