"""What layers cost: resolving, searching, listing and following links over three layers, in process.

Three layers of N generated concepts each hold the same ids; sections differ between them, and every concept links to
others. Times are medians and 99th percentiles of calls of the services, without transport.

    python -m benchmarks.cascade [--sizes 1000 10000] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from commonplace.bootstrap import Workplace
from commonplace.domain.cascade.shapes import resolved_json
from commonplace.services.layering.cascade import Cascade
from commonplace.services.layering.links import incoming, outgoing
from commonplace.services.layering.searching import search
from commonplace.settings import default_settings

TEXT = """
    restore database rotate certificate deploy release monitor alert invoice booking harbour tide gauge owner contact
    policy retention backup standby failover queue timeout latency budget review meeting decision architecture"""
WORDS = TEXT.split()
LAYERS = ("personal", "team", "company")
TYPES = ("Service", "Runbook", "Decision", "Person")


def main() -> None:
    """Build the layers, measure, and print one line of JSON for each size."""
    parser = argparse.ArgumentParser(description="Measure the cascade over three layers.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000], help="concepts in each layer")
    parser.add_argument("--rounds", type=int, default=300, help="calls of each kind")
    given = parser.parse_args()
    for size in given.sizes:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(measure(Path(folder), size, given.rounds)))


def measure(folder: Path, size: int, rounds: int) -> dict[str, object]:
    """Milliseconds by operation, for three layers of this many concepts."""
    chance = random.Random(size)
    for layer in LAYERS:
        for number in range(size):
            file = folder / layer / f"area{number % 20}" / f"concept-{number}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(concept(chance, layer, number, size))
    manifest = folder / "layers.json"
    entries = [{"name": name, "level": 3 - place, "path": name} for place, name in enumerate(LAYERS)]
    manifest.write_text(json.dumps({"layers": entries}))
    settings = replace(default_settings(), manifest=manifest, cache_dir=folder / "cache", state_dir=folder / "state")
    workplace = Workplace((), settings)
    try:
        begun = time.perf_counter()
        workplace.sync()
        indexed = time.perf_counter() - begun
        cascade = workplace.services.cascade
        assert cascade is not None  # noqa: S101 - the settings name a manifest
        begun = time.perf_counter()
        cascade.overview()
        overview = time.perf_counter() - begun
        return {
            "layers": len(LAYERS),
            "concepts": size,
            "index_seconds": round(indexed, 2),
            "overview_after_a_change_ms": round(overview * 1000, 1),
            **operations(cascade, chance, size, rounds),
        }
    finally:
        workplace.close()


def operations(cascade: Cascade, chance: random.Random, size: int, rounds: int) -> dict[str, object]:
    """What each kind of call takes."""

    def identifier() -> str:
        number = chance.randrange(size)
        return f"area{number % 20}/concept-{number}"

    def links() -> None:
        resolved = cascade.resolve(identifier())
        outgoing(cascade, resolved)
        incoming(cascade, resolved.id)

    return {
        "resolve_ms": timed(lambda: resolved_json(cascade.resolve(identifier())), rounds),
        "search_ms": timed(lambda: search(cascade, " ".join(chance.sample(WORDS, 3)), 10), rounds),
        "question_ms": timed(lambda: search(cascade, f"how do I {chance.choice(WORDS)} the {WORDS[3]}?", 10), rounds),
        "list_ms": timed(lambda: [r.id for r in cascade.overview().rows.values() if r.type == TYPES[0]], rounds),
        "links_ms": timed(links, rounds),
    }


def timed(call: Callable[[], object], rounds: int) -> dict[str, float]:
    """Milliseconds of a call: the median, the 99th percentile, and the mean of CPU time."""
    taken: list[float] = []
    started = time.process_time()
    for _ in range(rounds):
        begun = time.perf_counter()
        call()
        taken.append((time.perf_counter() - begun) * 1000)
    spent = (time.process_time() - started) * 1000 / rounds
    return {
        "p50": round(statistics.median(taken), 2),
        "p99": round(sorted(taken)[int(rounds * 0.99)], 2),
        "cpu": round(spent, 2),
    }


def concept(chance: random.Random, layer: str, number: int, size: int) -> str:
    """A document of some 1.5 kB with five sections, three links and frontmatter."""
    targets = [chance.randrange(size) for _ in range(3)]
    links = " ".join(f"[[area{target % 20}/concept-{target}]]" for target in targets)
    lines = [
        "---",
        f"type: {TYPES[number % len(TYPES)]}",
        f"title: {' '.join(chance.sample(WORDS, 3))} {number}",
        f"updated: 2026-0{chance.randrange(1, 10)}-01",
        f"tags: [{chance.choice(WORDS)}]",
        "---",
        f"See {links}.",
    ]
    for heading in ("Owner {#owner}", "Steps", f"Only {layer}", "Policy", "History"):
        lines += ["", f"## {heading}", " ".join(chance.choices(WORDS, k=35))]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
