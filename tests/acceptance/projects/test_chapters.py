"""Chapters and sections of the toolset `projects`: an edit changes what it names and nothing that nobody was shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import Agent
from knowledge import CHAPTERS, clean, create, empty, failure, projects, subjects


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Agent]]:
    """One server for the tests of this file, and its store."""
    store = tmp_path_factory.mktemp("shared") / "home"
    with projects(store) as connected:
        yield store, connected


@pytest.fixture
def home(shared: tuple[Path, Agent]) -> Path:
    return shared[0]


@pytest.fixture
def client(shared: tuple[Path, Agent]) -> Iterator[Agent]:
    yield shared[1]
    empty(shared[1])


def test_chapters_are_listed_read_and_changed_one_at_a_time(home: Path, client: Agent) -> None:
    create(
        client,
        chapters=[*CHAPTERS, {"title": "Deep", "content": "Top.\n\n### Inner\n\nInner text.\n\n##### Five\n\nx"}],
    )
    where = {"project_id": "app", "filename": "auth.md"}
    listed = client.call("list_chapters", **where)
    assert listed["total_chapters"] == 4
    assert [(c["title"], c["index"], c["summary"]) for c in listed["chapters"]] == [
        ("Tokens", 0, "Tokens expire."),
        ("Keys", 1, "Keys rotate."),
        ("Deep", 2, "Top."),
        ("Inner", 3, "Inner text."),
    ]
    assert client.call("get_chapter", **where, chapter_title="Deep") == {
        "success": True,
        "title": "Deep",
        "content": "## Deep\n\nTop.",
        "summary": "Top.",
        "index": 2,
        "total_chapters": 4,
        "has_next": True,
        "has_previous": True,
    }
    assert (
        client.call("get_chapter", **where, chapter_index=3)["content"] == "### Inner\n\nInner text.\n\n##### Five\n\nx"
    )
    assert client.call("get_next_chapter", **where, current_chapter_title="Tokens")["title"] == "Keys"
    assert client.call("get_next_chapter", **where, current_index=1)["title"] == "Deep"
    last = client.call("get_next_chapter", **where, current_index=3)
    assert last["has_next"] is False
    assert last["message"]
    assert last["content"] is None
    client.call(
        "update_chapter", **where, chapter_title="Keys", new_content="Keys never rotate.", new_summary="In short."
    )
    assert subjects(home)[0] == "Update knowledge for app: Updated chapter 'Keys' in auth.md"
    shown = client.call("get_chapter", **where, chapter_title="Keys")
    assert shown["content"] == "## Keys\n\nIn short.\n\nKeys never rotate."
    assert shown["summary"] == "In short."
    clean(home)


def test_chapters_are_added_and_removed_where_they_are_meant(home: Path, client: Agent) -> None:
    chapters = [*CHAPTERS, {"title": "Deep", "content": "Top.\n\n### Inner\n\nInner text."}]
    create(client, chapters=chapters)
    where = {"project_id": "app", "filename": "auth.md"}
    client.call("add_chapter", **where, chapter_title="New", content="n", position="before", reference_chapter="Keys")
    client.call("add_chapter", **where, chapter_title="After", content="n", position="after", reference_chapter="Deep")
    client.call("add_chapter", **where, chapter_title="Last", content="n")
    titles = [c["title"] for c in client.call("list_chapters", **where)["chapters"]]
    assert titles == ["Tokens", "New", "Keys", "Deep", "Inner", "After", "Last"]
    client.call("remove_chapter", **where, chapter_title="Deep")
    titles = [c["title"] for c in client.call("list_chapters", **where)["chapters"]]
    assert titles == ["Tokens", "New", "Keys", "After", "Last"]
    for tool in ("get_chapter", "update_chapter", "remove_chapter"):
        more = {"new_content": "x"} if tool == "update_chapter" else {}
        assert failure(client, tool, **where, chapter_title="tokens", **more) == "CHAPTER_NOT_FOUND"
    assert failure(client, "get_chapter", **where, chapter_index=5) == "CHAPTER_NOT_FOUND"
    assert failure(client, "get_chapter", **where) == "INVALID_INPUT"
    assert failure(client, "add_chapter", **where, chapter_title="T", content="x", position="before") == "INVALID_INPUT"
    clean(home)


def test_an_update_replaces_what_was_shown_and_subsections_only_by_others(home: Path, client: Agent) -> None:
    content = "a text\n\n##### Aside\n\nshown too\n\n### Sub\n\nprecious\n\n#### Deeper\n\nprecious, too"
    create(client, chapters=[{"title": "A", "content": content}, {"title": "B", "content": "b"}])
    where = {"project_id": "app", "filename": "auth"}
    shown = client.call("get_chapter", **where, chapter_title="A")["content"]
    assert "Aside" in shown
    assert "precious" not in shown
    file = home / "projects/app/knowledge/auth.md"
    before = file.read_text().partition("## A\n")[2]
    done = client.call("update_chapter", **where, chapter_title="A", new_content=shown.replace("a text", "edited"))
    assert done["message"] == "Chapter 'A' updated successfully"
    assert file.read_text().partition("## A\n")[2] == before.replace("a text", "edited")

    client.call("update_chapter", **where, chapter_title="A", new_content="```\n### Not a heading\n```")
    assert "precious, too" in file.read_text()
    done = client.call("update_chapter", **where, chapter_title="Sub", new_content="other")
    assert done["message"] == "Chapter 'Sub' updated successfully"
    assert "#### Deeper\n\nprecious, too" in file.read_text()

    done = client.call("update_chapter", **where, chapter_title="A", new_content="new\n\n### Own\n\ntext")
    assert done["message"] == "Chapter 'A' updated successfully, with 2 subsections: 'Sub', 'Deeper'"
    assert file.read_text().partition("## A\n")[2] == "\nnew\n\n### Own\n\ntext\n\n## B\n\nb\n"
    clean(home)


def test_chapters_in_new_content_are_added_behind_the_subsections_that_nobody_was_shown(
    home: Path, client: Agent
) -> None:
    content = "a text\n\n### Sub\n\nprecious\n\n### Other\n\no"
    create(client, chapters=[{"title": "A", "content": content}, {"title": "B", "content": "b"}])
    where = {"project_id": "app", "filename": "auth"}
    file = home / "projects/app/knowledge/auth.md"
    client.call("update_chapter", **where, chapter_title="A", new_content="## A\n\nnew\n\n## Added\n\nx\n\n### Y\n\ny")
    assert file.read_text().partition("## A\n")[2] == (
        "\nnew\n\n### Sub\n\nprecious\n\n### Other\n\no\n\n## Added\n\nx\n\n### Y\n\ny\n\n## B\n\nb\n"
    )
    client.call("update_chapter", **where, chapter_title="Sub", new_content="s\n\n## Above\n\nz")
    text = "s\n\n### Other\n\no\n\n## Above\n\nz\n\n## Added\n"
    assert text in file.read_text()
    before = file.read_bytes()
    shown = client.refusal("update_chapter", **where, chapter_title="A", new_content="new\n\n## B\n\nagain")
    assert (shown["code"], shown["error"]) == ("FILE_ALREADY_EXISTS", "Chapter 'B' already exists")
    assert failure(client, "update_chapter", **where, chapter_title="A", new_content="n\n\n## C\n\n```\nopen") == (
        "INVALID_CONTENT"
    )
    assert file.read_bytes() == before
    client.call("update_chapter", **where, chapter_title="B", new_content="b\n\n## Last\n\n```\n## code\n```")
    assert file.read_text().endswith("## B\n\nb\n\n## Last\n\n```\n## code\n```\n")
    clean(home)


def test_a_removal_names_the_subsections_that_it_takes(client: Agent) -> None:
    create(client, chapters=[{"title": "A", "content": "a\n\n### Sub\n\nx\n\n##### Note\n\ny"}, *CHAPTERS])
    where = {"project_id": "app", "filename": "auth"}
    done = client.call("remove_chapter", **where, chapter_title="A")
    assert done["message"] == "Chapter 'A' removed successfully, with 1 subsection: 'Sub'"
    done = client.call("remove_chapter", **where, chapter_title="Keys")
    assert done["message"] == "Chapter 'Keys' removed successfully"
    of = {"project_id": "app", "section_header": "## Build"}
    client.call("update_project_main", project_id="app", content="## Build\n\nx\n\n### Tools\n\ny\n\n## Test\n\nz\n")
    done = client.call("update_project_section", **of, new_content="make\n\n### Fast\n\nmake -j")
    assert done["message"] == "Section '## Build' updated successfully, with 1 subsection: 'Tools'"
    assert client.call("remove_project_section", **of)["message"].endswith(", with 1 subsection: 'Fast'")


def test_a_chapter_whose_title_is_there_is_not_added_again(home: Path, client: Agent) -> None:
    create(client, chapters=[{"title": "A", "content": "a\n\n### `Sub` one\n\nx"}])
    file = home / "projects/app/knowledge/auth.md"
    before = file.read_bytes()
    where = {"project_id": "app", "filename": "auth"}
    for title in ("A", " A ", "`Sub` one"):
        shown = client.refusal("add_chapter", **where, chapter_title=title, content="again")
        assert (shown["code"], shown["error"]) == ("FILE_ALREADY_EXISTS", f"Chapter '{title.strip()}' already exists")
        assert "update_chapter" in shown["context"]["hint"]
    assert file.read_bytes() == before
    client.call("add_chapter", **where, chapter_title="a", content="another one: titles are case-sensitive")


def test_what_is_not_there_is_answered_with_what_may_be_meant(client: Agent) -> None:
    create(client, project_id="My Program")
    shown = client.refusal("list_knowledge_files", project_id="my program")
    assert shown["context"]["available"] == ["My Program"]
    assert shown["context"]["hint"].startswith("Did you mean 'My Program'?")
    shown = client.refusal("get_chapter", project_id="My Program", filename="auth", chapter_index=2)
    assert shown["error"] == "Chapter index 2 is out of range: the document has 2 chapters, counted from 0"
    assert client.call("create_todo", project_id="My Program", description="x")["message"] == "Created TODO #1"


def test_of_several_chapters_with_one_title_the_first_is_meant(client: Agent) -> None:
    create(client, chapters=[{"title": "Same", "content": "one"}, {"title": "Same", "content": "two"}])
    where = {"project_id": "app", "filename": "auth"}
    assert "one" in client.call("get_chapter", **where, chapter_title="Same")["content"]
    client.call("remove_chapter", **where, chapter_title="Same")
    assert "two" in client.call("get_chapter", **where, chapter_title="Same")["content"]


def test_content_that_would_hide_a_chapter_is_refused(home: Path, client: Agent) -> None:
    create(client)
    before = (home / "projects/app/knowledge/auth.md").read_bytes()
    where = {"project_id": "app", "filename": "auth"}
    assert (
        failure(client, "update_chapter", **where, chapter_title="Tokens", new_content="```\nopen") == "INVALID_CONTENT"
    )
    assert (home / "projects/app/knowledge/auth.md").read_bytes() == before


MAIN = "# App\n\n## A\n\na\n\n### S1\n\none\n\n### S2\n\ntwo\n\n## B\n\nb\n"


@pytest.mark.parametrize(
    ("header", "content", "expected"),
    [
        ("### S1", "new\n\n## C\n\nc", MAIN.replace("one", "new").replace("## B", "## C\n\nc\n\n## B")),
        ("## A", "new\n\n# Top\n\nt", "# App\n\n## A\n\nnew\n\n## B\n\nb\n\n# Top\n\nt\n"),
        ("## A", "## A\n\nnew\n\n## New\n\nn", "# App\n\n## A\n\nnew\n\n## New\n\nn\n\n## B\n\nb\n"),
        ("### S2", "new\n\n```\n# no heading\n```", MAIN.replace("two", "new\n\n```\n# no heading\n```")),
    ],
)  # fmt: skip
def test_headings_above_a_section_take_no_other_section(
    client: Agent, header: str, content: str, expected: str
) -> None:
    client.call("update_project_main", project_id="app", content=MAIN)
    client.call("update_project_section", project_id="app", section_header=header, new_content=content)
    assert client.call("get_project_main", project_id="app")["content"] == expected


@pytest.mark.parametrize("tool", ["update_project_section", "add_project_section"])
@pytest.mark.parametrize("text", ["x\n\n## B\n\nagain", "x\n\n### S3\n\nagain\n\n### S3"])
def test_a_section_that_is_there_is_not_added_again(client: Agent, tool: str, text: str) -> None:
    client.call("update_project_main", project_id="app", content=MAIN)
    where = {"position": "before", "reference_header": "### S2", "section_header": "### S3", "content": text}
    named = {"section_header": "### S1", "new_content": text.replace("### S3", "### S1")}
    arguments = where if tool.startswith("add") else named
    assert failure(client, tool, project_id="app", **arguments) == "SECTION_ALREADY_EXISTS"
    assert client.call("get_project_main", project_id="app")["content"] == MAIN


def test_an_added_section_takes_no_other_section(client: Agent) -> None:
    client.call("update_project_main", project_id="app", content=MAIN)
    where = {"position": "before", "reference_header": "### S2", "section_header": "### New"}
    client.call("add_project_section", project_id="app", **where, content="n\n\n## More\n\nm\n\n# Top\n\nt")
    expected = MAIN.replace("### S2", "### New\n\nn\n\n### S2") + "\n## More\n\nm\n\n# Top\n\nt\n"
    assert client.call("get_project_main", project_id="app")["content"] == expected


def test_an_added_chapter_takes_no_other_chapter(client: Agent) -> None:
    create(
        client,
        chapters=[{"title": "A", "content": "a\n\n### S1\n\none\n\n### S2\n\ntwo"}, {"title": "B", "content": "b"}],
    )
    where = {"project_id": "app", "filename": "auth.md"}
    place = {"position": "after", "reference_chapter": "S1"}
    client.call(
        "add_chapter", **where, chapter_title="N", content="### N\n\nn\n\n#### Deep\n\nd\n\n## More\n\nm", **place
    )
    text = client.call("get_knowledge_file", **where)["document"]["full_content"].partition("\n## ")[2]
    assert text == (
        "A\n\na\n\n### S1\n\none\n\n### N\n\nn\n\n#### Deep\n\nd\n\n### S2\n\ntwo\n\n## More\n\nm\n\n## B\n\nb\n"
    )
    for content in ("x\n\n## B\n\nagain", "x\n\n## Own\n\nagain"):
        assert failure(client, "add_chapter", **where, chapter_title="Own", content=content) == "FILE_ALREADY_EXISTS"
    assert client.call("list_chapters", **where)["total_chapters"] == 7


def test_a_chapter_that_repeats_its_heading_has_it_once(client: Agent) -> None:
    create(client, chapters=[{"title": "A", "content": "## A\n\na"}])
    where = {"project_id": "app", "filename": "auth.md"}
    client.call("add_chapter", **where, chapter_title="B", content="##  B\n\nb")
    assert [chapter["title"] for chapter in client.call("list_chapters", **where)["chapters"]] == ["A", "B"]
