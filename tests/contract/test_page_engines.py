"""The common behaviour of all search engines for pages: one suite, run on each engine."""

from __future__ import annotations

import random
import re
import threading
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.toolsets.pages.rules.queries import SNIPPET_CHARS, PageFilter, PageQuery, Sort, TimeFilters, TimeRange
from commonplace.toolsets.pages.service.pages import SpacePages
from spaces.engines import KINDS, Scratch, engine_on
from spaces.server import SearchServer
from spaces.tree import DAY, LABELS, PEOPLE, SpaceFolder, Written, kept, moments, same_text, write_space
from support import Amount

NOW = 1_780_000_000.0
"""Durations count back from here."""


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    if request.param == "meilisearch":
        request.getfixturevalue("search_server")
    return request.param


@pytest.fixture
def scratch(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Scratch:
    server = request.getfixturevalue("search_server") if kind == "meilisearch" else None
    return Scratch(tmp_path / "scratch", server)


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory, kind: str) -> SpaceFolder:
    return write_space(tmp_path_factory.mktemp("space") / "eng", search={"indexName": f"contract-{kind}"})


@pytest.fixture(scope="module")
def pages(
    space: SpaceFolder, kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[SpacePages]:
    server = request.getfixturevalue("search_server") if kind == "meilisearch" else None
    with engine_on(kind, space.root, Scratch(tmp_path_factory.mktemp("scratch"), server)) as opened:
        made = opened.engine.rebuild()
        assert (made.pages, list(made.unusable)) == (len(space.pages), [])
        yield opened


def found(pages: SpacePages, text: str = "", limit: int = 100, **more: object) -> list[str]:
    """Ids that a search shows, in its order."""
    answer = pages.search(PageQuery(text=text, limit=limit, **more))  # pyright: ignore[reportArgumentType]
    return [hit.page.id for hit in answer.hits]


def test_every_page_is_indexed_and_nothing_else(pages: SpacePages, space: SpaceFolder) -> None:
    assert pages.engine.count(10) == len(space.pages)
    assert pages.search(PageQuery(text="sentinel")).total == 0
    assert pages.search(PageQuery(text="", sort="updated_at", limit=100)).total == len(space.pages)


def test_a_hit_has_all_that_the_frontmatter_says(pages: SpacePages, space: SpaceFolder) -> None:
    seen: set[str] = set()
    for label in LABELS:
        for hit in pages.search(PageQuery(text="", filter=PageFilter(labels=(label,)), limit=100)).hits:
            page, written = hit.page, space.pages[hit.page.id]
            seen.add(page.id)
            assert (page.address.path, page.title, page.labels) == (written.path, written.title, written.labels)
            assert (page.author_email, page.author_name) == (written.email, written.name)
            assert (page.created, page.updated) == moments(written)
            assert page.author == (written.email or written.name)
    assert len(seen) > 80


def test_filters_keep_what_the_frontmatter_says(pages: SpacePages, space: SpaceFolder, amount: Amount) -> None:
    chance = random.Random(11)
    sizes: set[int] = set()
    for _ in range(amount(500, 5000)):
        filter_, tests = _combination(chance)
        expected = kept(space.pages.values(), *tests)
        answer = pages.search(PageQuery(text="", filter=filter_, sort="created_at", limit=100))
        assert answer.total == len(expected), filter_
        shown = {hit.page.id for hit in answer.hits}
        assert shown == expected or (len(expected) > 100 and shown < expected), filter_
        sizes.add(len(expected))
    assert len(sizes) > 20


def test_filters_keep_of_what_words_find_what_they_keep_of_all(
    pages: SpacePages, space: SpaceFolder, kind: str, amount: Amount
) -> None:
    chance = random.Random(12)
    words = ("gateway", "invoice", "database", "palette")
    every = {word: set(found(pages, word)) for word in words}
    assert all(5 < len(ids) < 100 for ids in every.values()), {word: len(ids) for word, ids in every.items()}
    sizes: set[int] = set()
    for _ in range(amount(60, 1000)):
        word = chance.choice(words)
        filter_, tests = _combination(chance)
        expected = every[word] & kept(space.pages.values(), *tests)
        answer = pages.search(PageQuery(text=word, filter=filter_, limit=100))
        assert ({hit.page.id for hit in answer.hits}, answer.total) == (expected, len(expected)), (word, filter_)
        sort: Sort = chance.choice(("created_at", "-updated_at"))
        ordered = pages.search(PageQuery(text=word, filter=filter_, sort=sort, limit=100))
        shown = [hit.page.created if sort == "created_at" else hit.page.updated for hit in ordered.hits]
        dated = [moment for moment in shown if moment is not None]
        assert {hit.page.id for hit in ordered.hits} == expected
        if kind == "embedded":  # servers put words before dates
            assert shown == sorted(dated, reverse=sort.startswith("-")) + [None] * (len(shown) - len(dated))
        sizes.add(len(expected))
    assert len(sizes) > 3


Test = Callable[[Written], bool]


def _combination(chance: random.Random) -> tuple[PageFilter, list[Test]]:
    """A filter of one to four parts, and the same as tests over what was written."""
    tests: list[Test] = []
    filter_ = PageFilter()
    for part in chance.sample(("labels", "author", "created", "updated"), chance.randrange(1, 5)):
        if part == "labels":
            labels = tuple(chance.sample([*LABELS, "nobody-has-this"], chance.randrange(1, 4)))
            requested_texts = tuple(chance.choice((str.upper, str.lower, str))(label) for label in labels)
            filter_ = replace(filter_, labels=requested_texts)
            wanted_texts = set(map(same_text, labels))
            tests.append(lambda page, target=wanted_texts: bool(target & set(map(same_text, page.labels))))
        elif part == "author":
            email, name = chance.choice(PEOPLE)
            author = email if email and chance.random() < 0.5 else name
            filter_ = replace(filter_, author=chance.choice((author, author.upper().replace("STRASSE", "STRAßE"))))
            tests.append(lambda page, author=author: same_text(author) in {same_text(page.email), same_text(page.name)})
        else:
            bounds, test = _stretch(chance, 0 if part == "created" else 1)
            filter_ = replace(filter_, created=bounds) if part == "created" else replace(filter_, updated=bounds)
            tests.append(test)
    return filter_, tests


def _stretch(chance: random.Random, which: int) -> tuple[TimeRange, Test]:
    first = 1_672_531_200 + chance.randrange(1_250) * DAY + chance.choice((0, 1, DAY - 1))
    before = first + chance.randrange(1, 500) * DAY
    bounds = chance.choice((TimeRange(first), TimeRange(None, before), TimeRange(first, before)))

    def test(page: Written) -> bool:
        moment = moments(page)[which]
        return (
            moment is not None
            and (bounds.first is None or moment >= bounds.first)
            and (bounds.before is None or moment < bounds.before)
        )

    return bounds, test


def test_named_days_belong_to_both_bounds(pages: SpacePages, space: SpaceFolder) -> None:
    some = [page for page in space.pages.values() if page.created and page.updated][:40]
    for page in some:
        assert page.created
        assert page.updated
        day, changed = f"{page.created:%Y-%m-%d}", f"{page.updated:%Y-%m-%d}"
        times = TimeFilters(created_after=day, created_before=day, updated_after=changed, updated_before=changed)
        filter_ = PageFilter(created=times.created(NOW), updated=times.updated(NOW))
        assert page.id in found(pages, filter=filter_)


def test_durations_count_back_in_whole_units(pages: SpacePages, space: SpaceFolder) -> None:
    now = 1_775_000_000
    changed = [moments(page)[1] for page in space.pages.values()]
    known_moments = [moment for moment in changed if moment is not None]
    for written, seconds in (("30d", 30 * DAY), ("2w", 14 * DAY), ("6m", 180 * DAY), ("1y", 365 * DAY)):
        first = now - seconds
        young = PageFilter(updated=TimeFilters(updated_within=written).updated(now))
        old = PageFilter(updated=TimeFilters(stale=written).updated(now))
        assert pages.search(PageQuery(text="", filter=young)).total == sum(moment >= first for moment in known_moments)
        assert pages.search(PageQuery(text="", filter=old)).total == sum(moment < first for moment in known_moments) > 0


@pytest.mark.parametrize("sort", ["created_at", "-created_at", "updated_at", "-updated_at"])
def test_a_sort_orders_by_date_and_puts_unknown_dates_last(pages: SpacePages, space: SpaceFolder, sort: Sort) -> None:
    for text, filter_ in (("", PageFilter(labels=("runbook", "draft"))), ("gateway", PageFilter())):
        shown = found(pages, text, filter=filter_, sort=sort)
        dates = [moments(space.pages[element])[0 if "created" in sort else 1] for element in shown]
        known_dates = [date for date in dates if date is not None]
        if not text:
            assert dates == sorted(known_dates, reverse=sort.startswith("-")) + [None] * (len(dates) - len(known_dates))
        assert len(known_dates) > 5


@pytest.mark.soak
def test_the_snippet_has_a_matched_word_wherever_the_body_has_one(pages: SpacePages, space: SpaceFolder) -> None:
    chance = random.Random(5)
    words = sorted({word for page in space.pages.values() for word in re.findall(r"\w{4,}", page.body)})
    seen = 0
    for word in chance.choices(words, k=200):
        answer = pages.search(PageQuery(text=word, limit=10))
        assert answer.total, word
        for hit in answer.hits:
            body = _flat(space.pages[hit.page.id].body)
            assert len(hit.snippet) <= SNIPPET_CHARS
            assert "**" not in hit.snippet
            assert "<em>" not in hit.snippet
            if _flat(word) in body:
                assert _flat(word) in _flat(hit.snippet), (word, hit.snippet)
                seen += 1
    assert seen > 500


def _flat(text: str) -> str:
    bare = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in bare if not unicodedata.combining(letter)).lower()


