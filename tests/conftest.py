"""Fixtures for many tests: real corpora, real Git repositories, separate caches, and the extent of a run."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pygit2
import pytest
from hypothesis import is_hypothesis_test, settings
from pygit2.enums import ConfigLevel

from deployments.deployment import DEPLOYMENT, ENGINE, engine_prefixes
from deployments.left_out import reason_left_out
from forks.forking import load_product
from forks.preloaded import forking, keep_environment
from opensearch_cluster.shared_server import shared
from remotes import canary
from spaces.server import SearchServer, running
from support import SOAK, Amount, Corpora, GitRepo, MakeRepo, new_repo, unpacked_corpus

# A busy machine is no failure: nothing at random is timed by the clock. `make test` tries the same cases each time, and
# what was found once is an explicit example; `make soak` looks for new ones.
settings.register_profile("suite", deadline=None, derandomize=not SOAK, max_examples=100 if SOAK else 50)
settings.load_profile("suite")


UMASK = os.umask(0o022)
os.umask(UMASK)
SERVERS = pytest.StashKey[ExitStack]()
"""Servers that end with the session and not with a test: their first user waits for the others, however long."""


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End the servers that this worker uses."""
    session.config.stash.get(SERVERS, ExitStack()).close()


def pytest_collection() -> None:
    """Collect tests without the garbage collector, which would visit half a million objects again and again."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Keep what was collected from the garbage collector."""
    gc.freeze()
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    """Declare the project's own markers."""
    config.addinivalue_line("markers", "soak: runs only in `make soak` (SOAK=1)")
    config.addinivalue_line(
        "markers", "sampled(step): outside `make soak` every step-th case runs, from the first one on"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select the tests that are longer in a soak run; in other runs, skip the tests made for soak runs."""
    if any(is_hypothesis_test(getattr(item, "obj", None)) for item in items):
        load_product()  # Hypothesis takes constants from what is loaded: without all of it, cases depend on the order
    if SOAK:
        longer = [item for item in items if _is_longer_in_soak(item)]
        config.hook.pytest_deselected(items=[item for item in items if item not in longer])
        items[:] = longer
        return
    for item in items:
        if DEPLOYMENT != "folder" and (reason := reason_left_out(item.name)):
            item.add_marker(pytest.mark.skip(reason=reason))
        if item.get_closest_marker("soak"):
            item.add_marker(pytest.mark.skip(reason="runs in `make soak` only"))
    _sample(config, items)


def _sample(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases of a test that its marker `sampled` leaves to `make soak`: the same ones in every run."""
    cases: Counter[str] = Counter()
    left: list[pytest.Item] = []
    for item in items:
        if sampled := item.get_closest_marker("sampled"):
            test = item.nodeid.partition("[")[0]
            if cases[test] % sampled.args[0]:
                left.append(item)
            cases[test] += 1
    config.hook.pytest_deselected(items=left)
    out = frozenset(left)
    items[:] = [item for item in items if item not in out]


def _is_longer_in_soak(item: pytest.Item) -> bool:
    fixtures = item.fixturenames if isinstance(item, pytest.Function) else ()
    markers = (item.get_closest_marker(name) for name in ("soak", "sampled"))
    return "amount" in fixtures or any(marker is not None for marker in markers)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Fail an acceptance test after which a commit holds the canary of a served folder, there or in its remote."""
    if "acceptance" in item.path.parts:
        assert canary.found() == []


@pytest.fixture(scope="session", autouse=True)
def no_canary_is_committed() -> Iterator[None]:
    """The same once more at the end, when what was still to be pushed has been."""
    yield
    assert canary.found(packed=True) == []


@pytest.fixture(scope="session", autouse=True)
def clean_environment(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Iterator[None]:
    """No test sees the developer's Git configuration or touches the developer's cache and state."""
    empty = tmp_path_factory.mktemp("no-configuration")
    with pytest.MonkeyPatch.context() as patch:
        for name in [n for n in os.environ if n.startswith(("GIT_", "COMMONPLACE_", "MEILI_")) or n == "NO_COLOR"]:
            patch.delenv(name)
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        if DEPLOYMENT != "folder":  # a replica commits as its user, not as the writer of a folder's repository
            configuration = tmp_path_factory.mktemp("configuration") / "config"
            configuration.write_text("[user]\n\tname = Test Writer\n\temail = writer@example.org\n")
            patch.setenv("GIT_CONFIG_GLOBAL", str(configuration))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("GIT_TERMINAL_PROMPT", "0")
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        # Without a model: what needs one names it.
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        for level in (ConfigLevel.GLOBAL, ConfigLevel.XDG, ConfigLevel.SYSTEM):
            pygit2.settings.search_path[level] = str(empty)
        keep_environment(lambda: _shared(pytestconfig, tmp_path_factory, worker_id, "forks", forking))
        yield


@pytest.fixture(scope="session", autouse=True)
def search_cluster_of_the_deployment(clean_environment: None, request: pytest.FixtureRequest) -> Iterator[None]:
    """The cluster in which replicas search, if the deployment has one."""
    del clean_environment
    with pytest.MonkeyPatch.context() as patch:
        if DEPLOYMENT == "cluster":
            patch.setenv(ENGINE, request.getfixturevalue("opensearch_url"))
        yield


@pytest.fixture(scope="module", autouse=True)
def indexes_of_the_deployment(search_cluster_of_the_deployment: None) -> Iterator[None]:
    """Deletes the indexes that a module's tests have made in the cluster; a small node cannot hold those of all."""
    del search_cluster_of_the_deployment
    yield
    if engine_prefixes:
        from opensearchpy import OpenSearch  # noqa: PLC0415 - few tests need it

        with OpenSearch([os.environ[ENGINE]], timeout=60) as client:
            while engine_prefixes:
                client.indices.delete(index=f"{engine_prefixes.pop()}-*")


@pytest.fixture
def cache_dir(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder of this test's own, in force as `XDG_CACHE_HOME` for it and its child processes.

    `XDG_STATE_HOME` is an empty folder of its own then, too.
    """
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def amount(record_property: Callable[[str, object], None]) -> Amount:
    """`amount(sampled, whole)`: how many rounds a long test makes now; the number is noted in the test's report."""

    def rounds(sampled: int, whole: int) -> int:
        chosen = whole if SOAK else sampled
        record_property("rounds", chosen)
        return chosen

    return rounds


@pytest.fixture(scope="session")
def corpora() -> Corpora:
    """`corpora("cpp-docs")`: a folder of real Markdown, read-only by agreement; skips where it is absent."""
    return unpacked_corpus


@pytest.fixture(scope="session")
def search_server() -> Iterator[SearchServer]:
    """A real search server, one for each worker of a session; tests keep to indexes of their own."""
    with running() as server:
        yield server


@pytest.fixture(scope="session")
def opensearch_url(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> str:
    """A real OpenSearch of one node, which all workers of a session share; tests keep to indexes of their own."""
    from opensearch_cluster.cluster import running as running_cluster  # noqa: PLC0415 - few tests need its client

    @contextmanager
    def started() -> Generator[str]:
        with running_cluster(1) as cluster:
            yield cluster.urls[0]

    return _shared(pytestconfig, tmp_path_factory, worker_id, "opensearch", started)


def _shared(
    config: pytest.Config,
    factory: pytest.TempPathFactory,
    worker: str,
    name: str,
    started: Callable[[], AbstractContextManager[str]],
) -> str:
    """The address of a server that all workers of a session share; see `shared`."""
    base = factory.getbasetemp()
    folder = base if worker == "master" else base.parent
    return config.stash.setdefault(SERVERS, ExitStack()).enter_context(shared(folder / name, started))


@pytest.fixture
def git_repo(tmp_path: Path) -> MakeRepo:
    """`git_repo(name="repo", files={"a.md": "# A"})`: a new repository, with one commit when there are files."""

    def make(name: str = "repo", files: dict[str, str | bytes] | None = None) -> GitRepo:
        return new_repo(tmp_path / name, files)

    return make


@pytest.fixture(autouse=True)
def unchanged_umask() -> Iterator[None]:
    """Restore the process's umask, which the program narrows when a test or a fixture runs it in this process."""
    os.umask(UMASK)
    yield
    os.umask(UMASK)
