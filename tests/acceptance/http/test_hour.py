"""An hour of everything at once: nothing grows, nothing is lost, and every call is answered."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from serving import Server, commonplace, served
from soak.folder import BRANCHES, SharedFolder, shared_folder
from soak.load import Actor, Noted, Piped, Reader, Writer, passing_client
from soak.sampling import Sample, percentile, sample, slope
from support import MODELS, SOAK, Amount, Corpora
from wire import Wire, wire

Record = Callable[[str, object], None]
EVERY = 60.0 if SOAK else 1.0
"""Seconds between two samples."""
WARM = 10
"""Samples at the beginning that are not judged: the model is loaded, memory is filled."""
GROWTH = 0.1
"""Maximum growth in an hour after the warm-up, by a line through the samples, as a share of the memory then."""
READS = ("search_rest", "search_mcp", "read_rest", "read_mcp", "list_rest", "search_piped", "read_piped", "list_piped")
WRITES = ("put", "patch", "rename", "delete", "attach", "write_piped")
MEDIAN, SLOWEST = 0.5, 10.0
"""Seconds: what half of a minute's reads may take, and all but one in a hundred, on however busy a machine."""


@pytest.mark.soak
@pytest.mark.timeout(3 * 3600)
def test_an_hour_of_mixed_load_grows_nothing_and_loses_nothing(
    tmp_path: Path, cache_dir: Path, corpora: Corpora, amount: Amount, record_property: Record
) -> None:
    seconds, files = amount(2, 3600), 2000 if SOAK else 60
    assert cache_dir.is_dir()
    chance = random.Random(20261121)
    folder = shared_folder(tmp_path / "kb", corpora, files, chance)
    environment = {"COMMONPLACE_MODEL_DIR": str(MODELS)} if SOAK else {}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        _embed(folder)
        with (
            served(folder.repo.path, "--tier", "write") as server,
            wire("mcp", "--toolset", "kb", folder.repo.path, "--tier", "write", "--commit", "auto") as piped,
        ):
            piped.initialize()
            assert piped.call("kb_list") is not None
            watch = _live(server, piped, folder, seconds)
            assert not [line for line in server.lines if "Traceback" in line], server.lines[-50:]
            assert server.stop() == 0
    watch.tell(record_property)
    _assert_kept(folder)
    _assert_as_fresh(folder, tmp_path)
    watch.judge()


