"""`search_knowledge` stays within what an agent can afford, and says what it left out."""

from __future__ import annotations

import pytest

from commonplace.domain.tokens import size_of
from commonplace.toolsets.projects.mcp import documents, parameters
from commonplace.toolsets.projects.mcp.documents import (
    MAX_ANSWER_SIZE,
    MAX_EXCERPTS,
    MAX_SHOWN_CHAPTERS,
    create_knowledge_file,
)
from commonplace.toolsets.projects.service.project_store import ProjectStore

WORDS = "alpha beta gamma delta"


@pytest.fixture
def filled(projects: ProjectStore) -> ProjectStore:
    """Thirty documents of ten long chapters each."""
    for number in range(30):
        chapters = [
            parameters.NewChapter(title=f"Chapter {at}", content=f"{WORDS}. " + "Further words here. " * 40)
            for at in range(10)
        ]
        create_knowledge_file(
            projects,
            parameters.CreateFile(
                project_id="shop",
                filename=f"doc{number:02}",
                title=f"Document {number}",
                introduction="",
                keywords=["tea"],
                chapters=chapters,
            ),
        )
    return projects


def found(projects: ProjectStore, query: str, limit: int | None = None) -> dict[str, object]:
    knowledge = parameters.SearchKnowledge(project_id="shop", query=query, limit=limit)
    return dict(documents.search_knowledge(projects, knowledge).values)


def test_without_a_limit_an_answer_is_as_long_as_an_agent_can_afford(filled: ProjectStore) -> None:
    answer = found(filled, WORDS)
    results = answer["results"]
    assert isinstance(results, list)
    assert 0 < len(results) < 30
    assert size_of(documents.indented_text(answer, 0)) * 2 <= MAX_ANSWER_SIZE + 500  # type: ignore[arg-type]
    assert (answer["total_documents"], answer["message"]) == (
        30, f"Showing {len(results)} of 30 documents; pass limit=20 for more.",
    )  # fmt: skip
    for row in results:
        assert len(row["matching_chapters"]) <= MAX_SHOWN_CHAPTERS
        assert all(len(part["match_context"]) <= MAX_EXCERPTS for part in row["matching_chapters"])


def test_with_a_limit_as_many_documents_are_named(filled: ProjectStore) -> None:
    answer = found(filled, WORDS, 25)
    assert len(answer["results"]) == 25  # type: ignore[arg-type]
    assert "message" not in answer


def test_what_is_nowhere_is_an_empty_answer(filled: ProjectStore) -> None:
    assert found(filled, "zzqq") == {"total_documents": 0, "total_matches": 0, "results": []}
