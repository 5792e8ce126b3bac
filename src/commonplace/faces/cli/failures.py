"""How a failure looks on the command line: lines for a person or one JSON object, on standard error, and an exit code.

As JSON: `{"error": {"code", "message", "hint", "retryable", ...}}`, further keys being what the error knows, such as
`nearest`, `current_revision` and, of a conflict, `changes`: which lines differ from what was read.
"""

from __future__ import annotations

from commonplace.domain.errors import Code, ConflictError, KnowledgeError
from commonplace.domain.json import Json
from commonplace.faces.cli.output import Output, json_text
from commonplace.faces.errors import error_mapping

FINDINGS = 1
"""Exit code of `check` and `doctor` when something is wrong."""
USAGE = 2
"""Exit code of a command line that is none."""
FAILED = 70
"""Exit code after an error of the program, or of a plugin."""
INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 and the signal's number, as shells have it."""
PIPE_CLOSED = 141
"""Exit code when the reader of standard output went away."""

EXIT_CODES = (
    (0, "done"),
    (FINDINGS, "check or doctor found something wrong"),
    (USAGE, "wrong usage or setting"),
    (3, "not found"),
    (4, "invalid or too large input"),
    (5, "exists already, or changed since it was read"),
    (6, "not allowed, or read-only"),
    (9, "not available now, try again"),
    (10, "Git refused"),
    (11, "the file system refused"),
    (FAILED, "an error of this program"),
    (INTERRUPTED, "interrupted"),
    (PIPE_CLOSED, "the reader of the output went away"),
)
"""Exit codes of the command line, for the help; those of errors are in `faces.errors.ERROR_MAPPINGS`."""


def report(out: Output, error: KnowledgeError) -> int:
    """Say what went wrong on standard error; the exit code."""
    form = error_mapping(error)
    if out.as_json:
        out.message(json_text({"error": error_json(error)}))
        return form.exit
    label = "ConfigError" if error.code is Code.CONFIG else "Error"
    out.warn(f"{label}:", str(error))
    nearest = error.context.get("nearest")
    if isinstance(nearest, list) and nearest:
        out.message(f"Nearest: {', '.join(nearest)}")
    for change in error.changes if isinstance(error, ConflictError) else ():
        out.message(f"Changed: {change}")
    if error.hint:
        out.message(f"Hint: {error.hint}")
    return form.exit


def error_json(error: KnowledgeError) -> dict[str, Json]:
    """The error as an object."""
    known: dict[str, Json] = {key: value for key, value in error.context.items() if key != "retryable"}
    return {
        "code": error.code.value,
        "message": str(error),
        "hint": error.hint,
        "retryable": error_mapping(error).retryable,
        **known,
        **({"changes": list(error.changes)} if isinstance(error, ConflictError) and error.changes else {}),
    }