class Watch:
    """The samples of two processes and of their answers, one row per sample."""

    def __init__(self, processes: Mapping[str, int]) -> None:
        self.noted = Noted()
        self._processes = processes
        self._began = time.monotonic()
        self._samples: dict[str, list[Sample]] = {name: [] for name in processes}
        self._times: list[dict[str, list[float]]] = []

    def look(self) -> None:
        """Take one sample of everything."""
        minute = (time.monotonic() - self._began) / 60
        for name, process in self._processes.items():
            self._samples[name].append(sample(process, minute))
        self._times.append(self.noted.take())

    def tell(self, record: Record) -> None:
        """Figures for the report: every tenth of the samples, so that any growth can be seen."""
        for kind, count in sorted(self.noted.counts.items()):
            record(kind, count)
        for name, samples in self._samples.items():
            for what in ("memory", "resident", "files", "threads", "cpu"):
                values = [getattr(other_sample, what) for other_sample in samples]
                record(f"{name}: {what}", " ".join(f"{value:.0f}" for value in values[:: max(1, len(values) // 10)]))
        step = max(1, len(self._times) // 6)
        for name, kinds in (("reads", READS), ("writes", WRITES)):
            spans = [_times(self._times[start : start + step], kinds) for start in range(0, len(self._times), step)]
            shown = [
                f"{percentile(item, 0.5) * 1000:.0f}/{percentile(item, 0.99) * 1000:.0f}" for item in spans if item
            ]
            record(f"{name}: ms p50/p99", " ".join(shown))

    def judge(self) -> None:
        """Nothing grows after the warm-up, and answers come in time in every minute. A few samples show nothing."""
        if len(self._times) < 3 * WARM:
            return
        for minute, times in enumerate(self._times):
            reads = _times([times], READS)
            assert percentile(reads, 0.5) < MEDIAN, minute
            assert percentile(reads, 0.99) < SLOWEST, minute
        for name, samples in self._samples.items():
            _assert_level(name, samples[WARM:])


def _times(minutes: Sequence[Mapping[str, list[float]]], kinds: Sequence[str]) -> list[float]:
    return [element for minute in minutes for kind in kinds for element in minute.get(kind, ())]


def _assert_level(name: str, samples: Sequence[Sample]) -> None:
    for what, spare in (("memory", 8.0), ("resident", 8.0), ("files", 2.0), ("threads", 1.0)):
        points = [(other_sample.minute, float(getattr(other_sample, what))) for other_sample in samples]
        held = statistics.median(value for _, value in points[:5])
        growth = slope(points) * 60
        assert growth <= max(GROWTH * held, spare), f"{what} of {name} grew by {growth:.1f} an hour, from {held:.1f}"


def _live(server: Server, piped: Wire, folder: SharedFolder, seconds: float) -> Watch:
    """Let everybody act for so long; raises what any of them ran into."""
    watch = Watch({"serve": server.process.pid, "mcp": piped.process.pid})
    stop = threading.Event()
    readers = [Reader(watch.noted, seed, server, folder) for seed in (1, 2)]
    actors: list[Actor] = [*readers, Piped(watch.noted, 3, piped, folder), Writer(watch.noted, 4, server, folder)]
    rate = 1.0 if SOAK else 8.0
    threads = [threading.Thread(target=actor.live, args=(stop, rate), daemon=True) for actor in actors]
    for thread in threads:
        thread.start()
    ends, minute = time.monotonic() + seconds, 0
    while time.monotonic() < ends and not stop.wait(EVERY):
        minute += 1
        watch.look()
        if minute % 5 == 0 and SOAK:
            passing_client(folder.repo.path)
    stop.set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a call is not answered"
    for failure in watch.noted.failures:
        failure.add_note("".join(server.lines[-100:]))
        raise failure
    return watch


def _embed(folder: SharedFolder) -> None:
    """Embed the pages where there is a model: their vectors would fill the memory for as long as that takes."""
    if SOAK:
        command = [sys.executable, "-m", "commonplace", "index", "--embed", "-C", folder.repo.path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def _assert_kept(folder: SharedFolder) -> None:
    """Every page holds what was last acknowledged on its branch, and nothing is left over."""
    repo = folder.repo
    folder.switch()
    for branch in BRANCHES:
        listed = repo.git("ls-tree", "-r", "--name-only", branch, "soak/").splitlines()
        assert sorted(listed) == sorted(f"{page}.md" for page in folder.known[branch])
        for page, content in folder.known[branch].items():
            assert repo.git("show", f"{branch}:{page}.md").strip() == content.strip(), (branch, page)
    assert repo.git("status", "--porcelain") == ""
    repo.git("fsck", "--strict", "--no-dangling")


def _assert_as_fresh(folder: SharedFolder, place: Path) -> None:
    """The index that lived through it lists what one says that is made anew."""
    kept_values = _listed(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", os.fspath(place / "fresh"))
        assert kept_values == _listed(folder)
    files = [path for path in folder.repo.git("ls-files", "-z").split("\0") if path.endswith(".md")]
    assert [kept_value["path"] for kept_value in kept_values] == sorted(files)


def _listed(folder: SharedFolder) -> list[dict[str, object]]:
    """All documents but for their dates, which are found out in the background."""
    done = commonplace("list", "-C", folder.repo.path, "--json", "--limit", "10000")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["documents"]
    return sorted(({k: v for k, v in row.items() if k not in {"created", "updated"}} for row in rows), key=_path)


def _path(row: Mapping[str, object]) -> str:
    return str(row["path"])
