"""The envelope of every call of this toolset: the success fields, the trace of an error, and the activity log."""

from __future__ import annotations

import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar, cast

from pydantic import BaseModel, ValidationError

from commonplace.domain.errors import Code, InvalidInputError, KnowledgeError, NotFoundError
from commonplace.domain.json import Json, JsonObject
from commonplace.domain.ports import Progress
from commonplace.domain.words.amounts import amount
from commonplace.faces.mcp.toolset import (
    PROPOSE,
    BoundHandler,
    Call,
    LinkedContent,
    ToolContent,
    ToolResult,
    input_schema,
)
from commonplace.toolsets.projects.rules.chapters import now_text
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
            completed = run(projects, parsed, call.progress)
            if isinstance(completed, LaidOutAnswer):
                whole: JsonObject = {"success": True, **completed.values}
                return LinkedContent(whole, (), partial(_laid_out, completed.levels))
            answer: JsonObject = {"success": True, **completed}
            withheld = projects.upstream.withheld() if writes and call.tier != PROPOSE else ""
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
    shown_arguments = ", ".join(f"{name}={_redacted(value)}" for name, value in arguments.items())
    log.log(
        logging.ERROR if unforeseen else logging.WARNING,
        "%s failed after %.1f ms: %s: %s (trace %s, parameters %s)",
        method,
        took,
        error.context["code"],
        error,
        trace,
        shown_arguments,
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
        for key, element in value.items():
            _refuse_surrogates(argument, str(key), element)
    elif isinstance(value, list):
        for element in value:
            _refuse_surrogates(argument, name, element)


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


def _laid_out(levels: int, content: ToolContent) -> str:
    return indented_text(cast("Json", content), levels)


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
        parts = [indented_text(element, levels - 1, inner) for element in value]
    else:
        opened, closed = "{}"
        parts = [
            f"{json.dumps(key, ensure_ascii=False)}: {indented_text(element, levels - 1, inner)}"
            for key, element in value.items()
        ]
    return f",\n{inner}".join([f"{opened}\n{inner}{parts[0]}", *parts[1:]]) + f"\n{indent}{closed}"


# Errors in the contract of this toolset: codes, a trace id, and argument names in words.


SUBJECTS = ("project_id", "filename", "chapter_title", "section_header", "todo_number", "task_number")
"""Arguments that identify the subject of a call. They are short and never content."""
MAX_SHOWN = 60
"""Maximum length in characters of an invalid value that an error repeats."""
MAX_SUBJECT = 260
"""Maximum length in characters of a subject that an error repeats."""

_BY_KIND = {
    (Code.INVALID, "project_id"): "INVALID_PROJECT_ID",
    (Code.INVALID, "filename"): "INVALID_FILENAME",
    (Code.INVALID, "path"): "INVALID_PATH",
    (Code.INVALID, "content"): "INVALID_CONTENT",
    (Code.INVALID, "document"): "INVALID_CONTENT",
    (Code.INVALID, "text"): "INVALID_CONTENT",
    (Code.INVALID, "query"): "INVALID_SEARCH_QUERY",
    (Code.TOO_LARGE, "content"): "INVALID_CONTENT",
    (Code.NOT_FOUND, "project"): "PROJECT_NOT_FOUND",
    (Code.NOT_FOUND, "document"): "DOCUMENT_NOT_FOUND",
    (Code.NOT_FOUND, "chapter"): "CHAPTER_NOT_FOUND",
    (Code.NOT_FOUND, "section"): "SECTION_NOT_FOUND",
    (Code.NOT_FOUND, "todo"): "TODO_NOT_FOUND",
    (Code.NOT_FOUND, "task"): "TASK_NOT_FOUND",
    (Code.ALREADY_EXISTS, "section"): "SECTION_ALREADY_EXISTS",
    (Code.GIT, "command"): "GIT_COMMAND_FAILED",
}
_BY_CODE = {
    Code.INVALID: "INVALID_INPUT",
    Code.TOO_LARGE: "INVALID_INPUT",
    Code.NOT_FOUND: "NOT_FOUND",
    Code.ALREADY_EXISTS: "FILE_ALREADY_EXISTS",
    Code.STORAGE: "FILE_SYSTEM_ERROR",
    Code.CONFLICT: "FILE_SYSTEM_ERROR",
    Code.UNAVAILABLE: "FILE_SYSTEM_ERROR",
    Code.READ_ONLY: "ACCESS_DENIED",
    Code.FORBIDDEN: "ACCESS_DENIED",
    Code.UNAUTHENTICATED: "ACCESS_DENIED",
    Code.GIT: "GIT_ERROR",
    Code.INTERNAL: "INTERNAL_ERROR",
}
_OF_TOOLS = {
    "delete_project": (
        "PROJECT_DELETE_FAILED",
        frozenset({"FILE_SYSTEM_ERROR", "GIT_ERROR", "GIT_COMMAND_FAILED", "INTERNAL_ERROR"}),
    ),
    "search_knowledge": ("SEARCH_ERROR", frozenset({"FILE_SYSTEM_ERROR", "INTERNAL_ERROR"})),
}
"""The specific code of a tool, and the general codes that it replaces."""
_KINDS = {
    "project_id": "project_id",
    "filename": "filename",
    "query": "query",
    "content": "content",
    "new_content": "content",
}
_WORDS = {"id": "ID", "todo": "TODO"}
_INSIDE = re.compile(r"(?:projects/[^/\s]+/)(?:knowledge/|TODO/\d+/)?|TODO/\d*/?|projects/")


def code_of(error: KnowledgeError, method: str) -> str:
    """The contract's code of an error that a tool raised."""
    code = _BY_KIND.get((error.code, error.kind)) or _BY_CODE.get(error.code, "UNKNOWN_ERROR")
    own, general = _OF_TOOLS.get(method, ("", frozenset[str]()))
    return own if code in general else code


def bad_argument(error: ValidationError) -> InvalidInputError:
    """The error for the first invalid argument, whose name is in words."""
    problem = error.errors(include_url=False)[0]
    name = str(problem["loc"][0]) if problem["loc"] else ""
    words = in_words(name)
    inner = ".".join(str(part) for part in problem["loc"][1:])
    where = f"{words} ({inner})" if inner else words
    kind = _KINDS.get(name, "argument")
    if problem["type"] == "missing" or problem["type"].endswith("_type"):
        kind = "argument"  # INVALID_INPUT; the codes of single arguments are for values of the right type
    if problem["type"] == "missing":
        message = f"{where} is required"
    else:
        msg = problem["msg"].removeprefix("Input ")
        message = f"{where} is invalid: it {msg[:1].lower()}{msg[1:]}; got {_shown(problem['input'])}"
    return InvalidInputError(message, kind=kind, hint="Correct the arguments and call again.")


def _shown(value: object) -> str:
    """An invalid value if it is short, else its type; never content."""
    if value is None or isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= MAX_SHOWN):
        return json.dumps(value, ensure_ascii=False)
    return type(value).__name__


