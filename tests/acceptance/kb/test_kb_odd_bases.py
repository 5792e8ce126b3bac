"""Bases that people made by hand, with what nobody expects in them, over the real process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import Agent, agent

FILES = {
    "kb.yaml": "name: Odd\ntypes:\n  plain: {}\n  bare:\n  full: {description: With words}\n",
    "first.md": "---\nid: 42\ntitle: First\n---\nSee [1] and a[0]; the rest is in [the other](second.md).\n",
    "second.md": "---\nid: '42'\ntitle: Second\n---\nBadger.\n",
    "third.md": "---\ntitle: Third\n---\nWalrus.\n",
}


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    folder: Path = tmp_path_factory.mktemp("odd")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    with agent("mcp", "--toolset", "kb", folder, "--tier", "admin", "--no-embed") as connected:
        yield connected


def test_an_id_that_occurs_twice_means_neither_and_the_answer_names_the_paths(odd: Agent) -> None:
    for tool, arguments in (
        ("kb_get", {"entry_id": "42"}),
        ("kb_get", {"entry_id": "42", "kb_name": "Odd"}),
        ("kb_update", {"entry_id": "42", "kb_name": "Odd", "title": "No"}),
        ("kb_link", {"source_id": "42", "source_kb": "Odd", "target_id": "third"}),
        ("kb_delete", {"entry_id": "42", "kb_name": "Odd"}),
    ):
        said = odd.refusal(tool, **arguments)
        assert said["error_code"] == "ENTRY_NOT_FOUND", tool
        assert said["did_you_mean"] == ["first.md", "second.md"], tool
        assert "2 documents" in said["error"], tool
    for path in said["did_you_mean"]:
        assert odd.call("kb_get", entry_id=path)["entry"]["file_path"] == path


def test_a_declared_type_that_says_nothing_is_a_declared_type(odd: Agent) -> None:
    assert list(odd.call("kb_schema", kb_name="Odd")["types"])[-3:] == ["plain", "bare", "full"]
    assert list(odd.call("kb_orient", kb_name="Odd")["schema"]["types"])[-3:] == ["plain", "bare", "full"]
    described = odd.call("kb_manage", action="set_schema", kb_name="Odd", schema={"description": "Odd things"})
    assert described == {"set": True, "kb_name": "Odd", "type_count": 3}


def test_brackets_that_are_no_link_stay_in_a_snippet(odd: Agent) -> None:
    (found_value,) = odd.call("kb_search", query="rest")["results"]
    assert found_value["snippet"] == "See [1] and a[0]; the rest is in the other."


def test_a_link_says_how(odd: Agent) -> None:
    said = odd.refusal("kb_link", source_id="third", source_kb="Odd", target_id="first", relation="")
    assert said["error_code"] == "VALIDATION_FAILED"
    assert "relation" in said["error"]


def test_checks_of_a_folder_without_kb_yaml_have_the_severities_of_the_contract(tmp_path: Path) -> None:
    files = {
        "one.md": "# Twin\n\nText.\n",
        "two.md": "# Twin\n\nText.\n",
        "bad.md": "---\ndate: soon\nimportance: 11\n---\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    contract = {"empty_body": "warning", "importance_range": "warning", "invalid_date": "error"}
    with agent("mcp", "--toolset", "kb", tmp_path, "--tier", "admin", "--no-embed") as kb:
        for answer in (kb.call("kb_qa_validate"), kb.call("kb_qa_validate", entry_id="bad")):
            severities = {issue["rule"]: issue["severity"] for issue in answer["issues"] if issue["entry_id"] == "bad"}
            assert severities == contract
        twins = [
            issue["severity"] for issue in kb.call("kb_qa_validate")["issues"] if issue["rule"] == "duplicate_title"
        ]
        assert twins == ["warning", "warning"]
        assert kb.call("kb_qa_status")["issues_by_severity"]["error"] == 1
        written = kb.call("kb_create", kb_name=tmp_path.name, entry_type="note", title="New", validate=True)
        assert {issue["rule"]: issue["severity"] for issue in written["qa_issues"]} == {"empty_body": "warning"}
        assert kb.call("kb_qa_assess", kb_name=tmp_path.name, entry_id="bad")["qa_status"] == "fail"
