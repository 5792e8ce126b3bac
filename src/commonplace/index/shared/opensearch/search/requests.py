"""Sends the requests of several searches together.

A search is a generator: it yields the requests of its next step, receives their answers, and returns its result. The
concurrent searches share round trips: each step costs one `_msearch`, one `_mtermvectors` and one `_mget`, regardless
of the number of bases.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from commonplace.index.shared.opensearch.connection import Answer, Connection, failure_in

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Search:
    """A search of an index."""

    index: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Statistics:
    """A request for the statistics of the terms of an artificial document, on the shard of a routing value."""

    index: str
    body: Mapping[str, Any]
    routing: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A request for a stored field of documents, by id and routing. The answer has the values in `docs`, in order."""

    index: str
    documents: Sequence[tuple[str, str]]
    field: str


Request: TypeAlias = Search | Statistics | Stored
Steps: TypeAlias = Generator[Sequence[Request], Sequence[Answer], Result]


def run(connection: Connection, searches: Sequence[Steps[Result]]) -> list[Result]:
    """The results of several searches, in order.

    Raises:
        NotFoundError, UnavailableError: a request failed, as for `Connection.ask`; the other searches are abandoned.
    """
    results: dict[int, Result] = {}
    answers: dict[int, Sequence[Answer]] = {}
    asked: dict[int, Sequence[Request]] = {}
    while len(results) < len(searches):
        for at, search in enumerate(searches):
            if at not in results:
                try:
                    asked[at] = search.send(answers[at]) if at in answers else next(search)
                except StopIteration as ended:
                    results[at] = ended.value
                    asked.pop(at, None)
        answers = _answered(connection, asked)
    return [results[at] for at in range(len(searches))]


def _answered(connection: Connection, asked: Mapping[int, Sequence[Request]]) -> dict[int, Sequence[Answer]]:
    """The answers to the requests of each search."""
    requests = [request for of in asked.values() for request in of]
    searches = [one for one in requests if isinstance(one, Search)]
    statistics = [one for one in requests if isinstance(one, Statistics)]
    stored = [one for one in requests if isinstance(one, Stored)]
    found: dict[type[Request], Iterator[Answer]] = {
        Search: iter(_search(connection, searches) if searches else ()),
        Statistics: iter(_statistics(connection, statistics) if statistics else ()),
        Stored: iter(_stored(connection, stored) if stored else ()),
    }
    return {search: [next(found[type(request)]) for request in of] for search, of in asked.items()}


def _search(connection: Connection, searches: Sequence[Search]) -> list[Answer]:
    if len(searches) == 1:
        (one,) = searches
        return [connection.ask("POST", f"/{one.index}/_search", one.body)]
    lines = (line for one in searches for line in ({"index": one.index}, one.body))
    found: list[Answer] = connection.ask("POST", "/_msearch", _lines(lines))["responses"]
    return [_complete(one) for one in found]


def _statistics(connection: Connection, documents: Sequence[Statistics]) -> list[Answer]:
    if len(documents) == 1:
        (one,) = documents
        return [connection.ask("POST", f"/{one.index}/_termvectors", one.body, routing=one.routing)]
    asked = [{"_index": one.index, "routing": one.routing, **one.body} for one in documents]
    found: list[Answer] = connection.ask("POST", "/_mtermvectors", {"docs": asked})["docs"]
    return [_complete(one) for one in found]


def _stored(connection: Connection, groups: Sequence[Stored]) -> list[Answer]:
    asked = [
        {"_index": one.index, "_id": identifier, "routing": routing, "_source": [one.field]}
        for one in groups
        for identifier, routing in one.documents
    ]
    found = iter(connection.ask("POST", "/_mget", {"docs": asked}, realtime="false")["docs"])
    return [{"docs": [_complete(next(found)) for _ in one.documents]} for one in groups]


def _complete(answer: Answer) -> Answer:
    """The answer itself, after a check. Each answer of a combined request can fail separately.

    Raises:
        NotFoundError, UnavailableError: the answer is a failure.
    """
    if "error" in answer:
        raise failure_in(answer)
    return answer


def _lines(lines: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(line)}\n" for line in lines)