def test_a_match_in_the_title_alone_shows_the_bodys_beginning(pages: SpacePages, space: SpaceFolder) -> None:
    (hit,) = [hit for hit in pages.search(PageQuery(text="Οδηγός")).hits if hit.page.address.path == "i18n/ελληνικά.md"]
    assert space.pages[hit.page.id].body.startswith(hit.snippet[:20])
    assert hit.snippet.endswith("...")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("gatway", "gateway"),
        ("certificat", "certificate"),
        ("postmortm", "postmortem"),
        ("accesibilty", "accessibility"),
    ],
)
def test_typing_errors_are_forgiven(pages: SpacePages, typed: str, meant: str) -> None:
    assert set(found(pages, meant)) <= set(found(pages, typed))


def test_the_last_word_matches_as_a_beginning(pages: SpacePages) -> None:
    assert set(found(pages, "postmortem")) <= set(found(pages, "postmor"))


def test_other_scripts_are_found(pages: SpacePages, space: SpaceFolder) -> None:
    for word, path in (
        ("развёртыванию", "i18n/руководство.md"),
        ("数据库迁移", "i18n/会议纪要.md"),
        ("リリース", "i18n/日本語.md"),
        ("διακομιστής", "i18n/ελληνικά.md"),
        ("brulee", "i18n/café.md"),
    ):
        first = found(pages, word)[0]
        assert space.pages[first].path == path


