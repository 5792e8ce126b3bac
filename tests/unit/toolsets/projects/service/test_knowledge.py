"""Documents of a project: made, found by any of their names, searched and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.errors import AlreadyExistsError, InvalidInputError, NotFoundError, TooLargeError
from commonplace.toolsets.projects.remote.setup import open_project_store
from commonplace.toolsets.projects.rules.limits import MAX_CHAPTERS
from commonplace.toolsets.projects.service import knowledge
from commonplace.toolsets.projects.service.knowledge import NewDocument
from commonplace.toolsets.projects.service.project_store import IDENTITY, ProjectStore


@pytest.fixture
def projects(tmp_path: Path) -> Iterator[ProjectStore]:
    opened = open_project_store(tmp_path / "store", tmp_path / "state", IDENTITY)
    yield ProjectStore(str(opened.path), opened.store, opened.folders, opened.origin, opened.activity)
    opened.origin.close()
    opened.activity.close()


def new(filename: str = "Über Auth.md", **changes: object) -> NewDocument:
    given_values = {
        "title": "Authentication",
        "introduction": "How users sign in.",
        "keywords": ["auth"],
        "chapters": [("Tokens", "Tokens expire.\n"), ("Keys", "The walrus rotates keys.")],
        **changes,
    }
    return NewDocument(filename=filename, **given_values)


def test_a_document_is_found_by_its_stored_name_and_the_one_it_was_made_with(projects: ProjectStore) -> None:
    name = knowledge.create_document(projects, "app", new())
    for filename in (name, name.removesuffix(".md"), "Über Auth.md"):
        assert knowledge.get_document(projects, "app", filename).address.name == name
    metadata = knowledge.metadata(knowledge.get_document(projects, "app", name))
    assert (metadata.title, metadata.keywords) == ("Authentication", ("auth",))
    with pytest.raises(AlreadyExistsError):
        knowledge.create_document(projects, "app", new("über auth"))


def test_a_document_or_a_project_that_is_not_there_is_told(projects: ProjectStore) -> None:
    with pytest.raises(NotFoundError) as no_project:
        knowledge.get_document(projects, "App", "x")
    assert no_project.value.kind == "project"
    knowledge.create_document(projects, "app", new())
    for ask in (
        lambda: knowledge.get_document(projects, "app", "none"),
        lambda: knowledge.delete_document(projects, "app", "none"),
    ):
        with pytest.raises(NotFoundError) as no_document:
            ask()
        assert no_document.value.kind == "document"
    with pytest.raises(InvalidInputError):
        knowledge.get_document(projects, "app", "../main.md")


@pytest.mark.parametrize(
    "changes",
    [
        {"filename": ""},
        {"filename": "a/b"},
        {"title": ""},
        {"introduction": "x" * 5000},
        {"chapters": [("", "text")]},
        {"chapters": [("T", "x")] * (MAX_CHAPTERS + 1)},
        {"keywords": ["x" * 60]},
    ],
)
def test_what_is_over_a_limit_is_refused_and_nothing_is_made(
    projects: ProjectStore, changes: dict[str, object]
) -> None:
    with pytest.raises((InvalidInputError, TooLargeError)):
        knowledge.create_document(projects, "app", new(**changes))
    assert projects.registry().folders == {}


def test_a_search_finds_words_that_carry_meaning_in_chapters(projects: ProjectStore) -> None:
    knowledge.create_document(projects, "app", new())
    knowledge.create_document(projects, "app", new("other", title="Other", chapters=[("None", "Nothing here.")]))
    matches = knowledge.search_documents(projects, "app", "where is the WALRUS?")
    assert (matches.total_documents, matches.total_matches) == (1, 1)
    assert knowledge.search_documents(projects, "app", "rotates, walrus!").matches[0].keywords == ("rotates", "walrus")
    assert knowledge.search_documents(projects, "app", "zebra").matches == ()
    assert knowledge.search_documents(projects, "app", "the").total_documents > 0, "a stop word alone is searched for"
    assert len(knowledge.search_documents(projects, "app", "here walrus", limit=1).matches) == 1
    with pytest.raises(InvalidInputError):
        knowledge.search_documents(projects, "app", " ")


def test_documents_are_listed_by_name_and_a_deleted_one_is_gone_from_lists_and_searches(projects: ProjectStore) -> None:
    for name in ("b", "a"):
        knowledge.create_document(projects, "app", new(name))
    assert [document.filename for document in knowledge.list_documents(projects, "app")] == ["a.md", "b.md"]
    assert knowledge.delete_document(projects, "app", "a") == "a.md"
    assert [document.filename for document in knowledge.list_documents(projects, "app")] == ["b.md"]
    assert knowledge.search_documents(projects, "app", "walrus").total_documents == 1
