"""Words of an index that a word of a query matches."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.query_parser import parse_query
from commonplace.index.fulltext.document_text import RecentDocument, RecentDocuments
from commonplace.index.fulltext.tantivy_index import FullText
from commonplace.index.fulltext.term_dictionary import (
    MAX_FORMS,
    PREFIX_WEIGHT,
    SPELLING_WEIGHT,
    STEM_WEIGHT,
    TYPO_WEIGHT,
    ExpandedQuery,
    TermDictionary,
)
from indexed import full_text, searchable

TEXTS = {
    1: "# Restore\n\nWe restored the database and restore it again.\n",
    2: "# Database\n\nThe databases of the colour printer, and a gateway.\n",
    3: "# E-mail\n\nSend an email. Its author wrote café and cafe.\n",
    4: "# 備份\n\n數據庫備份。茶\n",
    5: "# Ops\n\nkubernetes kubectl std::vector utf-8\n",
}


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> FullText:
    return full_text(tmp_path_factory.mktemp("full"), TEXTS)


def dictionary(full: FullText, recent: dict[int, str] | None = None) -> TermDictionary:
    """The dictionary of the full text and of documents that wait in memory."""
    waiting = {
        key: RecentDocument(searchable(key, text), full.analyzer.analyze) for key, text in (recent or {}).items()
    }
    return TermDictionary(full.searchers(0).documents, RecentDocuments(waiting, sorted(waiting)), full.analyzer.analyze)


def expanded(full: FullText, text: str, recent: dict[int, str] | None = None, *, prefix: bool = False) -> ExpandedQuery:
    return dictionary(full, recent).expand(parse_query(text, full.analyzer.analyze, prefix=prefix))


def forms(full: FullText, text: str, recent: dict[int, str] | None = None, *, prefix: bool = False) -> dict[str, float]:
    """The forms of the only word of a query."""
    (word,) = expanded(full, text, recent, prefix=prefix).words
    return dict(word.forms)


def test_a_word_stands_for_itself_and_less_for_its_other_forms(full: FullText) -> None:
    assert forms(full, "restore") == {"restore": 1.0, "restored": STEM_WEIGHT}
    assert forms(full, "databases") == {"databases": 1.0, "database": STEM_WEIGHT}


def test_another_spelling_counts_nearly_as_much(full: FullText) -> None:
    assert forms(full, "color") == {"color": 1.0, "colour": SPELLING_WEIGHT}


def test_an_unknown_word_is_corrected_and_a_known_or_short_one_is_not(full: FullText) -> None:
    assert forms(full, "databsae") == {"databsae": 1.0, "database": TYPO_WEIGHT}
    assert forms(full, "kubernettis") == {"kubernettis": 1.0, "kubernetes": TYPO_WEIGHT**2}
    assert forms(full, "gatxwxy") == {"gatxwxy": 1.0}, "two edits are too many for a short word"
    assert forms(full, "itz") == {"itz": 1.0}
    assert forms(full, "12345") == {"12345": 1.0}


def test_the_last_word_of_a_query_may_be_a_beginning(full: FullText) -> None:
    assert forms(full, "kub", prefix=True) == {"kub": 1.0, "kubernetes": PREFIX_WEIGHT, "kubectl": PREFIX_WEIGHT}
    assert set(forms(full, "kub", prefix=False)) == {"kub"}
    assert set(forms(full, "kube*", prefix=False)) == {"kube", "kubernetes", "kubectl"}


def test_a_word_has_a_bounded_number_of_forms_the_most_frequent_ones_first(tmp_path: Path) -> None:
    many = {n: f"# N\n\nprefix{'abcdefghijklmnop'[n]} prefixz\n" for n in range(16)}
    made = full_text(tmp_path / "full", many)
    found_forms = forms(made, "pre", prefix=True)
    assert len(found_forms) == MAX_FORMS
    assert list(found_forms)[:2] == ["pre", "prefixz"]


def test_documents_that_wait_in_memory_count_like_the_others(full: FullText) -> None:
    recent = {9: "# New\n\nrestoring zebra café\n"}
    assert forms(full, "restore", recent) == {"restore": 1.0, "restored": STEM_WEIGHT, "restoring": STEM_WEIGHT}
    assert forms(full, "zebar", recent) == {"zebar": 1.0, "zebra": TYPO_WEIGHT}
    assert expanded(full, "zebra", recent).known
    assert not expanded(full, "zebra").known


def test_a_word_is_searched_with_its_accents_only_if_a_document_has_them(full: FullText) -> None:
    (with_accents,) = expanded(full, "café").words
    assert (with_accents.accented, with_accents.forms["cafe"]) == ("café", 1.0)
    (without,) = expanded(full, "cafe").words
    assert without.accented == ""
    (unknown,) = expanded(full, "restoré").words
    assert unknown.accented == ""


def test_a_compound_is_also_searched_as_one_word_unless_it_ends_in_an_s(full: FullText) -> None:
    words = [set(word.forms) for word in expanded(full, "e-mail").words]
    assert {"email"} in words
    assert {"its"} not in [set(word.forms) for word in expanded(full, "it's").words]
    assert expanded(full, "std::vector").compounds == (("std", "vector"),)


def test_a_part_that_no_document_has_is_not_demanded_beside_the_others(full: FullText) -> None:
    assert expanded(full, "utf8").parted == (("utf", "8"),)
    assert expanded(full, "utf9").parted == ()


def test_a_single_character_begins_the_grams_that_there_are(full: FullText) -> None:
    assert set(expanded(full, "備").grams) == {"備份"}
    assert set(expanded(full, "備", {9: "# 備用\n"}).grams) == {"備份", "備用"}
    assert dict(expanded(full, "備份").grams) == {"備份": 1}


def test_a_character_beside_a_gram_that_begins_with_it_does_not_count_it_down(full: FullText) -> None:
    assert expanded(full, "備份 備份 備").grams["備份"] == 2


def test_whether_a_word_was_known_as_typed_is_told(full: FullText) -> None:
    assert expanded(full, "restore nonsense").known
    assert expanded(full, "備份").known
    assert not expanded(full, "databsae").known
    assert not expanded(full, "龍鳳").known


def test_a_query_of_exclusions_has_no_terms(full: FullText) -> None:
    query = expanded(full, "-restore")
    assert not query.has_terms
    assert [phrase.words for phrase in query.excluded] == [("restore",)]


def test_an_operator_s_word_matches_and_is_excluded_in_its_other_forms(full: FullText) -> None:
    expression = expanded(full, "restore NOT databases").expression
    assert expression is not None
    wanted_value, excluded = (part.term.forms for part in expression.parts)  # type: ignore[union-attr]
    assert (wanted_value, excluded) == (("restore", "restored"), ("databases", "database"))
