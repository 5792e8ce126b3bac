"""Repositories, pages, budgets and handles that are not as expected: what `notes` answers, and what it leaves alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agent import RefusedError, agent
from commonplace.domain.tokens import tokens_of
from shell import Shell
from support import Amount, GitRepo, new_repo

FIRST_SECOND = 1_600_000_000
MINUTE = 60


def many_commits(folder: Path, count: int) -> GitRepo:
    """A repository of so many commits, a minute apart, of which every hundredth changes `often.md`."""
    repo = new_repo(folder)
    stream: list[str] = []
    for number in range(count):
        path = "often.md" if number % 100 == 0 else f"pages/{number % 50}.md"
        text = f"# {path}\n\nVersion {number}.\n"
        when = FIRST_SECOND + MINUTE * number
        stream.append(f"commit refs/heads/main\ncommitter A <a@example.org> {when} +0000\ndata 2\nc\n")
        stream.append(f"M 644 inline {path}\ndata {len(text)}\n{text}\n")
    given_content = "".join(stream).encode()
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input=given_content, check=True, timeout=300)
    repo.git("reset", "--quiet", "--hard", "main")
    return repo


@pytest.mark.soak
def test_a_long_history_answers_at_its_dates(amount: Amount, tmp_path: Path) -> None:
    count = amount(3_000, 100_000)
    repo = many_commits(tmp_path / "long", count)
    middle = repo.git("rev-list", "main", "--", "often.md").splitlines()[count // 200]
    with agent("mcp", repo.path, "--no-embed") as client:
        version = repo.git("show", f"{middle}:often.md").splitlines()[-1]
        assert version in client.text("read", page="often", at=middle)
        assert version in client.text("search", query="version", folder="", at=middle, max_tokens=20_000)
        assert "A" in client.text("changes", page="often", sections=True)
        assert "Version 0." in client.text("read", page="often", at=repo.git("rev-list", "main").splitlines()[-1])


def test_a_shallow_clone_knows_the_commits_that_it_has(tmp_path: Path) -> None:
    whole = new_repo(tmp_path / "whole", {"tea.md": "# Tea\n\nFirst.\n"})
    for text in ("Second.", "Third."):
        whole.commit(text, **{"tea.md": f"# Tea\n\n{text}\n"})
    first, second, third = whole.git("rev-list", "--reverse", "main").splitlines()
    shallow = tmp_path / "shallow"
    whole.git("clone", "--quiet", "--depth", "2", f"file://{whole.path}", str(shallow))
    with agent("mcp", shallow, "--no-embed") as client:
        assert "Second." in client.text("read", page="tea", at=second)
        assert "[1] tea.md" in client.text("search", query="second", at=second)
        with pytest.raises(RefusedError, match="There is no commit"):
            client.text("read", page="tea", at=first)
        with pytest.raises(RefusedError, match=r"It is not known what was there before .*: the clone is shallow"):
            client.text("read", page="tea", at=f"before {second}")
        assert third[:10] in client.text("changes", page="tea")
        assert "Third." in client.text("read", page="tea")
        assert "The clone is shallow" in client.text("overview")
    for command in ("check", "review"):
        assert "The clone is shallow" in Shell(shallow, {"XDG_CACHE_HOME": str(tmp_path / command)})(command).stderr
    logged = Shell(shallow, {"XDG_CACHE_HOME": str(tmp_path / "cache")})("log")
    assert third[:10] in logged.text
    assert "The clone is shallow" in logged.stderr
    assert not list((tmp_path / "cache").rglob("*.db")), "the commits of a folder need no index"


def test_the_first_check_of_a_clone_finds_what_later_ones_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, citing = "# S\n\n## Temp\n\n18 degrees.\n", "# C\n\nGrow at 18.[^1]\n\n[^1]: [S](s.md#temp)\n"
    whole = new_repo(tmp_path / "whole")
    pages = {f"c{number}.md": citing for number in range(100)}
    for day, files in (("2026-03-01", {"s.md": source, **pages}), ("2026-05-01", {"s.md": source.replace("18", "20")})):
        for name in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{name}_DATE", f"{day}T10:00:00Z")
        for path, content in files.items():
            whole.write(path, content)
        whole.git("add", "--all")
        whole.git("commit", "--quiet", "--message", day)
    clone = tmp_path / "clone"
    whole.git("clone", "--quiet", str(whole.path), str(clone))
    shell = Shell(clone, {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    first, second = (shell("check").text for _ in range(2))
    assert first == second
    assert first.count("[source_changed]") == 100


def test_a_rewritten_history_answers_from_the_new_commits(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"tea.md": "# Tea\n\nFirst.\n"})
    old = repo.commit("Second", **{"tea.md": "# Tea\n\nSecond.\n"})
    with agent("mcp", repo.path, "--no-embed") as client:
        assert "[1] tea.md" in client.text("search", query="second", at=old)
        repo.write("tea.md", "# Tea\n\nAnother.\n")
        repo.git("commit", "--quiet", "--all", "--amend", "--message", "Rewritten")
        new = repo.git("rev-parse", "HEAD")
        assert "[1] tea.md" in client.text("search", query="another", at=new)
        assert new[:10] in client.text("changes", page="tea", sections=True)
        with pytest.raises(RefusedError, match="There is no commit"):
            client.text("search", query="second", at=old)


def test_a_page_that_was_a_folder_is_read_as_what_it_was(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"a.md/inner.md": "# Inner\n\nBelow a folder.\n", "b.md": "# B\n"})
    folder = repo.git("rev-parse", "HEAD")
    repo.git("rm", "--quiet", "-r", "a.md")
    page = repo.commit("A page now", **{"a.md": "# A\n\nOne page.\n"})
    with agent("mcp", repo.path, "--no-embed") as client:
        assert "One page." in client.text("read", page="a.md", at=page)
        assert "Below a folder." in client.text("read", page="a.md/inner.md", at=folder)
        assert "[1] a.md/inner.md" in client.text("search", query="below a folder", at=folder)
        with pytest.raises(RefusedError):
            client.text("read", page="a.md", at=folder)
        assert page[:10] in client.text("changes", page="a.md", sections=True)


def test_budgets_of_one_and_of_a_million_are_answered_for(tmp_path: Path) -> None:
    text = "# Long\n\n" + "".join(f"## Part {n}\n\n{'Some words of it. ' * 200}\n\n" for n in range(100))
    repo = new_repo(tmp_path / "base", {"long.md": text})
    with agent("mcp", repo.path, "--no-embed") as client:
        for tool, arguments in (("read", {"page": "long"}), ("search", {"query": "words"}), ("overview", {})):
            with pytest.raises(RefusedError, match="100"):
                client.text(tool, **arguments, max_tokens=1)
            assert 0 < tokens_of(client.text(tool, **arguments, max_tokens=1_000_000)) <= 50_000


def test_a_handle_from_another_base_names_what_is_near(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "one", {"drinks/green.md": "# Green\n\n## Brewing\n\nHot water.\n"})
    two = new_repo(tmp_path / "two", {"drinks/greens.md": "# Greens\n\nKale.\n"})
    with agent("mcp", repo.path, "--no-embed") as client:
        handle = client.text("search", query="hot water").split()[1]
        assert handle == "drinks/green.md#brewing"
        cursor = "9.99"
    with agent("mcp", two.path, "--no-embed", "--tier", "write", "--commit", "auto") as client:
        with pytest.raises(
            RefusedError, match=r"There is no page 'drinks/green\.md#brewing'\. Nearest: drinks/greens\.md"
        ):
            client.text("read", page=handle)
        with pytest.raises(RefusedError, match="There is no page"):
            client.text("edit", page=handle, changes=[{"do": "append", "text": "x"}])
        with pytest.raises(RefusedError, match="There is no page"):
            client.text("read", page="one:drinks/green.md")
        client.raw("search", query="kale", cursor=cursor)  # another search's cursor is an empty page or a refusal
    assert two.git("status", "--short") == ""


def test_lists_as_json_text_are_taken_and_a_tool_of_a_higher_tier_is_named_as_such(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"tea.md": "# Tea\n\nGreen.\n", "pot.md": "# Pot\n\nRound.\n"})
    with agent("mcp", repo.path, "--no-embed") as reader:
        text = reader.text("read", page='["tea.md", "pot.md"]')
        assert "Green." in text
        assert "Round." in text
        assert "Green." in reader.text("search", query="green", fields='{"x": ""}'.replace('"x": ""', ""))
        refused = reader.protocol_error("edit", page="tea.md", changes=[]).error
        assert (refused.code, "edit needs the tier write" in refused.message) == (-32602, True)
    with agent("mcp", repo.path, "--no-embed", "--tier", "write", "--commit", "auto") as writer:
        writer.text("edit", page="tea.md", changes='[{"do": "append", "text": "Warm."}]', request_id="r")
        steps = '[{"do": "edit", "page": "pot.md", "changes": [{"do": "append", "text": "Blue."}]}]'
        writer.text("transaction", steps=steps)
        for changes in ('[{"do": "append"', "append", '{"do": "append"}'):
            with pytest.raises(RefusedError, match="Invalid argument changes"):
                writer.text("edit", page="tea.md", changes=changes)
    assert (repo.path / "tea.md").read_text().endswith("Warm.\n")
    assert (repo.path / "pot.md").read_text().endswith("Blue.\n")
