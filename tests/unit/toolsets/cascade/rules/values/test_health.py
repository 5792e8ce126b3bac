"""The state of layers, and what a message shows of another program's output."""

from __future__ import annotations

from cases import each_case
from commonplace.toolsets.cascade.rules.values import (
    MAX_SHOWN_LINE,
    LayerHealth,
    LayerRank,
    health_json,
    not_asked,
    outside_line,
)

HIGH, LOW, SAME = LayerRank("high", 3, 0), LayerRank("low", 0, 1), LayerRank("same", 3, 2)
GONE = LayerHealth(LOW, "left_out", "the server does not answer", "2026-05-01T00:00:00Z")


def test_nothing_is_said_while_all_layers_are_well() -> None:
    assert health_json([]) == health_json([LayerHealth(HIGH), LayerHealth(LOW)]) == []
    assert not_asked([LayerHealth(HIGH)]) == []


def test_every_layer_is_named_as_soon_as_one_is_not_well() -> None:
    assert health_json([GONE, LayerHealth(SAME), LayerHealth(HIGH)]) == [
        {"layer": "high", "level": 3, "state": "ok"},
        {"layer": "same", "level": 3, "state": "ok"},
        {"layer": "low", "level": 0, "state": "left_out", "reason": GONE.reason, "since": GONE.since},
    ]


def test_a_stale_layer_was_asked_and_the_others_were_not() -> None:
    stale, missing = LayerHealth(HIGH, "stale", "r", "s"), LayerHealth(SAME, "missing", "r", "s")
    assert not_asked([GONE, stale, missing]) == [missing, GONE]
    assert GONE.sentence() == "low (left out since 2026-05-01T00:00:00Z: the server does not answer)"


@each_case(
    ("text", "secret"),
    [
        ("api_key=abc123 failed", "abc123"),
        ('"password": "hunter2", next', "hunter2"),
        ("MY_SECRET_TOKEN: x1y2", "x1y2"),
        ("Authorization: Bearer abc.def", "abc.def"),
        ("Authorization: token ghp_short", "ghp_short"),
        ("authorization: Basic dXNlcg==", "dXNlcg"),
        ("sent bearer abc", "abc"),
        ("GET https://ada:pw@host.example/x", "ada:pw"),
        ("key " + "A1" * 20, "A1A1"),
        ("started as: serve --password hunter2 --port 80", "hunter2"),
        ("serve --api-key abc123", "abc123"),
        ("serve --token=abc123", "abc123"),
        ("PGPASSWORD=hunter2 serve", "hunter2"),
    ],
)
def test_a_secret_is_hidden(text: str, secret: str) -> None:
    shown = outside_line(text)
    assert secret not in shown
    assert shown not in {"", text}


@each_case(
    ("text", "shown"),
    [
        ("", ""),
        ("File /home/ada/code/x.py failed", "File x.py failed"),
        ("C:\\Users\\ada\\x.py", "x.py"),
        ("see ~/notes", "see notes"),
        ("a\x1b[31m\tred\r\n\u202eb", "a [31m red b"),
        ("plain words, nothing else", "plain words, nothing else"),
    ],
)
def test_folders_and_control_characters_are_left_out(text: str, shown: str) -> None:
    assert outside_line(text) == shown


def test_a_long_line_is_cut() -> None:
    shown = outside_line("word " * 10_000)
    assert len(shown) <= MAX_SHOWN_LINE
    assert shown.endswith("...")
