"""Runs command lines as a user for whom permissions mean something: `python unprivileged.py FOLDER WARM`.

Reads a JSON list of commands, each a list of words, from standard input, and prints a JSON list of `[code, stdout,
stderr]`, the output cut. Everything is loaded before the user changes, by running a command of each kind on the folder
WARM, so that a Python that this user could not read is no hindrance. Then each has a process of its own.
"""

from __future__ import annotations

import encodings.idna  # loaded late by Python itself, as the next one
import encodings.utf_8_sig  # noqa: F401
import json
import os
import signal
import sys
import tempfile
import traceback
from pathlib import Path

from commonplace.main import main

NOBODY = 65534
SECONDS = 60
SHOWN = 4000
TEXT = b"Appended by the test.\n"


def ran(words: list[str]) -> tuple[int, str, str]:
    """The exit code and output of a command line."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as random:
        random.write(TEXT)
        random.seek(0)
        child = os.fork()
        if child == 0:
            for number, file in enumerate((random, out, err)):
                os.dup2(file.fileno(), number)
            signal.alarm(SECONDS)
            code = 99
            try:
                code = main(words)
            except BaseException:  # noqa: BLE001 - a process ends here, whatever it was
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        status = os.waitpid(child, 0)[1]
        out.seek(0)
        err.seek(0)
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return code, out.read(SHOWN).decode(errors="replace"), err.read(SHOWN).decode(errors="replace")


def warm(folder: Path, commands: list[list[str]]) -> None:
    """Run one command of each kind in this process, so that what they need is loaded; what they say does not matter."""
    os.chdir(folder)
    kinds = {
        words[0]: [words[0], *("a" if position == 0 else word for position, word in enumerate(words[1:]))]
        for words in commands
    }
    dups = [os.dup(number) for number in range(3)]
    with Path(os.devnull).open("r+b", buffering=0) as nothing:
        for number in range(3):
            os.dup2(nothing.fileno(), number)
        for words in kinds.values():
            main(words)
    for number, descriptor in enumerate(dups):
        os.dup2(descriptor, number)


if __name__ == "__main__":
    asked: list[list[str]] = json.load(sys.stdin)
    homes = {name: os.environ[name] for name in os.environ if name.startswith("XDG_")}
    os.environ.update(dict.fromkeys(homes, tempfile.mkdtemp(dir=sys.argv[2])))
    warm(Path(sys.argv[2]), asked)
    os.environ.update(homes)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    os.chdir(sys.argv[1])
    sys.stdout.write(json.dumps([ran(words) for words in asked]))
