"""What a client is told of arguments that are not what they must be."""

from __future__ import annotations

import json
import re
from typing import get_args

from pydantic import BaseModel, ValidationError

from commonplace.domain.errors import InvalidInputError

MAX_SHOWN_ARGUMENT = 60
"""Characters of a wrong argument that an error repeats."""
_CHOICE = re.compile(
    r"(?:constrained-)?(?:str|int|float|bool|bytes)"
    r"|(?:list|dict|tuple|set|frozenset|literal|nullable|function-\w+)\[.*\]"
)
"""How the library names a choice of a union in the place of an error."""


def bad_arguments(error: ValidationError, params: type[BaseModel] | None = None) -> InvalidInputError:
    """One sentence that names each wrong argument, what was expected and what came; context `missing` names gaps.

    Where `params`, or a part of it, has no argument of a given name, the hint names those that it has.
    """
    unknown = [e["loc"] for e in error.errors() if e["type"] == "extra_forbidden"]
    sentences = [f"Unknown argument {_where(location)}." for location in unknown]
    valid = "".join(dict.fromkeys(_valid(params, location[:-1]) for location in unknown)) if params else ""
    missing = [_where(e["loc"]) for e in error.errors() if e["type"] == "missing"]
    if missing:
        message, hint = (
            " ".join([f"Missing argument: {', '.join(missing)}.", *sentences]),
            f"Give {', '.join(missing)}.",
        )
        return InvalidInputError(message, kind="argument", hint=hint + valid, missing=missing)
    wrong: dict[tuple[str, str], dict[str, None]] = {}
    for problem in error.errors(include_url=False):
        if problem["type"] != "extra_forbidden":
            where, given = _where(problem["loc"]), _brief(problem["input"])
            wrong.setdefault((where, given), {})[_lower(problem["msg"])] = None
    for (where, given), said in wrong.items():
        if not any(other.startswith(f"{where}.") for other, _ in wrong):  # which is the choice that was meant
            sentences.append(f"Invalid argument {where}: {' or '.join(said)}; got {given}.")
    hint = f"Correct the arguments and call again.{valid}"
    return InvalidInputError(" ".join(sentences), kind="argument", hint=hint)


def _valid(params: type[BaseModel], location: tuple[int | str, ...]) -> str:
    """A sentence that names the arguments at a place; "" if several models may stand there."""
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


def _models(annotation: object) -> list[type[BaseModel]]:
    """The models in a type such as `list[Model] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for one in get_args(annotation) for model in _models(one)]


def _where(location: tuple[int | str, ...]) -> str:
    """The argument's name, without the parts by which the library tells the choices of a union apart."""
    parts = [str(part) for part in location if not (isinstance(part, str) and _CHOICE.fullmatch(part))]
    return ".".join(parts) or "(arguments)"


def _lower(message: str) -> str:
    text = message.removeprefix("Value error, ").removeprefix("Input ")
    return text[:1].lower() + text[1:]


def _brief(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_SHOWN_ARGUMENT else f"{text[: MAX_SHOWN_ARGUMENT - 3]}..."
