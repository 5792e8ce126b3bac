"""The tailer keeps a shared index at the commit of a real branch, whatever happened before it looked."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.cluster import LinkLabels, SharedBase, no_labels
from commonplace.domain.errors import UnavailableError
from commonplace.domain.query import QuestionVector, SearchQuery
from commonplace.index import open_index
from commonplace.index.local import LocalIndex
from commonplace.services import cluster as services_cluster
from commonplace.services.cluster import OWN_ANSWER, PARTIAL, SharedSearch, Tailer
from commonplace.store.replica.clone import ReplicaClone
from commonplace.store.replica.clone_repository import ReplicaSource
from opensearch_cluster.engines import Engine, cluster, embedded
from support import GitRepo, new_repo

FILES = {"a.md": "# Alpha\n\nfirst words\n", "b.md": "# Beta\n\nother words\n\n## Deep\n\ndeep words\n"}


class Server:
    """One server's parts for a base: a clone, a separate index, and a tailer."""

    def __init__(self, folder: Path, remote: Path, base: SharedBase, engine: Engine) -> None:
        self.clone = ReplicaClone(folder, ReplicaSource(str(remote)))
        self.index: LocalIndex = open_index(self.clone.store(), folder / "cache", language="")
        self.tailer = Tailer(base, self.clone, self.index, engine.reader, engine.writer)
        self.base = base
        self.engine = engine

    def follow(self) -> bool:
        """Read the remote, index it, and bring the shared index there."""
        commit = self.clone.fetch()
        self.tailer.expect()
        self.index.sync()
        return self.tailer.follow(commit)

    def paths(self, text: str) -> list[str]:
        """The paths that the shared index finds."""
        return self.engine.paths(self.base, text)

    def is_whole(self) -> bool:
        """Whether the shared index has exactly what this server has."""
        return not self.engine.writer.verify(self.base, self.index.revisions())


class Team:
    """A repository, its bare remote, and servers that follow it."""

    def __init__(self, folder: Path, engine: Engine, closing: ExitStack) -> None:
        self._folder = folder
        self._closing = closing
        self.engine = engine
        self.base = SharedBase(f"team {secrets.token_hex(6)}", "s" * 16)
        self.remote = folder / "team.git"
        self.work: GitRepo = new_repo(folder / "work", dict(FILES))
        self.work.git("clone", "--quiet", "--bare", str(self.work.path), str(self.remote))
        self.work.git("remote", "add", "origin", str(self.remote))
        closing.callback(engine.writer.drop, self.base)

    def server(self, name: str = "one") -> Server:
        made = Server(self._folder / f"{name}-{secrets.token_hex(3)}", self.remote, self.base, self.engine)
        self._closing.callback(made.index.close)
        return made

    def push(self, *options: str, **files: str) -> str:
        commit = self.work.commit("Write", **files)
        self.work.git("push", "--quiet", *options, "origin", "HEAD")
        return commit