def test_a_text_without_letters_matches_nothing_and_an_empty_query_is_refused(pages: SpacePages) -> None:
    for text in ("!!!", "-", '""', "→ ←"):
        assert pages.search(PageQuery(text=text)).total == 0
    with pytest.raises(InvalidInputError, match="query is empty"):
        pages.search(PageQuery(text="  "))


def test_values_that_look_like_filters_are_values(pages: SpacePages) -> None:
    for hostile in ('x" OR "1"="1', "x' OR 1 = 1", "\\", '"', "labels IN [a]", "x]", "\n", "%", "*"):
        assert found(pages, filter=PageFilter(labels=(hostile,))) == []
        assert found(pages, filter=PageFilter(author=hostile)) == []


def test_a_total_is_exact_whatever_the_limit(pages: SpacePages) -> None:
    many = pages.search(PageQuery(text="gateway", limit=100))
    assert many.total == len(many.hits)
    assert pages.search(PageQuery(text="gateway", limit=1)).total == many.total


def test_bad_ids_cost_their_pages_alone(kind: str, scratch: Scratch, tmp_path: Path) -> None:
    folder = _small_space(tmp_path / "eng", f"bad-{kind}")
    for name, front in {
        "slash": "page_id: a/b",
        "blank": "page_id: 'a b'",
        "long": f"page_id: {'9' * 600}x",
        "list": "page_id: [1]",
        "yes": "page_id: true",
        "twice": "page_id: one",
    }.items():
        (folder / f"{name}.md").write_text(f"---\n{front}\n---\n# Bad {name}\n\nelephant\n")
    with engine_on(kind, folder, scratch) as pages:
        made = pages.engine.rebuild()
        assert made.pages == 2
        assert [page.address.stem for page in made.unusable] == ["blank", "list", "long", "slash", "twice", "yes"]
        assert sorted(found(pages, "elephant")) == ["one", "two"]
        dry = pages.engine.rebuild(dry_run=True)
        assert (dry.pages, len(dry.unusable)) == (2, 6)


