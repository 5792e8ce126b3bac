"""Search by meaning: the cost of embedding, and the time of a hybrid search against a search by words."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measuring import Row, Work, milliseconds, percentile, spent
from benchmarks.stdio import StdioServer
from benchmarks.trees import Tree, generated_tree, real_tree
from commonplace.embed.encoder import OnnxEncoder
from commonplace.embed.installer import find_model
from commonplace.embed.vector_space import VectorScan
from commonplace.settings import default_settings

PART = "meaning"
FILES = 10_000
SAMPLE = 300
"""Number of pages of real documentation whose embedding is measured."""
VECTORS = (75_000, 150_000)
DIMENSION = 384


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    yield _loading()
    yield from _scanning()
    yield from _embedding(work)
    tree = generated_tree(work.folder, min(FILES, work.sections), 1)
    _embed(tree)
    yield from _searching(tree)


def _loading() -> Row:
    folder = find_model(default_settings().model_dir)
    if folder is None:
        raise SystemExit("No model is installed. Run: commonplace model install")
    began = time.perf_counter()
    encoder = OnnxEncoder(folder)
    loaded = 1000 * (time.perf_counter() - began)
    times = milliseconds([partial(encoder.encode, [f"how do I restore number {n}?"], question=True) for n in range(50)])
    detail = f"a question p50 {percentile(times, 50):.1f} ms, p99 {percentile(times, 99):.1f} ms"
    return Row(PART, "loading the model, its digest checked", loaded, "ms", "", detail)


def _scanning() -> Iterator[Row]:
    chance = np.random.default_rng(1)
    question = chance.normal(0, 0.01, DIMENSION).astype(np.float32)
    for count in VECTORS:
        codes = chance.integers(-127, 128, (count, DIMENSION)).astype(np.int8)
        scan = VectorScan(DIMENSION)
        scan.add(codes)
        times = milliseconds([partial(scan.best, question, 600, None)] * 10)
        yield Row(
            PART, f"comparing a question with {count:,} vectors", percentile(times, 50), "ms", "4.4 at 150,000 of 256"
        )


def _embedding(work: Work) -> Iterator[Row]:
    real = real_tree(work.folder)
    if real is None:
        return
    sample = work.folder / "sample"
    sample.mkdir()
    paths = sorted(real.folder.rglob("*.md"))
    for number, path in enumerate(paths[:: max(len(paths) // SAMPLE, 1)]):
        (sample / f"{number:04}.md").write_bytes(path.read_bytes())
    tree = Tree("real pages", sample, len(list(sample.iterdir())), ())
    _index(tree)
    cost = spent(partial(_embed, tree))
    status = _run("model", "status", "--json", "-C", str(tree.folder))
    chunks = int(status.partition('"chunks":')[2].partition(",")[0])
    detail = (
        f"{chunks:,} chunks of {tree.files} pages in {cost.cpu:.1f} CPU s, {cost.wall:.1f} s wall, the start included"
    )
    yield Row(PART, "embedding real documentation", chunks / cost.cpu, "chunks per CPU second", "≥ 60", detail)


def _searching(tree: Tree) -> Iterator[Row]:
    name = f"over stdio, {tree.files:,} files"
    with StdioServer(tree.folder) as server:
        server.call("kb_search", query=tree.questions[0], mode="semantic")
        for mode, reach in (("keyword", "p50 < 5"), ("hybrid", "p50 < 15"), ("semantic", "")):
            calls = [partial(server.call, "kb_search", query=text, limit=10, mode=mode) for text in tree.questions]
            cpu = server.cpu()
            times = milliseconds(calls)
            used = 1000 * (server.cpu() - cpu) / len(calls)
            detail = f"p99 {percentile(times, 99):.1f} ms, {used:.1f} CPU ms in the server"
            yield Row(PART, f"{mode} search {name}", percentile(times, 50), "ms", reach, detail)
        now, most = server.memory()
        yield Row(PART, f"memory with the model {name}", now, "MB", "", f"most ever {most:.0f} MB")


def _index(tree: Tree) -> None:
    _run("index", "-C", str(tree.folder))


def _embed(tree: Tree) -> None:
    _run("index", "--embed", "-C", str(tree.folder))


def _run(*arguments: str) -> str:
    command = [str(Path(sys.executable).with_name("commonplace")), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
