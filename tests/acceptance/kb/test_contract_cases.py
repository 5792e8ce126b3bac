"""Cases that users of such servers rely on, one line each: a call over the real process, and facts of its answer.

Cases that differ by choice are in docs/differences.md.
"""

# ruff: noqa: E501 - one line a case

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, agent

KB = """\
name: ships
kb_type: generic
description: Ships and who sails them
guidelines: {contributing: Name every source.}
goals: {primary: All ships}
evaluation_rubric:
  - {text: Entries have a telling title, checker: descriptive_title}
  - People judge this one
relationship_types: {berthed_at: {inverse: berths, description: Where a ship lies}}
types:
  vessel:
    description: A ship
    required: [title]
    optional: [owner]
    subdirectory: fleet
    file_pattern: "{status}/{slug}.md"
    guidelines: Give the flag.
    goals: A complete fleet
    evaluation_rubric: [{text: The vessel has a status, checker: status_present}]
    fields:
      status: {type: select, options: [active, laid-up], allow_other: true}
      length: {type: number, min: 1, max: 500}
      captain: {type: object-ref, target_type: person}
      actors: {type: list}
      capture_lanes: {type: list}
  log:
    description: A page of the log
    subdirectory: logs
    file_pattern: "{date}-{slug}.md"
validation:
  rules:
    - {field: importance, range: [1, 5]}
    - {field: recorded, format: ISO8601}
"""
BROKEN_KB = "name: adrift\ntypes: {vessel: [\n"
ENTRIES = {
    "people/ada.md": "---\nid: ada\ntype: person\ntitle: Ada Moor\naliases: [The Admiral]\nrole: captain\n---\n"
    "Ada sails apple boats. See [[the-gull]].\n",
    "fleet/active/gull.md": "---\nid: the-gull\ntype: vessel\ntitle: The Gull\nstatus: active\nlength: 12\ncaptain: ada\n"
    "tags: [wood, sail/gaff]\nlinks:\n- {target: ada, relation: owned_by, note: since 2020}\n---\n"
    "## Hull\n\nApple and banana wood. [[nowhere]] and again [[nowhere]] and [[nowhere#Part|so]].\n",
    "events/launch.md": "---\nid: launch\ntype: event\ntitle: Launch of the Gull\ndate: 2020-05-01\nimportance: 9\n"
    "location: Dock 2\n---\nThe banana was eaten. [[the-gull]]\n",
    "notes/one.md": "---\nid: twin\ntype: note\ntitle: First twin\n---\nCherry.\n",
    "notes/two.md": "---\nid: twin\ntype: note\ntitle: Second twin\n---\nCherry and apple.\n",
    "notes/lost.md": "---\ntype: note\nlinks: [{target: gone-away, relation: supports}]\n---\nNo heading here.\n",
}
LONG = "A" * 10_000


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cases") / "ships"
    for path, text in {**ENTRIES, "kb.yaml": KB}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    broken = folder.parent / "adrift"
    broken.mkdir()
    (broken / "kb.yaml").write_text(BROKEN_KB)
    (broken / "plank.md").write_text("---\ntype: note\ntitle: Plank\n---\nWood.\n")
    return folder


@pytest.fixture(scope="module")
def admin(base: Path) -> Iterator[Agent]:
    with agent("mcp", "--toolset", "kb", base, base.parent / "adrift", "--tier", "admin", "--no-embed") as client:
        yield client


def ids(shown: Any, key: str = "results") -> set[str]:
    return {row["id"] for row in shown[key]}


