"""Six bases as their users declare them: what each `kb.yaml` says is enforced, or named as not understood."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from agent import Agent, agent

EVIDENCE = """\
name: evidence
kb_type: research
guidelines: {sourcing: Two sources for each claim., dates: All dates are of the event.}
goals: {primary: A timeline that holds in court}
evaluation_rubric:
  - {text: The title says what it is about, checker: descriptive_title}
  - {text: There is a tag, checker: has_tags}
  - {text: It leads somewhere, checker: has_outlinks}
policies: {minimum_sources: 2, retention: forever}
validation:
  enforce: true
  rules:
    - {field: importance, range: [1, 5]}
    - {field: recorded, format: ISO8601}
    - {field: reference, pattern: '[A-Z]{2}-[0-9]+'}
types:
  claim:
    required: [title, status]
    subdirectory: claims/{status}
    file_pattern: '{date}--{slug}.md'
    fields:
      status: {type: select, options: [confirmed, disputed], required: true}
      medium: {type: select, options: [print, film], allow_other: true}
      lanes: {type: multi-select, options: [money, people]}
      amount: {type: number, min: 0, max: 1000}
      seen: {type: datetime}
      public: {type: checkbox}
      witness: {type: object-ref, target_type: person}
      actors: {type: list, items: {type: text, max_length: 20}}
"""
SOFTWARE = """\
name: software
description: How a program is built
types:
  adr:
    description: A decision
    guidelines: State the problem and the alternatives.
    goals: Later readers know why.
    evaluation_rubric:
      - {checker: status_present, text: It has a status}
      - {checker: body_has_section, params: {heading: Problem}, text: It states the problem}
      - People judge whether the reasons hold.
    subdirectory: decisions
    file_pattern: '{number:04d}-{slug}.md'
    fields: {number: {type: number, min: 1}, status: {type: select, options: [proposed, accepted]}}
  component:
    evaluation_rubric:
      - {checker: has_field, params: {field: path}, text: It names its path}
      - {checker: has_any_field, params: {fields: [owner, team]}, text: Somebody looks after it}
      - {checker: body_has_code_block, text: It shows how it is used}
      - {checker: priority_present}
      - {checker: body_has_pattern, params: {pattern: '^Depends on:'}, text: It lists what it needs}
    state_machine: {initial: planned}
"""
BIOGRAPHY = """\
name: biography
kb_type: intellectual-biography
relationship_types:
  influenced_by: {inverse: influenced, description: Took ideas from}
policies: {qa_on_write: true}
types:
  writing:
    required: [title, writing_type, date]
    optional: [publication, url]
    subdirectory: writings
    fields:
      writing_type: {type: select, values: [essay, letter], description: What it is}
      publication: {type: string}
      url: {type: string, format: url}
    display: {icon: file-text, layout: document}
    field_descriptions: {url: Where the text is}
    ai_instructions: Give the date of the first version.
  person: {required: [title, role]}
  note: {subdirectory: ''}
"""
REGISTER = """\
name: register
validation:
  rules:
    - {field: owner, required: true, enforce: true}
    - {field: contact, format: email}
    - {field: homepage, format: url}
    - {field: key, format: id}
    - {field: region, enum: [north, south]}
    - {field: score, min: 1, max: 9, enforce: false}
types:
  asset:
    fields:
      bought: {type: date, default: 2026-01-01}
      labels: {type: tags, min_length: 1}
      colour: {type: rainbow}
      size: {type: number, maximum: 9}
  ownership:
    edge_type: true
    endpoints: {from: {field: holder, accepts: [person]}, to: {field: held, accepts: [asset]}}
"""
MISTAKEN = """\
name: mistaken
guideline: {tone: plain}
validation: {enforce: sometimes, rules: [{range: [1, 5]}, {field: x, range: [5]}, {field: y, pattern: '(a+'}]}
evaluation_rubric: [{checker: has_tag}, {checker: has_field}, {weight: 3}]
types:
  odd:
    file_pattern: '{colour}.md'
    fields: {kind: {type: select}, who: {type: object-ref, target_type: persn}, low: {min: 3, max: 1}}
  idle:
    endpoints: {from: {field: a, takes: [person]}}
    fields:
      when: {type: date, format: datetme}
      name: {type: text, min: 3, target_type: person, items: {type: text}}
      free: {type: select, options: [a], allow_other: true}
      loose: {type: list, allow_other: true, items: {type: colour, shade: dark}}
