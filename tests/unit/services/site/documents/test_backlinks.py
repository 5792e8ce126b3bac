"""Pages that link to a page, and pages that only mention it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from commonplace.domain.addresses import Address
from commonplace.services.collections import Collection, Collections
from commonplace.services.site.documents import backlinks, mentions
from indexed import Indexed

ONE: dict[str, str | bytes] = {
    "tea.md": "---\ntitle: Green tea\naliases: [緑茶, 'The “good” one', ab, '--']\n---\n[[tea]] ![](p.png)\n",
    "b.md": "# B\n\nFirst [[tea]] here. Second [[tea]] there.\n\nAgain [[tea]] here.\n",
    "a.md": "# A\n\n[[tea]]\n",
    "names.md": "# Names\n\nNobody drinks green tea here, and 緑茶 neither.\n",
    "words.md": "# Words\n\nThe green hill, good weather, one tea, ab.\n",
    "quoted.md": "# Quoted\n\nThis is the good one.\n",
    "shout.md": "---\ntitle: Salt AND Pepper\n---\n",
    "spice.md": "# Spice\n\nUse salt and pepper.\n",
    "p.png": b"\x89PNG",
}
TWO = {"c.md": "# C\n\nSee [[one:tea]] over there.\n"}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collections]:
    with ExitStack() as stack:
        made = [
            replace(stack.enter_context(Indexed(tmp_path_factory.mktemp(name), files)).collection, name=name)
            for name, files in (("one", ONE), ("two", TWO))
        ]
        yield Collections(lambda: made)


def linking(both: Collections, path: str, limit: int = 10) -> list[tuple[str, tuple[str, ...]]]:
    found_backlinks = backlinks(both, both.get("one"), Address(path), limit)
    return [(backlink.found.record.address.path, backlink.sentences) for backlink in found_backlinks.shown]


def test_each_linking_page_comes_once_with_its_sentences_and_other_collections_last(both: Collections) -> None:
    found_pairs = linking(both, "tea.md")
    assert [path for path, _ in found_pairs] == ["a.md", "b.md", "c.md"]
    assert len(found_pairs[1][1]) == len(set(found_pairs[1][1])) > 1
    assert backlinks(both, both.get("one"), Address("tea.md"), 10).total == 3


def test_a_limit_bounds_what_is_looked_at_and_not_the_total(both: Collections) -> None:
    found_backlinks = backlinks(both, both.get("one"), Address("tea.md"), 1)
    assert (found_backlinks.total, len(found_backlinks.shown)) == (3, 1)


def test_only_documents_of_the_part_that_is_shown_are_read(both: Collections) -> None:
    found_backlinks = backlinks(both, both.get("one"), Address("tea.md"), 1, 1)
    assert found_backlinks.total == 3
    assert [(backlink.found.record.address.path, len(backlink.sentences)) for backlink in found_backlinks.shown] == [
        ("b.md", 3)
    ]
    assert backlinks(both, both.get("one"), Address("tea.md"), 10, 3).shown == []


def test_a_file_and_an_unlinked_page_have_theirs_too(both: Collections) -> None:
    assert [path for path, _ in linking(both, "p.png")] in ([], ["tea.md"])
    assert linking(both, "names.md") == []
    assert linking(both, "never.md") == []


def test_a_reader_who_may_not_see_the_other_collection_is_not_told_of_its_links(both: Collections) -> None:
    assert [path for path, _ in linking(both, "tea.md")][-1] == "c.md"
    assert [path for path, _ in linking(both.only(frozenset({"one"})), "tea.md")] == ["a.md", "b.md"]


def named(collection: Collection, path: str) -> list[str]:
    record = collection.index.record(Address(path))
    assert record is not None
    return sorted(mention.found.record.address.path for mention in mentions(collection, record))


def test_a_page_is_mentioned_by_its_title_or_alias_as_a_phrase_and_not_by_its_words(both: Collections) -> None:
    assert named(both.get("one"), "tea.md") == ["names.md", "quoted.md"]
    assert named(both.get("one"), "shout.md") == ["spice.md"]


def test_a_page_that_links_is_no_mention_and_a_short_name_is_not_searched(both: Collections) -> None:
    assert named(both.get("one"), "a.md") == []
    assert "words.md" not in named(both.get("one"), "tea.md")


def test_backlinks_follow_a_change(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Indexed(tmp_path_factory.mktemp("change"), {"a.md": "# A\n", "b.md": "[[a]]\n"}) as base:
        collections = Collections(lambda: [base.collection])
        assert backlinks(collections, base.collection, Address("a.md"), 5).total == 1
        base.update("c.md", "Also [[a]].\n")
        assert backlinks(collections, base.collection, Address("a.md"), 5).total == 2
