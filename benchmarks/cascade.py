"""The cost of layers: resolving, searching, listing and following links over three layers, in process.

Three layers of N generated concepts each have the same ids; sections differ between them, and every concept links to
others. Times are of calls of the services, without transport.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.measuring import Row, Work, percentile
from benchmarks.trees import skewed_prose
from commonplace.bootstrap import Application
from commonplace.settings import default_settings
from commonplace.toolsets.cascade.rules.output import resolved_json
from commonplace.toolsets.cascade.service import CASCADE_KEY
from commonplace.toolsets.cascade.service.cascade import Cascade
from commonplace.toolsets.cascade.service.concept_search import incoming, outgoing, search

PART = "cascade"
SIZES = (1_000, 10_000)
"""Number of concepts in each layer."""
ROUNDS = 100
"""Number of calls of each kind."""
LAYERS = ("personal", "team", "company")
TYPES = ("Service", "Runbook", "Decision", "Person")


def rows(work: Work) -> Iterator[Row]:
    """Every figure of this part."""
    for size in SIZES:
        yield from measure(work.folder / f"layers-{size}", size, ROUNDS)


def measure(folder: Path, size: int, rounds: int) -> Iterator[Row]:
    """The figures of three layers of `size` concepts each."""
    chance = random.Random(size)
    prose = skewed_prose(chance)
    for layer in LAYERS:
        for number in range(size):
            file = folder / layer / f"{identifier(number)}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(concept(chance, prose, layer, number, size))
    manifest = folder / "layers.json"
    entries = [{"name": name, "level": 3 - place, "path": name} for place, name in enumerate(LAYERS)]
    manifest.write_text(json.dumps({"layers": entries}))
    settings = replace(default_settings(), manifest=manifest, cache_dir=folder / "cache", state_dir=folder / "state")
    application = Application((), settings)
    try:
        application.sync()
        cascade = application.services.of(CASCADE_KEY)
        assert cascade is not None  # noqa: S101 - the settings name a manifest
        asking = Asking(cascade, chance, prose, size)
        for name, (reach, call) in asking.calls().items():
            yield timed(f"{name}, {len(LAYERS)} x {size:,} concepts", reach, call, rounds)
        yield timed(
            f"search after a change in one layer, {len(LAYERS)} x {size:,} concepts",
            "",
            lambda: asking.search(asking.words(1)[0]),
            15,
            lambda: asking.change(folder / LAYERS[1], application),
        )
    finally:
        application.close()


@dataclass(frozen=True, slots=True)
class Asking:
    """Calls of each kind, with random arguments."""

    cascade: Cascade
    chance: random.Random
    prose: list[str]
    size: int

    def calls(self) -> dict[str, tuple[str, Callable[[], object]]]:
        """The target and the call by name of the figure."""
        rare = [word for word, count in Counter(self.prose).items() if count < 20]
        return {
            "resolve": ("p50 < 3", lambda: resolved_json(self.cascade.resolve(self.some_id()))),
            "search, three words of prose": ("", lambda: self.search(" ".join(self.words(3)))),
            "search, a rare word": ("", lambda: self.search(self.chance.choice(rare))),
            "search, a question": ("", lambda: self.search(f"how do we {self.words(1)[0]} the {self.words(2)[1]}?")),
            "list of a type": ("", self.listed),
            "links both ways": ("", self.links),
        }

    def some_id(self) -> str:
        """The id of a random concept."""
        return identifier(self.chance.randrange(self.size))

    def words(self, count: int) -> list[str]:
        """Consecutive words of the generated prose."""
        at = self.chance.randrange(len(self.prose) - count)
        return self.prose[at : at + count]

    def search(self, query: str) -> object:
        """Search for ten concepts with snippets."""
        return search(self.cascade, query, 10)

    def listed(self) -> object:
        """The concepts of one type."""
        return [row.id for row in self.cascade.overview().rows.values() if row.type == TYPES[0]]

    def links(self) -> None:
        """Resolve a concept and find its outgoing and incoming links."""
        resolved = self.cascade.resolve(self.some_id())
        outgoing(self.cascade, resolved)
        incoming(self.cascade, resolved.id)

    def change(self, layer: Path, application: Application) -> None:
        """Change a concept in one layer, and index the change."""
        name = self.some_id()
        with (layer / f"{name}.md").open("a") as file:
            file.write(f"\n{' '.join(self.words(9))}\n")
        application.sync()


def timed(
    name: str, reach: str, call: Callable[[], object], rounds: int, before: Callable[[], object] = lambda: None
) -> Row:
    """The median time of a call in milliseconds, with the 99th percentile and CPU time as detail.

    Args:
        name: Name of the figure.
        reach: Target of the figure.
        call: The timed call.
        rounds: Number of calls.
        before: Called before each timed call, not timed.
    """
    call()
    taken: list[float] = []
    used: list[float] = []
    for _ in range(rounds):
        before()
        begun, cpu = time.perf_counter(), time.process_time()
        call()
        taken.append(1000 * (time.perf_counter() - begun))
        used.append(1000 * (time.process_time() - cpu))
    taken.sort()
    detail = f"p99 {percentile(taken, 99):.1f} ms; {statistics.median(used):.2f} CPU ms"
    return Row(PART, name, percentile(taken, 50), "ms", reach, detail)


def identifier(number: int) -> str:
    """The id of a concept."""
    return f"area{number % 20}/concept-{number}"


def concept(chance: random.Random, prose: list[str], layer: str, number: int, size: int) -> str:
    """A document of about 1.5 kB with six sections, three links and frontmatter."""

    def text(words: int) -> str:
        at = chance.randrange(len(prose) - words)
        return " ".join(prose[at : at + words])

    links = " ".join(f"[[{identifier(chance.randrange(size))}]]" for _ in range(3))
    lines = [
        "---",
        f"type: {TYPES[number % len(TYPES)]}",
        f"title: {text(3)} {number}",
        f"updated: 2026-0{chance.randrange(1, 10)}-01",
        f"tags: [{text(1)}]",
        "---",
        f"See {links}.",
    ]
    for heading in ("Owner {#owner}", "Steps", f"Only {layer}", "Policy", "History"):
        lines += ["", f"## {heading}", text(chance.randrange(10, 80))]
    return "\n".join([*lines, ""])
