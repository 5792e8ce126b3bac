"""`--confirm`: the client asks its person before a write, in both eras; what was shown is what is written."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp_types import ElicitRequestParams, ElicitResult

from agent import Agent, RefusedError, agent
from at_propose import served
from support import GitRepo, new_repo

ERAS = ("auto", "legacy")
Mode = Literal["auto", "legacy"]
Action = Literal["accept", "decline", "cancel"]
PAGES: dict[str, str | bytes] = {"a.md": "# A\n\none\n", "b.md": "# B\n\n[a](a.md)\n"}
REPLACE = {"page": "a", "changes": [{"do": "replace", "old": "one", "text": "ONE"}]}


class Person:
    """Who answers the questions of a server."""

    def __init__(self, answer: str = "yes", word: str = "", action: Action = "accept") -> None:
        self.asked: list[str] = []
        self.answer, self.word, self.action = answer, word, action
        self.meanwhile: Callable[[], object] = lambda: None
        """Called before an answer."""

    async def __call__(self, _context: object, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params.message)
        self.meanwhile()
        self.meanwhile = lambda: None
        if self.action != "accept":
            return ElicitResult(action=self.action)
        return ElicitResult(action="accept", content={"answer": self.answer, "word": self.word})


@contextmanager
def asking(
    repo: GitRepo, person: Person | None, confirm: str = "always", mode: Mode = "auto", toolset: str = "notes"
) -> Generator[Agent]:
    """An agent at a server that asks first; None for a client that cannot ask."""
    more: dict[str, Any] = {"elicitation_callback": person} if person else {}
    line = ("mcp", repo.path, "--toolset", toolset, "--tier", "write", "--commit", "auto", "--no-embed")
    with agent(*line, "--confirm", confirm, mode=mode, **more) as client:
        yield client


def branches(repo: GitRepo) -> list[str]:
    return repo.git("branch", "--list", "proposals/*", "--format=%(refname:short)").split()


@pytest.mark.parametrize("mode", ERAS)
def test_a_write_is_shown_and_made_as_shown(tmp_path: Path, mode: Mode) -> None:
    repo, person = new_repo(tmp_path / "tea", PAGES), Person()
    with asking(repo, person, mode=mode) as client:
        client.text("read", page="a")
        said = client.text("edit", **REPLACE)
        assert "PROPOSED" not in said
        assert client.text("move", page="a", to="sub/c").startswith("Moved")
    first, second = person.asked
    assert "-one\n+ONE" in first
    assert "Digest: " in first
    assert "renamed from a.md to sub/c.md" in second
    assert (repo.path / "sub" / "c.md").read_text() == "# A\n\nONE\n"
    assert (repo.path / "b.md").read_text() == "# B\n\n[a](sub/c.md)\n"
    assert branches(repo) == []
    assert repo.git("rev-list", "--count", "HEAD") == "3"
    assert repo.git("rev-parse", "--short=12", "HEAD~1") in said


def test_what_only_the_trash_has_comes_back_and_no_diff_moves_a_terminal_s_cursor(tmp_path: Path) -> None:
    repo, person = new_repo(tmp_path / "tea", PAGES), Person()
    (repo.path / "c.md").write_text("# C\n\nnever committed \x1b[2K\u202egnp\u202c\n")
    with asking(repo, person) as client:
        client.text("read", page="c")
        assert "Back: restore" in client.text("delete", page="c")
        assert client.text("restore", page="c").startswith("Restored c.md")
    assert "never committed" in (repo.path / "c.md").read_text()
    assert ["-never committed \\x1b[2K\\u202egnp\\u202c" in question for question in person.asked] == [True, False]
    assert not {"\x1b", "\u202e"} & set("".join(person.asked))


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_a_no_writes_nothing_and_its_words_arrive(tmp_path: Path, mode: Mode, action: Action) -> None:
    repo, person = new_repo(tmp_path / "tea", PAGES), Person("no", "Keep it", action)
    with asking(repo, person, mode=mode) as client:
        client.text("read", page="a")
        before = served(repo.path)
        said = {"accept": "said no: Keep it", "decline": "said no", "cancel": "closed the question without an answer"}
        with pytest.raises(RefusedError, match=f"The person {said[action]}"):
            client.text("edit", **REPLACE)
        assert served(repo.path) == before
        assert branches(repo) == []
        person.answer, person.action = "yes", "accept"
        client.text("edit", **REPLACE)
    assert "ONE" in (repo.path / "a.md").read_text()


@pytest.mark.parametrize("mode", ERAS)
def test_an_answer_can_leave_it_as_a_proposal(tmp_path: Path, mode: Mode) -> None:
    repo, person = new_repo(tmp_path / "tea", PAGES), Person("as a proposal")
    with asking(repo, person, mode=mode) as client:
        client.text("read", page="a")
        before = served(repo.path)
        assert "PROPOSED, not yet in the base" in client.text("edit", **REPLACE)
        assert served(repo.path) == before
        (branch,) = branches(repo)
        name = branch.partition("/")[2]
        assert name in client.text("proposals", action="list")
        person.answer = "no"
        for call in ({"action": "accept", "id": name}, {"action": "undo", "id": "HEAD"}):
            with pytest.raises(RefusedError, match="The person said no"):
                client.text("proposals", **call)
        assert served(repo.path) == before
        person.answer = "yes"
        client.text("proposals", action="accept", id=name)
        assert "ONE" in (repo.path / "a.md").read_text()
        client.text("proposals", action="undo", id="HEAD")
    assert "one" in (repo.path / "a.md").read_text()
    accepted, undone = person.asked[-2:]
    assert "-one\n+ONE" in accepted
    assert "-ONE\n+one" in undone
    assert len(person.asked) == 5


def test_a_client_that_cannot_ask_proposes_and_goes_on_from_what_it_proposed(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "tea", PAGES)
    before = served(repo.path)
    with asking(repo, None) as client:
        client.text("read", page="a")
        said = client.text("edit", **REPLACE)
        assert "cannot ask its person" in said
        assert "PROPOSED" in said
        assert "ONE" in client.text("read", page="a")
        client.text("edit", page="a", changes=[{"do": "replace", "old": "ONE", "text": "1"}])
        (branch,) = branches(repo)
        for action in ("accept", "undo"):
            with pytest.raises(RefusedError, match="A person decides"):
                client.text("proposals", action=action, id=branch.partition("/")[2])
    assert served(repo.path) == before
    assert repo.git("show", f"{branch}:a.md").endswith("\n1")
    with asking(repo, None, "bulk") as client:
        client.text("read", page="b")
        (old,) = branches(repo)
        assert "cannot ask its person" in client.text("delete", page="b")
        (name,) = {*branches(repo)} - {old}
        with pytest.raises(RefusedError, match="A person decides"):
            client.text("proposals", action="accept", id=name.partition("/")[2])


@pytest.mark.parametrize("mode", ERAS)
def test_a_page_that_changes_while_the_person_is_asked_is_not_written_unseen(tmp_path: Path, mode: Mode) -> None:
    repo, person = new_repo(tmp_path / "tea", PAGES), Person()
    changed = "# A\n\none\n\nsince\n"
    person.meanwhile = lambda: repo.write("a.md", changed)
    with asking(repo, person, mode=mode) as client:
        client.text("read", page="a")
        result = client.raw("edit", **REPLACE)
    text = (repo.path / "a.md").read_text()
    if result.is_error:
        assert "Nothing was written" in str(result.content)
        assert text == changed
    else:  # the newer era: the call began again, and the person was shown the new page
        assert len(person.asked) == 2
        assert " since" in person.asked[1]
        assert text == changed.replace("one", "ONE")
    assert branches(repo) == []


def test_bulk_asks_for_what_is_large_or_deletes(tmp_path: Path) -> None:
    repo, person = new_repo(tmp_path / "tea", PAGES), Person()
    with asking(repo, person, "bulk") as client:
        client.text("read", page="a")
        client.text("edit", **REPLACE)
        client.text("move", page="a", to="sub/c")
        assert person.asked == []
        client.text("write", page="long", text="# Long\n\n" + "word " * 25_000)
        assert len(person.asked) == 1
        client.text("read", page="b")
        client.text("delete", page="b")
        assert len(person.asked) == 2
    assert not (repo.path / "b.md").exists()


@pytest.mark.parametrize("mode", ERAS)
def test_what_has_the_time_in_it_is_written_as_it_was_shown(tmp_path: Path, mode: Mode) -> None:
    base, person = new_repo(tmp_path / "kb", {**PAGES, "kb.yaml": "name: kb\ntypes:\n  note: {}\n"}), Person()
    with asking(base, person, mode=mode, toolset="kb") as client:
        made = client.raw("kb_qa_assess", kb_name="kb")
        assert not made.is_error, made.content[0].text
    assert len([path for path in base.path.rglob("*.md") if "assessed_at" in path.read_text()]) == 2
    store = GitRepo(tmp_path / "store")
    store.path.mkdir()
    chapters = [{"title": "One", "content": "1"}]
    document = {"filename": "leaves", "title": "Leaves", "introduction": "x", "keywords": ["a"], "chapters": chapters}
    with asking(store, person, mode=mode, toolset="projects") as client:
        made = client.raw("create_knowledge_file", project_id="tea", **document)
        assert not made.is_error, made.content[0].text
        assert "+## " in person.asked[-1]
        for number in (1, 2):
            made = client.raw("create_todo", project_id="tea", description=f"Task {number}")
            assert not made.is_error, made.content[0].text
    assert len(list(store.path.rglob("leaves.md"))) == 1
    assert len(person.asked) == 4
    assert branches(store) == []


@pytest.mark.parametrize("mode", ERAS)
def test_nothing_is_a_proposal_while_the_person_is_asked(tmp_path: Path, mode: Mode) -> None:
    repo, person = new_repo(tmp_path / "tea", PAGES), Person("no")
    seen: list[list[str]] = []
    person.meanwhile = lambda: seen.append(branches(repo))
    with asking(repo, person, mode=mode) as client:
        client.text("read", page="a")
        with pytest.raises(RefusedError, match="said no"):
            client.text("edit", **REPLACE, message="Louder")
    assert seen == [[]]
    assert "message: Louder" in person.asked[0]


def test_an_answer_counts_once(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "tea", PAGES)
    page = repo.path / "new.md"
    yes = ElicitResult(action="accept", content={"answer": "yes"})
    with asking(repo, Person()) as client:

        def write(**given: Any) -> Any:
            arguments = {"page": "new", "text": "# New\n"}
            session = client.client.session
            return client.portal.call(lambda: session.call_tool("write", arguments, allow_input_required=True, **given))

        asked = write()
        given = {"input_responses": dict.fromkeys(asked.input_requests, yes), "request_state": asked.request_state}
        assert not write(**given).is_error
        page.unlink()
        assert "answered before" in str(write(**given).content)
        assert not page.exists()


def test_each_toolset_asks_or_says_that_it_cannot(tmp_path: Path) -> None:
    wiki, person = new_repo(tmp_path / "wiki", PAGES), Person()
    with asking(wiki, person, toolset="wiki") as client:
        assert client.text("write_note", path="C", content="# C\n").startswith("Created C")
    assert (wiki.path / "C.md").read_text() == "# C\n"
    base = new_repo(tmp_path / "kb", {**PAGES, "kb.yaml": "name: kb\ntypes:\n  note: {}\n"})
    with asking(base, person, toolset="kb") as client:
        made = client.raw("kb_create", title="New", kb_name="kb", entry_type="note", body="x")
        assert not made.is_error, made.content[0].text
    assert (base.path / "new.md").exists() or list(base.path.rglob("new.md"))
    assert len(person.asked) == 2
