"""Pages as they were, and who wrote which section, over the real process and the command line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent import Agent, RefusedError, agent
from serving import commonplace
from support import GitRepo, new_repo

FIRST = "# Tea\n\nOld words.\n\n## Brewing\n\nHot water.\n\n## Log\n\n- one\n"
SECOND = FIRST.replace("Hot water.", "Water of 80 degrees.")
THIRD = SECOND.replace("- one\n", "- one\n- two\n").replace("Old words.\n\n", "New words.\n\n")


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    made = new_repo(tmp_path_factory.mktemp("time") / "tea")
    made.git("config", "user.name", "Ann")
    with pytest.MonkeyPatch.context() as patch:
        for day, name, text in (("05", "Ann", FIRST), ("10", "Bea", SECOND), ("20", "Cid", THIRD)):
            for part in ("AUTHOR", "COMMITTER"):
                patch.setenv(f"GIT_{part}_DATE", f"2026-01-{day}T12:00:00+00:00")
            patch.setenv("GIT_AUTHOR_NAME", name)
            made.commit(f"Text of {day}", **{"tea.md": text, f"gone{day}.md": f"# Of {day}\n"})
            made.git("tag", f"v{day}")
        made.git("rm", "--quiet", "gone05.md")
        made.git("commit", "--quiet", "-m", "Remove\n\nCo-Authored-By: Helper <h@example.org>")
    made.write("tea.md", THIRD + "\n## Draft\n\nNot committed.\n")
    return made


@pytest.fixture(scope="module")
def reader(repo: GitRepo) -> Iterator[Agent]:
    with agent("mcp", repo.path, "--no-embed", "--tier", "write") as connected:
        yield connected


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("2026-01-05", "Hot water."),
        ("2026-01-09", "Hot water."),
        ("2026-01-10", "80 degrees"),
        ("2026-01-10T11:59:59Z", "Hot water."),
        ("2026-01-10T13:00:00+02:00", "Hot water."),
        ("2026-01-10T14:00:01+02:00", "80 degrees"),
        ("before 2026-01-10", "Hot water."),
        ("yesterday", "New words."),
        ("v10", "Old words."),
        ("before v10", "Hot water."),
    ],
)
def test_a_page_is_read_as_it_was(reader: Agent, repo: GitRepo, at: str, expected: str) -> None:
    shown = reader.text("read", page="tea", at=at)
    assert shown.startswith(f"tea.md AS IT WAS at {at} (")
    assert expected in shown
    done = commonplace("read", "tea", "--at", at, "--kb", repo.path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in shown


def test_a_commit_and_the_one_before_it(reader: Agent, repo: GitRepo) -> None:
    commit = repo.git("rev-parse", "v10")
    assert "80 degrees" in reader.text("read", page="tea", at=commit[:8])
    assert "Hot water." in reader.text("read", page="tea", at=f"before {commit[:8]}", section="Brewing")
    assert "Old words" not in reader.text("read", page="tea#brewing", at=commit[:8])


def test_a_page_that_is_gone_is_read_as_it_was(reader: Agent) -> None:
    assert "# Of 05" in reader.text("read", page="gone05", at="2026-01-15")


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("2026-01-04", "tea.md was not there 2026-01-04"),
        ("9998-01-01", "lies in the future"),
        ("no such tag!", "Invalid revision"),
        ("nowhere", "Invalid revision 'nowhere': expected 7 to 40 hex digits, or a tag."),
        ("before v05", "no revision v05^"),
        ("deadbeef", "no revision deadbeef"),
    ],
)
def test_a_moment_without_the_page_is_refused(reader: Agent, at: str, said: str) -> None:
    with pytest.raises(RefusedError) as caught:
        reader.text("read", page="tea", at=at)
    assert said in caught.value.text


def test_the_past_keeps_to_the_budget_and_counts_for_nothing_as_seen(reader: Agent) -> None:
    for tokens in (50, 60, 1_000_000):
        assert len(reader.text("read", page="tea", at="v10", max_tokens=tokens)) <= 4 * tokens
    assert 'Next: read {"page": "tea.md", "at": "v10"' in reader.text("read", page="tea", at="v10", max_tokens=55)
    with pytest.raises(RefusedError, match="was not read whole"):
        reader.text("write", page="tea", text="# Mine\n")


def test_each_section_has_the_commit_that_wrote_it(reader: Agent) -> None:
    lines = reader.text("changes", page="tea", sections=True).splitlines()
    said = [line.rpartition(" ")[0] if "2026" in line else line for line in lines[:-1]]
    assert said == [
        "- Tea: 2026-01-20 Cid",
        "  - Brewing: 2026-01-10 Bea",
        "  - Log: 2026-01-20 Cid",
        "  - Draft: not committed",
    ]
    with pytest.raises(RefusedError, match="one page"):
        reader.text("changes", sections=True)


def test_a_folder_without_history_says_so(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("plain")
    (folder / "a.md").write_text("# A\n")
    with agent("mcp", folder, "--no-embed") as client:
        for arguments in ({"at": "yesterday"}, {"at": "v1"}):
            with pytest.raises(RefusedError, match="There is no history"):
                client.text("read", page="a", **arguments)
        assert "has no Git history" in client.text("changes")
