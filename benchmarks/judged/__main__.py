"""Quality of search on judged question sets: `python -m benchmarks.judged [set…]`.

Each set is written to a folder of Markdown files (the title as H1, the id in the frontmatter) and indexed as any
folder. Its questions are run through the service that every face uses, by words, by meaning and by both. nDCG@10 and
recall@10 are computed over files. Lexical baselines answer the same questions. Folders, indexes and vectors are cached
in `.cache/eval`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from benchmarks.judged import mixed
from benchmarks.judged.answers import answered
from benchmarks.judged.clustered import compared, opened_cluster
from benchmarks.judged.evidence import BUDGETS, recalls, write_pages
from benchmarks.judged.growing import SHARES as GROWING_SHARES
from benchmarks.judged.growing import growths
from benchmarks.judged.layers import layer_recalls
from benchmarks.judged.noise import noise_url
from benchmarks.judged.partial import SHARES, curve
from benchmarks.judged.queries import TypedQueries
from benchmarks.judged.sets import (
    DEPTH,
    HALVES,
    Half,
    JudgedSet,
    Question,
    Score,
    half_of,
    read_set,
    scored,
    write_vault,
)
from commonplace.bootstrap import Application
from commonplace.domain.query import SEARCH_MODES, Filter, SearchMode, SearchQuery
from commonplace.services.collections import Collection
from commonplace.services.searches import search
from commonplace.settings import Settings, load_settings

SETS = Path(os.environ.get("SHARED_MATERIAL", Path(__file__).resolve().parents[3] / "shared")) / "eval"
KEPT = Path(__file__).resolve().parents[2] / ".cache" / "eval"
FEW_CHUNKS = 100
"""Minimum number of chunks for which a rate is printed."""


@dataclass(frozen=True, slots=True)
class Run:
    """The configuration of a run."""

    folder: Path
    """Folder of the sets."""
    modes: Sequence[SearchMode]
    half: Half
    noise: str = ""
    """URL of a model with random vectors; "" for the installed model."""

    def judged(self, name: str) -> JudgedSet:
        """A set with the chosen half of its questions."""
        if name == mixed.NAME:
            made = mixed.mixed_set()
            return replace(made, questions=half_of(made.questions, self.half))
        return read_set(self.folder / name, self.half)

    @contextmanager
    def opened(self, root: Path, folders: Sequence[Path]) -> Generator[Sequence[Collection]]:
        """Open folders as a server does, indexed and embedded, with cache and state below `root`."""
        application = Application(folders, self.settings(root))
        try:
            application.sync()
            collections = application.services.collections.members
            if set(self.modes) != {"keyword"}:
                embed(collections)
            yield collections
        finally:
            application.close()

    def settings(self, root: Path) -> Settings:
        """The settings of the environment, with cache and state below a folder."""
        usual = load_settings()
        settings = replace(usual, cache_dir=root / "cache", state_dir=root / "state", model_dir=usual.model_dir)
        return replace(settings, embedding_url=self.noise, embedding_model="noise") if self.noise else settings


def evaluate(run: Run, name: str) -> Iterator[Score]:
    """Index one set, embed it, run its questions in each mode, and score the answers."""
    judged = run.judged(name)
    root = KEPT / name
    ids = write_vault(judged.documents, root / "vault")
    with run.opened(root, [root / "vault"]) as collections:
        for mode in run.modes:
            began = time.perf_counter()
            answers: list[list[str]] = []
            for question in judged.questions:
                within = Filter(prefix=f"{question.scope}/" if question.scope else "")
                hits = search(collections, SearchQuery(text=question.text, filter=within, limit=DEPTH), mode).hits
                answers.append([ids[hit.hit.record.address.path] for hit in hits])
            yield scored(f"{name} {mode}", judged.questions, answers, time.perf_counter() - began)


def differing_in_capitals(run: Run, name: str) -> list[str]:
    """The questions of a set that have other answers by words in capitals than in lower case."""
    judged = run.judged(name)
    root = KEPT / name
    write_vault(judged.documents, root / "vault")
    with replace(run, modes=("keyword",)).opened(root, [root / "vault"]) as collections:

        def answer(question: Question, text: str) -> list[tuple[str, float]]:
            within = Filter(prefix=f"{question.scope}/" if question.scope else "")
            hits = search(collections, SearchQuery(text=text, filter=within, limit=DEPTH), "keyword").hits
            return [(hit.hit.record.address.path, hit.hit.score) for hit in hits]

        return [
            question.text
            for question in judged.questions
            if answer(question, question.text.upper()) != answer(question, question.text.upper().lower())
        ]


def evaluate_baselines(run: Run, name: str) -> Iterator[Score]:
    """The lexical baselines on one set."""
    from benchmarks.judged.baselines import baselines  # noqa: PLC0415 - its libraries are for developers only

    return baselines(run.judged(name), replace(run, half="even").judged(name).questions)


def evaluate_evidence(run: Run, name: str) -> Iterator[tuple[str, list[float]]]:
    """The recall of the right section within each budget, by mode."""
    judged = run.judged(name)
    root = KEPT / f"{name}-pages"
    places = write_pages(judged, root / "vault")
    with run.opened(root, [root / "vault"]) as collections:
        for mode in run.modes:
            yield f"{name} {mode}", recalls(collections, mode, judged.questions, places)


def embed(collections: Sequence[Collection]) -> None:
    """Embed the chunks that are not embedded yet, and print the cost."""
    began, cpu = time.perf_counter(), time.process_time()
    before = sum(collection.semantic_index.status().chunks for collection in collections if collection.semantic_index)
    for collection in collections:
        if collection.semantic_index:
            collection.semantic_index.embed()
    made = (
        sum(collection.semantic_index.status().chunks for collection in collections if collection.semantic_index)
        - before
    )
    if made > FEW_CHUNKS:
        spent, used = time.perf_counter() - began, time.process_time() - cpu
        print(f"embedded {made:,} chunks in {spent:.0f} s, {made / used:.0f} a CPU second", file=sys.stderr)


def main() -> int:
    """Print a table of the named sets, or of all sets."""
    namespace = _arguments()
    names = namespace.sets or [mixed.NAME, *sorted(folder.name for folder in namespace.folder.glob("*/"))]
    run = Run(namespace.folder, tuple(namespace.mode or SEARCH_MODES), namespace.half)
    parts: dict[str, Callable[[], None]] = {
        "ranking": lambda: _print_scores(names, lambda name: evaluate(run, name)),
        "baselines": lambda: _print_scores(names, lambda name: evaluate_baselines(run, name)),
        "capitals": lambda: _print_capitals(run, names),
        "noise": lambda: _print_noise(run, names),
        "partial": lambda: _print_partial(run, names),
        "evidence": lambda: _print_evidence(run, names),
        "answers": lambda: _print_answers(run, names),
        "cluster": lambda: _print_compared(run, names, namespace.every),
        "growing": lambda: _print_growing(run, names),
        "layers": _print_layers,
        "typed": lambda: _print_typed(replace(run, modes=tuple(namespace.typed or ["keyword"]))),
    }
    for part in namespace.part or parts:
        parts[part]()
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sets", nargs="*", help="names of folders; all of them without")
    parser.add_argument("--mode", action="append", choices=SEARCH_MODES, help="may be repeated; all of them without")
    parser.add_argument(
        "--part",
        action="append",
        choices=(
            "ranking",
            "baselines",
            "capitals",
            "noise",
            "partial",
            "evidence",
            "answers",
            "cluster",
            "growing",
            "layers",
            "typed",
        ),
        help="may be repeated; all of them without",
    )
    parser.add_argument("--half", choices=HALVES, default="all", help="every second question of each set, or all")
    parser.add_argument(
        "--typed",
        action="append",
        choices=SEARCH_MODES,
        help="mode of the questions as typed; others than keyword embed long",
    )
    parser.add_argument("--every", type=int, default=1, help="part cluster: every how many-th question is asked")
    parser.add_argument("--folder", type=Path, default=SETS, help="where the sets are")
    return parser.parse_args()


def _print_scores(names: Sequence[str], of: Callable[[str], Iterator[Score]]) -> None:
    print("\n| set | questions | nDCG@10 | recall@10 | empty | ms |\n|---|---|---|---|---|---|")
    for score in (score for name in names for score in of(name)):
        print(
            f"| {score.name} | {score.questions} | {score.ndcg:.4f} | {score.recall:.4f} | {score.empty}"
            f" | {score.milliseconds:.1f} |",
            flush=True,
        )


def _print_capitals(run: Run, names: Sequence[str]) -> None:
    for name in names:
        differing = differing_in_capitals(run, name)
        print(f"{name}: {len(differing)} questions have other answers in capitals {differing[:3] or ''}", flush=True)


def _print_noise(run: Run, names: Sequence[str]) -> None:
    """Hybrid search with a model whose vectors are random."""
    print("\nWith a model whose vectors are random:")
    with noise_url() as url:
        random = replace(run, modes=("hybrid",), noise=url)
        _print_scores(names, lambda name: evaluate(random, name))


def _print_partial(run: Run, names: Sequence[str]) -> None:
    """Hybrid search with a part of the pages embedded."""
    print(f"\n| nDCG@10 by pages embedded | {' | '.join(f'{share} %' for share in SHARES)} |")
    print(f"|---|{'---|' * len(SHARES)}")
    for name in names:
        judged, root = run.judged(name), KEPT / name
        ids = write_vault(judged.documents, root / "vault")
        with replace(run, modes=("hybrid",)).opened(root, [root / "vault"]) as (collection,):
            figures = dict(curve(collection, run.settings(root), root, judged.questions, ids))
        print(f"| {name} | {' | '.join(f'{figures[share]:.4f}' for share in SHARES)} |", flush=True)


def _print_evidence(run: Run, names: Sequence[str]) -> None:
    budgets = " | ".join(f"{budget:,} tokens" for budget in BUDGETS)
    print(f"\n| right section in the evidence | {budgets} |\n|---|{'---|' * len(BUDGETS)}")
    for name, found_values in (row for other_name in names for row in evaluate_evidence(run, other_name)):
        print(f"| {name} | {' | '.join(f'{recall:.3f}' for recall in found_values)} |", flush=True)


def _print_answers(run: Run, names: Sequence[str]) -> None:
    print("\n| right section in the answer | budget | recall | tokens |\n|---|---|---|---|")
    for name in names:
        for mode in run.modes:
            if mode == "semantic":
                continue  # `search` of the toolset `notes` has no such mode
            for item in answered(run.judged(name), KEPT / f"{name}-answers", mode, embed_folder):
                print(f"| {item.tool} | {item.budget:,} | {item.recall:.3f} | {item.tokens:,.0f} |", flush=True)


def embed_folder(folder: Path) -> None:
    """Index and embed a folder as a server does with the settings of the environment."""
    application = Application([folder], load_settings())
    try:
        application.sync()
        embed(application.services.collections.members)
    finally:
        application.close()


def _print_compared(run: Run, names: Sequence[str], every: int) -> None:
    """Print both engines' scores; nothing without OpenSearch."""
    with opened_cluster() as cluster:
        print("\n| set | questions | own index, nDCG@10 | cluster, nDCG@10 | equal answers |\n|---|---|---|---|---|")
        for name in names:
            judged, root = run.judged(name), KEPT / name
            ids = write_vault(judged.documents, root / "vault")
            with run.opened(root, [root / "vault"]) as (collection,):
                named = replace(collection, name=name)
                for item in compared(cluster, named, run.settings(root), judged.questions[::every], ids, run.modes):
                    print(
                        f"| {item.name} | {item.questions} | {item.own:.4f} | {item.cluster:.4f} | {item.equal} |",
                        flush=True,
                    )


