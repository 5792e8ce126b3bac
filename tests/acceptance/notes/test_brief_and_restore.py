"""The tools `brief` and `restore`, and moments in words, over the real process and the command line."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import Agent, RefusedError, agent
from commonplace.domain.tokens import tokens_of
from serving import commonplace
from support import GitRepo, new_repo

RULES = "# Rules\n\nWrite in plain English. " + "Name each page by its subject. " * 40
TEA = "# Tea\n\n## Brewing\n\nHot water on green leaves.\n\n## Log\n\n- one\n"


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    made = new_repo(tmp_path / "tea")
    made.git("config", "user.name", "Ann")
    made.commit("First", **{"AGENTS.md": RULES, "README.md": "# Tea\n\nAll about tea.\n", "tea.md": TEA})
    made.commit(
        "Second", **{"tea.md": TEA.replace("Hot water", "Water of 80 degrees"), "gone.md": "# Gone\n\nWas here.\n"}
    )
    return made


@pytest.fixture
def writer(repo: GitRepo) -> Iterator[Agent]:
    with agent("mcp", repo.path, "--no-embed", "--tier", "write", "--commit", "auto") as connected:
        yield connected


def test_a_brief_tells_rules_sections_and_what_changed_since_the_last_session(repo: GitRepo) -> None:
    time.sleep(1.1)  # the times of commits are whole seconds
    with agent("mcp", repo.path, "--no-embed") as first:
        first.text("search", query="tea")  # waits for the first index
        reported_text = first.text("brief", task="brew green tea")
        assert "AGENTS.md: # Rules" in reported_text
        assert "README.md: All about tea." in reported_text
        assert "[tea.md#brewing] Tea > Brewing\nWater of 80 degrees on green leaves." in reported_text
        assert "Since" not in reported_text, "no session was here before"
    later = TEA.replace("Hot water", "Water of 70 degrees")
    repo.write("tea.md", later)
    repo.git("add", "-A")
    repo.git("commit", "--quiet", "-m", "Third")
    with agent("mcp", repo.path, "--no-embed", fresh=True) as second:
        second.text("search", query="tea")
        report = second.text("brief", task="brew green tea")
        assert re.search(r"Since \d{4}-\d\d-\d\d \d\d:\d\d: 1 page changed: tea\.md \(", report)
        assert "[tea.md#brewing] changed since Tea > Brewing\nWater of 70 degrees" in report
        for budget in (100, 150, 300, 1_000):
            candidate = second.text("brief", task="brew green tea", max_tokens=budget)
            assert 0 < tokens_of(candidate) <= budget
    shown = commonplace("brief", "brew green tea", "--since", "yesterday", "--max-tokens", "400", "--kb", repo.path)
    assert tokens_of(shown.stdout) <= 400
    assert "Water of 70 degrees" in shown.stdout
    as_json = json.loads(commonplace("brief", "--json", "--max-tokens", "400", "--kb", repo.path).stdout)
    assert as_json["since"] is None
    assert as_json["lines"][0].startswith("AGENTS.md: # Rules")


def test_pages_sections_and_sessions_are_brought_back(writer: Agent, repo: GitRepo) -> None:
    writer.text("read", page="gone")
    deleted = writer.text("delete", page="gone")
    assert 'Back: restore {"page": "gone.md"}' in deleted
    listed = writer.text("changes", deleted=True)
    named = re.search(r"Next: restore (\{.*\})", listed)
    assert named is not None
    assert "Restored gone.md rev" in writer.text("restore", **json.loads(named[1]))
    assert (repo.path / "gone.md").read_text() == "# Gone\n\nWas here.\n"
    writer.text("read", page="gone")
    writer.text("delete", page="gone")
    assert "Restored gone.md" in writer.text("restore", page="gone")

    first = repo.git("rev-list", "--max-parents=0", "HEAD").strip()
    assert "Edited tea.md" in writer.text("restore", page="Tea", section="Brewing", at=first)
    assert "Hot water on green leaves." in (repo.path / "tea.md").read_text()
    reported_text = writer.text("restore", page="Tea", at="HEAD~1")
    assert "Restored tea.md" in reported_text
    assert 'Undo: restore {"page": "tea.md", "at": "before ' in reported_text
    assert "80 degrees" in (repo.path / "tea.md").read_text()
    writer.text("edit", page="tea", changes=[{"do": "section", "section": "Log", "text": "- none"}])
    assert "Restored tea.md" in writer.text("restore", page="tea", at=f"before {repo.git('rev-parse', 'HEAD').strip()}")
    assert "- one" in (repo.path / "tea.md").read_text()
    with pytest.raises(RefusedError, match="Give page, or session"):
        writer.text("restore")
    with pytest.raises(RefusedError, match=r"tea\.md is there"):
        writer.text("restore", page="tea")


def test_all_that_a_session_wrote_is_taken_back(writer: Agent, repo: GitRepo) -> None:
    before = (repo.path / "tea.md").read_bytes()
    writer.text("edit", page="tea", changes=[{"do": "append", "section": "Log", "text": "- two"}])
    writer.text("write", page="new.md", text="# New\n")
    sessions = commonplace("activity", "--json", "--kb", repo.path).stdout
    name = re.search(r'"session": ?"([0-9a-f]{16})"', sessions)
    assert name is not None
    assert "Undone 2 writes" in writer.text("restore", session=name[1])
    assert (repo.path / "tea.md").read_bytes() == before
    assert not (repo.path / "new.md").exists()
    writer.text("write", page="mine.md", text="# Mine\n")
    assert "Undone" in writer.text("restore", session="mine")
    assert not (repo.path / "mine.md").exists()
    for page in ("kept.md", "other.md"):
        writer.text("write", page=page, text="# Page\n")
    repo.commit("Later", **{"kept.md": "# Changed\n"})
    with pytest.raises(RefusedError, match=r'restore {"session": "mine", "page": "…"}'):
        writer.text("restore", session="mine")
    assert "Undone " in writer.text("restore", session="mine", page="other.md")
    assert not (repo.path / "other.md").exists()
    assert (repo.path / "kept.md").read_text() == "# Changed\n"


def test_the_same_words_name_a_moment_everywhere(writer: Agent, repo: GitRepo) -> None:
    head = repo.git("rev-parse", "HEAD").strip()
    for words in ("HEAD~1", "HEAD^", "@~1", f"{head[:10]}~1", f"before {head[:10]}", "before HEAD"):
        assert "Hot water" in writer.text("read", page="tea", at=words), words
        assert "Hot water" in commonplace("read", "tea", "--at", words, "--kb", repo.path).stdout, words
    assert "Second" in writer.text("changes", since="HEAD~1")
    assert "First" not in writer.text("changes", since="HEAD~1")
    with pytest.raises(RefusedError, match="There is nothing at HEAD~9: the history begins"):
        writer.text("read", page="tea", at="HEAD~9")
    with pytest.raises(RefusedError, match=r"gone\.md was not there at HEAD~1"):
        writer.text("read", page="Gone", at="HEAD~1")


def test_a_brief_and_a_page_tell_what_does_not_hold_and_an_error_what_was_deleted(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base")
    pages = {
        "old.md": "---\nstatus: superseded\nsuperseded_by: new.md\n---\n# Kettle rules\n\nBoil the kettle twice.\n",
        "new.md": '# Kettle\n\nBoil the kettle once.[^1]\n\n[^1]: [Lab](lab.md): "the kettle needs ninety seconds"\n\n'
        "## Cost\n\nNone.\n",
        "lab.md": "# Lab\n\nThe kettle needs sixty seconds.\n",
        "due.md": "---\nreview_by: 2020-01-01\n---\n# Kettle care\n\nThe kettle is descaled.\n",
    }
    repo.commit("First", **pages, **{"gone.md": "# Gone\n"})
    repo.git("rm", "--quiet", "gone.md")
    repo.git("commit", "--quiet", "-m", "Remove")
    head = repo.git("rev-parse", "HEAD")[:10]
    with agent("mcp", repo.path, "--no-embed") as reader:
        reader.text("search", query="kettle")
        text = reader.text("brief", task="kettle")
        assert "[old.md#kettle-rules] SUPERSEDED by new.md" in text
        assert "To review: new.md:5: The quotation" in text
        assert "To review: due.md: " in text
        assert "Check: The quotation" in reader.text("read", page="new.md")
        for part, told in (
            ({"section": "Kettle"}, True),
            ({"section": "Cost"}, False),
            ({"lines": "1-3"}, True),
            ({"lines": "7-9"}, False),
        ):
            assert ("Check: " in reader.text("read", page="new.md", **part)) is told, part
        assert "quotation_missing 1" in reader.text("overview")
        with pytest.raises(RefusedError) as caught:
            reader.text("read", page="gone")
    assert f"in commit {head}" in str(caught.value)
    assert f'Next: read {{"page": "gone.md", "at": "before {head}"}}' in str(caught.value)
    shown = commonplace("read", "gone", "--kb", repo.path)
    assert f"in commit {head}" in shown.stderr
    assert "restore" in shown.stderr