"""
ARCHIVE = """\
name: archive
relationship_types: {taught: {inverse: taught_by}}
validation:
  enforce: true
  rules:
    - {field: shelf, range: [1, 9], message: The shelves end at 9.}
    - {field: tags, enum: [letter, diary]}
    - {field: found, format: datetime}
types:
  volume:
    subdirectory: '{year}/{language}'
    fields:
      year: {type: number, options: [1901, 1902]}
      language: {type: select, options: [de, fr], required: true}
      topics: {type: list, options: [war, trade], allow_other: true}
      writers: {type: list, items: {type: object-ref, target_type: [person, organization]}}
      marks: {type: tags, items: {type: text, max_length: 3, pattern: '[a-z]+'}}
  loan:
    edge_type: true
    endpoints: {from: {field: lender, accepts: [person, organization]}, to: {field: lent, accepts: [volume]}}
"""
SOURCES = ["a", "b"]
CLAIM: dict[str, Any] = {
    "entry_type": "claim",
    "status": "confirmed",
    "date": "2026-03-04",
    "sources": SOURCES,
    "tags": ["x"],
    "body": "See [[ada]].",
}


class Case(NamedTuple):
    """One declaration, and an entry that breaks it."""

    base: str
    given: Mapping[str, Any]
    said: str
    """Text that the answer contains."""
    refused: bool = False


def claim(said: str, *, refused: bool = True, **fields: Any) -> Case:
    return Case("evidence", {**CLAIM, **fields}, said, refused)


def volume(said: str, *, refused: bool = True, **fields: Any) -> Case:
    return Case("archive", {**VOLUME, **fields}, said, refused)


VOLUME: dict[str, Any] = {"entry_type": "volume", "year": 1901, "language": "de"}
ADR = {"entry_type": "adr", "number": 7, "status": "proposed", "body": "## Problem\n\nx"}
COMPONENT = {"entry_type": "component", "body": "Text."}
WRITING = {"entry_type": "writing", "writing_type": "essay", "date": "2026-01-02"}
CASES = [
    claim("importance", importance=9),
    claim("status: expected one of confirmed, disputed", status="rumour"),
    claim("medium: expected one of print, film", medium="tape", refused=False),
    claim("lanes: expected a list of money, people", lanes=["time"]),
    claim("amount: expected a number at least 0 and at most 1000", amount=5000),
    claim("seen: expected a date", seen="yesterday"),
    claim("public: expected true or false", public="no"),
    claim("witness: expected the id of an entry of the type person", witness="harbour"),
    claim("witness: expected the id of an entry of the type person", witness="nobody", refused=False),
    claim("actors: expected at most 20 characters as item 2", actors=["Ada", "A" * 30]),
    claim("sources: expected at least 2 sources", sources=["a"], refused=False),
    claim("'date', which the entry does not have", date=None),
    Case("software", {**ADR, "status": "lost"}, "status: expected one of proposed, accepted"),
    Case("software", {**ADR, "number": 0}, "number: expected a number at least 1"),
    Case("software", {**ADR, "body": "x"}, "It states the problem"),
    Case("software", COMPONENT, "It names its path"),
    Case("software", COMPONENT, "Somebody looks after it"),
    Case("software", COMPONENT, "It shows how it is used"),
    Case("software", COMPONENT, "priority_present"),
    Case("software", COMPONENT, "It lists what it needs"),
    Case("biography", {**WRITING, "writing_type": "novel"}, "writing_type: expected one of essay, letter"),
    Case("biography", {**WRITING, "url": "here"}, "url: expected a URL"),
    Case("biography", {"entry_type": "writing", "writing_type": "essay"}, "date: expected a value"),
    Case("biography", {"entry_type": "person"}, "role: expected a value"),
    Case("biography", {"entry_type": "note", "body": "[[nowhere]]"}, "leads nowhere"),
    Case("register", {"entry_type": "note"}, "owner: expected a value", refused=True),
    Case("register", {"entry_type": "note", "owner": "ada", "region": "east"}, "region: expected one of north, south"),
    Case("register", {"entry_type": "note", "owner": "ada", "contact": "ada"}, "contact: expected an email address"),
    Case("register", {"entry_type": "note", "owner": "ada", "homepage": "ada"}, "homepage: expected a URL"),
    Case("register", {"entry_type": "note", "owner": "ada", "key": "a b"}, "key: expected an id"),
    Case("register", {"entry_type": "note", "owner": "ada", "score": 10}, "score: expected a number at least 1"),
    Case("register", {"entry_type": "asset", "owner": "ada", "labels": []}, "labels: expected at least 1 items"),
    Case("register", {"entry_type": "asset", "owner": "ada", "bought": "May"}, "bought: expected a date"),
    Case("register", {"entry_type": "ownership", "owner": "ada"}, "holder: expected a value"),
    Case("register", {"entry_type": "ownership", "owner": "ada"}, "held: expected a value"),
    volume("(The shelves end at 9.)", shelf=10),
    volume("tags: expected a list of letter, diary", tags=["letter", "photo"]),
    volume("found: expected a date and a time YYYY-MM-DDTHH:MM", found="2026-01-02"),
    volume("year: expected one of 1901, 1902", year=1950),
    volume("language: expected one of de, fr", language="en"),
    volume("topics: expected a list of war, trade", refused=False, topics=["sea"]),
    volume("writers: expected the id of an entry of the type person or organization", writers=["bob", "log"]),
    volume("writers: expected the id of an entry of the type", refused=False, writers=["nobody"]),
    volume("marks: expected at most 3 characters as item 2", marks=["abc", "abcd"]),
    volume("marks: expected text of the form [a-z]+ as item 1", marks=["A"]),
    Case("archive", {"entry_type": "loan", "lender": "log", "lent": "log"}, "lender: expected the id", refused=True),
    Case("archive", {"entry_type": "loan", "lender": "bob", "lent": "bob"}, "lent: expected the id", refused=True),
]


@pytest.fixture(scope="module")
def admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    folder = tmp_path_factory.mktemp("declared")
    texts = {"evidence": EVIDENCE, "software": SOFTWARE, "biography": BIOGRAPHY, "register": REGISTER}
    texts["archive"] = ARCHIVE
    for name, text in {**texts, "mistaken": MISTAKEN}.items():
        (folder / name).mkdir()
        (folder / name / "kb.yaml").write_text(text)
    (folder / "evidence" / "ada.md").write_text("---\ntype: person\ntitle: Ada\n---\nAda.\n")
    (folder / "evidence" / "harbour.md").write_text("---\ntype: organization\ntitle: Harbour\n---\nPort.\n")
    (folder / "archive" / "bob.md").write_text("---\ntype: person\ntitle: Bob\n---\nBob.\n")
    (folder / "archive" / "log.md").write_text("---\ntype: note\ntitle: Log\n---\nx\n")
    bases = [folder / name for name in (*texts, "mistaken")]
    with agent("mcp", "--toolset", "kb", *bases, "--tier", "admin", "--no-embed") as client:
        yield client


@pytest.mark.parametrize("case", CASES, ids=lambda element: f"{element.base}: {element.said}")
def test_a_declared_rule_counts(admin: Agent, case: Case, request: pytest.FixtureRequest) -> None:
    given_values = {key: value for key, value in case.given.items() if value is not None}
    arguments = {"kb_name": case.base, "title": f"About {request.node.name}", **given_values}
    if case.refused:
        shown = admin.refusal("kb_create", **arguments)
        assert (shown["error_code"], case.said in shown["error"]) == ("SCHEMA_VIOLATION", True), shown
        return
    made = admin.call("kb_create", **arguments)
    issues = admin.call("kb_qa_validate", kb_name=case.base, entry_id=made["entry_id"], severity="info")["issues"]
    violations = [
        {"field": "", "expected": "", "got": "", "message": "", **warning} for warning in made.get("warnings", ())
    ]
    warned = [
        f"{item['field']}: expected {item['expected']}, got {item['got']} ({item['message']})" for item in violations
    ]
    messages = [*warned, *(issue["message"] for issue in issues)]
    assert case.said in " ".join(messages), made


@pytest.mark.parametrize(
    ("base", "given", "path"),
    [
        ("evidence", CLAIM, "claims/confirmed/2026-03-04--kept.md"),
        ("software", ADR, "decisions/0007-kept.md"),
        ("biography", WRITING, "writings/kept.md"),
        ("biography", {"entry_type": "note"}, "kept-note.md"),
        ("archive", VOLUME, "1901/de/kept.md"),
    ],
)
def test_what_keeps_the_rules_lies_where_its_type_says(
    admin: Agent, base: str, given: Mapping[str, Any], path: str
) -> None:
    title = "Kept note" if given["entry_type"] == "note" else "Kept"
    made = admin.call("kb_create", kb_name=base, title=title, **given)
    warnings = [
        warning for warning in made.get("warnings", ()) if warning.get("rule") != "not_checked"
    ]  # on a busy machine
    assert (made["file_path"], warnings) == (path, [])


NAMED = [
    ("evidence", "warnings", "policies.retention is not understood"),
    ("software", "warnings", "types.component.state_machine is not understood"),
    ("register", "errors", "types.asset.fields.colour.type is 'rainbow'"),
    ("register", "warnings", "types.asset.fields.size.maximum is not understood"),
    ("mistaken", "warnings", "guideline is not understood, and nothing enforces it. Did you mean 'guidelines'?"),
    ("mistaken", "errors", "validation.enforce is 'sometimes'; expected true or false."),
    ("mistaken", "errors", "validation.rules, rule 1 names no field."),
    ("mistaken", "errors", "validation.rules, rule 2 (x).range is [5]; expected two numbers"),
    ("mistaken", "errors", "validation.rules, rule 3 (y).pattern is '(a+'"),
    ("mistaken", "errors", "there is no checker 'has_tag'. Did you mean 'has_tags'?"),
    ("mistaken", "errors", "the checker 'has_field' needs params.field."),
    ("mistaken", "errors", "evaluation_rubric, item 3: expected a text"),
    ("mistaken", "errors", "'{colour}.md' names 'colour', which the type does not declare."),
    ("mistaken", "errors", "types.odd.fields.kind is a select without options."),
    ("mistaken", "errors", "target_type 'persn' is not declared. Did you mean 'person'?"),
    ("mistaken", "errors", "types.odd.fields.low: min 3 is over max 1."),
    ("mistaken", "errors", "types.idle.fields.when.format is 'datetme'"),
    ("mistaken", "errors", "types.idle.fields.loose.items.type is 'colour'"),
    ("mistaken", "warnings", "types.idle.fields.loose.items.shade is not understood"),
    ("mistaken", "warnings", "types.idle.fields.loose.allow_other has no effect without options"),
    ("mistaken", "warnings", "types.idle.fields.name.min has no effect on the type text"),
    ("mistaken", "warnings", "types.idle.fields.name.target_type has no effect on the type text"),
    ("mistaken", "warnings", "types.idle.fields.name.items has no effect on the type text"),
    ("mistaken", "warnings", "types.idle.endpoints.from.takes is not understood"),
    ("mistaken", "warnings", "types.idle.endpoints has no effect without edge_type"),
]


@pytest.mark.parametrize(("base", "key", "said"), NAMED, ids=[row[2] for row in NAMED])
def test_what_is_wrong_or_not_understood_is_named(admin: Agent, base: str, key: str, said: str) -> None:
    judged = admin.call("kb_manage", action="validate", kb_name=base)
    assert [element for element in judged[key] if said in element], judged
    assert judged["valid"] is not bool(judged["errors"])


@pytest.mark.parametrize(
    ("base", "problems"), [("evidence", 1), ("software", 1), ("biography", 0), ("register", 2), ("archive", 0)]
)
def test_nothing_else_of_a_base_is_named(admin: Agent, base: str, problems: int) -> None:
    judged = admin.call("kb_manage", action="validate", kb_name=base)
    assert len([*judged["errors"], *judged["warnings"]]) == problems, judged


def test_backlinks_show_the_declared_inverse_of_a_relation(admin: Agent) -> None:
    for relation, inverse in {"taught": "taught_by", "taught_by": "taught"}.items():
        made = admin.call("kb_create", kb_name="archive", entry_type="note", title=f"It {relation}")
        admin.call("kb_link", source_id=made["entry_id"], source_kb="archive", target_id="bob", relation=relation)
        back = admin.call("kb_backlinks", entry_id="bob", kb_name="archive")["backlinks"]
        assert [element["relation"] for element in back if element["id"] == made["entry_id"]] == [inverse]
