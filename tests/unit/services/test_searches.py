"""Searches as services answer them: what could not be answered is said."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from commonplace.bootstrap import Application
from commonplace.domain.query import Background, Coverage, Filter, NearDocument, SearchQuery
from commonplace.domain.query_parser import NO_WORDS
from commonplace.embed.endpoint import EndpointReranker
from commonplace.services.collections import Collection
from commonplace.services.denials import SEARCHED
from commonplace.services.evidence import evidence
from commonplace.services.searches import FoundHits, search
from commonplace.settings import default_settings
from embeddings import RerankServer, reranking
from indexed import Indexed

PAGES = {
    "editor.md": "# Editors\n\nIn such an editor, what you see on the screen is what you will get on paper.\n",
    "soup.md": "# Soup\n\nBoil water, add lentils and wait.\n",
    "shop.md": "# 书店\n\n这里有一家卖旧书的书店。\n",
}

SUBJECTS = [
    *("rocket", "harbor", "falcon", "lantern", "orchard", "canyon", "beacon", "copper", "meadow", "saddle"),
    *("thunder", "velvet", "willow", "anchor", "bramble", "cinder", "dahlia", "ember", "fennel", "garnet"),
]
STEPS = "\n\n".join(
    f"## Part {part}\n\n{f'Step {part} of the process needs care and patience. ' * 20}" for part in range(9)
)
NAMES = {
    "guides.md": "# List\n\n" + "\n".join(f"- [[2022-05-25]] authentication {number}" for number in range(20)) + "\n",
    "2022-05-25.md": "---\naliases: [Kick-off]\n---\n\n## Notes\n\nWe met.\n\n## Actions\n\nNone.\n",
    "oauth.md": f"# Authentication with OAuth\n\n{STEPS}\n",
    "mention.md": "# Changes\n\nauthentication authentication authentication\n",
    "vector.md": f"# vector class\n\n{STEPS}\n\n## vector::push_back\n\nAdds.\n\n"
    "## vector::pop_back\n\nvector push, back.\n",
    "warning.md": "---\ntitle: Write-Warning\n---\n\n## Examples\n\n### Example 1: Show a message\n\n"
    "The message is shown and a message is kept.\n\n## Parameters\n\n### -Message\n\n"
    "The text that is shown, in the colour of the console.\n",
}


def test_a_search_of_an_unfinished_index_says_so_and_denies_nothing(tmp_path: Path) -> None:
    with Indexed(tmp_path, PAGES) as base, closing(base.another()) as unready:
        collection = replace(base.collection, name="tea", index=unready)
        unfinished = "tea: The index is still being built. What it does not have yet is not searched."
        for query, paths in (("lentils", ["soup.md"]), ("walrus", [])):
            answer = search([collection], SearchQuery(text=query))
            assert [hit.hit.record.address.path for hit in answer.hits] == paths
            assert answer.notice == unfinished
        unready.sync()
        assert unfinished not in search([collection], SearchQuery(text="walrus")).notice


@contextmanager
def opened(place: Path) -> Generator[list[Collection]]:
    (place / "pages").mkdir(parents=True)
    for name, text in PAGES.items():
        (place / "pages" / name).write_text(text, encoding="utf-8")
    settings = replace(default_settings(), cache_dir=place / "cache", state_dir=place / "state")
    application = Application([place / "pages"], settings)
    try:
        application.sync()
        yield list(application.services.collections.members)
    finally:
        application.close()


def paths(hits: FoundHits) -> list[str]:
    return [hit.hit.record.address.path for hit in hits.hits]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ('"what you see is what you get"', "editor.md"),
        ("„what you see is what you get“", "editor.md"),
        ("« lentils and soup »", "soup.md"),
        ("《旧书的商店》", "shop.md"),
    ],
)
def test_a_phrase_that_no_page_has_is_searched_by_its_words_and_that_is_said(
    tmp_path: Path, text: str, first: str
) -> None:
    with opened(tmp_path) as collections:
        hits = search(collections, SearchQuery(text=text))
        assert paths(hits)[0] == first
        assert (
            hits.notice == f"No page contains the quoted phrase in its {SEARCHED}. These pages were found by its words."
        )


def test_a_phrase_that_a_page_has_is_demanded_and_nothing_is_said(tmp_path: Path) -> None:
    with opened(tmp_path) as collections:
        hits = search(collections, SearchQuery(text='"add lentils" water screen'))
        assert paths(hits) == ["soup.md"]
        assert hits.notice == ""


def test_a_phrase_in_a_long_question_is_a_wish(tmp_path: Path) -> None:
    with opened(tmp_path) as collections:
        question = 'which editors show on the screen "exactly what is printed" later'
        hits = search(collections, SearchQuery(text=question))
        assert paths(hits)[0] == "editor.md"
        assert "phrase" not in hits.notice


def test_an_exclusion_holds_when_the_phrase_is_given_up(tmp_path: Path) -> None:
    with opened(tmp_path) as collections:
        hits = search(collections, SearchQuery(text='"lentils soup" -boil'))
        assert paths(hits) == []
        assert hits.notice.startswith("No page contains the quoted phrase in its names, tags, description or text.")


def test_words_that_no_page_contains_are_named(tmp_path: Path) -> None:
    with opened(tmp_path) as collections:
        assert search(collections, SearchQuery(text="quokka")).notice.startswith(
            "No page contains a word of 'quokka' in its names, tags, description or text."
        )
        asked = search(collections, SearchQuery(text="when do I get the quokka")).notice
        assert asked.startswith("No page contains a word of 'quokka' in its names"), "the others are not searched"
        assert search(collections, SearchQuery(text="quokka soup with water")).notice == ""
        begun = search(collections, SearchQuery(text="lentil"))
        assert (paths(begun), begun.notice) == (["soup.md"], "")
        misspelt = search(collections, SearchQuery(text="lentisl"))
        assert paths(misspelt) == ["soup.md"]
        assert "nearest ones by spelling" in misspelt.notice


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("quokka soup", "word 'quokka'"),
        ("what does blargh add", "word 'blargh'"),
        ("flurgle the borgle", "words 'flurgle', 'borgle'"),
        ("zorp blarg fnord wug snark grumpf soup", "words 'zorp', 'blarg', 'fnord', 'wug', 'snark' and others"),
    ],
)
def test_words_without_a_page_are_named_where_they_are_half_of_a_query(tmp_path: Path, text: str, named: str) -> None:
    with opened(tmp_path) as collections:
        notice = search(collections, SearchQuery(text=text)).notice
    assert (
        notice
        == f"No page contains the {named} in its {SEARCHED}. These pages have the rest of the query, or words like it."
    )


@pytest.mark.parametrize("text", ["soups of lentil", "ship", "boiling waters", "the soup", "scre", "soup -quokka"])
def test_other_forms_and_beginnings_of_words_are_known(tmp_path: Path, text: str) -> None:
    with opened(tmp_path) as collections:
        assert "No page contains the word" not in search(collections, SearchQuery(text=text)).notice


@pytest.mark.parametrize("text", ["?!", '"" “”', "🦘🦘", "-", "_-_"])
def test_a_query_of_signs_is_answered_with_a_word_about_it(tmp_path: Path, text: str) -> None:
    with opened(tmp_path) as collections:
        hits = search(collections, SearchQuery(text=text))
        assert (hits.hits, hits.notice) == ((), NO_WORDS)


def test_a_filter_that_no_page_matches_is_not_taken_for_a_missing_phrase(tmp_path: Path) -> None:
    with opened(tmp_path) as collections:
        hits = search(collections, SearchQuery(text='"add lentils"', filter=Filter(types=("recipe",))))
        assert paths(hits) == []
        assert hits.notice.startswith("No page is of type 'recipe'. ")


def test_evidence_says_what_was_not_found_too(tmp_path: Path) -> None:
    with opened(tmp_path) as collections:
        found_evidence = evidence(collections, SearchQuery(text='"what you see is what you get"'), "keyword")
        assert found_evidence.sections[0].record.address.path == "editor.md"
        assert found_evidence.notice.startswith(
            "No page contains the quoted phrase in its names, tags, description or text."
        )


def test_a_titled_page_comes_first_over_all_collections(tmp_path: Path) -> None:
    with opened(tmp_path) as collections:
        (tmp_path / "others").mkdir()
        (tmp_path / "others" / "a.md").write_text("# Lentils\n\n" + "Other words in a long page.\n" * 50)
        settings = replace(default_settings(), cache_dir=tmp_path / "cache", state_dir=tmp_path / "state")
        application = Application([tmp_path / "others"], settings)
        try:
            application.sync()
            both = [*collections, *application.services.collections.members]
            assert paths(search(both, SearchQuery(text="lentils"))) == ["a.md", "soup.md"]
        finally:
            application.close()


def with_reranker(collections: list[Collection], server: RerankServer) -> list[Collection]:
    reranker = EndpointReranker(server.url, seconds=20)
    return [replace(collection, reranker=reranker) for collection in collections]


def filled(folder: Path, count: int) -> None:
    for number in range(count):
        (folder / f"n{number:02}.md").write_text(f"# Number {number}\n\nsteam engine {'steam ' * number}\n")


def test_a_cross_encoder_reorders_the_best_pages_and_leaves_the_others(tmp_path: Path) -> None:
    with opened(tmp_path) as collections, reranking() as server:
        filled(tmp_path / "pages", 30)
        (tmp_path / "pages" / "n29.md").write_text("# Other\n\nsteam of engine that boils boils\n")
        collections[0].index.sync()
        before = search(collections, SearchQuery(text="steam engine boils", limit=30), "hybrid")
        rerankers = with_reranker(collections, server)
        after = search(rerankers, SearchQuery(text="steam engine boils", limit=30), "hybrid")
        (request,) = server.asked
        assert len(request["documents"]) == 20
        assert all(0 < len(text) <= 1500 for text in request["documents"])
        assert paths(after)[0] == "n29.md"
        assert set(paths(after)[:20]) == set(paths(before)[:20])
        assert paths(after)[20:] == paths(before)[20:]
        assert [row.hit.score for row in after.hits] == [row.hit.score for row in before.hits]


@pytest.mark.parametrize("size", [1, 7, 19, 20, 23])
@pytest.mark.parametrize("folders", [1, 2])
@pytest.mark.sampled(6)
def test_the_pages_of_a_reordered_answer_have_every_hit_once(tmp_path: Path, folders: int, size: int) -> None:
    with opened(tmp_path) as other_collections, opened(tmp_path / "more") as other, reranking() as server:
        chosen = [(tmp_path, other_collections), (tmp_path / "more", other)][:folders]
        for folder, collections in chosen:
            filled(folder / "pages", 60)
            collections[0].index.sync()
        rerankers = with_reranker([collection for _, collections in chosen for collection in collections], server)
        query = SearchQuery(text="steam engine boils", limit=200)
        whole = search(rerankers, query, "hybrid")
        # "Soup" of each folder boils, too.
        assert len(whole.hits) == whole.total == 61 * folders
        pages = [
            hit
            for offset in range(0, whole.total, size)
            for hit in search(rerankers, replace(query, limit=size, offset=offset), "hybrid").hits
        ]
        assert [hit.hit.record.address for hit in pages] == [hit.hit.record.address for hit in whole.hits]
        assert len({(hit.collection.store.identity, hit.hit.record.address) for hit in pages}) == whole.total


def test_a_page_whose_title_is_the_query_stays_first(tmp_path: Path) -> None:
    with opened(tmp_path) as collections, reranking() as server:
        (tmp_path / "pages" / "long.md").write_text("# Every soup\n\nsoup soup\n")
        collections[0].index.sync()
        assert paths(search(with_reranker(collections, server), SearchQuery(text="Soup"), "hybrid"))[0] == "soup.md"


def test_a_search_by_words_and_another_order_ask_no_cross_encoder(tmp_path: Path) -> None:
    with opened(tmp_path) as collections, reranking() as server:
        rerankers = with_reranker(collections, server)
        search(rerankers, SearchQuery(text="water screen"))
        search(rerankers, SearchQuery(text="water screen", sort="path"), "hybrid")
        search(rerankers, SearchQuery(text="water screen", offset=20), "hybrid")
        assert server.asked == []


def test_a_cross_encoder_that_fails_leaves_the_order_and_that_is_said(tmp_path: Path) -> None:
    with opened(tmp_path) as collections, reranking(status=500) as server:
        query = SearchQuery(text="water screen")
        hits = search(with_reranker(collections, server), query, "hybrid")
        assert paths(hits) == paths(search(collections, query, "hybrid"))
        assert hits.notice.startswith("The reranker does not serve: it answered with status 500.")


def test_the_settings_name_the_cross_encoder(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    settings = replace(default_settings(), cache_dir=tmp_path / "cache", state_dir=tmp_path / "state", embed=False)
    for url, named in ((None, False), ("http://127.0.0.1:9/v1", True)):
        application = Application([tmp_path / "pages"], replace(settings, rerank_url=url))
        try:
            assert (application.services.collections.members[0].reranker is not None) == named
        finally:
            application.close()


def test_an_answer_has_the_similarities_by_which_it_was_ordered(tmp_path: Path) -> None:
    near = NearDocument("soup.md", 0, 0.9)
    scores = Mock(background=Background(), understood=1.0, best=(near,), of=lambda _: {"soup.md": near})  # pyright: ignore[reportUnknownLambdaType]
    semantic_index = Mock(similar=Mock(return_value=scores), coverage=Mock(return_value=Coverage(3)))
    with Indexed(tmp_path, PAGES) as indexed:
        collections = [replace(base(indexed)[0], semantic_index=semantic_index)]
        answer = search(collections, SearchQuery(text="lentils"), "hybrid")
        assert paths(answer)[0] == "soup.md"
        assert dict(answer.similarities) == {"kb": scores}
        assert semantic_index.similar.call_count == 1
        assert not search(collections, SearchQuery(text="lentils")).similarities


def base(indexed: Indexed) -> list[Collection]:
    return [Collection("kb", indexed.store, indexed.index)]


def first(collections: list[Collection], text: str) -> tuple[str, str]:
    """The first page as a hit, and as a section."""
    query = SearchQuery(text=text)
    hit = search(collections, query).hits[0].hit.record.address.path
    return hit, evidence(collections, query, "keyword").sections[0].record.address.path


@pytest.mark.parametrize("recent", [False, True], ids=["in the full text", "just written"])
def test_a_guide_comes_before_notes_that_mention_its_subject(tmp_path: Path, *, recent: bool) -> None:
    guides = {f"{name}.md": f"# {name.title()} Guide\n\nHow to use it.\n\n{STEPS}\n" for name in SUBJECTS}
    notes = {
        f"meeting-{number}.md": f"# Meeting {number}\n\nWe talked about {SUBJECTS[number % 20]} twice: "
        f"{SUBJECTS[number % 20]}.\n"
        for number in range(60)
    }
    with Indexed(tmp_path, notes if recent else guides | notes) as indexed:
        for path, text in guides.items() if recent else ():
            indexed.update(path, text)
        found_values = {name: first(base(indexed), name) for name in SUBJECTS}
    assert found_values == {name: (f"{name}.md", f"{name}.md") for name in SUBJECTS}


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("2022-05-25", "2022-05-25.md"),
        ("kick-off", "2022-05-25.md"),
        ("authentication oauth", "oauth.md"),
        ("vector push_back", "vector.md"),
    ],
)
def test_the_page_of_that_name_comes_first(tmp_path: Path, text: str, page: str) -> None:
    with Indexed(tmp_path, NAMES) as indexed:
        assert first(base(indexed), text) == (page, page)


def test_the_section_under_the_heading_asked_for_is_shown(tmp_path: Path) -> None:
    with Indexed(tmp_path, NAMES) as indexed:
        (hit,) = search(base(indexed), SearchQuery(text="vector push_back", limit=1)).hits
        assert hit.hit.sections[0].path[-1] == "vector::push_back"
        shown = evidence(base(indexed), SearchQuery(text="vector push_back"), "keyword").sections[0]
    assert shown.path[-1] == "vector::push_back"


def test_the_section_whose_heading_has_only_words_of_the_query_comes_before_those_that_mention_them(
    tmp_path: Path,
) -> None:
    with Indexed(tmp_path, NAMES) as indexed:
        (hit,) = search(base(indexed), SearchQuery(text="Write-Warning Message", limit=1)).hits
    assert hit.hit.record.address.path == "warning.md"
    assert hit.hit.sections[0].path[-1] == "-Message"


def test_a_status_that_leaves_out_every_answer_is_said(tmp_path: Path) -> None:
    with Indexed(
        tmp_path, {"old.md": "---\nstatus: retired\n---\n# Cellar\n\nBlocks of ice.\n", "b.md": "# B\n"}
    ) as base:
        answer = search([base.collection], SearchQuery(text="ice", status="current"))
        assert (answer.total, answer.notice) == (0, "1 page of another status than 'current' would answer.")
        assert search([base.collection], SearchQuery(text="ice", status="retired")).notice == ""
