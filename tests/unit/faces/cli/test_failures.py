"""Failures on standard error."""

from __future__ import annotations

import io
import json

from commonplace.domain.errors import ConfigError, ConflictError, KnowledgeError, NotFoundError, UnavailableError
from commonplace.faces.cli.failures import EXIT_CODES, FINDINGS, INTERRUPTED, PIPE_CLOSED, report
from commonplace.faces.cli.output import Output, terminal
from commonplace.faces.errors import ERROR_MAPPINGS

MISSING = NotFoundError("There is no 'x'.", kind="document", hint="Search.", reference="x", nearest=["y", "z"])


def reported(error: KnowledgeError, *, as_json: bool = False) -> tuple[int, str]:
    """Exit code and what stands on standard error; nothing stands on standard output."""
    streams = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    code = report(Output(terminal(*streams, {}, no_color=False), as_json=as_json), error)
    assert streams[0].buffer.getvalue() == b""  # type: ignore[attr-defined]
    return code, streams[1].getvalue()


def test_a_person_reads_what_is_wrong_what_is_near_and_what_to_do() -> None:
    code, text = reported(MISSING)
    assert code == 3
    assert text == "Error: There is no 'x'.\nNearest: y, z\nHint: Search.\n"


def test_a_wrong_setting_says_that_it_is_one() -> None:
    assert reported(ConfigError("Invalid tier.")) == (2, "ConfigError: Invalid tier.\n")
    assert reported(ConfigError("No terminal.", kind="terminal")) == (2, "Error: No terminal.\n")
    assert reported(ConfigError("Missing PAGE.", kind="option")) == (2, "Error: Missing PAGE.\n")


def test_a_program_reads_one_object() -> None:
    code, text = reported(MISSING, as_json=True)
    assert code == 3
    assert json.loads(text) == {
        "error": {
            "code": "not_found",
            "message": "There is no 'x'.",
            "hint": "Search.",
            "retryable": False,
            "reference": "x",
            "nearest": ["y", "z"],
        }
    }
    conflict = json.loads(reported(ConflictError("Changed.", current_revision="ab" * 20), as_json=True)[1])
    assert conflict["error"]["current_revision"] == "ab" * 20


def test_what_can_be_tried_again_says_so() -> None:
    code, text = reported(UnavailableError("Locked."), as_json=True)
    assert code == 9
    assert json.loads(text)["error"]["retryable"] is True


def test_every_exit_code_of_an_error_is_in_the_help_and_no_other() -> None:
    remote = {7, 8}
    """Exit codes for callers with keys and rate limits, which the command line does not have."""
    listed = {code for code, _ in EXIT_CODES} - {0, FINDINGS, INTERRUPTED, PIPE_CLOSED}
    assert listed == {form.exit for form in ERROR_MAPPINGS.values()} - remote
