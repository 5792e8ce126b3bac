"""How errors of the toolset `notes` read: what was wrong, what is nearest, what is valid, and the next call."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel

from commonplace.domain.errors import Code, ConflictError, KnowledgeError
from commonplace.domain.json import Json
from commonplace.faces.mcp.toolset import Call, ToolResult

P = TypeVar("P", bound=BaseModel)
MAX_SHOWN_ARGUMENT = 200
"""Characters of an argument above which the next call does not repeat it."""


def show_error(error: KnowledgeError) -> str:
    """The error as text."""
    parts = [str(error)]
    nearest = error.context.get("nearest")
    if isinstance(nearest, list) and nearest:
        parts.append(f"Nearest: {', '.join(nearest)}.")
    if "current_revision" in error.context:
        parts.append(f"Current revision: {str(error.context['current_revision'])[:12]}.")
    if isinstance(error, ConflictError) and error.changes:
        parts.append("Changed since: " + "; ".join(error.changes) + ".")
    parts.append(error.hint)
    return " ".join(part for part in parts if part)


def advised(tool: str, run: Callable[[Call, P], ToolResult]) -> Callable[[Call, P], ToolResult]:
    """The tool's function, whose errors end with the next call, its arguments filled in."""

    def called(call: Call, arguments: P) -> ToolResult:
        try:
            return run(call, arguments)
        except KnowledgeError as error:
            following = _next(tool, error, arguments.model_dump(exclude_unset=True))
            if following and following not in error.hint:
                error.hint = f"{error.hint} Next: {following}".strip()
            raise

    return called


def _next(tool: str, error: KnowledgeError, given: dict[str, Json]) -> str:
    step, steps = error.context.get("step"), given.get("steps")
    if isinstance(step, int) and isinstance(steps, list):
        failed = steps[step - 1]
        return _next_of(f"transaction with step {step} as", error, failed if isinstance(failed, dict) else {})
    return _next_of(tool, error, given)


def _next_of(tool: str, error: KnowledgeError, given: dict[str, Json]) -> str:
    """The call that follows an error, or the step of one; `tool` begins a repetition with another page."""
    folder, nearest = error.context.get("folder"), error.context.get("nearest")
    near = nearest[0] if isinstance(nearest, list) and nearest else ""
    page = given.get("page")
    if error.code is Code.CONFLICT:
        return f"read {_json({'page': error.context.get('reference') or page})}"
    if error.kind == "document" and error.code is Code.ALREADY_EXISTS and near:
        return f"read {_json({'page': near})}"
    if folder:
        return f"overview {_json({'folder': str(folder)})}"
    if error.kind == "document" and error.code is Code.NOT_FOUND:
        reference = str(error.context.get("reference", ""))
        then = {"at": given["at"]} if given.get("at") else {}
        again = f"{tool} {_json(_with_page(given, reference, near))}"
        return again if near else f"search {_json({'query': reference, **then})}"
    if error.kind in {"section", "block"} and isinstance(page, str):
        base = page.partition("#")[0].removeprefix("[[").removesuffix("]]")
        arguments: dict[str, Json] = {"page": base, "section": near} if near else {"page": base}
        return f"read {_json(arguments)}"
    return ""


def _with_page(given: dict[str, Json], reference: str, near: str) -> dict[str, Json]:
    """The call's own short arguments with the nearest page in place of the unknown one."""
    short = {key: value for key, value in given.items() if len(json.dumps(value)) <= MAX_SHOWN_ARGUMENT}
    name = "to" if reference and reference == short.get("to") else "page"
    return short | {name: near}


def _json(value: dict[str, Json]) -> str:
    return json.dumps(value, ensure_ascii=False)
