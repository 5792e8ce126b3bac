"""Announcements of Git hosts: which are believed, and which replicas they wake."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from asgi import Answer, asked
from commonplace.faces.access.used_once import UsedOnce
from commonplace.faces.http.operations import MAX_URL, PATH, GitWebhook
from commonplace.services.collections import Collection, Collections
from commonplace.services.services import Services
from indexed import Indexed
from remotes.fixed import FixedReplica

SECRET = "sëcret"  # noqa: S105 - of these tests
ONE, TWO = "https://git.example.org/team/one.git", "git@git.example.org:team/two.git"

Hook = tuple[GitWebhook, FixedReplica, FixedReplica]


@pytest.fixture
def hook(tmp_path: Path) -> Iterator[Hook]:
    with Indexed(tmp_path) as base:
        plain = Collection("plain", base.store, base.index)
        replica, two = FixedReplica(ONE), FixedReplica(TWO)
        opened = [plain, replace(plain, name="one", replica=replica), replace(plain, name="two", replica=two)]
        collections = Collections(lambda: opened)
        assert len(collections.members) == 3
        yield GitWebhook(Services(collections=collections), SECRET, UsedOnce(tmp_path / "state")), replica, two


def signature(body: bytes, secret: str = SECRET) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def sent(hook: GitWebhook, body: bytes, method: str = "POST", path: str = PATH, **headers: str) -> Answer:
    given_values = {name.replace("_", "-"): value for name, value in headers.items()}
    return asked(hook.part().app, method, path, headers=given_values, body=body)


@pytest.mark.parametrize(
    ("header", "form"),
    [
        ("x_hub_signature_256", "sha256={}"),
        ("x_gitea_signature", "{}"),
        ("x_forgejo_signature", "{}"),
        ("x_hub_signature", "sha256={}"),
        ("x_hub_signature_256", " sha256={} "),
    ],
)
def test_a_signed_announcement_wakes_the_replica_that_follows_the_repository(
    hook: Hook, header: str, form: str
) -> None:
    made, replica, two = hook
    body = json.dumps({"repository": {"clone_url": ONE, "name": "öne"}}).encode()
    answer = sent(made, body, **{header: form.format(signature(body).upper()).strip().replace("SHA256", "sha256")})
    assert (answer.status, answer.json) == (202, {"status": "accepted"})
    assert (replica.refreshed, two.refreshed) == (1, 0)


def test_a_host_that_names_the_secret_is_believed(hook: Hook) -> None:
    made, replica, two = hook
    body = json.dumps({"project": {"git_ssh_url": TWO}}).encode()
    secret = SECRET.encode().decode("latin-1")
    assert sent(made, body, x_gitlab_token=secret).status == 202
    assert (replica.refreshed, two.refreshed) == (0, 1)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x_gitlab_token": ""},
        {"x_gitlab_token": "other"},
        {"x_gitlab_token": "\u00e9"},
        {"x_hub_signature_256": ""},
        {"x_hub_signature_256": "sha256="},
        {"x_hub_signature_256": "\u00e9\u00b5"},
        {"x_hub_signature_256": signature(b"{}", "other")},
        {"x_hub_signature_256": signature(b"{} ")},
        {"x_hub_signature": "sha1=" + hmac.new(SECRET.encode(), b"{}", hashlib.sha1).hexdigest()},
        {"x_gitlab_token": "other", "x_hub_signature_256": signature(b"{}")},
    ],
)
def test_whoever_does_not_know_the_secret_wakes_nobody(hook: Hook, headers: dict[str, str]) -> None:
    made, replica, two = hook
    answer = sent(made, b"{}", **headers)
    assert answer.status == 401
    assert "webhook_secret" in answer.json["error"]
    assert SECRET not in answer.text
    assert (replica.refreshed, two.refreshed) == (0, 0)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[1]",
        b"not json",
        b"\xff\xfe",
        b"[" * 50_000,
        b"1" * 10_000,
        b'{"repository": "https://git.example.org/team/one.git"}',
        b'{"repository": {"clone_url": 5, "html_url": null}}',
        json.dumps({"repository": {"clone_url": ONE + "x" * MAX_URL}}).encode(),
        json.dumps({"other": {"clone_url": ONE}}).encode(),
        json.dumps({"repository": {"clone_url": "https://git.example.org/other.git"}}).encode(),
    ],
)
def test_an_announcement_that_names_no_replica_wakes_all_of_them(hook: Hook, body: bytes) -> None:
    made, replica, two = hook
    assert sent(made, body, x_hub_signature_256=signature(body)).status == 202
    assert (replica.refreshed, two.refreshed) == (1, 1)


@pytest.mark.parametrize("headers", [{"x_hub_signature_256": signature(b"{}")}, {"x_gitlab_token": SECRET}])
def test_an_announcement_that_is_sent_again_is_accepted_and_wakes_nobody(hook: Hook, headers: dict[str, str]) -> None:
    made, replica, two = hook
    named = {name: value.encode().decode("latin-1") for name, value in headers.items()}
    assert [sent(made, b"{}", **named).status for _ in range(3)] == [202, 202, 202]
    assert (replica.refreshed, two.refreshed) == (1, 1)


def standard(body: bytes, number: str, when: int, secret: str = SECRET) -> dict[str, str]:
    digest = hmac.digest(secret.encode(), f"{number}.{when}.".encode() + body, "sha256")
    signed = f"v1,AAAA v1,{base64.b64encode(digest).decode()}"
    return {"webhook_id": number, "webhook_timestamp": str(when), "webhook_signature": signed}


def test_a_signed_time_and_number_are_checked(hook: Hook) -> None:
    made, replica, _ = hook
    now = int(time.time())
    good = standard(b"{}", "msg_1", now)
    for wrong in (
        standard(b"{}", "msg_1", now - 90),
        standard(b"{}", "msg_1", now + 90),
        standard(b"{}", "", now),
        standard(b"{}", "msg_1", now, "other"),
        standard(b"{} ", "msg_1", now),
        good | {"webhook_id": "msg_2"},
        good | {"webhook_timestamp": str(now + 1)},
        good | {"webhook_timestamp": ""},
        good | {"webhook_signature": "", "x_hub_signature_256": signature(b"{}")},
    ):
        assert sent(made, b"{}", **wrong).status == 401
    assert replica.refreshed == 0
    assert [sent(made, b"{}", **good).status for _ in range(2)] == [202, 202]
    assert replica.refreshed == 1
    assert sent(made, b"{}", **standard(b"{}", "msg_2", now)).status == 202
    assert replica.refreshed == 2


def test_only_a_post_to_the_one_path_is_an_announcement(hook: Hook) -> None:
    made, replica, _ = hook
    for method in ("GET", "HEAD", "PUT", "DELETE"):
        answer = sent(made, b"", method, x_gitlab_token=SECRET)
        assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert sent(made, b"", path=f"{PATH}/more").status == 404
    assert replica.refreshed == 0
