"""The codes of the `projects` toolset for what no caller can bring about by its arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases import each_case
from commonplace.domain.addresses import parse_address
from commonplace.domain.errors import (
    Code,
    GitError,
    IndexingError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    RateLimitedError,
    StorageError,
)
from commonplace.store.git_command import run_git
from commonplace.toolsets.projects.mcp.call_envelope import code_of, show_error


def test_a_git_command_that_fails_has_a_code_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(GitError) as caught:
        run_git(tmp_path, ["rev-parse", "HEAD"])
    assert code_of(caught.value, "update_project_main") == "GIT_COMMAND_FAILED"
    assert code_of(caught.value, "delete_project") == "PROJECT_DELETE_FAILED"


def test_a_path_that_leads_out_has_a_code_of_its_own() -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_address("../x.md")
    assert code_of(caught.value, "get_knowledge_file") == "INVALID_PATH"


@each_case(
    ("error", "method", "code"),
    [
        (NotFoundError("gone"), "get_chapter", "NOT_FOUND"),
        (GitError("damaged", kind="repository"), "add_chapter", "GIT_ERROR"),
        (GitError("damaged", kind="repository"), "delete_project", "PROJECT_DELETE_FAILED"),
        (StorageError("full"), "delete_project", "PROJECT_DELETE_FAILED"),
        (StorageError("unreadable"), "search_knowledge", "SEARCH_ERROR"),
        (KnowledgeError("unforeseen"), "search_knowledge", "SEARCH_ERROR"),
        (KnowledgeError("unforeseen"), "get_chapter", "INTERNAL_ERROR"),
        (RateLimitedError("slower"), "get_chapter", "UNKNOWN_ERROR"),
        (IndexingError("later"), "get_chapter", "UNKNOWN_ERROR"),
    ],
)
def test_an_error_of_the_product_has_the_code_of_the_contract(error: KnowledgeError, method: str, code: str) -> None:
    assert code_of(error, method) == code


def test_every_error_of_the_product_has_a_code_and_an_envelope() -> None:
    for kind in KnowledgeError.__subclasses__():
        shown = show_error(kind("It failed in projects/x/knowledge/a.md"))
        assert shown["success"] is False
        assert isinstance(shown["code"], str)
        assert "projects/" not in str(shown["error"])
    assert {kind.code for kind in KnowledgeError.__subclasses__()} | {Code.INTERNAL} >= set(Code)
