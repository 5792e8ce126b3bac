"""Error messages for arguments that do not match a tool's parameter model."""

from __future__ import annotations

import json
import re
from typing import Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError

from commonplace.domain.errors import InvalidInputError

MAX_SHOWN_ARGUMENT = 60
"""Maximum characters of a wrong argument that an error message quotes."""
_CHOICE = re.compile(
    r"(?:constrained-)?(?:str|int|float|bool|bytes)"
    r"|(?:list|dict|tuple|set|frozenset|literal|nullable|function-\w+)\[.*\]"
)
"""pydantic's names for the members of a union in an error's location."""


def bad_arguments(error: ValidationError, params: type[BaseModel] | None = None) -> InvalidInputError:
    """An error that names each wrong argument, the expected value and the given value.

    The context's `missing` lists the names of missing arguments. If an argument is unknown, the hint names the valid
    ones, provided that `params` is given.
    """
    unknown = [e["loc"] for e in error.errors() if e["type"] == "extra_forbidden"]
    sentences = [f"Unknown argument {_where(location)}." for location in unknown]
    valid = "".join(dict.fromkeys(_valid(params, location[:-1]) for location in unknown)) if params else ""
    missing = [_where(e["loc"]) for e in error.errors() if e["type"] == "missing"]
    if missing:
        message = " ".join([f"Missing argument: {', '.join(missing)}.", *sentences])
        hint = f"Give {', '.join(f'{name}{_choices(params, name)}' for name in missing)}."
        return InvalidInputError(message, kind="argument", hint=hint + valid, missing=missing)
    wrong: dict[tuple[str, str], dict[str, None]] = {}
    for problem in error.errors(include_url=False):
        if problem["type"] != "extra_forbidden":
            where, given = _where(problem["loc"]), _brief(problem["input"])
            wrong.setdefault((where, given), {})[_lower(problem["msg"])] = None
    for (where, given), said in wrong.items():
        if not any(other.startswith(f"{where}.") for other, _ in wrong):  # a nested error is more specific
            sentences.append(f"Invalid argument {where}: {' or '.join(said)}; got {given}.")
    hint = f"Correct the arguments and call again.{valid}"
    return InvalidInputError(" ".join(sentences), kind="argument", hint=hint)


def _valid(params: type[BaseModel], location: tuple[int | str, ...]) -> str:
    """A sentence that names the valid arguments at a location; "" if more than one model is possible there."""
    models = [params]
    for part in location:
        fields = (one for model in models for name, one in model.model_fields.items() if part in {name, one.alias})
        field = next(fields, None)
        models = _models(field.annotation) if field else models
    if len(models) != 1:
        return ""
    names = ", ".join(one.alias or name for name, one in models[0].model_fields.items())
    inside = f" in {location[0]}" if location else ""
    return f" Valid{inside}: {names}." if names else " There are none."


def _choices(params: type[BaseModel] | None, name: str) -> str:
    """The valid values of an argument in parentheses; "" if it takes others than a few words."""
    fields = params.model_fields.items() if params else ()
    annotation = next((one.annotation for key, one in fields if name in {key, one.alias}), None)
    words = get_args(annotation) if get_origin(annotation) is Literal else ()
    return f" ({', '.join(map(str, words))})" if words else ""


def _models(annotation: object) -> list[type[BaseModel]]:
    """The models in a type annotation such as `list[Model] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for one in get_args(annotation) for model in _models(one)]


def _where(location: tuple[int | str, ...]) -> str:
    """The argument's name, without the location parts that only identify a member of a union."""
    parts = [str(part) for part in location if not (isinstance(part, str) and _CHOICE.fullmatch(part))]
    return ".".join(parts) or "(arguments)"


def _lower(message: str) -> str:
    text = message.removeprefix("Value error, ").removeprefix("Input ")
    return text[:1].lower() + text[1:]


def _brief(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_SHOWN_ARGUMENT else f"{text[: MAX_SHOWN_ARGUMENT - 3]}..."
