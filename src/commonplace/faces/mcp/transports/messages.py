"""Validation of JSON-RPC messages and the errors for invalid ones; the same for every transport."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TypeAlias, cast

import mcp_types as types
from pydantic import ValidationError
from pydantic_core import from_json

from commonplace.domain.json import NotFiniteError, require_finite

Id: TypeAlias = int | str

MAX_TOKENS = 200_000
"""Maximum number of strings and brackets that are scanned for the id of an unparsable message."""
_LIMITS = ("recursion limit", "number out of range")
"""Texts in the parser's errors for JSON that is valid but beyond its limits."""
_TOO_MUCH = "it is nested too deep, or a number in it is too large"
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIRS = {b"]": b"[", b"}": b"{"}
_CLOSING = {opening: closing for closing, opening in _PAIRS.items()}
_REQUEST = {"jsonrpc": "2.0", "method": ""}
"""Placeholder for the unscanned parts of a message."""


class MessageError(ValueError):
    """The input is not a JSON-RPC message."""

    def __init__(self, answer: types.JSONRPCError) -> None:
        super().__init__(answer.error.message)
        self.answer = answer
        """The response: a parse error without an id if the input is not JSON, else an invalid request with its id."""


def read_message(raw: bytes) -> types.JSONRPCMessage:
    """Parse a request, a notification or a response.

    Raises:
        MessageError: the input is none of these.
    """
    _require_finite(raw)
    try:
        message = types.jsonrpc_message_adapter.validate_json(raw, by_name=False)
    except ValueError as error:
        check_message(raw)
        raise MessageError(_invalid("its form is not known", None)) from error
    if isinstance(message, types.JSONRPCNotification):
        check_message(raw)  # the adapter accepts a request with an invalid id as a notification
    return message


def check_message(raw: bytes, *, surrogates: bool = False) -> None:
    """Check that the input is a request, a notification or a response.

    Args:
        raw: The received bytes.
        surrogates: Whether lone surrogates, which JSON can express, are accepted here and left to later checks.

    Raises:
        MessageError: the input is none of these.
    """
    _require_finite(raw)
    try:
        message, problem = cast("object", from_json(raw)), ""
    except ValueError as error:
        message, problem = _read_otherwise(raw, str(error), surrogates=surrogates)
    if not isinstance(message, dict):
        raise MessageError(_invalid(problem or "it is no object; batches are not taken", None))
    envelope = cast("Mapping[str, object]", message)
    problem = _problem(envelope) or problem
    if problem:
        raise MessageError(_invalid(problem, _id(envelope)))


def _require_finite(raw: bytes) -> None:
    """Check for NaN and Infinity, which are not JSON, and for numbers that overflow to infinity.

    Raises:
        MessageError: the message contains such a number.
    """
    try:
        require_finite(raw)
    except NotFiniteError as error:
        if error.is_json:
            reported_id = cast("Mapping[str, object]", _with_id((raw,)) or {})
            raise MessageError(_invalid(str(error), _id(reported_id))) from error
        raise MessageError(_error(types.PARSE_ERROR, f"Parse error: {error}.", None)) from error


def _read_otherwise(raw: bytes, said: str, *, surrogates: bool) -> tuple[object, str]:
    """Parse a message that the first parser refused, or at least its id. Returns the value and the problem, or "".

    Raises:
        MessageError: the input is not JSON.
    """
    if "hex escape" in said:  # a lone surrogate or an invalid escape
        with suppress(ValueError, RecursionError):
            return json.loads(raw), "" if surrogates else "it holds half a surrogate pair, which is no text"
    if any(limit in said for limit in _LIMITS):
        outline, is_whole = _outline(raw)
        if not is_whole:
            return _with_id((outline, _end(raw))), _TOO_MUCH
        with suppress(ValueError):
            return json.loads(outline, parse_int=_int), _TOO_MUCH
    raise MessageError(_error(types.PARSE_ERROR, "Parse error: this is not one JSON-RPC message.", None))


def _problem(message: Mapping[str, object]) -> str:
    """The problem of a message; "" if there is none."""
    if message.get("jsonrpc") != "2.0":
        return 'jsonrpc must be "2.0"'
    if "id" in message and _id(message) is None and not (message["id"] is None and "error" in message):
        return "id must be text or a whole number"
    if "method" not in message:
        return _problem_of_answer(message)
    if not isinstance(message["method"], str):
        return "method must be text"
    if not isinstance(message.get("params"), dict | None):
        return "params must be an object"
    return ""


def _problem_of_answer(message: Mapping[str, object]) -> str:
    if "result" not in message and "error" not in message:
        return "it has no method"
    try:
        types.jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValidationError:
        return "it is no answer: result or error is malformed"
    return ""


def _id(message: Mapping[str, object]) -> Id | None:
    given_id = message.get("id")
    if isinstance(given_id, str):
        return given_id if given_id.isascii() or not _SURROGATE.search(given_id) else None
    return given_id if isinstance(given_id, int) and not isinstance(given_id, bool) else None


def _with_id(parts: Iterable[bytes]) -> object:
    """The first of these parts that is an object with an id, reduced to its id; None if there is none."""
    for part in parts:
        with suppress(ValueError):
            message: object = json.loads(part, parse_int=_int)
            if isinstance(message, dict) and "id" in message:
                return {**_REQUEST, "id": cast("object", message["id"])}
    return None


def _end(raw: bytes) -> bytes:
    """The text after the last container in a message, as the beginning of an object."""
    text = raw.rstrip()
    at = max(text.rfind(bracket, 0, -1) for bracket in (b"]", b"}"))
    return b"{" + text[at + 1 :].lstrip(b", \t\r\n")


def _outline(raw: bytes) -> tuple[bytes, bool]:
    """A message with empty containers below the first level, and whether the whole message was scanned.

    Beyond `MAX_TOKENS`, only the beginning is returned. If the brackets do not match, the result is empty, which is no
    JSON.
    """
    kept_contents: list[bytes] = []
    stack: list[bytes] = []
    end = 0
    for number, token in enumerate(_TOKEN.finditer(raw)):
        if number > MAX_TOKENS:
            return b"".join([*kept_contents, *(_CLOSING[element] for element in reversed(stack[:2]))]), False
        text = token[0]
        if len(stack) <= 1:
            kept_contents.append(raw[end : token.start()])
        if text in _PAIRS and (not stack or stack.pop() != _PAIRS[text]):
            return b"", True
        if len(stack) <= 1:
            kept_contents.append(text)
        if text in {b"[", b"{"}:
            stack.append(text)
        end = token.end()
    return (b"".join([*kept_contents, raw[end:]]) if not stack else b""), True


def _int(text: str) -> int | float:
    """An integer. One with too many digits for an id becomes infinity, which is not a valid id."""
    return int(text) if len(text) < 20 else float("inf")  # noqa: PLR2004 - digits of 64 bits


def _invalid(problem: str, identifier: Id | None) -> types.JSONRPCError:
    return _error(types.INVALID_REQUEST, f"Invalid request: {problem}.", identifier)


def _error(code: int, message: str, identifier: Id | None) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=identifier, error=types.ErrorData(code=code, message=message))
