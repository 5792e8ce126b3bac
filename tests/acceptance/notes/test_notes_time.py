"""Pages as they were, and who wrote which section, over the real process and the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import Agent, RefusedError, agent
from commonplace.domain.tokens import tokens_of
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
        ("2026-01-04", "There was no commit yet at 2026-01-04"),
        ("9998-01-01", "lies in the future"),
        ("no such tag!", "is no moment of the past"),
        ("nowhere", "'nowhere' is no moment of the past. Give a date such as 2026-03-01"),
        ("before v05", "There is nothing before v05: the history begins with it"),
        ("before ", "is no moment of the past"),
        ("../heads/main", "is no moment of the past"),
        ("deadbeef", "There is no commit 'deadbeef'"),
    ],
)
def test_a_moment_without_the_page_is_refused(reader: Agent, at: str, said: str) -> None:
    with pytest.raises(RefusedError) as caught:
        reader.text("read", page="tea", at=at)
    assert said in caught.value.text


def test_the_past_keeps_to_the_budget_and_counts_for_nothing_as_seen(reader: Agent) -> None:
    for tokens in (100, 110, 1_000_000):
        assert tokens_of(reader.text("read", page="tea", at="v10", max_tokens=tokens)) <= tokens
    with pytest.raises(RefusedError, match="was not read whole"):
        reader.text("write", page="tea", text="# Mine\n")


def test_search_links_and_overview_answer_as_of_a_moment(reader: Agent) -> None:
    found_text = reader.text("search", query="hot water", at="2026-01-09")
    assert found_text.startswith("AS IT WAS at ")
    assert "of 2026-01-05, not as it is now\n[1] tea.md#brewing" in found_text
    assert "[1] tea.md#brewing" in reader.text("search", query="80 degrees", at="v10")
    assert "80 degrees" not in reader.text("search", query="degrees", at="v05")
    assert "gone05.md" in reader.text("search", query="Of 05", at="v20")
    assert "gone05.md" not in reader.text("search", query="Of 05")
    assert "3 pages" in reader.text("overview", at="v10")
    assert "AS IT WAS" in reader.text("links", page="tea", at="v10")


def test_a_page_is_found_by_the_title_that_it_had(reader: Agent) -> None:
    shown = reader.text("read", page="Of 05", at="v10")
    assert shown.startswith("AS IT WAS at ")
    assert "# Of 05" in shown
    assert "Hot water" in reader.text("read", page="tea", at="v05", query="how hot is the water")


@pytest.mark.parametrize("command", [["search", "degrees"], ["list"], ["links", "--orphans"], ["read", "tea"]])
def test_commands_answer_as_of_a_moment(repo: GitRepo, command: list[str]) -> None:
    done = commonplace(*command, "--at", "v10", "--kb", repo.path, "--json")
    assert done.returncode == 0, done.stderr
    assert "AS IT WAS at " in done.stderr
    assert json.loads(done.stdout)["at"] == {"tea": repo.git("rev-parse", "v10")}
    assert "tea.md" in done.stdout
    assert commonplace(*command, "--at", "9998-01-01", "--kb", repo.path).returncode == 4


@pytest.mark.parametrize(
    ("name", "text"),
    [("Of 05", "# Of 05\n"), ("gone05", "# Of 05\n"), ("gone05.md", "# Of 05\n"), ("tea", "Hot water.")],
)
@pytest.mark.soak
def test_a_command_reads_a_page_by_the_name_that_it_had(repo: GitRepo, name: str, text: str) -> None:
    done = commonplace("read", name, "--at", "v05", "--kb", repo.path)
    assert done.returncode == 0, done.stderr
    assert text in done.stdout
    assert commonplace("read", "Of 05", "--at", "v05", "--kb", repo.path, "--outline").stdout.endswith("Of 05\n")
    assert commonplace("read", "Nobody", "--at", "v05", "--kb", repo.path).returncode == 3


@pytest.mark.parametrize("at", ["2026-01-09", "v05", "before v10", "2026-01-10T11:59:59Z", "before 2026-01-10"])
@pytest.mark.sampled(6)
def test_a_page_is_restored_to_every_moment_at_which_it_can_be_read(repo: GitRepo, tmp_path: Path, at: str) -> None:
    copy = GitRepo(tmp_path / "tea")
    repo.git("clone", "-q", str(repo.path), str(copy.path))
    read = commonplace("read", "tea", "--at", at, "--kb", copy.path)
    assert "Hot water." in read.stdout
    assert commonplace("restore", "tea", "--at", at, "--kb", copy.path).returncode == 0
    assert (copy.path / "tea.md").read_text() == read.stdout
    for wrong, code in (("9998-01-01", 4), ("nowhere", 4), ("2026-01-04", 3)):
        done = commonplace("restore", "tea", "--at", wrong, "--kb", copy.path)
        assert (done.returncode, commonplace("read", "tea", "--at", wrong, "--kb", copy.path).returncode) == (
            code,
            code,
        )


def test_the_path_of_a_page_that_was_not_there_yet_is_refused_without_an_index_of_then(repo: GitRepo) -> None:
    with agent("mcp", repo.path, "--no-embed") as client:
        for page in ("gone20", "gone20.md"):
            with pytest.raises(RefusedError) as caught:
                client.text("read", page=page, at="v10")
            assert "gone20.md was not there at v10." in caught.value.text
            assert 'changes {"page": "gone20.md"}' in caught.value.text
        for page in ("never.md", "deep/never.md"):
            with pytest.raises(RefusedError, match=r"never\.md was not there at v10, looked up by its path alone"):
                client.text("read", page=page, at="v10")
        with pytest.raises(RefusedError, match="There is no page 'Never written'"):
            client.text("read", page="Never written", at="v10")
    done = commonplace("read", "gone20", "--at", "v10", "--kb", repo.path)
    assert done.returncode == 3
    assert "gone20.md is not in the commit" in done.stderr


def test_what_an_ignore_file_excludes_now_stays_excluded_in_the_past(repo: GitRepo) -> None:
    repo.write(".commonplaceignore", "gone*\n")
    try:
        done = commonplace("list", "--at", "v20", "--kb", repo.path)
        assert done.stdout.splitlines() == ["tea.md\tTea\t\t\t"]
    finally:
        (repo.path / ".commonplaceignore").unlink()
    assert len(commonplace("list", "--at", "v20", "--kb", repo.path).stdout.splitlines()) == 4


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
        assert "it is not in a Git repository" in client.text("changes")


def test_a_page_is_found_by_the_name_that_it_has_now_wherever_a_moment_is_given(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "moved", {"old.md": "# Kettle\n\nTo [[Cup]].\n", "cup.md": "# Cup\n\n[[old]]\n"})
    first = repo.git("rev-parse", "HEAD")
    with agent("mcp", repo.path, "--no-embed", "--tier", "write", "--commit", "auto") as client:
        client.text("move", page="old", to="sub/new")
        for arguments in ({}, {"kind": "out"}, {"depth": 2}, {"to": "cup"}):
            shown = client.text("links", page="sub/new.md", at=first, **arguments)
            assert "cup.md" in shown
            assert "old.md" in shown
            assert "sub/new" not in shown
        assert "To [[Cup]]" in client.text("read", page="sub/new", query="cup", at=first)
        assert "-> cup.md" in client.text("links", page="old", at=first), "the name of then holds, too"
        with pytest.raises(RefusedError, match="There is no page"):
            client.text("links", page="nothing", at=first)
    done = commonplace("links", "sub/new", "--at", first, "--json", "-C", str(repo.path))
    assert json.loads(done.stdout)["page"]["path"] == "old.md"


def test_a_page_that_lives_elsewhere_is_not_restored_twice(tmp_path: Path) -> None:
    text = "# Kettle\n\none\ntwo\nthree\n"
    repo = new_repo(tmp_path / "moved", {"one.md": text})
    commits = [repo.git("rev-parse", "HEAD")]
    for old, new in (("one", "two"), ("two", "one"), ("one", "three")):
        repo.git("mv", f"{old}.md", f"{new}.md")
        repo.git("commit", "--quiet", "--message", f"{old} to {new}")
        commits.append(repo.git("rev-parse", "HEAD"))
    with agent("mcp", repo.path, "--no-embed") as client:
        said = client.text("changes", deleted=True)
    assert said.count("moved to three.md") == 2
    assert "not committed" not in said
    for path, number, hint in (("two.md", 2, "three.md now"), ("two.md", 0, "three.md now"), ("one.md", 3, "earlier")):
        done = commonplace("restore", path, "--at", commits[number], "--kb", repo.path)
        assert done.returncode != 0, (path, number)
        assert hint in done.stderr
    assert repo.git("status", "--porcelain") == ""
    assert commonplace("restore", "three.md", "--at", commits[0], "--kb", repo.path).returncode == 0
    assert sorted(path.name for path in repo.path.glob("*.md")) == ["three.md"]
    # As it was under that path in that commit, it is a page of its own.
    assert commonplace("restore", "two.md", "--at", commits[1], "--kb", repo.path).returncode == 0


def test_changes_of_a_page_that_is_gone_are_found_by_its_name_and_name_the_trash(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "gone", {"books/Kafka.md": "# K\n", "open.md": "# O\n"})
    with agent("mcp", repo.path, "--no-embed", "--tier", "write", "--commit", "manual") as client:
        client.text("write", page="books/Alt.md", text="# Alt\n\nNever committed.\n")
        client.text("delete", page="Alt")
        assert "books/Alt.md deleted" in client.text("changes", page="Alt")
        repo.git("rm", "--quiet", "books/Kafka.md", "open.md")
        repo.git("commit", "--quiet", "--message", "Remove two")
        for page in ("Kafka", "kafka.md", "books/Kafka", "open"):
            assert "Remove two" in client.text("changes", page=page)
        with pytest.raises(RefusedError, match="There is no page"):
            client.text("changes", page="nothing")
