"""Build hooks for hatchling: the commit in the package, and a README without relative links as its description.

Builds of a checkout and `pip install git+URL` use them too, so they need hatchling and the standard library only.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

COMMIT = "commonplace/commit.txt"
"""File of the package that contains the commit from which it was built."""
_RELATIVE = re.compile(r"\[([^\]]+)\]\((?!\w+:|#)([^)\s]+)\)")


class CommitHook(BuildHookInterface[Any]):
    """Puts the commit of the checkout into the wheel and the sdist."""

    _written: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the commit file, unless the sources have one (an sdist) or the installation is editable."""
        folder = "src/" if self.target_name == "sdist" else ""
        present = Path(self.root, "src", COMMIT)
        commit = "" if version == "editable" or present.is_file() else commit_of(Path(self.root))
        if commit:
            self._written = Path(tempfile.mkdtemp(prefix="commit-"), "commit.txt")
            self._written.write_text(f"{commit}\n", encoding="utf-8")
            build_data["force_include"][str(self._written)] = folder + COMMIT

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary file."""
        del version, build_data, artifact_path
        if self._written:
            shutil.rmtree(self._written.parent)
            self._written = None


class DescriptionHook(MetadataHookInterface):
    """Uses the README as the long description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme` in the metadata."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": without_relative_links(text)}


def commit_of(root: Path) -> str:
    """The commit of the checkout at `root`, with `-dirty` if tracked files differ; "" outside a checkout."""
    if not (root / ".git").exists():
        return ""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def without_relative_links(text: str) -> str:
    """The text without relative links, which a package index cannot resolve: each becomes its text and file name."""
    return _RELATIVE.sub(lambda link: link[1] if link[2] in link[1] else f"{link[1]} (`{link[2]}`)", text)
