"""Runs one command in an image as an engine does: `python image_process.py IMAGE VOLUMES [COMMAND...]`.

The root file system is read-only, `/tmp` in memory, the volumes are folders, and user, environment and folder are those
of the image. Without COMMAND it is the image's own. It needs root; the mounts are gone when it ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

USER_ID = 10001


def main() -> None:
    """Enter a mount namespace of its own, then become the command."""
    if os.environ.get("IMAGE_NAMESPACE") != "entered":
        os.environ["IMAGE_NAMESPACE"] = "entered"
        os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])  # noqa: S606 - tests choose it
    image, volumes = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    config = json.loads(image.with_name(f"{image.name}.json").read_text(encoding="utf-8"))
    _mount("--bind", str(image), str(image))
    _mount("-t", "tmpfs", "tmpfs", str(image / "tmp"))
    _mount("-t", "proc", "proc", str(image / "proc"))
    for name in config["Volume"]:
        _mount("--bind", str(volumes / name.lstrip("/")), f"{image}{name}")
    for name in ("null", "urandom"):
        (image / "dev" / name).touch()
        _mount("--bind", f"/dev/{name}", str(image / "dev" / name))
    _mount("-o", "remount,bind,ro", str(image))
    os.chroot(image)
    os.chdir(config["Workdir"])
    os.setgroups([])
    os.setgid(USER_ID)
    os.setuid(USER_ID)
    words = sys.argv[3:] or [*config["Entrypoint"], *config["Cmd"]]
    os.execvpe(words[0], words, config["Env"])  # noqa: S606 - tests choose it


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


if __name__ == "__main__":
    main()