Check = Callable[[Any], bool]
"""Whether an answer holds what the case is about."""
IN = {"kb_name": "ships"}
GOOD: list[tuple[str, str, dict[str, Any], Check]] = [
    # Names: ids, paths, titles, aliases, link targets.
    ("by id", "kb_get", {"entry_id": "ada"}, lambda a: a["entry"]["title"] == "Ada Moor"),
    ("by path", "kb_get", {"entry_id": "people/ada.md"}, lambda a: a["entry"]["id"] == "ada"),
    ("by title", "kb_get", {"entry_id": "The Gull"}, lambda a: a["entry"]["id"] == "the-gull"),
    ("by title in another case", "kb_get", {"entry_id": "the gull"}, lambda a: a["entry"]["id"] == "the-gull"),
    ("by alias", "kb_get", {"entry_id": "The Admiral"}, lambda a: a["entry"]["id"] == "ada"),
    ("by wikilink", "kb_get", {"entry_id": "[[the-gull#Hull|it]]"}, lambda a: a["entry"]["id"] == "the-gull"),
    ("by base and id", "kb_get", {"entry_id": "ships:ada"}, lambda a: a["entry"]["kb_name"] == "ships"),
    ("by end of path", "kb_get", {"entry_id": "active/gull"}, lambda a: a["entry"]["id"] == "the-gull"),
    ("backlinks by title", "kb_backlinks", {"entry_id": "The Gull", **IN}, lambda a: a["entry_id"] == "the-gull"),
    ("batch by alias", "kb_batch_read", {"entries": [{"entry_id": "The Admiral"}]}, lambda a: a["found"] == 1),
    ("checks by title", "kb_qa_validate", {"entry_id": "The Gull"}, lambda a: a["count"] == 1),
    ("a double id is listed by path", "kb_list_entries", IN, lambda a: {"notes/one.md", "notes/two.md"} <= ids(a, "entries")),
    ("a listed path reads", "kb_get", {"entry_id": "notes/two.md"}, lambda a: a["entry"]["title"] == "Second twin"),
    # Entries.
    ("links say relation and note", "kb_get", {"entry_id": "the-gull"},
     lambda a: a["entry"]["links"][0] == {"target_id": "ada", "target_kb": "ships", "relation": "owned_by", "note": "since 2020"}),
    ("backlinks show the inverse", "kb_backlinks", {"entry_id": "ada", **IN},
     lambda a: "owns" in {backlink["relation"] for backlink in a["backlinks"]}),
    ("created_at is not the event's date", "kb_get", {"entry_id": "launch"},
     lambda a: (a["entry"]["date"], a["entry"]["created_at"][:10] != "2020-05-01") == ("2020-05-01", True)),
    ("fields that a type declares are shown", "kb_get", {"entry_id": "the-gull"}, lambda a: a["entry"]["length"] == 12),
    ("chosen fields", "kb_get", {"entry_id": "ada", "fields": ["title"]}, lambda a: set(a["entry"]) == {"id", "kb_name", "title"}),
    ("timeline", "kb_timeline", {}, lambda a: [event["id"] for event in a["events"]] == ["launch"]),
    ("timeline by importance", "kb_timeline", {"min_importance": 10}, lambda a: a["events"] == []),
    ("recent", "kb_recent", {**IN, "limit": 2}, lambda a: a["count"] == 2),
    ("tags nest", "kb_tags", {**IN, "tree": True}, lambda a: {"sail", "wood"} == {item["name"] for item in a["tree"]}),
    ("tags by prefix", "kb_tags", {**IN, "prefix": "sail"}, lambda a: a["tags"] == [{"tag": "sail/gaff", "count": 1}]),
    ("stats", "kb_stats", {}, lambda a: set(a["kbs"]) == {"ships", "adrift"}),
    # Search.
    ("NOT excludes", "kb_search", {"query": "apple NOT banana", **IN}, lambda a: ids(a) == {"ada", "notes/two.md"}),
    ("AND asks for both", "kb_search", {"query": "apple AND banana", **IN}, lambda a: ids(a) == {"the-gull"}),
    ("OR asks for either", "kb_search", {"query": "cherry OR banana", **IN},
     lambda a: ids(a) == {"the-gull", "launch", "notes/one.md", "notes/two.md"}),
    ("AND binds before OR", "kb_search", {"query": "cherry AND apple OR eaten", **IN}, lambda a: ids(a) == {"notes/two.md", "launch"}),
    ("NOT binds before AND", "kb_search", {"query": "apple AND wood NOT cherry", **IN}, lambda a: ids(a) == {"the-gull"}),
    ("words of one side belong together", "kb_search", {"query": "banana eaten OR cherry", **IN},
     lambda a: ids(a) == {"launch", "notes/one.md", "notes/two.md"}),
    ("parentheses group", "kb_search", {"query": "(cherry OR banana) NOT apple", **IN}, lambda a: ids(a) == {"launch", "notes/one.md"}),
    ("phrases beside operators", "kb_search", {"query": '"banana wood" OR "was eaten"', **IN}, lambda a: ids(a) == {"the-gull", "launch"}),
    ("operators at an end are words", "kb_search", {"query": "cherry AND", **IN}, lambda a: {"notes/one.md", "notes/two.md"} <= ids(a)),
    ("operators in lower case are words", "kb_search", {"query": "apple not banana", **IN}, lambda a: "the-gull" in ids(a)),
    ("a minus excludes", "kb_search", {"query": "apple -banana", **IN}, lambda a: ids(a) == {"ada", "notes/two.md"}),
    ("a hit holds nothing empty", "kb_search", {"query": "apple", **IN},
     lambda a: all(value not in (None, "", [], {}) for element in a["results"] for value in element.values())),
    ("an unknown type names the nearest", "kb_search", {"query": "apple", "entry_type": "vesel"}, lambda a: a["did_you_mean"] == ["vessel"]),
    ("an unknown type in a list, too", "kb_list_entries", {"entry_type": "persn"}, lambda a: a["did_you_mean"] == ["person"]),
    ("a known type without entries is no mistake", "kb_recent", {"entry_type": "log"}, lambda a: "did_you_mean" not in a),
    # The schema.
    ("core types beside declared ones", "kb_schema", IN, lambda a: {"note", "person", "vessel", "log"} <= set(a["types"])),
    ("they are in the orientation", "kb_orient", IN, lambda a: {"topic", "vessel"} <= set(a["schema"]["types"])),
    ("and in show_schema", "kb_manage", {"action": "show_schema", **IN}, lambda a: {"event", "vessel"} <= set(a["types"])),
    ("fields of core types", "kb_schema", IN, lambda a: "affiliations" in a["types"]["person"]["optional"]),
    ("rubric items with their checkers", "kb_schema", IN, lambda a: a["evaluation_rubric"][0]["checker"] == "descriptive_title"),
    ("what a type declares is kept", "kb_schema", IN,
     lambda a: {"guidelines", "goals", "evaluation_rubric", "file_pattern", "fields"} <= set(a["types"]["vessel"])),
    ("allow_other is shown", "kb_schema", IN, lambda a: a["types"]["vessel"]["fields"]["status"]["allow_other"] is True),
    ("rules are shown", "kb_schema", IN, lambda a: a["validation"]["rules"][0]["range"] == [1, 5]),
    ("declared relations are shown", "kb_schema", IN, lambda a: "berthed_at" in a["relationship_types"]),
    ("a sound file is valid", "kb_manage", {"action": "validate", **IN},
     lambda a: (a["valid"], a["errors"], a["warnings"]) == (True, [], [])),
    # A broken kb.yaml is told wherever it counts.
    ("broken: kb_schema", "kb_schema", {"kb_name": "adrift"}, lambda a: "kb.yaml, line" in a["problems"][0]),
    ("broken: kb_orient", "kb_orient", {"kb_name": "adrift"}, lambda a: "kb.yaml, line" in a["problems"][0]),
    ("broken: kb_list", "kb_list", {}, lambda a: ["problems" in item for item in a["knowledge_bases"]] == [False, True]),
    ("broken: show_schema", "kb_manage", {"action": "show_schema", "kb_name": "adrift"}, lambda a: "kb.yaml, line" in a["problems"][0]),
    ("broken: validate", "kb_manage", {"action": "validate", "kb_name": "adrift"}, lambda a: not a["valid"] and a["errors"]),
    ("broken: an unknown type", "kb_search", {"query": "wood", "kb_name": "adrift", "entry_type": "vessel"}, lambda a: "kb.yaml, line" in a["problems"][0]),
    ("broken: an unknown type of a list", "kb_list_entries", {"kb_name": "adrift", "entry_type": "vessel"}, lambda a: "kb.yaml, line" in a["problems"][0]),
    ("broken: an unknown relation", "kb_link", {"source_id": "plank", "source_kb": "adrift", "target_id": "plank", "relation": "nailed_to"},
     lambda a: "kb.yaml, line" in a["warnings"][1]["message"]),
    ("broken: kb_qa_validate", "kb_qa_validate", {"kb_name": "adrift"}, lambda a: "bad_yaml" in {item["rule"] for item in a["issues"]}),
    ("broken: kb_create", "kb_create", {"kb_name": "adrift", "entry_type": "note", "title": "Mast"}, lambda a: "kb.yaml" in a["warnings"][0]["message"]),
    # Quality.
    ("one finding for a broken target", "kb_qa_validate", {"entry_id": "the-gull"}, lambda a: [item["rule"] for item in a["issues"]] == ["broken_link"]),
    ("a link in the body says so", "kb_qa_validate", {"entry_id": "the-gull"}, lambda a: a["issues"][0]["field"] == "body"),
    ("a link in the frontmatter names its field", "kb_qa_validate", {"entry_id": "notes/lost"},
     lambda a: "links" in {issue["field"] for issue in a["issues"] if issue["rule"] == "broken_link"}),
    ("a double id", "kb_qa_validate", IN,
     lambda a: [item["entry_id"] for item in a["issues"] if item["rule"] == "duplicate_id"] == ["notes/one.md", "notes/two.md"]),
    ("a missing title", "kb_qa_validate", IN, lambda a: [item["entry_id"] for item in a["issues"] if item["rule"] == "missing_title"] == ["notes/lost"]),
    ("a rule's range", "kb_qa_validate", {"entry_id": "launch"}, lambda a: "at most 5" in a["issues"][0]["message"]),
    ("coverage before any assessment", "kb_qa_status", {"kb_name": "adrift"}, lambda a: a["coverage"]["assessed"] == 0),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "holds"), [row[1:] for row in GOOD], ids=[row[0] for row in GOOD])
