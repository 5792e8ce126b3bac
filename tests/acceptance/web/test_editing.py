"""Pages are edited in a browser without scripts: every byte that was not edited stays, and no later change is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from commonplace.domain.activity import WriteLimits
from commonplace.faces.access.authentication import KeyStore
from commonplace.faces.access.callers import TIERS
from commonplace.faces.web.routes import EDITING
from forms import FORM, fields, page, sent
from serving import Server, served
from support import GitRepo, new_repo

TEA = (
    "---\ntitle: Tea\ntags: [drink]\n---\n# Tea\n\nBoil water.\n\n"
    "## Green\n\nThree minutes.\n\n## Black\n\nFive minutes.\n"
)
WINDOWS = b"\xef\xbb\xbf# W\r\n\r\nOne.\r\n\r\nT\0wo  \r\nlast"
FILES: dict[str, str | bytes] = {
    "tea.md": TEA,
    "windows.md": WINDOWS,
    "latin.md": b"# Caf\xe9\n",
    "about.md": "# About\n\nSee [[tea]].\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return new_repo(tmp_path / "notes", FILES)


@pytest.fixture
def server(repo: GitRepo) -> Iterator[Server]:
    with served(repo.path, "--tier", "write", "--commit", "auto") as running:
        page(running, "/p/tea")
        yield running


def test_a_page_is_saved_as_one_commit_and_its_other_bytes_stay(server: Server, repo: GitRepo) -> None:
    form = fields(page(server, "/edit/windows"))
    assert form["text"] == "# W\n\nOne.\n\nT\ufffdwo  \nlast"

    answer = sent(
        server, "/edit/windows", **{**form, "text": form["text"].replace("One.", "Uno."), "message": "In Latin"}
    )

    assert (answer.status, answer.headers["location"]) == (303, "/p/windows")
    assert (repo.path / "windows.md").read_bytes() == WINDOWS.replace(b"One.", b"Uno.")
    assert repo.git("log", "--format=%s", "-2").splitlines() == ["In Latin", "Begin"]
    assert repo.git("status", "--porcelain") == ""


def test_fields_of_a_typed_page_are_edited_in_a_form_of_their_own(tmp_path: Path) -> None:
    rules = "      level: {type: select, options: [low, high]}\n      minutes: {type: number}\n"
    schema = f"types:\n  run:\n    fields:\n{rules}"
    text = "---\ntype: run\nlevel: low # for now\n---\n# R\n\nText.\n"
    repo = new_repo(tmp_path / "typed", {"kb.yaml": schema, "r.md": text, "plain.md": "# P\n"})
    with served(repo.path, "--tier", "write", "--commit", "auto") as server:
        html = page(server, "/edit/r")
        assert "Fields of the type run" in html
        assert "Fields of the type" not in page(server, "/edit/plain")
        form = {**fields(html), "field:level": "high", "field:minutes": "x"}
        refused = sent(server, "/edit/r", **form)
        assert (refused.status, b"minutes is no number" in refused.body) == (422, True)
        assert (repo.path / "r.md").read_text() == text
        form |= {"field:minutes": "12", "text": form["text"].replace("Text.", "New text.")}
        assert sent(server, "/edit/r", **form).status == 303
        wanted_text = text.replace("low", "high").replace("now\n", "now\nminutes: 12\n").replace("Text.", "New text.")
        assert (repo.path / "r.md").read_text() == wanted_text


def test_a_text_that_is_saved_unchanged_changes_nothing(server: Server, repo: GitRepo) -> None:
    before = repo.git("rev-parse", "HEAD")
    for name in ("windows", "tea"):
        assert sent(server, f"/edit/{name}", **fields(page(server, f"/edit/{name}"))).status == 303
    assert repo.git("rev-parse", "HEAD") == before
    assert (repo.path / "windows.md").read_bytes() == WINDOWS


def test_a_section_is_edited_alone(server: Server, repo: GitRepo) -> None:
    assert 'href="/edit/tea?section=green"' in page(server, "/p/tea")
    form = fields(page(server, "/edit/tea?section=green"))
    assert form["text"] == "## Green\n\nThree minutes."

    answer = sent(server, "/edit/tea", **{**form, "text": "## Green\n\nTwo minutes."})

    assert answer.headers["location"] == "/p/tea#green"
    assert (repo.path / "tea.md").read_text() == TEA.replace("Three", "Two")


def test_changes_of_different_lines_are_merged_and_shown_before_they_are_saved(server: Server, repo: GitRepo) -> None:
    form = fields(page(server, "/edit/tea"))
    repo.commit("By an agent", **{"tea.md": TEA.replace("Boil water", "Boil fresh water")})

    answer = sent(server, "/edit/tea", **{**form, "text": TEA.replace("Five", "Six")})
    html = answer.body.decode()
    assert answer.status == 409
    assert "By an agent" in html
    assert (repo.path / "tea.md").read_text() == TEA.replace("Boil water", "Boil fresh water")

    assert sent(server, "/edit/tea", **fields(html)).status == 303
    assert (repo.path / "tea.md").read_text() == TEA.replace("Boil water", "Boil fresh water").replace("Five", "Six")


def test_a_change_that_nobody_committed_is_not_said_to_be_of_the_last_commit(server: Server, repo: GitRepo) -> None:
    opened, path = fields(page(server, "/edit/tea")), repo.path / "tea.md"
    for mine, theirs, words in (
        ("Boil old water", TEA.replace("Five", "Six"), "It was changed since, and that is not committed."),
        ("Boil old water", TEA.replace("Boil water", "Heat"), "It was changed since, and that is not committed."),
        ("Boil old water", None, "That is not committed."),
    ):
        path.unlink() if theirs is None else path.write_text(theirs)
        answer = sent(server, "/edit/tea", **{**opened, "text": TEA.replace("Boil water", mine)})
        html = answer.body.decode()
        assert (answer.status, words in html, "Begin" in html) == (409, True, False), words


@pytest.mark.parametrize(
    ("choice", "text"),
    [
        ("both", "Boil fresh water.\nBoil old water.\n"),
        ("theirs", "Boil fresh water.\n"),
        ("mine", "Boil old water.\n"),
    ],
)
def test_of_a_line_that_both_changed_a_person_chooses(server: Server, repo: GitRepo, choice: str, text: str) -> None:
    form = fields(page(server, "/edit/tea"))
    repo.commit("By an agent", **{"tea.md": TEA.replace("Boil water", "Boil fresh water")})

    conflict = sent(
        server, "/edit/tea", **{**form, "text": TEA.replace("Boil water", "Boil old water"), "message": "Mine"}
    )
    html = conflict.body.decode()
    assert conflict.status == 409
    for side in ("Boil water.", "Boil fresh water.", "Boil old water."):
        assert f">{side}\n</pre>" in html
    assert fields(html)["choice-1"] == "both", "nothing is dropped unless a person says so"

    merged = sent(server, "/edit/tea", **{**fields(html), "choice-1": choice, "action": "merge"})
    assert merged.status == 200
    shown = fields(merged.body.decode())
    assert (shown["text"], shown["message"]) == (TEA.replace("Boil water.\n", text), "Mine")
    assert sent(server, "/edit/tea", **shown).status == 303
    assert (repo.path / "tea.md").read_text() == TEA.replace("Boil water.\n", text)


def test_a_page_that_changes_again_while_a_person_chooses_is_shown_again(server: Server, repo: GitRepo) -> None:
    form = fields(page(server, "/edit/tea"))
    repo.commit("First", **{"tea.md": TEA.replace("Boil water", "Boil fresh water")})
    html = sent(server, "/edit/tea", **{**form, "text": TEA.replace("Boil water", "Mine")}).body.decode()
    repo.commit("Second", **{"tea.md": TEA.replace("Boil water", "Boil hot water")})

    answer = sent(server, "/edit/tea", **{**fields(html), "choice-1": "mine", "action": "merge"})

    assert answer.status == 409
    assert "Boil hot water" in answer.body.decode()


def test_a_page_that_was_deleted_or_moved_meanwhile_keeps_what_was_written(server: Server, repo: GitRepo) -> None:
    tea, about = fields(page(server, "/edit/tea")), fields(page(server, "/edit/about"))
    repo.git("mv", "tea.md", "drink.md")
    repo.git("rm", "-q", "about.md")
    repo.commit("Tidy")
    page(server, "/p/drink")

    moved = sent(server, "/edit/tea", **{**tea, "text": TEA.replace("Five", "Six")})
    assert moved.status == 409
    assert 'action="/edit/drink"' in moved.body.decode()
    assert sent(server, "/edit/drink", **fields(moved.body.decode())).status == 303
    assert (repo.path / "drink.md").read_text() == TEA.replace("Five", "Six")

    deleted = sent(server, "/edit/about", **{**about, "text": "# About\n\nMore.\n"})
    assert deleted.status == 409
    assert "Saving creates the page again" in deleted.body.decode()
    assert sent(server, "/edit/about", **fields(deleted.body.decode())).status == 303
    assert (repo.path / "about.md").read_text() == "# About\n\nMore.\n"


@pytest.mark.parametrize("has_git", [False, True])
def test_text_that_was_never_committed_is_merged_too(tmp_path: Path, *, has_git: bool) -> None:
    folder = new_repo(tmp_path / "plain", {"tea.md": "# Tea\n"}).path if has_git else tmp_path / "plain"
    folder.mkdir(exist_ok=True)
    (folder / "tea.md").write_bytes(TEA.replace("\n", "\r\n").encode())
    with served(folder, "--tier", "write") as server:
        form = fields(page(server, "/edit/tea"))
        (folder / "tea.md").write_bytes(TEA.replace("Boil", "Heat").replace("\n", "\r\n").encode())
        answer = sent(server, "/edit/tea", **{**form, "text": TEA.replace("Five", "Six")})
        assert answer.status == 409
        assert sent(server, "/edit/tea", **fields(answer.body.decode())).status == 303
    after = TEA.replace("Boil", "Heat").replace("Five", "Six").replace("\n", "\r\n")
    assert (folder / "tea.md").read_bytes() == after.encode()


def test_a_version_that_nobody_knows_shows_every_difference(server: Server, repo: GitRepo) -> None:
    answer = sent(server, "/edit/tea", text="# Tea\n\nOther.\n", revision="0" * 40)
    assert answer.status == 409
    assert "is not known any more" in answer.body.decode()
    assert "As you opened it" not in answer.body.decode()
    assert (repo.path / "tea.md").read_text() == TEA


def test_the_preview_is_what_the_page_will_show(server: Server) -> None:
    html = sent(
        server, "/edit/tea", action="preview", **{**fields(page(server, "/edit/tea")), "text": "See [[about]] *now*."}
    )
    assert re.search(r'href="/p/about">[Aa]bout</a> <em>now</em>', html.body.decode())
    assert fields(html.body.decode())["text"] == "See [[about]] *now*."
    rendered = sent(server, "/render/tea", text="---\ntags: [a\n---\nHello <script>x</script>")
    assert "Something is wrong" in rendered.body.decode()
    assert "<script" not in rendered.body.decode()


def test_a_page_that_is_not_utf8_has_no_editor(server: Server) -> None:
    assert "/edit/" not in page(server, "/p/latin")
    answer = server.ask("GET", "/edit/latin", headers={"Accept": "text/html"})
    assert answer.status == 404
    assert "UTF-8" in answer.body.decode()


def test_without_a_tier_nobody_edits(repo: GitRepo) -> None:
    with served(repo.path) as server:
        assert "/edit/" not in page(server, "/p/tea")
        assert server.ask("GET", "/edit/tea").status == 403
        assert sent(server, "/edit/tea", text="x", revision="").status == 403


def test_each_tier_edits_as_it_may_and_the_key_is_the_author(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    store = KeyStore(state / "commonplace")
    keys = {tier: store.create(f"Grace {tier}", tier)[0] for tier in TIERS}
    other = store.create("other", "write", ["elsewhere"])[0]
    with served(repo.path, "--commit", "auto") as server:
        for tier, key in keys.items():
            html = page(server, "/p/tea", key=key)
            assert ('href="/edit/tea"' in html) == (tier != "read"), tier
            answer = server.ask("GET", "/edit/tea", key=key)
            assert answer.status == (403 if tier == "read" else 200), tier
            answer = sent(server, "/edit/tea", key=key, text="x", revision="0" * 40)
            assert answer.status == (403 if tier == "read" else 409), tier
        assert sent(server, "/edit/tea", key=other, text="x", revision="0" * 40).status == 404
        form = fields(page(server, "/edit/tea", key=keys["write"]))
        assert sent(server, "/edit/tea", key=keys["write"], **{**form, "text": TEA + "\nMore.\n"}).status == 303
    assert repo.git("log", "-1", "--format=%an <%ae>") == "Grace write <grace-write@localhost>"


def test_a_key_that_is_limited_to_a_folder_edits_only_there(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    limits = WriteLimits(folders=("own",))
    key, _ = KeyStore(tmp_path / "state" / "commonplace").create("Narrow", "write", limits=limits)
    with served(repo.path, "--commit", "auto") as server:
        form = fields(page(server, "/edit/tea", key=key))
        answer = sent(server, "/edit/tea", key=key, **{**form, "text": "# Mine\n"})
        assert answer.status == 403
        assert "own/" in answer.body.decode()
        assert fields(answer.body.decode())["text"] == "# Mine\n", "what was written is not lost"
        moved = fields(page(server, "/move/tea?to=own/", key=key), '<form class="edit-foot" method="post"')
        assert sent(server, "/move/tea", key=key, **moved).status == 403
        gone = fields(page(server, "/delete/tea", key=key), '<form class="edit-foot"')
        assert sent(server, "/delete/tea", key=key, **gone).status == 403
        assert sent(server, "/new/", key=key, path="own/tea", text="# Mine\n").status == 303
    assert (repo.path / "tea.md").read_text() == TEA
    assert (repo.path / "own/tea.md").read_text() == "# Mine\n"


def test_a_form_says_how_large_a_page_may_be_and_when_to_try_again(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    key, _ = KeyStore(tmp_path / "state" / "commonplace").create("Few", "write", limits=WriteLimits(pages=1))
    with served(repo.path, "--commit", "auto") as server:
        page(server, "/p/tea", key=key)
        large = sent(server, "/new/", key=key, path="large", text="x" * 4_000_001)
        assert (large.status, b"the limit is 4,000,000" in large.body) == (413, True)
        assert sent(server, "/new/", key=key, path="first", text="# First\n").status == 303
        refused = sent(server, "/new/", key=key, path="second", text="# Second\n")
        assert (refused.status, refused.headers["retry-after"].isdecimal()) == (429, True)
    assert not (repo.path / "large.md").exists()


def test_what_a_proposer_saves_waits_for_a_person(repo: GitRepo) -> None:
    with served(repo.path, "--tier", "propose", "--commit", "auto") as server:
        html = page(server, "/edit/tea")
        assert "waits for a person" in html
        answer = sent(server, "/edit/tea", **{**fields(html), "text": TEA.replace("Five", "Six")})
        assert answer.status == 303
        assert answer.headers["location"].startswith("/proposals/")
        assert (repo.path / "tea.md").read_text() == TEA
        again = fields(page(server, "/edit/tea"))
        assert again["text"] == TEA.replace("Five", "Six"), "the proposer goes on with the own text"
        second = sent(server, "/edit/tea", **{**again, "text": TEA.replace("Five", "Seven")})
        assert second.headers["location"] == answer.headers["location"]
    branch = answer.headers["location"].removeprefix("/")
    assert repo.git("show", f"{branch}:tea.md") == TEA.replace("Five", "Seven").rstrip("\n")


FOREIGN = ("http://evil.example", "null", "", "https://friend.example", "http://127.0.0.1:1", "http://localhost:1")
TYPES = ("text/plain", "multipart/form-data; boundary=x", "application/json", "")


def test_only_forms_of_the_own_pages_are_taken(repo: GitRepo) -> None:
    with served(repo.path, "--tier", "write", "--allow-origin", "https://friend.example") as server:
        body = f"text=x&revision={fields(page(server, '/edit/tea'))['revision']}".encode()
        rows = [(origin, FORM, 403) for origin in FOREIGN] + [(server.url, other_type, 415) for other_type in TYPES]
        for path, (origin, content_type, status) in product(EDITING, rows):
            headers = {"Origin": origin, "Content-Type": content_type or " "}
            given_values = {name: text for name, text in headers.items() if text}
            assert server.ask("POST", f"/{path}/tea", body, headers=given_values).status == status, (
                path,
                origin,
                given_values,
            )
    assert (repo.path / "tea.md").read_text() == TEA


def test_other_methods_and_broken_forms_are_refused_clearly(server: Server) -> None:
    assert server.ask("DELETE", "/edit/tea", headers={"Origin": server.url}).status == 405
    assert server.ask("GET", "/render/tea").status == 405
    assert sent(server, "/edit/absent", text="x", revision="0" * 40).status == 409
    assert server.ask("GET", "/edit/absent").status == 404
    assert server.ask("GET", "/edit/tea?section=absent").status == 404
    broken = {"Origin": server.url, "Content-Type": "application/x-www-form-urlencoded"}
    assert server.ask("POST", "/edit/tea", b"text=%ff", headers=broken).status == 422
    assert server.ask("POST", "/edit/tea", b"revision=1", headers=broken).status == 422
