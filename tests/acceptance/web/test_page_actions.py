"""New pages, moves, deletions, restoring and ticking, with forms and without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from forms import fields, page, sent
from serving import Server, served
from support import GitRepo, new_repo

TASKS = (
    b"\xef\xbb\xbf---\r\ntags: [x]\r\n---\r\n# List\r\n\r\n"
    b"- [ ] Milk\r\n- [x] Tea\r\n\r\n```\r\n- [ ] Code\r\n```\r\n\r\n1. [ ] Bread\r\n"
)
FILES: dict[str, str | bytes] = {
    "list.md": TASKS,
    "drinks/tea.md": "# Tea\n\nBoil.\n",
    "about.md": "# About\n\nSee [[tea]] and [tea](drinks/tea.md).\n",
    "forged.md": '# F\n\n<input type="checkbox" data-task="5"> <button form="_ui-tasks">x</button>\n\n- [ ] O\n',
    "templates/meeting.md": "# {{title}}\n\nOn {{date}}.\n\n- [ ] Minutes\n",
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    return new_repo(tmp_path_factory.mktemp("site") / "notes", FILES)


@pytest.fixture(scope="module")
def server(repo: GitRepo) -> Iterator[Server]:
    with served(repo.path, "--tier", "write", "--commit", "auto") as running:
        page(running, "/p/about")
        yield running


def boxes(html: str) -> list[tuple[str, str]]:
    """The value and the state of each box that can be ticked."""
    return re.findall(r'name="task" value="([^"]*)" class="task-box" role="checkbox" aria-checked="([^"]*)"', html)


def test_a_box_is_ticked_and_unticked_and_no_other_byte_changes(server: Server, repo: GitRepo) -> None:
    html = page(server, "/p/list")
    assert [state for _, state in boxes(html)] == ["false", "true", "false"], "what looks like a task in code is none"
    form = fields(html, '<form id="_ui-tasks"')
    answer = sent(server, "/tick/list", **form, task=boxes(html)[0][0])
    assert (answer.status, answer.headers["location"]) == (303, "/p/list")
    once = TASKS.replace(b"[ ] Milk", b"[x] Milk")
    assert (repo.path / "list.md").read_bytes() == once
    assert repo.git("log", "-1", "--format=%s") == "Tick: Milk"

    assert sent(server, "/tick/list", **form, task=boxes(html)[2][0]).status == 303, "with the page as it was before"
    assert (repo.path / "list.md").read_bytes() == once.replace(b"[ ] Bread", b"[x] Bread")
    html = page(server, "/p/list")
    assert sent(server, "/tick/list", **fields(html, '<form id="_ui-tasks"'), task=boxes(html)[0][0]).status == 303
    assert (repo.path / "list.md").read_bytes() == TASKS.replace(b"[ ] Bread", b"[x] Bread")


def test_a_task_that_was_rewritten_meanwhile_is_not_guessed(server: Server, repo: GitRepo) -> None:
    repo.commit("Tasks", **{"late.md": "- [ ] One\n"})
    html = page(server, "/p/late")
    form = {**fields(html, '<form id="_ui-tasks"'), "task": boxes(html)[0][0]}
    repo.commit("Other", **{"late.md": "- [ ] Two\n"})
    answer = sent(server, "/tick/late", **form)
    assert answer.status == 409
    assert "- [x] One" in answer.body.decode()
    assert (repo.path / "late.md").read_text() == "- [ ] Two\n"
    for task in ("", "9999-1", "3-2", "x-1", "3"):
        assert sent(server, "/tick/late", **{**form, "task": task}).status in {404, 422}, task


def test_a_page_cannot_forge_a_box_or_a_button(server: Server) -> None:
    html = page(server, "/p/forged")
    article = html[html.index("<article") : html.index("</article>")]
    assert len(boxes(article)) == 1
    assert article.count("<button") == 1
    assert "data-task" not in article


def test_readers_see_boxes_that_cannot_be_changed(repo: GitRepo) -> None:
    with served(repo.path) as server:
        html = page(server, "/p/list")
    assert boxes(html) == []
    assert html.count('type="checkbox"') == 3
    assert "data-task" not in html
    for word in ("/edit/", "/move/", "/delete/", "/new/", "_ui-tasks"):
        assert word not in html


def test_a_page_is_made_from_a_template(server: Server, repo: GitRepo) -> None:
    html = page(server, "/new/?path=drinks/kick-off&template=meeting")
    assert "<option selected>meeting</option>" in html
    form = fields(html)
    assert form["path"] == "drinks/kick-off"
    assert re.fullmatch(r"# kick-off\n\nOn \d{4}-\d\d-\d\d\.\n\n- \[ \] Minutes\n", form["text"])
    answer = sent(server, "/new/", **{**form, "path": "drinks/Kick: off"})
    assert answer.status == 303
    made = repo.path / f"{answer.headers['location'].removeprefix('/p/').replace('%20', ' ')}.md"
    assert made.read_text() == form["text"]
    assert ":" not in made.name

    again = sent(server, "/new/", path="drinks/tea", text="# Mine\n")
    assert again.status == 409
    assert fields(again.body.decode())["text"] == "# Mine\n"
    assert (repo.path / "drinks/tea.md").read_text() == "# Tea\n\nBoil.\n"
    for path in ("", "drinks/", "../x", ".git/config"):
        assert sent(server, "/new/", path=path, text="x").status in {409, 422}, path
    assert 'href="/new/?path=absent"' in server.ask("GET", "/p/absent", headers={"Accept": "text/html"}).body.decode()
    assert re.search(r'value="daily/\d{4}-\d\d-\d\d"', page(server, "/daily/"))


def test_a_move_shows_the_links_it_will_rewrite_before_it_is_done(server: Server, repo: GitRepo) -> None:
    before = repo.git("rev-parse", "HEAD")
    html = page(server, "/move/drinks/tea?to=leaves/green-tea")
    assert "Links are rewritten in 1 page" in html
    assert "leaves/green-tea.md" in html
    assert repo.git("rev-parse", "HEAD") == before
    assert not (repo.path / "leaves").exists()
    form = fields(html, '<form class="edit-foot" method="post"')

    answer = sent(server, "/move/drinks/tea", **form)
    assert answer.headers["location"] == "/p/leaves/green-tea"
    assert (repo.path / "about.md").read_text() == "# About\n\nSee [[green-tea]] and [tea](leaves/green-tea.md).\n"
    assert sent(server, "/move/leaves/green-tea", to="drinks/tea", revision="0" * 40).status == 409
    taken = server.ask("GET", "/move/leaves/green-tea?to=/about", headers={"Accept": "text/html"})
    assert taken.status == 409
    assert "cannot be moved there" in taken.body.decode()


def test_a_page_is_deleted_with_its_links_in_view_and_restored(server: Server, repo: GitRepo) -> None:
    repo.commit("More", **{"pot.md": "# Pot\n\nFirst.\n", "use.md": "# Use\n\n[[pot]]\n"})
    repo.commit("Second", **{"pot.md": "# Pot\n\nSecond.\n"})
    page(server, "/p/pot")
    html = page(server, "/delete/pot")
    assert "1 page links here" in html
    late = sent(server, "/delete/pot", revision="0" * 40)
    assert late.status == 409
    body = late.body.decode()
    assert "The page has changed since you opened this form." in body
    assert '<a dir="auto" href="/p/pot">' in body
    assert fields(body, '<form class="edit-foot"')["revision"] == fields(html, '<form class="edit-foot"')["revision"]
    assert "What changed" in html, "the commit keeps the message"
    assert sent(server, "/delete/pot").status == 422
    assert sent(server, "/delete/pot", **fields(html, '<form class="edit-foot"')).status == 303
    assert not (repo.path / "pot.md").exists()

    gone = server.ask("GET", "/p/pot", headers={"Accept": "text/html"}).body.decode()
    assert sent(server, "/restore/pot", **fields(gone, '<form[^>]*class="restore"')).headers["location"] == "/p/pot"
    assert (repo.path / "pot.md").read_text() == "# Pot\n\nSecond.\n"
    history = page(server, "/history/pot")
    first = re.findall(r'form="_ui-restore" name="at" value="([0-9a-f]{40})"', history)[-1]
    shown = re.findall(r'name="revision" value="([0-9a-f]{40})"', history)
    version = fields(page(server, f"/p/pot?at={first}"), '<form[^>]*class="restore"')
    assert [version["revision"]] == shown
    assert sent(server, "/restore/pot", at=first).status == 422, "it names nothing that was shown"
    assert sent(server, "/restore/pot", at=first, revision="").status == 409, "nobody saw that there is a page"
    repo.commit("Third", **{"pot.md": "# Pot\n\nThird.\n"})
    assert sent(server, "/restore/pot", at=first, revision=shown[0]).status == 409
    assert (repo.path / "pot.md").read_text() == "# Pot\n\nThird.\n"
    history = page(server, "/history/pot")
    revision = re.findall(r'name="revision" value="([0-9a-f]{40})"', history)[0]
    assert sent(server, "/restore/pot", at=first, revision=revision).status == 303
    assert (repo.path / "pot.md").read_text() == "# Pot\n\nFirst.\n"
    assert sent(server, "/restore/pot", at="--output=/x", revision=revision).status == 422


def test_text_of_no_commit_is_shown_before_a_version_replaces_it(server: Server, repo: GitRepo) -> None:
    repo.commit("More", **{"pot.md": "# Pot\n\nFirst.\n"})
    first = repo.git("rev-parse", "HEAD")
    repo.commit("Second", **{"pot.md": "# Pot\n\nSecond.\n"})
    (repo.path / "pot.md").write_text("# Pot\n\nOf nobody's commit.\n")
    version = fields(page(server, f"/p/pot?at={first}"), '<form[^>]*class="restore"')
    answer = sent(server, "/restore/pot", **version)
    assert answer.status == 409, "the page of the version does not show this text"
    assert (repo.path / "pot.md").read_text() == "# Pot\n\nOf nobody's commit.\n"
    body = answer.body.decode()
    assert "nobody&#39;s" in body
    shown = fields(body, '<form class="edit-foot"')
    (repo.path / "pot.md").write_text("# Pot\n\nLater still.\n")
    assert sent(server, "/restore/pot", **shown).status == 409, "this text was not shown"
    assert (repo.path / "pot.md").read_text() == "# Pot\n\nLater still.\n"
    (repo.path / "pot.md").write_text("# Pot\n\nOf nobody's commit.\n")
    assert sent(server, "/restore/pot", **shown).headers["location"] == "/p/pot"
    assert (repo.path / "pot.md").read_text() == "# Pot\n\nFirst.\n"


def test_where_writes_are_files_pages_say_what_is_not_committed(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "notes", {"pot.md": "# Pot\n\nCommitted.\n", "pan.md": "# Pan\n"})
    with served(repo.path, "--tier", "write") as server:
        page(server, "/p/pan")
        for url in ("/edit/pot", "/new", "/delete/pot", "/move/pot?to=pit"):
            assert "What changed" not in page(server, url), url
        assert "not committed" not in page(server, "/p/pot")
        form = fields(page(server, "/edit/pot"), '<form class="edit-form"')
        assert sent(server, "/edit/pot", **{**form, "text": "# Pot\n\nOnly here.\n", "action": "save"}).status == 303
        assert "Changed since, not committed." in page(server, "/p/pot")
        html = page(server, "/delete/pot")
        assert "Its text is not committed, so it stays in the trash for 30 days" in html
        assert sent(server, "/delete/pot", **fields(html, '<form class="edit-foot"')).status == 303
        gone = server.ask("GET", "/p/pot", headers={"Accept": "text/html"}).body.decode()
        assert "and that is not committed" in gone
        assert "was removed" not in gone.partition("</h1>")[2]
        assert gone.index("Restore its last text") < gone.index("Restore its last committed version")
        assert sent(server, "/restore/pot", **fields(gone, '<form[^>]*class="restore"')).status == 303
        assert (repo.path / "pot.md").read_text() == "# Pot\n\nOnly here.\n"
        html = page(server, "/delete/pan")
        assert "Its versions stay in the history" in html
        assert sent(server, "/delete/pan", **fields(html, '<form class="edit-foot"')).status == 303
        gone = server.ask("GET", "/p/pan", headers={"Accept": "text/html"}).body.decode()
        assert "trash" not in gone
        assert sent(server, "/restore/pan", **fields(gone, '<form[^>]*class="restore"')).status == 303
    assert repo.git("rev-list", "--count", "HEAD") == "1"


def test_without_git_a_deleted_page_comes_back_from_the_trash(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "pot.md").write_text("# Pot\n")
    with served(folder, "--tier", "write") as server:
        form = fields(page(server, "/delete/pot"), '<form class="edit-foot"')
        assert sent(server, "/delete/pot", **form).status == 303
        gone = server.ask("GET", "/p/pot", headers={"Accept": "text/html"}).body.decode()
        assert sent(server, "/restore/pot", **fields(gone, '<form[^>]*class="restore"')).status == 303
    assert (folder / "pot.md").read_text() == "# Pot\n"


def test_at_the_tier_propose_all_of_it_waits(repo: GitRepo) -> None:
    repo.write("kb.yaml", "name: called-otherwise\n")
    repo.git("add", "kb.yaml")
    repo.git("commit", "--quiet", "-m", "Name it")
    before = repo.git("rev-parse", "HEAD")
    with served(repo.path, "--tier", "propose", "--commit", "auto") as server:
        html = page(server, "/p/list")
        form = fields(html, '<form id="_ui-tasks"')
        proposal = sent(server, "/tick/list", **form, task=boxes(html)[0][0]).headers["location"]
        assert proposal.startswith("/proposals/")
        moved = fields(page(server, "/move/about?to=info"), '<form class="edit-foot" method="post"')
        assert sent(server, "/move/about", **moved).headers["location"] == proposal
        assert sent(server, "/new/", path="fresh", text="# Fresh\n").headers["location"] == proposal
        gone = fields(page(server, "/delete/forged"), '<form class="edit-foot"')
        assert sent(server, "/delete/forged", **gone).headers["location"] == proposal
        for path, change in (("about", "moved to info.md"), ("forged", "deleted")):
            for url in (f"/edit/{path}", f"/move/{path}", f"/delete/{path}", f"/api/v1/pages/{path}"):
                answer = server.ask("GET", url, headers={"Accept": "text/html, application/json"})
                assert answer.status == 404, url
                assert f"It is {change} in your proposal." in answer.body.decode(), url
    assert repo.git("rev-parse", "HEAD") == before
    changed = repo.git("diff", "--name-status", "--no-renames", f"main...{proposal.removeprefix('/')}").splitlines()
    assert [line.replace("\t", " ") for line in changed] == [
        "D about.md", "D forged.md", "A fresh.md", "A info.md", "M list.md",
    ]  # fmt: skip
