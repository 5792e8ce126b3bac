"""Errors on the command line: text or one JSON object on standard error, and an exit code.

As JSON: `{"error": {"code", "message", "hint", "retryable", ...}}`. Further keys are the error's context, such as
`nearest` and `current_revision`. A conflict has `changes`: the lines that differ from those that were read.
"""

from __future__ import annotations

from commonplace.domain.errors import Code, ConflictError, KnowledgeError
from commonplace.domain.json import Json
from commonplace.faces.cli.output import Output, json_text
from commonplace.faces.errors import error_mapping

FINDINGS = 1
"""Exit code of `check` and `doctor` with findings."""
USAGE = 2
"""Exit code for an invalid command line."""
FAILED = 70
"""Exit code after an internal error of the program or a plugin."""
INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 plus the signal's number, as in shells."""
PIPE_CLOSED = 141
"""Exit code if the reader of standard output has closed the pipe."""

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
"""Exit codes and their meanings, for the help. The codes of errors are in `faces.errors.ERROR_MAPPINGS`."""


_USAGE_KINDS = frozenset({"option", "terminal", "file", "editor", "questions"})
"""Kinds of configuration errors that are about the command line or the terminal and not about a setting."""


def report(out: Output, error: KnowledgeError) -> int:
    """Report an error on standard error; returns the exit code."""
    form = error_mapping(error)
    if out.as_json:
        out.message(json_text({"error": error_json(error)}))
        return form.exit
    is_setting = error.code is Code.CONFIG and error.kind not in _USAGE_KINDS
    out.warn("ConfigError:" if is_setting else "Error:", str(error))
    nearest = error.context.get("nearest")
    if isinstance(nearest, list) and nearest:
        out.message(f"Nearest: {', '.join(nearest)}")
    for change in error.changes if isinstance(error, ConflictError) else ():
        out.message(f"Changed: {change}")
    if error.hint:
        out.message(f"Hint: {error.hint}")
    return form.exit


def error_json(error: KnowledgeError) -> dict[str, Json]:
    """The error as a JSON object."""
    known_values: dict[str, Json] = {key: value for key, value in error.context.items() if key != "retryable"}
    return {
        "code": error.code.value,
        "message": str(error),
        "hint": error.hint,
        "retryable": error_mapping(error).retryable,
        **known_values,
        **({"changes": list(error.changes)} if isinstance(error, ConflictError) and error.changes else {}),
    }