def _print_growing(run: Run, names: Sequence[str]) -> None:
    """Hybrid search while pages are being embedded."""
    print(f"\n| nDCG@10 by pages embedded | by words | {' | '.join(f'{share} %' for share in GROWING_SHARES)} |")
    print(f"|---|---|{'---|' * len(GROWING_SHARES)}")
    for name in names:
        for growth in growths(run.judged(name), KEPT / name, run.settings(KEPT / name)):
            figures = " | ".join(f"{growth.hybrid[share]:.4f}" for share in GROWING_SHARES)
            print(f"| {name} {growth.situation} | {growth.by_words:.4f} | {figures} |", flush=True)


def _print_layers() -> None:
    """Print the recall of the toolset `cascade`."""
    print("\n| layers | questions | recall@1 | recall@5 |\n|---|---|---|---|")
    for recall in layer_recalls(KEPT, load_settings()):
        print(f"| {recall.layers} | {recall.questions} | {recall.first:.3f} | {recall.among_five:.3f} |", flush=True)


def _print_typed(run: Run) -> None:
    """Print the results of queries as typed, for the corpora beside the sets."""
    typed = TypedQueries(run.folder, KEPT, run.opened, run.modes)
    print("\nQueries as typed:")
    for line in chain(typed.questions(), typed.first_pages(), typed.names(), typed.quotations(), typed.nonsense()):
        print(line, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
