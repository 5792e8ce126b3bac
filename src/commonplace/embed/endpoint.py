"""Encodes texts by a model on a server with OpenAI's API (`POST /embeddings`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

import httpx2
import numpy as np

from commonplace.domain.errors import StorageError, UnavailableError
from commonplace.domain.json import Json
from commonplace.embed.unit_vectors import normalized

if TYPE_CHECKING:
    from commonplace.embed.encoders import Vectors

QUESTION_SECONDS = 3.0
"""Timeout in seconds of a query, after which search falls back to words."""
TEXTS_SECONDS = 60.0
"""Timeout in seconds of a batch of texts."""


class EndpointEncoder:
    """A model on a server.

    Args:
        url: Base URL before `/embeddings`, such as `http://localhost:11434/v1`.
        model: The server's name of the model.
        key: API key of the server; "" for none.
    """

    def __init__(self, url: str, model: str, key: str = "") -> None:
        self.name = model
        self.identity = f"{url} {model}"
        self._url = f"{url.rstrip('/')}/embeddings"
        self._key = key

    def understood(self, text: str) -> float:  # noqa: ARG002 - the protocol's argument
        """Return 1, because the API does not tell which tokens the model knows."""
        return 1.0

    def encode(self, texts: Sequence[str], *, question: bool = False) -> Vectors:
        """Vectors of length 1."""
        seconds = QUESTION_SECONDS if question else TEXTS_SECONDS
        # Some servers reject empty texts.
        body = {"model": self.name, "input": [text or " " for text in texts], "encoding_format": "float"}
        try:
            response = self._http.post(self._url, json=body, timeout=seconds)
            response.raise_for_status()
            answer = cast("Json", response.json())
        except httpx2.HTTPStatusError as error:
            raise _refused(error.response.status_code) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            reason = "no answer in time" if isinstance(error, httpx2.TimeoutException) else "it cannot be reached"
            raise _unavailable(reason) from error
        except (ValueError, RecursionError) as error:
            raise _unavailable("its answer is not JSON") from error
        return normalized(np.array(_vectors(answer, len(texts)), np.float32))

    @cached_property
    def _http(self) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return httpx2.Client(headers=headers)


def _vectors(answer: Json, count: int) -> list[list[float]]:
    """The vectors of a response in the order of the texts."""
    data = answer.get("data") if isinstance(answer, Mapping) else None
    rows: dict[int, list[float]] = {}
    for place, one in enumerate(data if isinstance(data, Sequence) and not isinstance(data, str) else ()):
        vector = one.get("embedding") if isinstance(one, Mapping) else None
        at = one.get("index", place) if isinstance(one, Mapping) else None
        if isinstance(at, int) and isinstance(vector, Sequence) and not isinstance(vector, str):
            rows[at] = [_float(number) for number in vector]
    if set(rows) != set(range(count)) or len({len(row) for row in rows.values()}) != 1 or not rows[0]:
        raise _unavailable("its answer does not have one vector for each text, all of one dimension")
    return [rows[at] for at in range(count)]


def _float(number: Json) -> float:
    try:
        return float(number) if isinstance(number, int | float) else math.nan
    except OverflowError:
        return math.inf


def _refused(status: int) -> StorageError | UnavailableError:
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.BAD_REQUEST}:
        return StorageError(
            f"The embedding endpoint refused with status {status}.",
            kind="model",
            hint="Check the settings embedding_url, embedding_model and embedding_key.",
        )
    return _unavailable(f"it answered with status {status}")


def _unavailable(reason: str) -> UnavailableError:
    return UnavailableError(
        f"The embedding endpoint does not serve: {reason}.",
        kind="model",
        hint="Search by words still works; check the server at embedding_url.",
    )
