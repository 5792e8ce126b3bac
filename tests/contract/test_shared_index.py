"""A shared engine keeps its contract: on the embedded index and on a real OpenSearch."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import cycle, product
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.cluster import BranchPosition, IndexDifferences, SharedBase
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.query import Filter, Hit, SearchQuery, SortKey
from commonplace.index import open_index
from filtering import documents, filters, passes
from opensearch_cluster.engines import COMMIT, Engine, cluster, embedded, new_base, page, pages, shown
from page_store import PageStore
from support import Amount, eventually

TEXTS = {
    "setup.md": "---\ntags: [guide, ops/linux]\ntype: Guide\ndate: 2024-02-01\n---\n# Setup\n\nInstall the server.\n\n"
    "## Restore a backup\n\nRun the restore command after the disk failed.\n\n## Remove\n\nDelete the folder.\n",
    "notes/restore.md": "---\ntags: [ops]\ntype: note\ndate: 2024-03-05\n---\n# Restoring\n\nWe restored the database. "
    "It was restored twice, then the backups were kept.\n",
    "notes/colour.md": "# Colours\n\nThe favourite colour of the e-mail client is grey.\n\n## std::vector\n\n"
    "A vector.\n",
    "notes/zh.md": "# 知識庫\n\n知識管理系統可以備份數據庫。\n",
    "notes/th.md": "# กาแฟ\n\nเขาดื่มกาแฟร้อนทุกวัน\n",
    "notes/vi.md": "# Cà phê\n\nMột ly cà phê sữa đá. Résumé of a café.\n",
    "notes/mixed.md": "# 教程\n\n使用Python编写。第3章の設定を2023年1月に変更\n\nบทที่3และ3월\n",
    "notes/other.md": "# 他\n\n3章 第 名前 月 2022年5月。使用 Rust 编写\n",
    "other/long.md": "# Long\n\n" + "filler words of no use " * 60 + "\n\n## Backup\n\nA backup of filler.\n",
    "other/empty.md": "",
    "other/c.md": "# C++ and C#\n\nutf8 getName foo_bar 42\n",
}
QUERIES = [
    "restore", "restore backup", "restor", "backups", "resotre", '"restore command"', "backup -database", "colour",
    "color", "favorite", "email", "std::vector", "知識", "備份 數據庫", "cà phê", "ca phe", "café", "C++", "C#",
    "utf-8", "get name", "foo_bar", "filler backup", "zzzzqqq", "-backup", "restore AND backup", "backup OR colour",
    "restore NOT database", "ser", "the server that was restored", '"backup of filler" restore disk command now', "42",
    "識", '"數"', "กาแฟร้อน", "ดื่", '"กา"', "backup -กา", "กา AND ร้อน",
    "python", "第3章", '"2023年1月"', '"第3章"', "2023 -月", "บทที่3", "3월", "使用Rust编写", "python OR 第3章",
]  # fmt: skip


@pytest.fixture(scope="module", params=["embedded", "opensearch"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    if request.param == "embedded":
        with embedded(tmp_path_factory.mktemp("bases")) as made:
            yield made
        return
    with cluster(request.getfixturevalue("opensearch_url")) as made:
        yield made


@pytest.fixture
def base(engine: Engine) -> Iterator[SharedBase]:
    """A base that the test may write."""
    made = engine.filled(new_base(), TEXTS)
    yield made
    engine.writer.drop(made)


@pytest.fixture(scope="module")
def read(engine: Engine) -> SharedBase:
    """A base that no test writes."""
    return engine.filled(new_base(), TEXTS)


def test_what_is_written_is_searchable_when_the_position_says_so_and_not_before(engine: Engine) -> None:
    base = new_base()
    assert engine.reader.through(base) is None
    generation = engine.writer.begin(base)
    engine.writer.put(base, 7, pages(TEXTS), generation)
    engine.writer.advance(base, BranchPosition(7, COMMIT), generation)
    assert engine.reader.through(base) is None
    engine.writer.publish(base, generation)
    assert engine.reader.through(base) == BranchPosition(7, COMMIT)
    engine.writer.put(base, 8, [page("new.md", "# New\n\nUnheard words.\n")])
    assert engine.paths(base, "unheard") == []
    assert not engine.reader.wait_for(base, 8, 0.05)
    engine.writer.advance(base, BranchPosition(8, "d" * 40))
    assert engine.paths(base, "unheard") == ["new.md"]
    assert engine.reader.wait_for(base, 8, 0.05)
    assert engine.reader.through(base) == BranchPosition(8, "d" * 40)
    engine.writer.drop(base)


def test_words_that_sort_behind_every_word_of_a_base_are_searched_like_others(engine: Engine) -> None:
    base = engine.filled(new_base(), {"a.md": "# Alpha\n\nfirst words\n", "b.md": "# Beta\n\nother words\n"})
    for text in ("xyz", "words xyz", "xy", '"other xyz"'):
        assert engine.paths(base, text) == (["a.md", "b.md"] if text.startswith("words") else []), text
    engine.writer.drop(base)


def test_hits_are_those_of_a_servers_own_index(engine: Engine, read: SharedBase, own: Own, amount: Amount) -> None:
    rare = cycle(({"sections": 0}, {"records": False}, {}))
    for text in QUERIES:
        others = [next(rare)] if amount(1, 3) == 1 else [next(rare) for _ in range(3)]
        for options in ({"sections": 3}, *others):
            query = SearchQuery(text=text, **options)  # pyright: ignore[reportArgumentType]
            found_result, match = engine.reader.search([read], query).results[read], own.index.search(query)
            case = (text, options)
            assert [shown(hit) for hit in found_result.hits] == [shown(hit) for hit in match.hits], case
            assert [hit.record for hit in found_result.hits] == [hit.record for hit in match.hits], case
            assert (found_result.total, found_result.addresses, found_result.demanded, found_result.known) == (
                match.total, match.addresses, match.demanded, match.known,
            ), case  # fmt: skip


FILTERS = [
    Filter(prefix="notes/"), Filter(prefix="no"), Filter(types=("guide",)), Filter(tags=("ops",)),
    Filter(any_tags=("guide", "x")), Filter(date_from="2024-02-02"), Filter(created_to="2024-05-01"),
    Filter(updated_from="2024-05-02"), Filter(fields=(("type", "note"),)), Filter(without=(Address("setup.md"),)),
    Filter(among=(Address("setup.md"), Address("other/long.md"))), Filter(among=()),
]  # fmt: skip


def test_a_filtered_answer_is_the_answer_filtered(engine: Engine, amount: Amount) -> None:
    for seed in range(amount(1, 20)):
        _assert_filtered(engine, seed, amount(12, 40))


def _assert_filtered(engine: Engine, seed: int, count: int) -> None:
    chance = random.Random(seed)
    texts = documents(chance, 28)
    base = engine.filled(new_base(), texts)
    created = {shared_page.record.address: shared_page.record.created for shared_page in pages(texts)}

    def found(text: str, **options: object) -> tuple[Hit, ...]:
        return engine.search(base, text, **{"limit": 100, **options}).hits

    # An embedded index dates its pages in a thread.
    eventually(lambda: {hit.record.address: hit.record.created for hit in found("word")} == created)

    for text in ("word", "other word", '"word other"', "word NOT other", "zzz word"):
        whole = found(text)
        for _ in range(count):
            filter_ = filters(chance)
            wanted_pairs = [_scored(hit) for hit in whole if passes(hit.record, filter_)]
            assert [_scored(hit) for hit in found(text, filter=filter_)] == wanted_pairs, (seed, text, filter_)
            few = engine.search(base, text, limit=2, filter=filter_)
            assert ([_scored(hit) for hit in few.hits], few.total) == (wanted_pairs[:2], len(wanted_pairs))
    engine.writer.drop(base)


def _scored(hit: Hit) -> tuple[str, float]:
    return hit.record.address.path, round(hit.score, 4)


SORTS: list[SortKey] = ["path", "title", "type", "date", "created", "updated", "updated_day", "score"]


def test_filters_choose_the_pages_that_they_choose_in_a_servers_own_index(
    engine: Engine, read: SharedBase, own: Own
) -> None:
    for filter_ in FILTERS:
        match = own.index.search(SearchQuery(text="backup", filter=filter_))
        answer = engine.search(read, "backup", filter=filter_)
        paths = [hit.record.address.path for hit in answer.hits]
        assert paths == [hit.record.address.path for hit in match.hits], filter_
        assert answer.total == match.total, filter_


def test_orders_and_pages_of_results_are_those_of_a_servers_own_index(
    engine: Engine, read: SharedBase, own: Own
) -> None:
    parts = cycle(((1, 1), (2, 5), (50, 5), (0, 0)))
    for sort, descending in product(SORTS, (False, True)):
        for offset, limit in ((0, 20), next(parts)):
            options = {"sort": sort, "descending": descending, "offset": offset, "limit": limit}
            match = own.index.search(SearchQuery(text="backup", **options))  # pyright: ignore[reportArgumentType]
            assert engine.paths(read, "backup", **options) == [hit.record.address.path for hit in match.hits], options


def test_a_page_is_replaced_with_all_its_sections(engine: Engine, base: SharedBase) -> None:
    engine.put(base, {"setup.md": "# Setup\n\nOnly this.\n"}, 2)
    assert "setup.md" not in engine.paths(base, "restore")
    hit = engine.search(base, "only this", sections=5).hits[0]
    assert [section.ordinal for section in hit.sections] == [1]
    assert engine.writer.verify(base, revisions({**TEXTS, "setup.md": "# Setup\n\nOnly this.\n"})) == IndexDifferences()


def test_an_older_write_changes_nothing_not_even_after_a_removal(engine: Engine, base: SharedBase) -> None:
    engine.put(base, {"setup.md": "# Setup\n\nFifth.\n"}, 5)
    engine.put(base, {"setup.md": "# Setup\n\nFourth.\n\n## Late\n\nToo late.\n"}, 4)
    assert engine.paths(base, "fifth") == ["setup.md"]
    assert engine.paths(base, "fourth") == []
    engine.remove(base, ["setup.md", "unknown.md"], 6)
    assert engine.paths(base, "fifth") == []
    engine.put(base, {"setup.md": "# Setup\n\nFifth.\n"}, 5)
    assert engine.paths(base, "fifth") == []
    assert engine.reader.through(base) == BranchPosition(6, COMMIT)


def test_a_repeated_write_is_harmless(engine: Engine, base: SharedBase) -> None:
    before = engine.search(base, "restore backup")
    for _ in range(2):
        engine.put(base, TEXTS, 1)
    assert [shown(hit) for hit in engine.search(base, "restore backup").hits] == [shown(hit) for hit in before.hits]
    assert engine.writer.verify(base, revisions(TEXTS)) == IndexDifferences()


def test_a_base_knows_nothing_of_another(engine: Engine, base: SharedBase) -> None:
    before = engine.search(base, "restore backup")
    other = engine.filled(
        new_base(base.name.upper()),
        {f"s{n}.md": f"---\ntags: [x]\n---\n# Restore {n}\n\nBackup secret{n}.\n" for n in range(30)},
    )
    after = engine.search(base, "restore backup")
    assert after.total == before.total
    assert [hit.score for hit in after.hits] == [hit.score for hit in before.hits]
    assert engine.paths(base, "secret3") == []
    assert engine.search(base, "secr", prefix=True).total == 0
    assert engine.search(base, "restore", filter=Filter(tags=("x",))).total == 0
    both = engine.reader.search([other, base], SearchQuery(text="restore")).results
    assert list(both) == [other, base]
    assert both[other].total == 30
    engine.writer.drop(other)
    assert engine.search(base, "restore backup").total == before.total
    with pytest.raises(NotFoundError) as refused:
        engine.reader.search([base, other], SearchQuery(text="restore"))
    assert refused.value.kind == "engine"
    assert base.name not in refused.value.advice
    assert engine.reader.through(other) is None


def test_a_new_generation_takes_over_without_a_search_in_between_that_fails(engine: Engine, base: SharedBase) -> None:
    answers: list[int] = []
    ended = threading.Event()

    def ask() -> None:
        while not ended.is_set():
            answers.append(engine.search(base, "restore").total)

    asking = threading.Thread(target=ask)
    asking.start()
    texts = {**TEXTS, "more.md": "# More\n\nrestore more\n"}
    try:
        for _ in range(2):
            generation = engine.writer.begin(base)
            engine.writer.put(base, 9, pages(texts), generation)
            engine.writer.advance(base, BranchPosition(9, COMMIT), generation)
            engine.writer.publish(base, generation)
    finally:
        ended.set()
        asking.join(60)
    total = engine.search(base, "restore").total
    assert set(answers) <= {total - 1, total}
    assert answers == sorted(answers)
    # A generation counts positions for itself: after a forced push they may be lower than before.
    engine.put(base, {"more.md": "# More\n\nless\n"}, 10)
    assert engine.search(base, "restore").total == total - 1


def test_verify_tells_what_is_missing_outdated_and_too_much(engine: Engine, base: SharedBase) -> None:
    assert not engine.writer.verify(base, revisions(TEXTS))
    wanted_values = {**TEXTS, "setup.md": "# Setup\n\nChanged.\n", "new.md": "# New\n"}
    del wanted_values["notes/zh.md"]
    result = engine.writer.verify(base, revisions(wanted_values))
    assert result == IndexDifferences(
        missing=frozenset({Address("new.md")}),
        outdated=frozenset({Address("setup.md")}),
        surplus=frozenset({Address("notes/zh.md")}),
    )
    engine.writer.put(
        base, 1, pages({path.path: wanted_values[path.path] for path in result.missing | result.outdated})
    )
    engine.writer.remove(base, result.surplus, 1)
    assert not engine.writer.verify(base, revisions(wanted_values))


def test_an_empty_text_is_refused(engine: Engine, read: SharedBase) -> None:
    with pytest.raises(InvalidInputError):
        engine.search(read, "  ")


def test_odd_pages_are_indexed_as_others_are(engine: Engine) -> None:
    texts = {
        "deep/" * 300 + "long.md": "# Long path\n\nodd one\n",
        "token.md": f"# Token\n\n{'x' * 70_000} odd three {'y' * 300}\n",
        "values.md": f"---\ntitle: {'t' * 40_000}\ntype: {'k' * 40_000}\ntags: [{'g' * 40_000}]\ndate: 9999-12-31\n"
        "created_at: 0001-01-01\nnested: {a: {b: {c: [1, 2]}}}\n---\nodd four\n",
        "many.md": "".join(f"# Part {n}\n\nodd five\n\n" for n in range(3_000)),
        "control.md": "# Control \x00 \x1b\n\nodd six \u202e\n",
    }
    base = engine.filled(new_base("Ünï / ../*?"), texts)
    assert set(engine.paths(base, "odd")) == texts.keys()
    assert engine.paths(base, "y" * 300) == ["token.md"]
    assert engine.writer.verify(base, revisions(texts)) == IndexDifferences()
    words = " ".join(f"odd{n} part" for n in range(400))
    assert engine.paths(base, words)[0] == "many.md"
    engine.writer.drop(base)


class Own:
    """A server's own index of the same pages."""

    def __init__(self, texts: Mapping[str, str], folder: Path) -> None:
        store = PageStore("own", "own")
        store.pages |= {shared_page.record.address: shared_page for shared_page in pages(texts)}
        self.index = open_index(store, folder, language="")
        self.index.sync()


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    made = Own(TEXTS, tmp_path_factory.mktemp("own"))
    with closing(made.index):
        yield made


def revisions(texts: Mapping[str, str]) -> dict[Address, str]:
    return {shared_page.record.address: shared_page.record.revision for shared_page in pages(texts)}
