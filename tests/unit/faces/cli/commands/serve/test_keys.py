"""`commonplace keys`: created, listed, revoked."""

from __future__ import annotations

import pytest

from shell import Shell


def test_a_key_is_shown_once_and_listed_until_it_is_revoked(shell: Shell) -> None:
    assert shell.ok("keys", "list").text == "There are no keys.\n"
    made = shell.ok("keys", "create", "laptop", "--tier", "write", "--collection", "notes", "--json").json
    assert made["key"] == {
        "id": made["key"]["id"],
        "name": "laptop",
        "tier": "write",
        "collections": ["notes"],
        "created": made["key"]["created"],
        "folders": [],
        "types": [],
        "pages_per_hour": None,
        "bytes_per_hour": None,
    }
    listed = shell.ok("keys", "list", "--json")
    assert listed.json == {"keys": [made["key"] | {"last_used": None}]}
    secret = made["token"].removeprefix("cpk_")
    assert secret not in listed.text
    line = f"{made['key']['id']}  write    {made['key']['created']}  laptop  notes; not used"
    assert shell.ok("keys", "list").lines == [line]
    limited = shell.ok("keys", "limit", "laptop", "--folder", "inbox", "--pages-per-hour", "3", "--json").json[
        "limited"
    ]
    assert limited == made["key"] | {"folders": ["inbox"], "pages_per_hour": 3}
    assert shell.ok("keys", "limit", "laptop", "--json").json == {"limited": made["key"]}
    assert shell.ok("keys", "revoke", "laptop", "--json").json == {"revoked": made["key"]}
    assert shell.ok("keys", "list", "--json").json == {"keys": []}


def test_a_key_may_only_read_unless_more_is_asked_for(shell: Shell) -> None:
    done = shell.ok("keys", "create", "reader")
    assert len(done.lines) == 1
    assert ", read)" in done.stderr
    assert shell.ok("keys", "list", "--json").json["keys"][0]["collections"] is None


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (4, ["create", "laptop", "--tier", "owner"]),
        (4, ["create"]),
        (4, ["create", "  "]),
        (4, ["create", " laptop"]),
        (4, ["create", "two\nlines"]),
        (3, ["revoke", "nobody"]),
        (3, ["revoke"]),
        (2, ["renew", "laptop"]),
    ],
)
def test_what_cannot_be_is_refused_and_makes_no_key(shell: Shell, code: int, arguments: list[str]) -> None:
    done = shell("keys", *arguments)
    assert (done.code, done.text) == (code, ""), done
    assert shell.ok("keys", "list", "--json").json == {"keys": []}


def test_of_two_keys_with_one_name_each_is_revoked_by_its_id(shell: Shell) -> None:
    first, second = (shell.ok("keys", "create", "laptop", "--json").json["key"]["id"] for _ in range(2))
    done = shell("keys", "revoke", "laptop")
    assert done.code == 4
    assert first in done.stderr
    assert second in done.stderr
    shell.ok("keys", "revoke", first)
    assert [key["id"] for key in shell.ok("keys", "list", "--json").json["keys"]] == [second]
