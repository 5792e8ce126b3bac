"""Models behind HTTP endpoints: an encoder of texts, and a reranker of hits."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLateError
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

import httpx2
import numpy as np

from commonplace.domain.errors import StorageError, UnavailableError
from commonplace.domain.json import Json, list_of, mapping_of
from commonplace.domain.sources import is_loopback, url_parts
from commonplace.embed.encoders import normalized

if TYPE_CHECKING:
    from commonplace.embed.encoders import Vectors


# Encodes texts by a model on a server with OpenAI's API (`POST /embeddings`).


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
        return httpx2.Client(headers=headers, trust_env=not is_loopback(url_parts(self._url).hostname or ""))


def _vectors(answer: Json, count: int) -> list[list[float]]:
    """The vectors of a response in the order of the texts."""
    rows: dict[int, list[float]] = {}
    for place, element in enumerate(map(mapping_of, list_of(mapping_of(answer).get("data")))):
        vector, at = element.get("embedding"), element.get("index", place)
        if isinstance(at, int) and isinstance(vector, list):
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


# A cross-encoder on a server with the API of Jina and Cohere (`POST /rerank`), which local servers offer, too.


RERANK_SECONDS = 0.3
"""Timeout in seconds of a request, after which the order of hits remains unchanged."""
PAUSE_SECONDS = 10.0
"""Seconds after a failure in which no request is sent, so that searches do not wait for a failing server."""


class EndpointReranker:
    """A cross-encoder on a server.

    Args:
        url: Base URL before `/rerank`, such as `http://localhost:8012/v1`.
        model: The server's name of the model; "" for its only model.
        key: API key of the server; "" for none.
        seconds: Timeout of a request in seconds.
    """

    def __init__(self, url: str, model: str = "", key: str = "", seconds: float = RERANK_SECONDS) -> None:
        self._url = f"{url.rstrip('/')}/rerank"
        self._model = model
        self._key = key
        self._seconds = seconds
        self._failed = -math.inf
        self._reason = ""

    def scores(self, question: str, passages: Sequence[str]) -> Sequence[float]:
        """Scores of the passages as answers to the question; higher is better.

        Raises:
            UnavailableError: kind "model": the server timed out, or its answer is invalid.
        """
        if time.monotonic() - self._failed < PAUSE_SECONDS:
            raise _reranker_unavailable(self._reason)
        body: dict[str, Json] = {"query": question, "documents": list(passages)}
        if self._model:
            body["model"] = self._model
        try:
            return _scores(self._answer(body), len(passages))
        except _FailureError as error:
            self._failed, self._reason = time.monotonic(), str(error)
            raise _reranker_unavailable(self._reason) from error

    def _answer(self, body: Mapping[str, Json]) -> Json:
        """Send a request in a thread, so that its whole duration is limited; the client only limits single reads."""
        answer: Future[Json] = Future()

        def ask() -> None:
            try:
                response = self._http.post(self._url, json=body, timeout=self._seconds)
                response.raise_for_status()
                answer.set_result(cast("Json", response.json()))
            except httpx2.HTTPStatusError as error:
                answer.set_exception(_FailureError(f"it answered with status {error.response.status_code}"))
            except httpx2.TimeoutException:
                answer.set_exception(_FailureError(self._late))
            except (httpx2.HTTPError, httpx2.InvalidURL):
                answer.set_exception(_FailureError("it cannot be reached"))
            except (ValueError, RecursionError):
                answer.set_exception(_FailureError("its answer is not JSON"))

        threading.Thread(target=ask, name="rerank", daemon=True).start()
        try:
            return answer.result(timeout=self._seconds)
        except TooLateError:
            raise _FailureError(self._late) from None

    @property
    def _late(self) -> str:
        return f"no answer within {1000 * self._seconds:.0f} ms"

    @cached_property
    def _http(self) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return httpx2.Client(headers=headers, trust_env=not is_loopback(url_parts(self._url).hostname or ""))


class _FailureError(Exception):
    """A failed request; the message gives the reason."""


def _scores(answer: Json, count: int) -> list[float]:
    """The scores of an answer in the order of the passages."""
    scores: dict[int, float] = {}
    for result in map(mapping_of, list_of(mapping_of(answer).get("results"))):
        at, score = result.get("index"), result.get("relevance_score")
        if isinstance(at, int) and isinstance(score, int | float) and math.isfinite(score):
            scores[at] = float(score)
    if set(scores) != set(range(count)):
        raise _FailureError("its answer does not have one finite score for each passage")
    return [scores[at] for at in range(count)]


def _reranker_unavailable(reason: str) -> UnavailableError:
    return UnavailableError(
        f"The reranker does not serve: {reason}.",
        kind="model",
        hint="The order is that of the search alone; check the server at rerank_url.",
    )
