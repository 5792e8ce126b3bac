"""The acceptance suites on replicas, also of a cluster: samples here, all of them in `make soak`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from deployments.left_out import LEFT_OUT
from deployments.suites import SUITES, run_suites

HERE = Path(__file__).resolve().parents[1]
DEPLOYMENTS = ("replica", "cluster")
SAMPLE = (
    "notes/test_notes_writing.py::test_several_changes_of_a_page_are_one_commit_and_change_nothing_else",
    "kb/test_kb_writing.py::test_a_created_entry_keeps_every_field_and_is_found_at_once",
    "test_wiki_writing.py::test_notes_are_written_edited_renamed_and_deleted_one_commit_each",
    "pages/test_tools.py::test_a_search_shows_every_field_of_every_hit",
    "http/test_rest.py::test_a_page_lives_through_put_patch_rename_and_delete",
    "web/test_pages.py::test_what_an_agent_sees_is_what_mcp_gives",
    "cli/test_writing.py::test_a_rename_takes_its_links_along_in_one_commit",
)
"""A test of each face."""


@pytest.fixture
def engine(deployment: str, request: pytest.FixtureRequest) -> str:
    """URL of the search cluster; "" for a deployment without one."""
    return str(request.getfixturevalue("opensearch_url")) if deployment == "cluster" else ""


def test_every_test_that_is_left_out_is_in_the_suites() -> None:
    texts = [file.read_text(encoding="utf-8") for file in HERE.rglob("test_*.py")]
    assert [name for name in LEFT_OUT if not any(f"def {name}(" in text for text in texts)] == []


@pytest.mark.soak
@pytest.mark.parametrize("deployment", DEPLOYMENTS)
def test_a_client_sees_no_difference_on_any_face(deployment: str, engine: str, tmp_path: Path) -> None:
    report = run_suites(deployment, SAMPLE, tmp_path, engine=engine)
    assert report.failed == [], report.output
    assert set(report.outcomes) == {"passed"}
    assert report.outcomes["passed"] >= len(SAMPLE)


@pytest.mark.soak
@pytest.mark.parametrize("deployment", DEPLOYMENTS)
def test_the_suites_pass_but_for_what_means_something_else(
    deployment: str, engine: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    report = run_suites(deployment, SUITES, tmp_path, engine=engine, workers=2)
    for outcome, number in report.outcomes.items():
        record_property(outcome, number)
    assert report.failed == [], report.output
    assert [reason for reason in report.skipped if reason not in LEFT_OUT.values()] == []