def test_deleted_moved_and_changed_pages_are_right_after_a_rebuild(kind: str, scratch: Scratch, tmp_path: Path) -> None:
    folder = _small_space(tmp_path / "eng", f"moved-{kind}")
    with engine_on(kind, folder, scratch) as pages:
        pages.engine.rebuild()
        (folder / "one.md").rename(folder / "moved.md")
        (folder / "two.md").unlink()
        (folder / "three.md").write_text("---\npage_id: three\nlabels: [new]\n---\n# Three\n\ngiraffe\n")
        for afresh in (False, True):
            assert pages.engine.rebuild(afresh=afresh).pages == 2
            answer = pages.search(PageQuery(text="elephant"))
            assert [(hit.page.id, hit.page.address.path) for hit in answer.hits] == [("one", "moved.md")]
            assert found(pages, "giraffe", filter=PageFilter(labels=("NEW",))) == ["three"]
            assert pages.engine.path_of("one") == "moved.md"
            assert pages.engine.path_of("two") is None


@pytest.mark.soak
def test_searches_are_answered_while_the_index_is_rebuilt(
    pages: SpacePages, space: SpaceFolder, amount: Amount, record_property: Callable[[str, object], None]
) -> None:
    expected = {word: set(found(pages, word)) for word in ("gateway", "invoice", "database", "widget")}
    over = threading.Event()
    wrong: list[str] = []
    requested_numbers = [0] * len(expected)

    def ask(number: int, word: str) -> None:
        while not over.is_set():
            try:
                answer = set(found(pages, word))
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a failure
                wrong.append(f"{word}: {error!r}")
                return
            if answer != expected[word]:
                wrong.append(f"{word}: {len(answer)} pages")
            requested_numbers[number] += 1

    clients = [threading.Thread(target=ask, args=element) for element in enumerate(expected)]
    for client in clients:
        client.start()
    try:
        for number in range(amount(4, 40)):
            assert pages.engine.rebuild(afresh=number % 2 == 1).pages == len(space.pages)
    finally:
        over.set()
        for client in clients:
            client.join()
    record_property("searches", sum(requested_numbers))
    assert wrong == []
    assert min(requested_numbers) > 0


def test_a_missing_index_is_named(search_server: SearchServer, tmp_path: Path) -> None:
    folder = _small_space(tmp_path / "eng", "never-built")
    with engine_on("meilisearch", folder, Scratch(tmp_path, search_server)) as pages:
        message = "No search index found for space \"ENG\". Run 'cn search index' first."
        for ask in (lambda: pages.engine.count(1), lambda: found(pages, "x")):
            with pytest.raises(NotFoundError, match=re.escape(message)):
                ask()


def _small_space(folder: Path, index: str) -> Path:
    folder.mkdir(parents=True)
    (folder / ".confluence.json").write_text(
        f'{{"spaceKey": "ENG", "pages": {{"one": "one.md"}}, "search": {{"indexName": "{index}"}}}}'
    )
    for name in ("one", "two"):
        (folder / f"{name}.md").write_text(f"---\npage_id: {name}\n---\n# {name}\n\nelephant {name}\n")
    return folder