@pytest.fixture(scope="module", params=["embedded", "opensearch"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    if request.param == "embedded":
        with embedded(tmp_path_factory.mktemp("bases")) as made:
            yield made
        return
    with cluster(request.getfixturevalue("opensearch_url"), "tailer") as made:
        yield made


@pytest.fixture
def team(tmp_path: Path, engine: Engine) -> Iterator[Team]:
    with ExitStack() as closing:
        yield Team(tmp_path, engine, closing)


def test_a_first_look_builds_the_index_and_later_ones_follow_the_branch(team: Team) -> None:
    server = team.server()
    assert server.follow()
    assert set(server.paths("words")) == {"a.md", "b.md"}
    team.push(**{"c.md": "# Gamma\n\nthird words\n", "a.md": "# Alpha\n\nnothing now\n"})
    team.work.git("rm", "--quiet", "b.md")
    last = team.push(**{"d/e.md": "# Delta\n\nfourth words\n"})
    assert not team.server("other").tailer.is_current
    assert server.follow()
    assert server.tailer.is_current
    assert set(server.paths("words")) == {"c.md", "d/e.md"}
    assert server.paths("deep") == []
    through = team.engine.reader.through(team.base)
    assert through is not None
    assert (through.commit, through.number) == (last, 3)
    assert server.is_whole()


def test_a_server_that_starts_goes_on_from_where_the_index_is(team: Team) -> None:
    assert team.server().follow()
    team.push(**{"c.md": "# Gamma\n\nthird words\n", "a.md": "# Alpha\n\nnothing now\n"})
    later = team.server("later")
    assert later.follow()
    assert later.paths("third") == ["c.md"]
    assert later.paths("first") == []
    assert later.is_whole()
    behind = team.server("behind")
    first = team.work.git("rev-parse", "HEAD~1")
    behind.clone.fetch()
    behind.index.sync()
    assert behind.tailer.follow(first), "a server that is behind leaves the index as it is"
    assert later.paths("third") == ["c.md"]


def test_a_forced_push_builds_the_index_anew_and_the_dropped_pages_are_gone(team: Team) -> None:
    first = team.work.git("rev-parse", "HEAD")
    server = team.server()
    team.push(**{"x.md": "# Dropped\n"})
    team.push(**{"y.md": "# Dropped too\n"})
    assert server.follow()
    assert set(server.paths("dropped")) == {"x.md", "y.md"}
    team.work.git("reset", "--quiet", "--hard", first)
    kept_text = team.push("--force", **{"z.md": "# Kept\n"})
    assert server.follow()
    assert server.paths("dropped") == []
    assert server.paths("kept") == ["z.md"]
    through = team.engine.reader.through(team.base)
    assert through is not None
    assert (through.commit, through.number) == (kept_text, 2)


def test_a_server_that_never_saw_the_dropped_commits_builds_anew_at_its_second_look(team: Team) -> None:
    first = team.work.git("rev-parse", "HEAD")
    team.push(**{"x.md": "# Dropped\n"})
    assert team.server().follow()
    team.work.git("reset", "--quiet", "--hard", first)
    team.push("--force", **{"z.md": "# Kept\n"})
    fresh = team.server("fresh")
    fresh.follow()
    assert fresh.follow()
    assert fresh.paths("dropped") == []
    assert fresh.paths("kept") == ["z.md"]
    assert fresh.is_whole()


def test_servers_that_write_at_once_leave_one_whole_index(team: Team) -> None:
    servers = [team.server(str(number)) for number in range(3)]
    assert servers[0].follow()
    failures: list[BaseException] = []

    def follow(server: Server) -> None:
        try:
            for _ in range(6):
                server.follow()
        except BaseException as error:  # noqa: BLE001 - a thread's failure is the test's
            failures.append(error)

    threads = [threading.Thread(target=follow, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    for number in range(6):
        team.push(
            **{f"p{number}.md": f"# Page {number}\n\nword{number} common\n", "a.md": f"# Alpha\n\nturn{number}\n"}
        )
    for thread in threads:
        thread.join(100)
    assert failures == []
    assert all(server.follow() for server in servers)
    assert len(servers[0].paths("common")) == 6
    assert servers[0].paths("turn5") == ["a.md"]
    assert all(server.is_whole() for server in servers)


def test_pages_that_the_engine_lost_are_written_again_by_the_next_comparison(team: Team) -> None:
    server = team.server()
    assert server.follow()
    team.engine.remove(team.base, ["a.md"], 1)
    assert server.paths("first") == []
    team.push(**{"c.md": "# Gamma\n"})
    starting = team.server("starting")
    assert starting.follow()
    assert starting.paths("first") == ["a.md"]
    assert starting.is_whole()


def test_pages_that_were_deleted_by_hand_come_back_with_the_next_count(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services_cluster, "COUNT_SECONDS", 0.0)
    server = team.server()
    assert server.follow()
    through = team.engine.reader.through(team.base)
    assert through is not None
    team.engine.writer.remove(team.base, [Address("a.md")], 1)
    team.engine.writer.advance(team.base, through)
    assert server.paths("first") == []
    assert server.follow()
    assert server.paths("first") == ["a.md"]
    assert server.is_whole()


def test_searches_go_to_the_engine_while_it_has_the_commit_and_else_to_the_own_index(team: Team) -> None:
    server = team.server()
    index = SharedSearch(server.index, team.engine.reader, server.tailer)
    query = SearchQuery(text="words")
    server.clone.fetch()
    server.index.sync()
    before = index.search(query)
    assert (before.total, before.notice) == (2, "")
    assert server.follow()
    # What only the engine has shows who answered.
    team.engine.put(team.base, {"engine.md": "# Engine\n\nwords of the engine\n"}, 1)
    assert {hit.record.address.path for hit in index.search(query).hits} == {"a.md", "b.md", "engine.md"}
    assert index.search(query).notice == ""
    team.engine.writer.drop(team.base)
    after = index.search(query)
    assert after.total == 2
    assert after.notice.endswith(OWN_ANSWER)
    assert index.record(Address("a.md")) is not None
    counted = {"engine": 2, "engine, in part": 0, "own index": 1, "own index, engine failing": 1}
    assert server.tailer.status().searches == counted
    assert server.follow(), "a dropped index is made again"
    assert server.tailer.status().behind == 0
    server.tailer.expect()
    assert server.tailer.status().behind > 0


class Failing:
    """A reader of an engine that is away, or of which a part is."""

    def __init__(self, engine: Engine, *, partial: bool) -> None:
        self._engine = engine
        self._partial = partial
        self.asked = 0

    def search(
        self,
        bases: Sequence[SharedBase],
        query: SearchQuery,
        labels: LinkLabels = no_labels,
        question: QuestionVector | None = None,
    ) -> object:
        self.asked += 1
        if not self._partial:
            raise UnavailableError("The search cluster does not answer.", kind="engine", hint="Wait.")
        match = self._engine.reader.search(bases, query, labels, question)
        return type(match)(match.results, frozenset(bases))


def test_hits_of_the_engine_name_pages_of_one_id_by_their_paths(team: Team) -> None:
    team.push(**{"c.md": "---\nid: twin\n---\ntwin words\n", "d.md": "---\nid: twin\n---\nmore twin words\n"})
    server = team.server()
    assert server.follow()
    index = SharedSearch(server.index, team.engine.reader, server.tailer)
    match = index.search(SearchQuery(text="words"))
    assert server.tailer.status().searches["engine"] == 1
    assert {hit.record.reference for hit in match.hits} == {"a", "b", "c.md", "d.md"}


def test_an_engine_that_is_away_is_left_alone_for_a_while_and_partial_answers_are_said(team: Team) -> None:
    server = team.server()
    assert server.follow()
    away = Failing(team.engine, partial=False)
    index = SharedSearch(server.index, away, server.tailer)  # pyright: ignore[reportArgumentType]
    for _ in range(3):
        match = index.search(SearchQuery(text="words"))
        assert match.total == 2
        assert "does not answer" in match.notice
        assert OWN_ANSWER in match.notice
    assert away.asked == 1
    short = SharedSearch(server.index, Failing(team.engine, partial=True), server.tailer)  # pyright: ignore[reportArgumentType]
    assert short.search(SearchQuery(text="words")).notice == PARTIAL
    assert server.tailer.status().searches["engine, in part"] == 1
