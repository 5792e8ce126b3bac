"""The envelope of every call of this toolset: the success fields, the trace of an error, and the activity log."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from commonplace.domain.errors import KnowledgeError, NotFoundError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.ports import Progress
from commonplace.domain.words.amounts import amount
from commonplace.faces.mcp.toolset import BoundHandler, Call, LinkedContent, ToolResult, input_schema
from commonplace.toolsets.projects.mcp.failures import bad_argument, explain, in_words, subjects, without_folders
from commonplace.toolsets.projects.rules.knowledge import now_text
from commonplace.toolsets.projects.rules.limits import check_text
from commonplace.toolsets.projects.service import PROJECTS_KEY
from commonplace.toolsets.projects.service.project_store import ProjectStore

MAX_NAMED = 20
"""Maximum number of subsections that a message names."""

log = logging.getLogger("commonplace.projects")

P = TypeVar("P", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class LaidOutAnswer:
    """An answer whose text block indents only its outer levels, because every indented line costs tokens."""

    values: JsonObject
    levels: int
    """Number of indented levels; deeper values are on one line."""


Answer: TypeAlias = JsonObject | LaidOutAnswer


def bind_method(
    method: str,
    params: type[P],
    run: Callable[[ProjectStore, P, Progress], Answer],
    *,
    writes: bool = False,
) -> BoundHandler:
    """Bind a parameter model to the function that answers, with the envelope around each call.

    Args:
        method: Name of the tool.
        params: The parameter model.
        run: The function that answers.
        writes: Whether the answer states why a commit is not pushed.
    """

    def called(call: Call, arguments: JsonObject) -> ToolResult:
        with logged_call(call, method, arguments) as projects:
            for name, value in arguments.items():
                _refuse_surrogates(name, name, value)
            try:
                parsed = params.model_validate(arguments)
            except ValidationError as error:
                raise bad_argument(error) from error
            found = run(projects, parsed, call.progress)
            if isinstance(found, LaidOutAnswer):
                whole: JsonObject = {"success": True, **found.values}
                return LinkedContent(whole, (), indented_text(whole, found.levels))
            answer: JsonObject = {"success": True, **found}
            withheld = projects.upstream.withheld() if writes else ""
            return {**answer, "push_error": withheld} if withheld else answer

    return BoundHandler(lambda: input_schema(params), called)


@contextmanager
def logged_call(call: Call, method: str, arguments: JsonObject) -> Generator[ProjectStore]:
    """Log the outcome of the block in the activity log and, if it failed, on standard error.

    Raises:
        KnowledgeError: the error of the block, with the fields for the error envelope.
    """
    began = time.perf_counter()
    about = subjects(arguments)
    projects: ProjectStore | None = None
    failed: KnowledgeError | None = None
    unforeseen: Exception | None = None
    try:
        projects = call.services.of(PROJECTS_KEY)
        projects.upstream.wait_started()
        yield projects
    except KnowledgeError as error:
        failed = error
    except Exception as error:  # noqa: BLE001 - the face is where the unforeseen ends; it is logged below
        failed = KnowledgeError("An internal error occurred; the server's log has the details")
        failed.__cause__ = unforeseen = error
    took = round((time.perf_counter() - began) * 1000, 3)
    if failed is not None:
        explain(failed, method, call.trace, about)
    if projects is not None:
        projects.activity.record(_line(call, method, took, about, failed))
    if failed is not None:
        _report(failed, unforeseen, call.trace, method, took, arguments)
        raise failed


def with_subsections(titles: Sequence[str]) -> str:
    """The part of an edit's message about removed subsections; "" if there are none."""
    if not titles:
        return ""
    named = ", ".join(f"'{title}'" for title in titles[:MAX_NAMED])
    return f", with {amount(len(titles), 'subsection')}: {named}{', …' if len(titles) > MAX_NAMED else ''}"


def _line(
    call: Call, method: str, took: float, about: Mapping[str, Json], failed: KnowledgeError | None
) -> dict[str, Json]:
    """One line of the activity log, without any content."""
    main = {name: about[name] for name in ("project_id", "filename", "chapter_title") if name in about}
    line: dict[str, Json] = {
        "timestamp": now_text(),
        "method": method,
        "success": failed is None,
        "traceId": call.trace,
        "duration": took,
        **main,
    }
    if failed is not None:
        line |= {
            "error": without_folders(str(failed)),
            "errorCode": failed.context["code"],
            "errorContext": dict(about),
        }
    return line


def _report(
    error: KnowledgeError, unforeseen: Exception | None, trace: str, method: str, took: float, arguments: JsonObject
) -> None:
    given = ", ".join(f"{name}={_redacted(value)}" for name, value in arguments.items())
    log.log(
        logging.ERROR if unforeseen else logging.WARNING,
        "%s failed after %.1f ms: %s: %s (trace %s, parameters %s)",
        method,
        took,
        error.context["code"],
        error,
        trace,
        given,
        exc_info=unforeseen or (error if log.isEnabledFor(logging.DEBUG) else None),
    )


def _redacted(value: Json) -> str:
    """The type and size of an argument instead of its content."""
    if isinstance(value, (str, list, dict)):
        return f"<{type(value).__name__} of {len(value)}>"
    return repr(value)


def _refuse_surrogates(argument: str, name: str, value: Json) -> None:
    if isinstance(value, str):
        kinds = {"project_id": "project_id", "filename": "filename", "query": "query"}
        kind = kinds.get(argument, "content" if "content" in name else argument)
        check_text(in_words(argument), kind, value)
    elif isinstance(value, dict):
        for key, one in value.items():
            _refuse_surrogates(argument, str(key), one)
    elif isinstance(value, list):
        for one in value:
            _refuse_surrogates(argument, name, one)


def nearest_notice(projects: ProjectStore, project_id: str) -> JsonObject:
    """A notice with the project of the nearest id, for an answer about an unknown project; {} if there is none."""
    try:
        projects.folder(project_id)
    except NotFoundError as error:
        return {"notice": f"{error}. {error.hint}"} if error.context.get("nearest") else {}
    return {}


def new_project_notice(projects: ProjectStore, project_id: str) -> JsonObject:
    """A notice that a call creates a new project, if there is one with almost the same id; {} otherwise.

    To be called before the call writes.
    """
    try:
        projects.folder(project_id)
    except NotFoundError as error:
        nearest = error.context.get("nearest")
        if isinstance(nearest, list) and nearest:
            notice = f"Project '{project_id}' is new; there was '{nearest[0]}' already. If that one was meant, "
            return {"notice": f"{notice}repeat the call with its id and remove the new one with delete_project."}
    return {}


def indented_text(value: Json, levels: int, indent: str = "") -> str:
    """JSON with an indentation of two blanks per level.

    Args:
        value: The value to format.
        levels: Number of indented levels; deeper values are on one line.
        indent: Indentation of the last line.
    """
    if not levels or not value or not isinstance(value, list | Mapping):
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    inner = f"{indent}  "
    if isinstance(value, list):
        opened, closed = "[]"
        parts = [indented_text(one, levels - 1, inner) for one in value]
    else:
        opened, closed = "{}"
        parts = [
            f"{json.dumps(key, ensure_ascii=False)}: {indented_text(one, levels - 1, inner)}"
            for key, one in value.items()
        ]
    return f",\n{inner}".join([f"{opened}\n{inner}{parts[0]}", *parts[1:]]) + f"\n{indent}{closed}"