def test_a_call_answers_as_its_users_know_it(admin: Agent, tool: str, arguments: dict[str, Any], holds: Check) -> None:
    answer = admin.call(tool, **arguments)
    assert holds(answer), json.dumps(answer, indent=1)


VESSEL = {"kb_name": "ships", "entry_type": "vessel", "title": "The Tern"}
REFUSED: list[tuple[str, str, dict[str, Any], str, str]] = [
    ("unknown entry", "kb_get", {"entry_id": "the-gul"}, "ENTRY_NOT_FOUND", "kb_search"),
    ("unknown base", "kb_schema", {"kb_name": "ship"}, "KB_NOT_FOUND", "kb_list"),
    ("undeclared type", "kb_create", {**VESSEL, "entry_type": "vesel"}, "UNDECLARED_TYPE", "vessel"),
    ("undeclared field", "kb_create", {**VESSEL, "colour": "red"}, "VALIDATION_FAILED", '{"metadata": {"colour"'),
    ("undeclared field of an update", "kb_update", {"entry_id": "ada", **IN, "colour": "red"}, "VALIDATION_FAILED", "metadata"),
    ("a field that the path needs", "kb_create", VESSEL, "SCHEMA_VIOLATION", "Give status."),
    ("a date that the path needs", "kb_create", {**VESSEL, "entry_type": "log"}, "SCHEMA_VIOLATION", "Give date."),
    ("an id that is there", "kb_create", {**VESSEL, "entry_type": "note", "title": "Ada"}, "ENTRY_EXISTS", "kb_update"),
    ("a stale revision", "kb_update", {"entry_id": "ada", **IN, "body": "x", "revision": "0" * 40}, "CONFLICT", "kb_get"),
    ("a blank query", "kb_search", {"query": " "}, "QUERY_SYNTAX", "query"),
    ("a double id", "kb_get", {"entry_id": "twin"}, "ENTRY_NOT_FOUND", "path of one"),
    ("an unknown type to remove", "kb_manage", {"action": "remove_type", "type_name": "boat", **IN}, "UNDECLARED_TYPE", "kb_schema"),
    ("a type of a broken file", "kb_create", {"kb_name": "adrift", "entry_type": "vessel", "title": "X"}, "UNDECLARED_TYPE", "kb.yaml"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "said"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_a_refusal_says_what_to_do_next(
    admin: Agent, tool: str, arguments: dict[str, Any], code: str, said: str
) -> None:
    shown = admin.refusal(tool, **arguments)
    assert (shown["error_code"], shown["retryable"]) == (code, False)
    assert said in f"{shown['suggestion']} {shown.get('did_you_mean', '')}", shown


def test_suggestions_name_only_tools_that_there_are(admin: Agent) -> None:
    tools = admin.tools()
    for _, tool, arguments, _, _ in REFUSED:
        suggestion = admin.refusal(tool, **arguments)["suggestion"]
        named = {word.strip(".,;:()") for word in suggestion.split() if word.startswith("kb_")}
        assert named <= tools.keys(), suggestion


BODIES = [
    "Short body text",
    LONG,
    "ends\n",
    "ends twice\n\n",
    "\nbegins",
    "\n\n# T\n\ntext\n",
    "",
    "umlaut ä\n    code",
]


@pytest.mark.parametrize("body", BODIES, ids=[f"{len(body)} characters" for body in BODIES])
def test_a_body_comes_back_as_it_was_given(admin: Agent, base: Path, body: str) -> None:
    title = f"Body {BODIES.index(body)}"
    made = admin.call("kb_create", kb_name="ships", entry_type="note", title=title, body=body)
    entry = admin.call("kb_get", entry_id=made["entry_id"], body_limit=50_000)["entry"]
    assert entry["body"] == body
    assert (base / made["file_path"]).read_text().endswith(body)
    other = f"{body}more"
    updated = admin.call("kb_update", entry_id=made["entry_id"], **IN, body=other, revision=entry["revision"])
    entry = admin.call("kb_get", entry_id=made["entry_id"], body_limit=50_000)["entry"]
    assert (entry["body"], entry["revision"]) == (other, updated["revision"])
    again = admin.call("kb_update", entry_id=made["entry_id"], **IN, body=other, revision=entry["revision"])
    assert again["unchanged"] is True


def test_fields_that_a_type_declares_are_taken_by_name(admin: Agent, base: Path) -> None:
    given_values = {
        "status": "active",
        "length": 9,
        "captain": "ada",
        "actors": ["Ada"],
        "capture_lanes": ["north"],
        "owner": "ada",
    }
    made = admin.call("kb_create", kb_name="ships", entry_type="vessel", title="The Skua", body="Fast.", **given_values)
    assert made["file_path"] == "fleet/active/the-skua.md"
    assert "warnings" not in made
    entry = admin.call("kb_get", entry_id="the-skua")["entry"]
    assert {key: entry[key] for key in given_values} == given_values
    assert entry["metadata"] == {key: value for key, value in given_values.items() if key not in {"date", "status"}}
    changed = admin.call("kb_update", entry_id="the-skua", **IN, status="scrapped", length=900, captain="launch")
    assert changed["file_path"] == made["file_path"], "a file stays where it is"
    assert len(changed["warnings"]) == 3
    assert "status: scrapped" in (base / made["file_path"]).read_text()


def test_bulk_entries_without_a_type_are_notes_and_take_fields_by_name(admin: Agent) -> None:
    entries = [
        {"title": "Bulk note"},
        {"entry_type": "vessel", "title": "Bulk ship", "status": "laid-up"},
        {"title": "X", "colour": 1},
    ]
    answer = admin.call("kb_bulk_create", kb_name="ships", entries=entries)
    assert [result.get("file_path", result.get("error_code")) for result in answer["results"]] == [
        "notes/bulk-note.md",
        "fleet/laid-up/bulk-ship.md",
        "VALIDATION_FAILED",
    ]


def test_a_link_takes_titles_and_aliases_and_says_that_it_does_not_know_a_relation(admin: Agent) -> None:
    linked = admin.call(
        "kb_link", source_id="Launch of the Gull", source_kb="ships", target_id="The Admiral", relation="suports"
    )
    assert (linked["source_id"], linked["target_id"]) == ("launch", "ada")
    assert "supports" in linked["did_you_mean"]
    known_value = admin.call("kb_link", source_id="launch", source_kb="ships", target_id="ada", relation="berthed_at")
    assert "warnings" not in known_value


def test_the_reference_uris_hold_bare_payloads_and_every_resource_is_described(admin: Agent) -> None:
    def read(uri: str) -> Any:
        (content,) = admin.run(admin.client.read_resource, uri).contents
        assert content.mime_type == "application/json"
        return json.loads(content.text)

    assert [element["name"] for element in read("pyrite://kbs")] == ["ships", "adrift"]
    assert "ada" in {element["id"] for element in read("pyrite://kbs/ships/entries")}
    assert read("pyrite://entries/ada")["title"] == "Ada Moor"
    assert read("pyrite://kbs/ships/entries/ada")["body"].startswith("Ada sails")
    assert read("commonplace://entries/ada")["entry"]["title"] == "Ada Moor"
    for resource in admin.run(admin.client.list_resources).resources:
        assert resource.name
        assert resource.title
        assert resource.description
        assert resource.mime_type


def test_assessments_are_kept_newest_first(tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    folder.mkdir()
    (folder / "kb.yaml").write_text("name: fleet\n")
    (folder / "gull.md").write_text("---\ntype: note\ntitle: Gull\n---\n[[nowhere]]\n")
    with agent("mcp", "--toolset", "kb", folder, "--tier", "write", "--no-embed") as client:
        first = client.call("kb_qa_assess", kb_name="fleet")
        assert (first["assessed"], first["skipped"]) == (1, 0)
        assert client.call("kb_qa_assess", kb_name="fleet")["skipped"] == 1
        second = client.call("kb_qa_assess", kb_name="fleet", max_age_hours=0)
        assert second["assessed"] == 1
        kept_value = client.call("kb_qa_status", kb_name="fleet")
    names = [other_second["results"][0]["assessment_id"] for other_second in (second, first)]
    assert [assessment["assessment_id"] for assessment in kept_value["assessments"]] == names
    assert kept_value["coverage"]["by_status"] == {"pass": 0, "warn": 1, "fail": 0}
    assert len(list((folder / "qa_assessments").glob("*.md"))) == 2
