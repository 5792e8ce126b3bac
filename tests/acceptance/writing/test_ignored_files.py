"""Files that ignore files exclude: no write, move or answer shows, serves or commits them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent import RefusedError, agent
from serving import served
from shell import Shell
from support import GitRepo, MakeRepo

FILES = {
    ".gitignore": "/a/secret.key\na/private/\n/a/hidden.md\n",
    ".commonplaceignore": "/a/own.md\n",
    "a/one.md": "# One\n\n[two](two.md) ![p](p.png) ![s](secret.key)\n",
    "a/two.md": "# Two\n",
    "a/p.png": "PNG",
    "a/own.md": "# Own token\n",
    "a/node_modules/p/README.md": "# Module token\n",
    "index.md": "# Index\n\n[one](a/one.md)\n",
}
IGNORED = {
    "a/secret.key": "key token", "a/private/diary.md": "# Diary token\n", "a/hidden.md": "# Hidden token\n",
}  # fmt: skip


PAGES = ("a/own", "a/hidden", "a/private/diary", "a/node_modules/p/README")


@pytest.fixture
def repo(git_repo: MakeRepo) -> GitRepo:
    repo = git_repo(files=FILES)
    (repo.path / "a/private").mkdir()
    for path, text in IGNORED.items():
        (repo.path / path).write_text(text)
    return repo


def stays(repo: GitRepo) -> None:
    """The ignored files are where they were, and in no commit."""
    assert {path: (repo.path / path).read_text() for path in IGNORED} == IGNORED
    assert "token" not in repo.git("log", "-p", "--format=%h", "--", ":!a/own.md", ":!a/node_modules", ":!.gitignore")
    assert repo.git("status", "--porcelain") == ""


def test_a_folder_moves_without_its_ignored_files(repo: GitRepo) -> None:
    shell = Shell(repo.path)
    would = shell.ok("mv", "a/", "c/", "--dry-run").text
    reported_text = shell.ok("mv", "a/", "c/").text
    for answer in (would, reported_text):
        assert "ove" in answer
        assert ": 3 files, with links rewritten in 1 of them" in answer
        assert "Ignore files exclude a/hidden.md, a/own.md, a/private/diary.md, a/secret.key, so they stay" in answer
    assert sorted(path.name for path in (repo.path / "c").iterdir()) == ["one.md", "p.png", "two.md"]
    assert "![s](../a/secret.key)" in (repo.path / "c/one.md").read_text()
    stays(repo)
    assert shell.ok("search", "token").text == ""
    back = shell.ok("mv", "c/", "a/", "--json").json
    assert "ignored" not in back
    assert (repo.path / "a/one.md").read_text() == FILES["a/one.md"]
    stays(repo)


def test_an_agent_reads_no_ignored_page_after_a_move(repo: GitRepo) -> None:
    with agent("mcp", repo.path, "--tier", "write", "--commit", "auto", "--no-embed") as client:
        report = client.text("move", page="a/", to="c/")
        assert "(3 files, links rewritten in 1 of them)" in report
        assert "Ignore files exclude a/hidden.md, a/own.md, a/private/diary.md, a/secret.key, so they stay" in report
        for page in ("c/own", "c/hidden", "c/private/diary", "a/node_modules/p/README", "a/own", "a/hidden"):
            with pytest.raises(RefusedError, match="There is no page"):
                client.text("read", page=page)
        client.text("move", page="c/", to="a/")
    stays(repo)


def test_a_site_has_no_ignored_file(repo: GitRepo, tmp_path: Path) -> None:
    Shell(repo.path).ok("publish", ".", tmp_path / "out")
    files = [file for file in (tmp_path / "out").rglob("*") if file.is_file() and "static" not in file.parts]
    assert any(file.name == "p.png" for file in files)
    assert [file for file in files if file.name == "secret.key" or b" token" in file.read_bytes()] == []


NOT_FOUND = re.compile(
    "is ignored by an ignore file|is in a folder node_modules, which is skipped|There is no (page|document)"
)


@pytest.mark.parametrize("page", PAGES)
def test_no_call_tells_that_an_ignored_page_exists(repo: GitRepo, page: str) -> None:
    with agent("mcp", repo.path, "--tier", "write", "--commit", "auto", "--no-embed") as client:
        for tool, arguments in {
            "write": {"text": "# Mine\n"},
            "edit": {"changes": [{"do": "append", "text": "x"}]},
            "delete": {},
            "move": {"to": "shown"},
        }.items():
            with pytest.raises(RefusedError) as caught:
                client.text(tool, page=page, **arguments)
            assert NOT_FOUND.search(str(caught.value))
            assert "revision" not in str(caught.value).lower().replace("revision=", "")
        with pytest.raises(RefusedError):
            client.text("changes", page=page, sections=True)
        with pytest.raises(RefusedError, match=r"(ignored by an ignore file|which is skipped), so it is not served"):
            client.text("add", source=f"{page}.md")
    shell = Shell(repo.path)
    assert NOT_FOUND.search(shell("write", page, stdin="# Mine\n").stderr)
    assert "There is no document" in shell("rm", page, "--force").stderr
    stays(repo)


def test_no_address_shows_an_ignored_page_now_or_at_a_commit(repo: GitRepo) -> None:
    commit = repo.git("rev-parse", "HEAD")
    (repo.path / "a/hidden.md").write_text("# Hidden before\n")
    repo.git("add", "--force", "a/hidden.md")
    repo.git("commit", "--quiet", "-m", "Show it")
    before = repo.git("rev-parse", "HEAD")
    repo.git("rm", "--quiet", "--cached", "a/hidden.md")
    repo.git("commit", "--quiet", "-m", "Hide it")
    (repo.path / "a/hidden.md").write_text(IGNORED["a/hidden.md"])
    blobs = {page: repo.git("hash-object", f"{page}.md") for page in PAGES}
    pages = tuple(blobs)
    views = ("p", "raw", "history", "compare", "files", "edit", "preview", "sections", "agent")
    with served(repo.path, "--tier", "write") as server:
        urls = [f"/{view}/{page}{end}" for view in views for page in pages for end in ("", ".md", "?at=HEAD")]
        urls += [f"/compare/{page}?from={commit}" for page in pages] + [f"/commit/{commit}"]
        urls += [f"/api/v1/pages/{page}{end}" for page in pages for end in ("", "?at=HEAD", "/history")]
        shown = [url for url in urls if " token" in server.ask("GET", url).body.decode()]
        never = [url for url in urls if "/a/hidden" not in url and not url.startswith("/commit/")]  # nor before
        statuses = {server.ask("GET", url).status for url in never}
        api, hidden = "/api/v1/pages", blobs["a/hidden"]
        urls = [f"{api}/{page}?revision={blob}" for page, blob in blobs.items()]
        urls += [f"/raw/{page}?at={blob}" for page, blob in blobs.items()]
        urls += [f"{api}/a/hidden/diff?from={before}", f"{api}/a/hidden/diff?from={before}&to={hidden}"]
        urls += ["/files/a/secret.key", "/files/a/secret.key?at=HEAD", "/attachments"]
        answers = [server.ask("GET", url) for url in urls]
        answers += [server.ask("POST", f"{api}/a/hidden/restore", {"revision": before})]
        shown += [answer.body.decode() for answer in answers if b" token" in answer.body]
        assert b"secret" not in answers[-2].body
        assert [answer.status for answer in answers[:-4]].count(200) == 1, "what was committed is shown as gone"
        assert answers[-1].status == 422, answers[-1].body
        assert b"is ignored by an ignore file" in answers[-1].body
        assert hidden.encode() not in answers[-1].body
    assert (shown, statuses) == ([], {404})
    for page in pages:
        for words in (("log", page), ("read", page), ("restore", f"{page}.md", "--at", "HEAD")):
            done = Shell(repo.path)(*words)
            assert done.code != 0 or words == ("log", "a/hidden"), words
            assert words[0] == "restore" or "deleted" not in done.stderr, "it is there"


def test_no_list_of_changes_names_ignored_pages_or_commits_of_these_alone(repo: GitRepo) -> None:
    files = {page: repo.path / f"{page}.md" for page in ("a/own", "a/node_modules/p/README", "a/two")}
    repo.write("a/own.bin", "x")
    with (repo.path / ".commonplaceignore").open("a") as rules:
        rules.write("*.bin\n")
    repo.git("add", ".commonplaceignore")
    repo.git("commit", "--quiet", "-m", "Rules")
    alone: list[str] = []
    for pages, message in (
        (("a/own", "a/node_modules/p/README"), "Alone one"),
        (("a/own",), "Alone two"),
        (files, "Both"),
    ):
        for page in pages:
            files[page].write_text(f"{files[page].read_text()}\n{message}\n")
        repo.git("add", "--all", "a/own.bin", *(f"{page}.md" for page in pages))
        repo.git("commit", "--quiet", "-m", f"{message} subject")
        alone += [repo.git("rev-parse", "HEAD")] if message != "Both" else []
    with served(repo.path, "--tier", "write") as server:
        page_urls = ("/recent", "/feed.atom", *(f"/commit/{commit}" for commit in alone))
        answers = {url: server.ask("GET", url).body.decode() for url in ("/api/v1/changelog?limit=100", *page_urls)}
        for toolset, tool, arguments in (
            ("notes", "changes", {"diff": True, "max_tokens": 20_000}),
            ("wiki", "get_recent_changes", {"limit": 50}),
        ):
            answers[tool] = str(server.call(toolset, tool, arguments))
        statuses = [server.ask("GET", f"/commit/{commit}").status for commit in alone]
    answers["log"] = Shell(repo.path).ok("log").text
    assert statuses == [404, 404]
    for face, answer in answers.items():
        assert not re.search(r"Alone|a/own|node_modules|has no revision", answer), face
        assert "Both subject" in answer or "/commit/" in face, face


def test_a_folder_with_more_than_fits_into_memory_is_not_moved(repo: GitRepo) -> None:
    with (repo.path / "a/disk.img").open("wb") as file:
        file.truncate(300 * 1024 * 1024)  # sparse
    done = Shell(repo.path)("mv", "a/", "c/")
    assert done.code != 0
    assert "Move the largest by hand first: a/disk.img (314,572,800 bytes)." in done.stderr
    assert (repo.path / "a/one.md").exists()