def in_words(name: str) -> str:
    """The name of an argument in words: `project_id` is `Project ID`."""
    words = [_WORDS.get(word, word) for word in name.split("_")]
    text = " ".join(words)
    return text[:1].upper() + text[1:]


def subjects(arguments: Mapping[str, Json]) -> dict[str, Json]:
    """The subject of a call: the arguments in `SUBJECTS` that have the right type."""
    subject: dict[str, Json] = {}
    for name in SUBJECTS:
        value = arguments.get(name)
        if isinstance(value, str):
            subject[name] = value[:MAX_SUBJECT].encode("utf-8", "replace").decode()
        elif isinstance(value, int) and not isinstance(value, bool):
            subject[name] = value
    return subject


def explain(error: KnowledgeError, method: str, trace: str, about: Mapping[str, Json]) -> None:
    """Replace an error's context with the fields of the error envelope."""
    context: dict[str, str | int | list[str]] = {key: v for key, v in about.items() if isinstance(v, (str, int))}
    nearest = error.context.get("nearest")
    if isinstance(nearest, list) and nearest:
        context["available"] = nearest
    error.context = {"code": code_of(error, method), "traceId": trace, "timestamp": now_text(), **context}


def show_error(error: KnowledgeError) -> JsonObject:
    """The envelope of an error."""
    context = dict(error.context)
    code = context.pop("code", None) or code_of(error, "")
    envelope: dict[str, Json] = {
        "traceId": context.pop("traceId", None) or secrets.token_hex(16),
        "timestamp": context.pop("timestamp", None) or now_text(),
    }
    facts = {name: context[name] for name in (*SUBJECTS, "available") if name in context}
    if error.hint:
        facts["hint"] = error.hint
    return {
        "success": False,
        "error": without_folders(str(error)),
        "code": code,
        "context": {**envelope, **facts},
    }


def without_folders(message: str) -> str:
    """The message without paths inside the store."""
    return _INSIDE.sub("", message)
