"""Every reading tool of the `kb` contract, on the example base, over the real process."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, agent, ids
from commonplace.domain.tokens import tokens_of
from support import ROOT, new_repo

ROW = {
    "id", "kb_name", "entry_type", "title", "summary", "file_path", "date", "importance", "status", "tags", "metadata",
    "created_at", "updated_at",
}  # fmt: skip
RESTORE = "runbooks/restore-database"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    folder = tmp_path_factory.mktemp("kb") / "harbour"
    shutil.copytree(ROOT / "examples" / "kb", folder)
    with agent("mcp", "--toolset", "kb", folder) as connected:
        yield connected


def test_kb_list_names_the_bases_and_no_absolute_path(reader: Agent) -> None:
    (base,) = reader.call("kb_list")["knowledge_bases"]
    assert base == {
        "name": "harbour",
        "type": "handbook",
        "path": "harbour",
        "description": base["description"],
        "entry_count": 37,
        "read_only": False,
        "source": "local",
    }


def test_a_question_as_typed_finds_its_page_first(reader: Agent) -> None:
    found_value = reader.call("kb_search", query="how do we restore the database after an outage?")
    first = found_value["results"][0]
    assert first["id"] == RESTORE
    assert set(first) >= ROW - {"date", "importance", "status", "metadata"} | {"snippet", "score"}
    assert not [key for key, value in first.items() if value in (None, "", [], {})], "a hit holds nothing empty"
    assert found_value["count"] == len(found_value["results"])
    assert found_value["query"] == "how do we restore the database after an outage?"


@pytest.mark.parametrize("offset", [10**30, 10**9, 37, 38])
def test_beyond_the_last_hit_there_is_an_empty_page(reader: Agent, offset: int) -> None:
    total = reader.call("kb_search", query="database")["total"]
    beyond = reader.call("kb_search", query="database", offset=offset)
    assert (beyond["results"], beyond["count"], beyond["total"], beyond["has_more"]) == ([], 0, total, False)


def test_a_search_is_paged_with_a_true_total(reader: Agent) -> None:
    whole = reader.call("kb_search", query="database", limit=100)
    assert not whole["has_more"]
    pages = [
        reader.call("kb_search", query="database", limit=3, offset=offset) for offset in range(0, whole["total"], 3)
    ]
    assert [row["id"] for page in pages for row in page["results"]] == ids(whole["results"])
    assert [page["has_more"] for page in pages] == [True] * (len(pages) - 1) + [False]
    assert {page["total"] for page in pages} == {whole["total"]}


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        ({"entry_type": "runbook"}, lambda row: row["entry_type"] == "runbook"),
        ({"tags": ["incident"]}, lambda row: "incident" in row.get("tags", ())),
        ({"tags": ["database", "incident"]}, lambda row: {"database", "incident"} <= set(row.get("tags", ()))),
        ({"date_from": "2026-05-01"}, lambda row: row.get("date", "") >= "2026-05-01"),
        ({"date_to": "2026-03-30"}, lambda row: row.get("date", "9") <= "2026-03-30"),
        ({"kb_name": "harbour"}, lambda row: row["kb_name"] == "harbour"),
    ],
)
def test_filters_hold_in_every_mode(reader: Agent, mode: str, filters: dict[str, Any], kept: Any) -> None:
    whole = reader.call("kb_search", query="the database", limit=100, mode=mode)["results"]
    found_results = reader.call("kb_search", query="the database", limit=100, mode=mode, **filters)["results"]
    assert sorted(ids(found_results)) == sorted(row["id"] for row in whole if kept(row))
    assert found_results


def test_a_search_gives_bodies_and_chosen_fields_when_asked(reader: Agent) -> None:
    row = reader.call("kb_search", query="restore", limit=1, include_body=True, fields=["title", "body"])["results"][0]
    assert set(row) == {"id", "kb_name", "title", "body"}
    assert row["body"].startswith("# ")


def test_a_blank_query_is_a_syntax_error(reader: Agent) -> None:
    refused = reader.refusal("kb_search", query="   ")
    assert refused["error_code"] == "QUERY_SYNTAX"
    assert refused["retryable"] is False


@pytest.mark.parametrize("query", ['"unclosed phrase', "a AND (b", "title:^^", "-only -negative", "***", "C++ [x] {y}"])
def test_any_other_text_is_searched(reader: Agent, query: str) -> None:
    assert reader.call("kb_search", query=query)["query"] == query


def test_kb_get_gives_the_whole_entry(reader: Agent) -> None:
    entry = reader.call("kb_get", entry_id=RESTORE)["entry"]
    assert set(entry) >= ROW | {"body", "revision", "sources", "links", "outlinks", "backlinks"}
    assert (entry["entry_type"], entry["minutes"], entry["severity"]) == ("runbook", 45, "high")
    assert entry["links"][0] == {
        "target_id": "decisions/0002-off-site-backups",
        "target_kb": "harbour",
        "relation": "depends_on",
        "note": "without the archive there is nothing to restore from",
    }
    assert {"id", "kb_name", "title", "entry_type", "relation", "note"} == set(entry["outlinks"][0])
    assert "runbooks/promote-standby" in ids(entry["outlinks"])
    assert len(entry["revision"]) == 40


def test_an_entry_is_found_by_its_path_too(reader: Agent) -> None:
    assert reader.call("kb_get", entry_id=f"{RESTORE}.md")["entry"]["id"] == RESTORE


def test_a_long_body_is_cut_and_read_on(reader: Agent) -> None:
    whole = reader.call("kb_get", entry_id=RESTORE)["entry"]["body"]
    pieces: list[str] = []
    while True:
        entry = reader.call("kb_get", entry_id=RESTORE, body_offset=len("".join(pieces)), body_limit=300)["entry"]
        pieces.append(entry["body"])
        assert entry["body_length"] == len(whole)
        assert entry["body_chunk_size"] == len(entry["body"]) <= 300
        if not entry["body_truncated"]:
            break
    assert "".join(pieces) == whole


def test_an_unknown_entry_names_the_nearest(reader: Agent) -> None:
    refused = reader.refusal("kb_get", entry_id="runbooks/restore-databse")
    assert refused["error_code"] == "ENTRY_NOT_FOUND"
    assert RESTORE in refused["did_you_mean"]
    assert len(refused["did_you_mean"]) <= 3
    assert refused["suggestion"]


def test_an_unknown_base_is_named(reader: Agent) -> None:
    refused = reader.refusal("kb_get", entry_id=RESTORE, kb_name="harbor")
    assert refused["error_code"] == "KB_NOT_FOUND"
    assert refused["did_you_mean"] == ["harbour"]


def test_several_entries_are_read_at_once(reader: Agent) -> None:
    answer = reader.call(
        "kb_batch_read", entries=[{"entry_id": RESTORE, "kb_name": "harbour"}, {"entry_id": "nowhere"}]
    )
    assert answer["found"] == 1
    assert answer["entries"][0]["id"] == RESTORE
    assert answer["not_found"][0]["entry_id"] == "nowhere"


def test_the_timeline_is_in_order_of_date_and_leaves_undated_entries_out(reader: Agent) -> None:
    answer = reader.call("kb_timeline", limit=200)
    dates = [event["date"] for event in answer["events"]]
    assert dates == sorted(dates)
    assert None not in dates
    assert set(answer["events"][0]) == {"id", "kb_name", "title", "date", "importance", "location", "summary"}
    assert answer["count"] == len(dates)
    within = reader.call("kb_timeline", date_from="2026-02-14", date_to="2026-05-03")["events"]
    assert [event["date"] for event in within] == [day for day in dates if "2026-02-14" <= day <= "2026-05-03"]
    assert reader.call("kb_timeline", limit=2)["has_more"] is True


def test_backlinks_show_the_inverse_relation(reader: Agent) -> None:
    answer = reader.call("kb_backlinks", entry_id="decisions/0002-off-site-backups", kb_name="harbour")
    relations = {back["id"]: back["relation"] for back in answer["backlinks"]}
    assert relations[RESTORE] == "dependency_of"
    assert answer["backlink_count"] == len(answer["backlinks"])
    assert not answer["has_more"]


def test_tags_are_counted_and_nest(reader: Agent) -> None:
    flat = reader.call("kb_tags", limit=200)
    assert flat["tag_count"] == len(flat["tags"])
    counts = [tag["count"] for tag in flat["tags"]]
    assert counts == sorted(counts, reverse=True)
    tree = reader.call("kb_tags", tree=True)["tree"]
    (backup,) = [node for node in tree if node["full_path"] == "backup"]
    assert "backup/restore" in [child["full_path"] for child in backup["children"]]
    assert {tag["tag"] for tag in reader.call("kb_tags", prefix="backup")["tags"]} >= {"backup/restore"}


def test_totals_agree_with_each_other(reader: Agent) -> None:
    stats = reader.call("kb_stats")
    assert stats["total_entries"] == sum(count["count"] for count in stats["type_counts"])
    assert stats["kbs"]["harbour"]["entry_count"] == stats["total_entries"]
    assert stats["total_tags"] == reader.call("kb_tags")["tag_count"]


def test_the_schema_is_what_kb_yaml_declares(reader: Agent) -> None:
    schema = reader.call("kb_schema", kb_name="harbour")
    assert schema["types"]["runbook"]["fields"]["severity"]["options"] == ["low", "medium", "high"]
    assert schema["relationship_types"]["part_of"] == "has_part"
    assert len(schema["evaluation_rubric"]) == 3
    assert "recovery" in schema["goals"]


def test_orientation_holds_all_that_is_needed_to_begin(reader: Agent) -> None:
    answer = reader.call("kb_orient", kb_name="harbour", recent_limit=3)
    named = {"kb", "description", "kb_type", "read_only", "guidelines", "total_entries", "types", "top_tags", "recent"}
    assert set(answer) >= named | {"schema"}
    assert len(answer["recent"]) == 3
    assert len(answer["top_tags"]) <= 10
    assert len(json.dumps(answer)) / 4 < 2_000


def test_entries_are_listed_sorted_and_paged(reader: Agent) -> None:
    page = reader.call("kb_list_entries", sort_by="title", limit=5, offset=5)
    whole = reader.call("kb_list_entries", sort_by="title", limit=200)
    assert page["entries"] == whole["entries"][5:10]
    assert (page["total"], page["limit"], page["offset"], page["has_more"]) == (37, 5, 5, True)
    titles = [row["title"].casefold() for row in whole["entries"]]
    assert titles == sorted(titles)
    back = reader.call("kb_list_entries", sort_by="title", sort_order="desc", limit=200)
    assert sorted(ids(back["entries"])) == sorted(ids(whole["entries"]))
    assert [row["title"].casefold() for row in back["entries"]] == sorted(titles, reverse=True)
    assert all("body" not in row for row in whole["entries"])
    with_body = reader.call("kb_list_entries", fields=["body"], limit=1)["entries"][0]
    assert set(with_body) == {"id", "kb_name", "body"}


def test_entries_are_listed_by_type_and_tag(reader: Agent) -> None:
    rows = reader.call("kb_list_entries", entry_type="runbook", tag="incident")["entries"]
    assert rows
    assert all(row["entry_type"] == "runbook" and "incident" in row.get("tags", ()) for row in rows)


def test_recent_entries_come_newest_first_and_since_counts_before_the_limit(reader: Agent) -> None:
    rows = reader.call("kb_recent", limit=200)["entries"]
    stamps = [row["updated_at"] for row in rows]
    assert stamps == sorted(stamps, reverse=True)
    middle = stamps[len(stamps) // 2][:10]
    since = reader.call("kb_recent", since=middle, limit=200)
    assert since["count"] == sum(stamp[:10] >= middle for stamp in stamps)


def test_quality_names_the_one_broken_link_and_the_one_orphan(reader: Agent) -> None:
    issues = reader.call("kb_qa_validate", severity="info")["issues"]
    assert sorted(issue["rule"] for issue in issues) == ["broken_link", "orphan_entry"]
    assert set(issues[0]) == {"entry_id", "kb_name", "rule", "severity", "field", "message"}
    assert reader.call("kb_qa_validate")["count"] == 1
    element = reader.call("kb_qa_validate", entry_id="topics/monitoring", kb_name="harbour")
    assert [issue["rule"] for issue in element["issues"]] == ["broken_link"]
    status = reader.call("kb_qa_status")
    assert status["issues_by_rule"] == {"broken_link": 1, "orphan_entry": 1}
    assert status["issues_by_severity"] == {"error": 0, "warning": 1, "info": 1}
    assert (status["total_entries"], status["total_issues"]) == (37, 2)


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "named"),
    [
        ("kb_search", {}, "MISSING_PARAMETER", "query"),
        ("kb_search", {"query": "x", "limit": 0}, "VALIDATION_FAILED", "limit"),
        ("kb_search", {"query": "x", "limit": "ten"}, "VALIDATION_FAILED", "limit"),
        ("kb_search", {"query": "x", "mode": "magic"}, "VALIDATION_FAILED", "mode"),
        ("kb_search", {"query": "x", "date_from": "2026-02-30"}, "VALIDATION_FAILED", "date_from"),
        ("kb_search", {"query": "x", "entrytype": "note"}, "VALIDATION_FAILED", "entrytype"),
        ("kb_get", {"entry_id": "x", "body_limit": 50_001}, "VALIDATION_FAILED", "body_limit"),
        ("kb_batch_read", {"entries": []}, "VALIDATION_FAILED", "entries"),
        ("kb_backlinks", {"entry_id": "x"}, "MISSING_PARAMETER", "kb_name"),
        ("kb_timeline", {"min_importance": 11}, "VALIDATION_FAILED", "min_importance"),
    ],
)
def test_arguments_that_break_the_schema_are_refused_by_name(
    reader: Agent, tool: str, arguments: dict[str, Any], code: str, named: str
) -> None:
    refused = reader.refusal(tool, **arguments)
    assert refused["error_code"] == code
    assert named in refused["error"]
    assert refused["retryable"] is False


def test_meaning_without_a_model_says_what_to_do(reader: Agent) -> None:
    refused = reader.refusal("kb_search", query="x", mode="semantic")
    assert refused["error_code"] == "MODEL_MISSING"


def test_what_writes_is_neither_listed_nor_callable(reader: Agent) -> None:
    listed = reader.tools()
    outside = ["kb_create", "kb_bulk_create", "kb_update", "kb_delete", "kb_link", "kb_qa_assess", "kb_index_sync"]
    outside += ["kb_manage", "kb_commit", "kb_push", "nonsense"]
    for name in outside:
        assert name not in listed
        assert reader.protocol_error(name, kb_name="harbour").error.code == -32602
    assert len(listed) == 15
    wire = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.values()]
    tokens = len(json.dumps(wire, separators=(",", ":"), ensure_ascii=False)) / 4
    assert tokens <= 3_500


def test_every_tool_says_what_it_is(reader: Agent) -> None:
    for tool in reader.tools().values():
        assert tool.title
        assert tool.description
        assert tool.output_schema
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        assert tool.annotations.open_world_hint is False
        assert not {"oneOf", "anyOf", "allOf"} & set(tool.input_schema)


def test_prompts_hold_the_instruction_and_the_current_content(reader: Agent) -> None:
    listed = [prompt.name for prompt in reader.run(reader.client.list_prompts).prompts]
    assert listed == ["research_topic", "summarize_entry", "find_connections", "daily_briefing"]

    def told(name: str, **arguments: str) -> str:
        (message,) = reader.run(reader.client.get_prompt, name, arguments).messages
        assert message.role == "user"
        return message.content.text

    assert "post the first" in told("summarize_entry", entry_id=RESTORE)
    assert "no entry 'nowhere'" in told("summarize_entry", entry_id="nowhere")
    connections = told("find_connections", entry_a=RESTORE, entry_b="topics/backups")
    assert "Restore the database after an outage" in connections
    assert "## Backups" in connections
    assert RESTORE in told("research_topic", topic="restore the database")
    assert "last 7 days" in told("daily_briefing")


def test_resources_are_listed_and_read_under_both_schemes(reader: Agent) -> None:
    uris = [str(resource.uri) for resource in reader.run(reader.client.list_resources).resources]
    assert uris[:2] == ["pyrite://kbs", "pyrite://kbs/harbour/entries"]
    templates = [
        resource_template.uri_template
        for resource_template in reader.run(reader.client.list_resource_templates).resource_templates
    ]
    for scheme in ("pyrite", "commonplace"):
        for template in ("kbs/{name}/entries", "entries/{id}", "kbs/{name}/entries/{id}"):
            assert f"{scheme}://{template}" in templates
        for uri in ("entries/runbooks%2Frestore-database", "kbs/harbour/entries/runbooks%2Frestore-database"):
            (content,) = reader.run(reader.client.read_resource, f"{scheme}://{uri}").contents
            entry = json.loads(content.text)
            assert (entry if scheme == "pyrite" else entry["entry"])["id"] == RESTORE
        (content,) = reader.run(reader.client.read_resource, f"{scheme}://kbs/harbour/entries").contents
        entries = json.loads(content.text)
        assert (len(entries) if scheme == "pyrite" else entries["total"]) == 37


def test_the_list_of_a_large_base_says_where_it_ends(tmp_path: Path) -> None:
    for number in range(400):
        (tmp_path / f"n{number:03}.md").write_text(f"---\ntitle: {number:03} {'long ' * 500}\n---\n")
    with agent("mcp", "--toolset", "kb", tmp_path) as client:
        (content,) = client.run(client.client.read_resource, f"commonplace://kbs/{tmp_path.name}/entries").contents
        shown = json.loads(content.text)
        begun = len(shown["entries"])
        assert (shown["total"], shown["has_more"]) == (400, True)
        assert f"offset {begun} " in shown["suggestion"]
        assert len(content.text) < 1_000_000 * 0.75, "clients refuse more, and quoting adds to it"
        following = client.call("kb_list_entries", offset=begun, limit=1)["entries"]
        assert (shown["entries"][-1]["id"], following[0]["id"]) == (f"n{begun - 1:03}", f"n{begun:03}")


def test_both_eras_are_served(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nalpha\n")
    for mode in ("auto", "legacy"):
        with agent("mcp", "--toolset", "kb", tmp_path, mode=mode) as client:
            assert client.call("kb_search", query="alpha")["total"] == 1


def test_a_settings_file_names_several_bases_and_one_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    new_repo(tmp_path / "repo", {"a.md": "# A\n[[b]]\n", "b.md": "# B\n[[a]]\n"}).git(
        "clone", "-q", "--bare", ".", str(bare)
    )
    long = tmp_path / "long"
    long.mkdir()
    for number in range(3):
        (long / f"long-{number}.md").write_text(f"# Long {number}\n\n" + "word " * 4_000)
    (tmp_path / "settings.toml").write_text(f'kb = ["{bare}", "{long}"]\ntier = "write"\ncommit = "manual"\n')
    with agent("mcp", "--toolset", "kb", env={"COMMONPLACE_CONFIG": str(tmp_path / "settings.toml")}) as client:
        listed = {row["name"]: row["read_only"] for row in client.call("kb_list")["knowledge_bases"]}
        assert listed == {"bare": True, "long": False}
        refused = client.refusal("kb_create", kb_name="bare", entry_type="note", title="New")
        assert (refused["error_code"], refused["retryable"]) == ("KB_READ_ONLY", False)
        around = client.call("kb_get", entry_id="a", kb_name="bare")["entry"]
        assert ids(around["outlinks"]) == ids(around["backlinks"]) == ["b"], "links in a circle"
        names = [{"entry_id": f"long-{number}"} for number in range(3)]
        entries = client.call("kb_batch_read", entries=names, body_limit=20_000)["entries"]
    assert 7_900 <= sum(tokens_of(entry["body"]) for entry in entries) <= 8_000
    assert all(entry["body_truncated"] for entry in entries)
    assert [len(entry["body"]) for entry in entries][:2] == [20_000, 20_000]
    assert 0 < len(entries[2]["body"]) < 20_000


def test_a_field_of_an_entry_is_chosen_by_its_name_in_every_answer(tmp_path: Path) -> None:
    text = "---\ntype: note\ntitle: A\nauthor: Ann\nmetadata:\n  grade: 3\n---\nSome words.\n"
    repo = new_repo(tmp_path / "base", {"kb.yaml": "name: base\n", "notes/a.md": text})
    fields = ["id", "author", "grade"]
    with agent("mcp", "--toolset", "kb", repo.path) as client:
        rows = [
            client.call("kb_list_entries", fields=fields)["entries"][0],
            client.call("kb_recent", fields=fields)["entries"][0],
            client.call("kb_search", query="words", fields=fields)["results"][0],
            client.call("kb_get", entry_id="notes/a", fields=fields)["entry"],
        ]
        (entry,) = client.call("kb_batch_read", entries=[{"entry_id": "notes/a"}], fields=fields)["entries"]
    for row in (*rows, entry):
        assert {key: row.get(key) for key in ("author", "grade")} == {"author": "Ann", "grade": 3}, row
