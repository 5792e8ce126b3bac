"""Texts of the errors of the toolset `notes`: the error, the nearest names, valid values, and the next call."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TypeVar

from pydantic import BaseModel

from commonplace.domain.errors import Code, ConflictError, KnowledgeError
from commonplace.domain.json import Json, list_of, mapping_of, text_of
from commonplace.faces.mcp.toolset import Call, ToolResult

P = TypeVar("P", bound=BaseModel)
_NARROWING = {"folder": "folder", "tag": "tag", "type": "type", "author": "by"}
"""Argument of the tools by error kind, for errors about folders, tags, types and authors."""
_SHELL = re.compile(r"\bcommonplace [a-z]|\(--|[Oo]n the command line")
_LISTING = {"trash": 'changes {"deleted": true}', "revision": "changes {}", "session": "changes {}"}
"""The call that lists what there is, by the kind of an error whose hint names a shell command for that."""
_SHOWN = frozenset({Code.NOT_FOUND, Code.ALREADY_EXISTS, Code.CONFLICT})
"""Codes of the errors after which a caller of tools can look and go on; others need the person at the shell."""
_READING = frozenset({"overview", "search", "read", "links", "changes"})
"""The tools that change nothing."""
MAX_SHOWN_ARGUMENT = 200
"""Maximum length in characters of an argument that the suggested next call repeats."""


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
    """Wrap a tool's function so that its errors end with the next call, arguments included."""

    def called(call: Call, arguments: P) -> ToolResult:
        try:
            return run(call, arguments)
        except KnowledgeError as error:
            inputs: dict[str, Json] = arguments.model_dump(exclude_unset=True)
            following = _way_back(call, error) or _next(tool, error, inputs)
            if _SHELL.search(error.hint) and error.code in _SHOWN:  # a caller of tools is told the call, not a command
                following = following or _looking(error, inputs)
                error.hint = "" if following else error.hint
            if following and following not in error.hint:
                error.hint = f"{error.hint} Next: {following}".strip()
            raise

    return called


def _looking(error: KnowledgeError, inputs: dict[str, Json]) -> str:
    """The call that shows what there is, after an error whose hint names a shell command; "" if there is none."""
    if listing := _LISTING.get(error.kind):
        return listing
    return f"read {_json({'page': inputs['page'], **_moment(inputs)})}" if inputs.get("page") else ""


def _way_back(call: Call, error: KnowledgeError) -> str:
    """The call that brings a deleted page back, or, for callers who only read, shows it; "" for other errors."""
    page = error.context.get("gone")
    if not page:
        return ""
    if call.tier == "read":
        return f"read {_json({'page': str(page), 'at': str(error.context.get('moment'))})}"
    return f"restore {_json({'page': str(page)})}"


def _next(tool: str, error: KnowledgeError, inputs: dict[str, Json]) -> str:
    if error.kind == "unknown" and inputs.get("request_id"):
        return f"send the same call again, with its request_id {_json(inputs['request_id'])}"
    step, steps = error.context.get("step"), inputs.get("steps")
    if isinstance(step, int) and isinstance(steps, list):
        failed = steps[step - 1]
        return _next_of(f"transaction with step {step} as", error, failed if isinstance(failed, dict) else {})
    return _next_of(tool, error, inputs)


def _next_of(tool: str, error: KnowledgeError, inputs: dict[str, Json]) -> str:
    """The call that follows an error, or an error of a step. A repetition with another page begins with `tool`."""
    folder, near, page = error.context.get("folder"), _near(error), inputs.get("page")
    if error.code is Code.CONFLICT:
        named = error.context.get("reference") or error.context.get("path") or page
        return f"read {_json({'page': named})}" if named else ""
    if folder:
        return f"overview {_json({'folder': str(folder)})}"
    if error.kind == "document":
        return _after_a_page(tool, error, inputs)
    if near and (name := _NARROWING.get(error.kind, "")) in inputs:
        return f"{tool} {_json(_short(inputs) | {name: near})}"
    if error.kind in {"section", "block"} and isinstance(page, str):
        base = page.partition("#")[0].removeprefix("[[").removesuffix("]]")
        arguments: dict[str, Json] = {"page": base, "section": near} if near else {"page": base}
        return f"read {_json(arguments | _moment(inputs))}"
    return ""


def _after_a_page(tool: str, error: KnowledgeError, inputs: dict[str, Json]) -> str:
    """The call after an error about a missing page, or another page with the same name."""
    near, place = _near(error), error.context.get("place")
    if error.code is Code.ALREADY_EXISTS and near:
        return f"read {_json({'page': near})}"
    if error.code is not Code.NOT_FOUND:
        return ""
    if place:
        return _page_of_a_day(tool, str(place), inputs)
    reference = str(error.context.get("reference", ""))
    if not near:
        moment = _moment(inputs)
        return f"search {_json({'query': reference, **moment})}" if reference else f"overview {_json(moment)}"
    if tool not in _READING:  # a change of another page must not be one repetition away
        return f"read {_json({'page': near})}"
    return f"{tool} {_json(_with_page(inputs, reference, near))}"


def _with_page(inputs: dict[str, Json], reference: str, near: str) -> dict[str, Json]:
    """The short arguments of the call, with the nearest page instead of the unknown one."""
    short = _short(inputs)
    name = "to" if reference and reference == short.get("to") else "page"
    return short | {name: near}


def _page_of_a_day(tool: str, place: str, inputs: dict[str, Json]) -> str:
    """The call after an error about a missing daily page. After an edit, a `write` of the page with the edit's text."""
    if tool != "edit" and "step" not in tool:
        return f"changes {_json({'folder': place.rpartition('/')[0]})}"
    texts = [text_of(mapping_of(change).get("text")) for change in list_of(inputs.get("changes"))]
    text = "\n\n".join(filter(None, texts))
    shown = text if len(text) <= MAX_SHOWN_ARGUMENT else "…"
    written: dict[str, Json] = {"page": place, "text": f"{_heading_of_day(place)}{shown}\n"}
    return f"write {_json(written)}" if tool == "edit" else f"{tool} {_json({'do': 'write', **written})}"


def _heading_of_day(place: str) -> str:
    """The heading of the page of a day; none in a journal of Logseq, whose pages are lists."""
    name = place.rpartition("/")[2].removesuffix(".md")
    return "" if "_" in name else f"# {name}\n\n"


def _short(inputs: dict[str, Json]) -> dict[str, Json]:
    """The arguments that are short enough to repeat."""
    return {key: value for key, value in inputs.items() if len(json.dumps(value)) <= MAX_SHOWN_ARGUMENT}


def _moment(inputs: dict[str, Json]) -> dict[str, Json]:
    """The `at` argument of a call about a past state; {} if there is none."""
    return {"at": inputs["at"]} if inputs.get("at") else {}


def _near(error: KnowledgeError) -> str:
    nearest = error.context.get("nearest")
    return str(nearest[0]) if isinstance(nearest, list) and nearest else ""


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
