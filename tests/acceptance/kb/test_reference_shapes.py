"""Answers in the shapes of the server that users of typed bases come from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import Agent, agent
from shell import Shell

PAGES = {
    "one/kb.yaml": "name: one\ntypes:\n  boat:\n    fields:\n      hull: {type: select, options: [wood, steel]}\n",
    "one/a.md": "---\ntitle: A\ntype: boat\nhull: wood\nkeel: 3\nstatus: done\n"
    "metadata:\n  rig: sloop\n---\nSee [[b]].\n",
    "one/b.md": "---\ntitle: B\ntags: [sea]\nstatus: open\n---\nA boat of words.\n",
    "two/kb.yaml": "name: two\n",
    "two/c.md": f"---\ntitle: C\nstatus: open\n---\nA boat. {'x' * 9000}\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path, text in PAGES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


@pytest.fixture
def writer(folder: Path) -> Iterator[Agent]:
    with agent("mcp", "--toolset", "kb", folder / "one", folder / "two", "--tier", "write") as client:
        yield client


def test_orientation_and_rows(writer: Agent) -> None:
    shown = writer.call("kb_orient", kb_name="one")
    assert sorted((value["type"], value["count"]) for value in shown["types"]) == [("boat", 1), ("note", 1)]
    assert all(other_type.keys() == {"type", "count"} for other_type in shown["types"])
    assert shown["top_tags"] == [{"name": "sea", "count": 1}]
    entry = writer.call("kb_get", entry_id="a")["entry"]
    assert (entry["metadata"], entry["hull"], entry["importance"]) == (
        {"hull": "wood", "keel": 3, "rig": "sloop"},
        "wood",
        5,
    )
    assert not {"keel", "rig"} & entry.keys()


def test_a_wikilink_is_a_link_with_a_relation_of_its_own(writer: Agent) -> None:
    entry = writer.call("kb_get", entry_id="a")["entry"]
    assert entry["links"] == [{"target_id": "b", "target_kb": "one", "relation": "wikilink", "note": None}]
    assert [link["relation"] for link in entry["outlinks"]] == ["wikilink"]
    back = writer.call("kb_backlinks", entry_id="b", kb_name="one")["backlinks"]
    assert [(link["id"], link["relation"]) for link in back] == [("a", "wikilinked_by")]


def test_a_link_into_another_base_has_target_and_kb_and_is_made_once(writer: Agent, folder: Path) -> None:
    link = {"source_id": "b", "source_kb": "one", "target_id": "c", "target_kb": "two", "relation": "supports"}
    first = writer.call("kb_link", **link)
    assert "links:\n  - target: c\n    kb: two\n    relation: supports\n" in (folder / "one" / "b.md").read_text()
    assert writer.call("kb_link", **link)["revision"] == first["revision"]
    assert writer.call("kb_get", entry_id="b")["entry"]["links"][0]["target_kb"] == "two"
    assert writer.call("kb_backlinks", entry_id="c", kb_name="two")["backlink_count"] == 1
    later = {**link, "target_id": "later", "target_kb": "two"}
    assert writer.refusal("kb_link", **later)["error_code"] == "ENTRY_NOT_FOUND"
    assert writer.call("kb_link", **later, allow_dangling=True)["target_id"] == "later"
    assert (
        writer.refusal("kb_link", **{**later, "target_kb": "none"}, allow_dangling=True)["error_code"] == "KB_NOT_FOUND"
    )


def test_violations_are_objects(writer: Agent) -> None:
    made = writer.call("kb_create", kb_name="one", entry_type="boat", title="D", hull="paper")
    assert made["warnings"] == [
        {"field": "hull", "rule": "select", "expected": "one of wood, steel", "got": "'paper'", "severity": "warning"}
    ]


def test_an_undeclared_type_is_taken_where_it_is_allowed(writer: Agent) -> None:
    given_values = {"kb_name": "one", "entry_type": "ship", "title": "S"}
    assert writer.refusal("kb_create", **given_values)["error_code"] == "UNDECLARED_TYPE"
    assert writer.call("kb_create", **given_values, allow_undeclared=True)["file_path"] == "s.md"
    entries = [{"entry_type": "raft", "title": "R"}]
    assert writer.call("kb_bulk_create", kb_name="one", entries=entries)["failed"] == 1
    assert writer.call("kb_bulk_create", kb_name="one", entries=entries, allow_undeclared=True)["created"] == 1


def test_an_update_names_what_it_ignores_and_finds_fields_where_they_stand(writer: Agent, folder: Path) -> None:
    counts = {"entry_id": "a", "kb_name": "one", "metadata": {"keel": 4, "rig": "ketch"}}
    changed = writer.call("kb_update", **counts, file_path="x.md", backlinks=[], status="new")
    assert changed["ignored"] == ["backlinks", "file_path"]
    text = (folder / "one" / "a.md").read_text()
    assert "keel: 4\nstatus: new\nmetadata:\n  rig: ketch\n" in text
    assert "ignored" not in writer.call("kb_update", entry_id="a", kb_name="one", status="old")


def test_status_selects_and_bodies_and_findings_are_read_on(writer: Agent) -> None:
    found_results = writer.call("kb_search", query="boat", status="open")["results"]
    assert sorted(hit["id"] for hit in found_results) == ["b", "c"]
    assert writer.call("kb_search", query="boat", status="lost")["results"] == []
    length = len("A boat. ") + 9001
    read = writer.call("kb_read_body", entry_id="c", body_offset=8000)
    assert (read["body_length"], read["body_chunk_size"], read["has_more"]) == (length, length - 8000, False)
    assert writer.call("kb_read_body", entry_id="c", body_limit=8)["body"] == "A boat. "
    assert writer.call("kb_read_body", entry_id="c", body_limit=8)["has_more"]
    whole = writer.call("kb_qa_validate", severity="info")
    pages = [writer.call("kb_qa_validate", severity="info", limit=1, offset=at) for at in range(whole["count"])]
    assert [page["issues"][0] for page in pages] == whole["issues"]
    assert [page["has_more"] for page in pages] == [*[True] * (len(pages) - 1), False]


def test_a_tier_is_written_as_it_is(folder: Path) -> None:
    refused = Shell(folder)("mcp", "--tier", "READ", "one")
    assert refused.code == 2
    assert all(tier in refused.stderr for tier in ("read", "write", "admin"))


FIELDS = (
    "---\ntitle: A\ntype: boat\npriority: high  # first\nstatus: done\ncategory: hulls\n"
    "metadata:\n  priority: high\n  status: completed\n  rig: sloop\n---\nText.\n"
)


def test_a_field_at_the_top_and_below_metadata_is_read_and_written_as_one(writer: Agent, folder: Path) -> None:
    (folder / "one/fields.md").write_text(FIELDS)

    def shown() -> tuple[str, str, str, str, str]:
        entry = writer.call("kb_get", entry_id="fields", kb_name="one")["entry"]
        own = entry["metadata"]
        return entry["status"], own["status"], own["priority"], own["category"], own["rig"]

    assert shown() == ("done", "done", "high", "hulls", "sloop")
    changes = {"priority": "low", "category": "rigging"}
    writer.call("kb_update", entry_id="fields", kb_name="one", metadata=changes)
    assert shown() == ("done", "done", "low", "rigging", "sloop")
    writer.call("kb_update", entry_id="fields", kb_name="one", status="open")
    assert shown() == ("open", "open", "low", "rigging", "sloop")
    writer.call("kb_update", entry_id="fields", kb_name="one", metadata={"status": "done"})
    assert shown() == ("done", "done", "low", "rigging", "sloop")
    head = "priority: low  # first\nstatus: done\ncategory: rigging\n"
    assert head in (folder / "one/fields.md").read_text()
    rows = [
        writer.call("kb_list_entries", kb_name="one", tag=None)["entries"],
        writer.call("kb_search", query="Text", kb_name="one")["results"],
    ]
    for entries in rows:
        assert [entry["metadata"]["category"] for entry in entries if entry["id"] == "fields"] == ["rigging"]


def test_a_relation_is_turned_round_or_related_to(writer: Agent, folder: Path) -> None:
    links = "links:\n- {target: b, relation: subtask_of}\n- {target: b, relation: admires}\n"
    (folder / "one/d.md").write_text(f"---\ntitle: D\n{links}---\nText.\n")
    back = writer.call("kb_backlinks", entry_id="b", kb_name="one")["backlinks"]
    assert {element["relation"] for element in back if element["id"] == "d"} == {"has_subtask", "related_to"}
    warned = writer.call("kb_link", source_id="a", source_kb="one", target_id="b", relation="admires")
    assert "backlinks show related_to" in warned["warnings"][0]["message"]


def test_links_of_a_new_entry_are_left_to_kb_link(writer: Agent) -> None:
    entry = {"kb_name": "one", "entry_type": "note", "title": "New", "links": [{"target_id": "b"}]}
    refused = writer.refusal("kb_create", **entry)
    assert "kb_link" in refused["suggestion"]
    assert "metadata" not in refused["suggestion"]


def test_an_undeclared_type_and_a_part_of_a_date(writer: Agent) -> None:
    refused = writer.refusal("kb_create", kb_name="one", entry_type="ship", title="New")
    assert "allow_undeclared" in refused["suggestion"]
    for day in ("2026-02-28", "2026-03-01", "2026-03-31", "2026-04-01"):
        writer.call("kb_create", kb_name="one", entry_type="event", title=f"On {day}", date=day)

    def days(**span: str) -> list[str]:
        return [event["date"][5:] for event in writer.call("kb_timeline", **span)["events"]]

    assert days(date_from="2026-03") == ["03-01", "03-31", "04-01"]
    assert days(date_from="2026-03", date_to="2026-03") == ["03-01", "03-31"]
    assert days(date_from="2026", date_to="2026-02") == ["02-28"]
    assert "2026-13" in writer.refusal("kb_timeline", date_to="2026-13")["error"]


def test_a_refused_change_of_a_partly_read_entry_says_where_to_read_on(writer: Agent) -> None:
    writer.call("kb_get", entry_id="c", kb_name="two")
    assert "body_offset 8000" in writer.refusal("kb_delete", entry_id="c", kb_name="two")["suggestion"]
    writer.call("kb_read_body", entry_id="c", kb_name="two", body_offset=8000, body_limit=50_000)
    assert writer.call("kb_delete", entry_id="c", kb_name="two")["deleted"]


def test_a_link_to_an_id_of_two_entries_is_ambiguous(writer: Agent, folder: Path) -> None:
    for name in ("first", "second"):
        (folder / f"one/{name}.md").write_text("---\nid: same\ntitle: Same\n---\nText.\n")
    current = writer.call("kb_get", entry_id="a")["entry"]["revision"]
    body = "See [[same]] and [[gone]].\n"
    writer.call("kb_update", entry_id="a", kb_name="one", body=body, revision=current)
    issues = writer.call("kb_qa_validate", kb_name="one", entry_id="a")["issues"]
    assert [issue["message"] for issue in issues if issue["rule"] == "broken_link"] == [
        "The link to 'same' is ambiguous: first.md, second.md. Give the path of one.",
        "The link to 'gone' leads nowhere.",
    ]
    assert "The link to 'same' is ambiguous: first.md, second.md." in Shell(folder / "one")("check").text
    assert writer.call("kb_get", entry_id="a")["entry"]["outlinks"] == []
    refused = writer.refusal("kb_get", entry_id="same", kb_name="one")
    assert refused["did_you_mean"] == ["first.md", "second.md"]
    assert "first.md, second.md" in refused["error"]


def test_tags_of_a_typed_entry_are_those_of_its_frontmatter(writer: Agent) -> None:
    made = {"kb_name": "one", "entry_type": "note", "tags": ["sea"], "body": "Ask in #channel about gulls."}
    writer.call("kb_create", title="Asked", **made)
    assert writer.call("kb_get", entry_id="asked")["entry"]["tags"] == ["sea"]
    assert [hit["tags"] for hit in writer.call("kb_search", query="gulls", kb_name="one")["results"]] == [["sea"]]


def test_an_excluded_word_excludes_its_other_forms(writer: Agent) -> None:
    for title, body in (("Task one", "A task for agents."), ("Task two", "A job for people.")):
        writer.call("kb_create", kb_name="one", entry_type="note", title=title, body=body)

    found_results = writer.call("kb_search", query="task NOT agent", kb_name="one", mode="keyword")["results"]
    assert [hit["id"] for hit in found_results] == ["task-two"]
