"""Requests that name the commits which their answers must contain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from starlette.types import Receive, Scope, Send

from asgi import Answer, asked
from commonplace.domain.errors import KnowledgeError
from commonplace.faces.access.callers import SCOPE_KEY, Caller
from commonplace.faces.freshness import AT_LEAST_HEADER, COMMIT_HEADER, MAX_WAITING, CommitWaits, FreshnessGate
from commonplace.faces.responses import send_json
from commonplace.services.collections import Collection, Collections
from commonplace.services.services import Services
from indexed import Indexed
from remotes.fixed import COMMIT, FixedReplica

OLD, GONE = "cd" * 20, "0" * 40


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the query that reached it."""
    del receive
    await send_json(send, 200, {"query": scope["query_string"].decode("latin-1")})


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    with Indexed(tmp_path) as base:
        yield Collection("my notes", base.store, base.index, replica=FixedReplica())


def gate(*collections: Collection) -> FreshnessGate:
    found_collections = Collections(lambda: collections)
    assert found_collections.members == collections
    return FreshnessGate(echo, Services(collections=found_collections), CommitWaits())


def answered(app: FreshnessGate, path: str, names: frozenset[str] | None = None, **headers: str) -> Answer:
    given_values = {name.replace("_", "-"): value for name, value in headers.items()}
    return asked(app, "GET", path, headers=given_values, scope={SCOPE_KEY: Caller("k", "read", names)})


def test_every_answer_names_the_commits_that_it_contains(collection: Collection) -> None:
    app = gate(collection, replace(collection, name="two"), replace(collection, name="plain", replica=None))
    assert answered(app, "/").headers[COMMIT_HEADER] == f"my%20notes={COMMIT}, two={COMMIT}"
    assert answered(app, "/", frozenset({"two"})).headers[COMMIT_HEADER] == f"two={COMMIT}"
    assert COMMIT_HEADER not in answered(app, "/", frozenset({"plain"})).headers


def test_an_answer_names_the_commit_that_it_was_begun_with(collection: Collection) -> None:
    replica = FixedReplica()

    async def followed(scope: Scope, receive: Receive, send: Send) -> None:
        replica.now = replace(replica.now, commit=OLD)
        await echo(scope, receive, send)

    collections = Collections(lambda: [replace(collection, name="a", replica=replica)])
    assert collections.members
    app = FreshnessGate(followed, Services(collections=collections), CommitWaits())
    assert [answered(app, "/").headers[COMMIT_HEADER] for _ in range(2)] == [f"a={COMMIT}", f"a={OLD}"]


@pytest.mark.parametrize("text", [COMMIT, f"my%20notes={COMMIT}", f" {COMMIT} , my%20notes={COMMIT}"])
def test_an_answer_that_contains_the_commit_comes_at_once(collection: Collection, text: str) -> None:
    assert answered(gate(collection), "/", **{AT_LEAST_HEADER: text}).status == 200


@pytest.mark.parametrize(
    ("text", "status"),
    [(OLD, 503), (GONE, 404), (f"other={COMMIT}", 404), ("abc", 422), (f"{COMMIT},x", 422), (",", 422)],
)
def test_a_commit_that_cannot_be_had_is_an_error(collection: Collection, text: str, status: int) -> None:
    answer = answered(gate(collection), "/", prefer="wait=0", **{AT_LEAST_HEADER: text})
    assert answer.status == status
    assert answer.json["error"]


def test_a_query_may_name_the_commit_and_the_application_never_sees_it(collection: Collection) -> None:
    app = gate(collection)
    answer = answered(app, f"/?q=a+b&at_least=my%2520notes%3D{COMMIT}&x=%26&at_least={COMMIT}&at_leastx=1")
    assert (answer.status, answer.json) == (200, {"query": "q=a+b&x=%26&at_leastx=1"})
    assert answered(app, f"/?at_least={OLD}", prefer="wait=0").status == 503
    assert answered(app, "/?at_least=&q=1").json == {"query": "q=1"}


@pytest.mark.parametrize(
    ("prefer", "seconds"),
    [
        ("wait=0", 0),
        ("respond-async, wait=8", 8),
        ("WAIT=4;x", 4),
        ("wait=99", 10),
        ("wait=-1", 10),
        ("await=1", 10),
        ("wait=1.5", 10),
        ("", 10),
    ],
)
def test_a_client_waits_no_longer_than_it_prefers_and_never_longer_than_the_server(
    collection: Collection, prefer: str, seconds: int
) -> None:
    answer = answered(gate(collection), "/", prefer=prefer, **{AT_LEAST_HEADER: OLD})
    part = float(answer.json["error"].split()[-2])
    assert seconds / 2 <= part <= seconds, "what is left of the time, which a slow machine has used up in part"


def test_a_collection_that_the_caller_may_not_see_does_not_exist(collection: Collection) -> None:
    answer = answered(gate(collection), "/", frozenset({"other"}), **{AT_LEAST_HEADER: f"my%20notes={COMMIT}"})
    assert answer.status == 404
    assert "my notes'" not in answer.json["error"].partition("Open:")[2]


def test_too_many_requests_that_wait_are_refused_and_the_others_go_on() -> None:
    waits, collections = CommitWaits(), Collections(list)
    errors: list[str] = []

    async def one() -> None:
        try:
            await waits.wait(collections, f"a={COMMIT}", 0.0)
        except KnowledgeError as error:
            errors.append(str(error))

    async def run() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(MAX_WAITING + 3):
                group.start_soon(one)
        await one()

    anyio.run(run)
    refused = [error for error in errors if error.startswith("Too many requests wait")]
    assert len(refused) == 3
    assert len(errors) == MAX_WAITING + 4, "a place is free again when its wait has ended"
