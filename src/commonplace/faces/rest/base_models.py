"""What every REST contract shares: the bases of its requests' models, and the shape of a refusal."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class RequestBody(BaseModel):
    """Base of what is sent in a body: types are taken literally, unknown keys ignored."""

    model_config = ConfigDict(strict=True, frozen=True)


class QueryParameters(BaseModel):
    """Base of what stands behind the `?`, where everything is text."""

    model_config = ConfigDict(frozen=True)


class NoQueryParameters(QueryParameters):
    """Nothing."""


class Problem(BaseModel):
    """A refusal."""

    error: str
    code: str
    kind: str = ""
    hint: str = ""
    nearest: list[str] = []
    reference: str = ""
    current_revision: str | None = None
    changes: Annotated[list[str], Field(description="Lines that differ from the revision that was named")] = []
