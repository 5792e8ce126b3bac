"""Conversion of a file into Markdown in a process of its own, which has limits and no network."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from commonplace.domain.errors import InvalidInputError, KnowledgeError, require_libraries
from commonplace.domain.sources import PLAIN_KINDS, ConvertedText, SourceFile
from commonplace.outside import web

LIBRARIES = ("markitdown", "pypdfium2", "mammoth", "pptx", "openpyxl")
"""Modules of the extra `convert`."""
CPU_SECONDS = 60
"""Maximum processor time of one conversion in seconds; it ends after twice that on the clock."""
MEMORY = 3 * 1024 * 1024 * 1024
"""Maximum address space of a conversion in bytes."""
MAX_FIELD = 300
"""Maximum length in characters of a title and an author."""
_FOLDER = Path(__file__).resolve().parents[2]
_PROGRAM = (sys.executable, "-I", "-c")
_START = f"import sys; sys.path.insert(0, {str(_FOLDER)!r}); from commonplace.outside.converter import main; main()"
_TOO_MUCH = "Split it, or save it as text, and add that."


class SourceAdapter:
    """Reads sources from the web, and converts them.

    Args:
        allow_private: Whether URLs may lead to private networks.
        cpu_seconds: Maximum processor time of one conversion in seconds.
        memory: Maximum address space of a conversion in bytes.
        program: Command of the converter; its arguments are added.
    """

    def __init__(
        self,
        *,
        allow_private: bool = False,
        cpu_seconds: int = CPU_SECONDS,
        memory: int = MEMORY,
        program: Sequence[str] = (*_PROGRAM, _START),
    ) -> None:
        self._allow_private = allow_private
        self._cpu_seconds = cpu_seconds
        self._memory = memory
        self._program = program

    def download(self, url: str) -> SourceFile:
        """The file of a URL, as `web.download` reads it."""
        return web.download(url, allow_private=self._allow_private)

    def convert(self, kind: str, source: SourceFile) -> ConvertedText:
        """The text of a file, as `SourceReader.convert` describes."""
        if kind not in PLAIN_KINDS:
            require_libraries(LIBRARIES, f"Reading a file of type {kind.upper()}", "convert")
        with tempfile.TemporaryDirectory(prefix="commonplace-convert-") as folder:
            given_file, answer = Path(folder, "source"), Path(folder, "answer")
            given_file.write_bytes(source.content)
            limits = (str(self._cpu_seconds), str(self._memory))
            command = [*self._program, kind, str(given_file), str(answer), source.url, *limits]
            code = self._run(command, folder)
            if code != 0 or not answer.is_file():
                raise _failure(code)
            return _read(answer)

    def _run(self, command: Sequence[str], folder: str) -> int | None:
        """The exit code of the converter; None if it was ended, because it took too long."""
        # No variable of this process, such as a key or a proxy, is handed on.
        surroundings = {"PATH": os.defpath, "HOME": folder, "TMPDIR": folder, "LC_ALL": "C.UTF-8"}
        surroundings["ORT_DISABLE_TELEMETRY"] = "1"  # a library imports the runtime of models, which tells its maker
        quiet = subprocess.DEVNULL
        with subprocess.Popen(  # noqa: S603 - our own program
            command, stdin=quiet, stdout=quiet, stderr=quiet, cwd=folder, env=surroundings, start_new_session=True
        ) as process:
            try:
                return process.wait(2 * self._cpu_seconds)
            except subprocess.TimeoutExpired:
                return None
            finally:
                _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the converter and whatever it has started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _failure(code: int | None) -> KnowledgeError:
    if code is None or -code in {signal.SIGXCPU, signal.SIGKILL}:
        problem, hint = "Its conversion takes too long", _TOO_MUCH
    else:
        problem, hint = "Its conversion ended without a text; the file may be damaged", "Save it anew, or as text."
    return InvalidInputError(f"The file is not added. {problem}.", kind="source", hint=hint)


def _read(answer: Path) -> ConvertedText:
    """The answer of the converter, which is outside text like the file."""
    try:
        values: Any = json.loads(answer.read_bytes())  # its size is limited by the kernel
        problem = str(values.get("problem", ""))[:MAX_FIELD]
        title, author, date = (" ".join(str(values.get(key, "")).split()) for key in ("title", "author", "date"))
        text, notes = str(values.get("text", "")), tuple(str(note)[:MAX_FIELD] for note in values.get("notes", ()))
    except (ValueError, AttributeError, TypeError) as error:
        raise _failure(1) from error
    if problem:
        raise InvalidInputError(f"The file is not added. {problem}.", kind="source", hint="Save it anew, or as text.")
    return ConvertedText(text, title[:MAX_FIELD], author[:MAX_FIELD], date[:10], notes)
