"""What a client is told of arguments that are not what they must be."""

from __future__ import annotations

import json

from pydantic import BaseModel, ValidationError

from commonplace.domain.errors import InvalidInputError

MAX_SHOWN_ARGUMENT = 60
"""Characters of a wrong argument that an error repeats."""


def bad_arguments(error: ValidationError, params: type[BaseModel] | None = None) -> InvalidInputError:
    """One sentence that names each wrong argument, what was expected and what came; context `missing` names gaps.

    Where `params` has no argument of a given name, the hint names those that it has.
    """
    unknown = [_where(e["loc"]) for e in error.errors() if e["type"] == "extra_forbidden"]
    sentences = [f"Unknown argument {where}." for where in unknown]
    valid = f" Valid: {', '.join(one.alias or name for name, one in params.model_fields.items())}." if params else ""
    valid = valid if any("." not in where for where in unknown) else ""
    missing = [_where(e["loc"]) for e in error.errors() if e["type"] == "missing"]
    if missing:
        message, hint = (
            " ".join([f"Missing argument: {', '.join(missing)}.", *sentences]),
            f"Give {', '.join(missing)}.",
        )
        return InvalidInputError(message, kind="argument", hint=hint + valid, missing=missing)
    for problem in error.errors(include_url=False):
        if problem["type"] != "extra_forbidden":
            expected, given = _lower(problem["msg"]), _brief(problem["input"])
            sentences.append(f"Invalid argument {_where(problem['loc'])}: {expected}; got {given}.")
    hint = f"Correct the arguments and call again.{valid}"
    return InvalidInputError(" ".join(sentences), kind="argument", hint=hint)


def _where(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "(arguments)"


def _lower(message: str) -> str:
    text = message.removeprefix("Value error, ").removeprefix("Input ")
    return text[:1].lower() + text[1:]


def _brief(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_SHOWN_ARGUMENT else f"{text[: MAX_SHOWN_ARGUMENT - 3]}..."
