"""Suppressed text does not come back, however its heading is written; dates and values are compared by meaning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent import RefusedError, agent
from layers import write_cascade
from support import new_repo

HIDDEN = "kookaburra-12345"

HEADINGS = [
    "## Phones {#phones override=none}",
    "## Phones {override=none #phones}",
    "## Phones {.hidden #phones override=none}",
    "## Phones {#phones .hidden override='none'}",
    '## Phones {override="none" .x #phones}',
    "## Phones {#phones override=none} (moved)",
    "## Phones {override=none #phones} tail {x}",
    "## Phones {#phones override = none}",
    "## Phones {#PHONES OVERRIDE=NONE}",
    "## Phones {override=none}",
]


@pytest.mark.parametrize("heading", HEADINGS)
@pytest.mark.sampled(8)
def test_a_tombstone_suppresses_however_its_attributes_are_written(tmp_path: Path, heading: str) -> None:
    low = f"---\ntitle: Contacts\n---\nWhom to call.\n\n## Phones {{#phones}}\n{HIDDEN}\n"
    manifest = write_cascade(tmp_path, {"mine": (2, {"c.md": f"{heading}\n"}), "team": (1, {"c.md": low})})
    with agent("mcp", "--manifest", manifest) as reader:
        shown = reader.call("read_file", concept_id="c")
        phones = next(section for section in shown["sections"] if section["key"] == "phones")
        assert phones["suppressed"] is True
        assert HIDDEN not in json.dumps(shown)
        for query in (HIDDEN, "kookaburra", "phones", "contacts"):
            assert HIDDEN not in json.dumps(reader.call("search", query=query))
        assert HIDDEN not in json.dumps(reader.call("list_concepts"))
        assert HIDDEN not in json.dumps(reader.call("get_links", concept_id="c"))


def test_suppressed_text_is_shown_and_marked_where_its_layer_is_named(tmp_path: Path) -> None:
    layers = {
        "mine": (2, {"c.md": "## Phones {#phones override=none}\n", "full.md": "---\noverride: full\n---\nshort\n"}),
        "team": (1, {"c.md": f"Whom to call.\n\n## Phones\n{HIDDEN}\n", "full.md": "## Old\nwombat\n"}),
    }
    with agent("mcp", "--manifest", write_cascade(tmp_path, layers)) as reader:
        (hit,) = reader.call("search", query="kookaburra", layer="team")["result"]
        assert (HIDDEN in hit["snippet"], hit["suppressed"]) == (True, True)
        (hit,) = reader.call("search", query="call", layer="team")["result"]
        assert "suppressed" not in hit
        raw = reader.call("read_file", concept_id="c", layer="team")
        assert [section.get("suppressed") for section in raw["sections"]] == [None, True]
        assert "wombat" not in json.dumps(reader.call("search", query="wombat"))
        (hit,) = reader.call("search", query="wombat", layer="team")["result"]
        assert hit["suppressed"] is True
        assert reader.call("search", query="wombat", layer="mine")["result"] == []
        with pytest.raises(RefusedError, match=r"There is no layer 'none'\. Layers: mine, team"):
            reader.call("search", query="x", layer="none")


DATES = [  # winner, dissent, whether the dissent is fresher
    ("2026-05-01", "2026-05-02", True),
    ("2026-05-02", "2026-05-01", False),
    ("2026-05-01", "2 May 2026", True),
    ("May 12, 2026", "12 May 2026", False),
    ("9 May 2026", "May 10, 2026", True),
    ("2026-05-09", "May 1st, 2026", False),
    ("2026-05-12T10:00:00Z", "2026-05-12", False),
    ("2026-05-12", "2026-05-12T10:00:00Z", False),
    ("2026-05", "2026-05-12", False),
    ("2026-05-12", "2026-06", True),
    ("2026-05-12T10:00:00+02:00", "2026-05-12T09:00:00Z", True),
    ("2026-05-12T10:00:00Z", "2026-05-12T11:00:00+02:00", False),
    ("2026-05-12T10:00:00Z", "2026-05-12T10:00:00.000Z", False),
    ("2026-9-1", "2026-10-01", True),
    ("soon", "2026-05-01", False),
    ("2026-05-01", "zebra", False),
    ("2026-05-01", "2026-13-45", False),
    ("2026-05-01", "12/05/2027", False),
]


def test_a_dissent_is_fresher_only_by_its_date(tmp_path: Path) -> None:
    top = {f"d{at}.md": f'## A {{#a updated="{ours}"}}\none\n' for at, (ours, _, _) in enumerate(DATES)}
    low = {f"d{at}.md": f'## A {{#a updated="{theirs}"}}\ntwo\n' for at, (_, theirs, _) in enumerate(DATES)}
    with agent("mcp", "--manifest", write_cascade(tmp_path, {"top": (1, top), "low": (0, low)})) as reader:
        fresher_dissents = [
            reader.call("read_file", concept_id=f"d{at}")["sections"][0].get("fresherDissent", False)
            for at in range(len(DATES))
        ]
    assert list(zip(DATES, fresher_dissents, strict=True)) == [(row, row[2]) for row in DATES]


def read(tmp_path: Path, top: str, low: str, **more: Any) -> dict[str, Any]:
    manifest = write_cascade(tmp_path, {"top": (1, {"a.md": top}), "low": (0, {"a.md": low})})
    with agent("mcp", "--manifest", manifest) as reader:
        return reader.call("read_file", concept_id="a", **more)


def test_updated_line_ends_and_trailing_blanks_are_no_conflict(tmp_path: Path) -> None:
    shown = read(
        tmp_path,
        "---\nupdated: 2026-01-01\nnote: 'same'\n---\n## A\none  \ntwo\n",
        "---\r\nupdated: 2026-02-02\r\nnote: 'same '\r\n---\r\n## A\r\none\r\ntwo\t\r\n",
    )
    assert "frontmatterConflicts" not in shown
    assert "conflicts" not in shown["sections"][0]


def test_values_that_look_alike_are_told_apart(tmp_path: Path) -> None:
    shown = read(
        tmp_path, "---\nowner: Team\n---\n## A\npay\u200bments\n", "---\nowner: T\u0435am\n---\n## A\npayments\n"
    )
    (conflict,) = shown["sections"][0]["conflicts"]
    assert (conflict["winnerEscaped"], conflict["escaped"]) == ("pay\\u200bments", "payments")
    assert [contribution["escaped"] for contribution in shown["frontmatterConflicts"][0]["contributions"]] == [
        "Team",
        "T\\u0435am",
    ]


def test_merge_conflict_markers_are_a_finding(tmp_path: Path) -> None:
    torn = "# A\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> other\n"
    shown = read(tmp_path, torn, "# A\n\n=======\n")
    top, low = shown["contributors"]
    assert [(finding["rule"], finding["line"]) for finding in top["findings"]] == [("merge_conflict", 2)]
    assert "findings" not in low


@pytest.mark.soak
def test_a_section_without_a_date_has_that_of_its_last_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = new_repo(tmp_path / "kb")
    for day, files in (
        ("2026-01-05", {"top/a.md": "## A\none\n\n## B\nb\n", "low/a.md": "## A\ntwo\n\n## B\nb2\n"}),
        ("2026-02-05", {"top/a.md": "## A\none\n\n## B\nb changed\n"}),
        ("2026-03-05", {"low/a.md": "## A\ntwo changed\n\n## B\nb2\n"}),
    ):
        for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
            monkeypatch.setenv(name, f"{day}T12:00:00Z")
        repo.commit("Change", **files)
    repo.write("top/a.md", "## A\none\n\n## B\nb changed\n\n## New\nnot committed\n")
    manifest = write_cascade(tmp_path / "kb", {"top": (1, {}), "low": (0, {})})
    with agent("mcp", "--manifest", manifest) as reader:
        shown = reader.call("read_file", concept_id="a")
        by_key = {section["key"]: section for section in shown["sections"]}
        assert (by_key["a"]["sourceUpdated"], by_key["a"]["updatedFrom"]) == ("2026-01-05T12:00:00Z", "git")
        assert by_key["b"]["sourceUpdated"] == "2026-02-05T12:00:00Z"
        assert by_key["new"]["sourceUpdated"] is None
        assert "updatedFrom" not in by_key["new"]
        (dissent,) = by_key["a"]["conflicts"]
        assert (dissent["updated"], dissent["updatedFrom"]) == ("2026-03-05T12:00:00Z", "git")
        assert by_key["a"]["fresherDissent"] is True
        assert "fresherDissent" not in by_key["b"]


def test_links_with_a_layer_and_ids_with_two_suffixes_lead_where_they_say(tmp_path: Path) -> None:
    files = {
        "docs/a.md": "[[low:docs/b]] [[low:b]] [[low:/docs/b.md]] [[Low:Bee]] [[notes.md]] [[none:docs/b]]\n",
        "docs/b.md": "top b\n",
    }
    low = {"docs/b.md": "---\ntitle: Bee\n---\nlow b\n", "notes.md.md": "odd\n"}
    with agent("mcp", "--manifest", write_cascade(tmp_path, {"top": (1, files), "low": (0, low)})) as reader:
        shown = reader.call("get_links", concept_id="docs/a")
        assert shown["source"]["contributors"] == [{"layer": "top", "level": 1, "updated": None}]
        assert [(element["id"], element["layers"]) for element in shown["outgoing"]] == [
            ("docs/b", ["low"]),
            ("docs/b", ["low"]),
            ("docs/b", ["low"]),
            ("docs/b", ["low"]),
            ("notes.md", ["low"]),
            (None, []),
        ]
        assert [element["id"] for element in reader.call("get_links", concept_id="docs/b")["incoming"]] == ["docs/a"]
        for written in ("notes.md", "notes.md.md"):
            assert reader.call("read_file", concept_id=written)["id"] == "notes.md"
