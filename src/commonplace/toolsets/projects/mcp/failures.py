"""Errors in the contract of this toolset: codes, a trace id, and argument names in words."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping

from pydantic import ValidationError

from commonplace.domain.errors import Code, InvalidInputError, KnowledgeError
from commonplace.domain.json import Json, JsonObject
from commonplace.toolsets.projects.rules.knowledge import now_text

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
        told = problem["msg"].removeprefix("Input ")
        message = f"{where} is invalid: it {told[:1].lower()}{told[1:]}; got {_shown(problem['input'])}"
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
    found: dict[str, Json] = {}
    for name in SUBJECTS:
        value = arguments.get(name)
        if isinstance(value, str):
            found[name] = value[:MAX_SUBJECT].encode("utf-8", "replace").decode()
        elif isinstance(value, int) and not isinstance(value, bool):
            found[name] = value
    return found


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
    known = {name: context[name] for name in (*SUBJECTS, "available") if name in context}
    if error.hint:
        known["hint"] = error.hint
    return {"success": False, "error": without_folders(str(error)), "code": code, "context": {**envelope, **known}}


def without_folders(message: str) -> str:
    """The message without paths inside the store."""
    return _INSIDE.sub("", message)
