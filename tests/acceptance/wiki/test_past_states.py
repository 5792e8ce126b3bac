"""REST: the wiki as it was at a day, a commit, a tag, "yesterday" or before one of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from serving import Answer, Server, served
from support import GitRepo, new_repo

Site = tuple[Server, GitRepo]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("past")
    repo = new_repo(folder / "wiki")
    with pytest.MonkeyPatch.context() as patch:
        for day, files in (
            ("2026-01-05", {"a.md": "old wombat [[b]]\n", "b.md": "b\n"}),
            ("2026-02-05", {"a.md": "new kookaburra [[c]]\n", "c.md": "---\ntitle: Cee\n---\nc\n"}),
        ):
            for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
                patch.setenv(name, f"{day}T12:00:00Z")
            repo.commit(f"On {day}", **files)
            if day == "2026-01-05":
                repo.git("tag", "first")
    with served(repo.path, env={"XDG_CACHE_HOME": str(folder / "c"), "XDG_STATE_HOME": str(folder / "s")}) as server:
        yield server, repo


def ask(server: Server, path: str, at: str = "") -> Answer:
    return server.ask("GET", f"/api/v1{path}{'&' if '?' in path else '?'}at={quote(at)}")


def first_commit(repo: GitRepo) -> str:
    return repo.git("rev-parse", "first")


@pytest.mark.parametrize("at", ["2026-01-20", "first", "{commit}", "{short}", "before {head}", "before 2026-02-01"])
def test_every_read_is_of_the_state_that_is_named(site: Site, at: str) -> None:
    server, repo = site
    first = first_commit(repo)
    moment = at.format(commit=first, short=first[:8], head=repo.git("rev-parse", "HEAD"))

    page = ask(server, "/pages/a", moment)
    assert (page.status, page.json["content"], page.json["links_to"]) == (200, "old wombat [[b]]\n", ["b"])
    assert (page.headers["commonplace-at"], page.json["revision"]) == (first, first)
    assert [page["path"] for page in ask(server, "/pages", moment).json["pages"]] == ["a", "b"]
    assert [result["path"] for result in ask(server, "/search?q=wombat", moment).json["results"]] == ["a"]
    assert ask(server, "/search?q=kookaburra", moment).json["results"] == []
    assert ask(server, "/links/b", moment).json["linked_from"] == ["a"]
    graph: Any = ask(server, "/links", moment).json
    assert graph["edges"] == [{"source": "a", "target": "b"}]
    assert ask(server, "/pages/c", moment).status == 404


def test_without_a_moment_reads_are_of_now(site: Site) -> None:
    server, _ = site
    now = ask(server, "/pages/a")
    assert now.json["content"].startswith("new")
    assert "commonplace-at" not in now.headers
    assert ask(server, "/pages", "yesterday").json["total"] == 3
    assert ask(server, "/search?q=kookaburra", "yesterday").json["total"] == 1


@pytest.mark.parametrize(
    ("at", "status"), [("soon", 404), ("2999-01-01", 404), ("2020-01-01", 404), ("--all", 404), ("x" * 201, 422)]
)
def test_what_names_no_moment_is_refused(site: Site, at: str, status: int) -> None:
    answer = ask(site[0], "/pages/a", at)
    assert (answer.status, bool(answer.json["error"]), bool(answer.json["hint"])) == (status, True, True)


def test_without_git_there_is_no_past(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.md").write_text("a\n")
    with served(tmp_path / "plain", env={"XDG_CACHE_HOME": str(tmp_path / "c")}) as server:
        answer = ask(server, "/pages/a", "yesterday")
        assert (answer.status, "no history" in answer.json["error"]) == (404, True)
        assert ask(server, "/pages/a").status == 200


def test_a_page_that_was_renamed_since_is_read_by_its_present_name(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "wiki", {"a.md": "the same text [[b]]\n", "b.md": "b\n"})
    first = repo.git("rev-parse", "HEAD")
    repo.git("mv", "a.md", "c.md")
    repo.git("commit", "-qm", "Renamed")
    with served(repo.path, env={"XDG_CACHE_HOME": str(tmp_path / "c")}) as server:
        for path in ("a", "c"):
            page = ask(server, f"/pages/{path}", first)
            assert (page.status, page.json["path"], page.json["content"]) == (200, "a", "the same text [[b]]\n")
            assert ask(server, f"/links/{path}", first).json["links_to"] == ["b"]
        assert ask(server, "/pages/c", repo.git("rev-parse", "HEAD")).json["path"] == "c"
