"""Substring search in the documents of a project."""

from __future__ import annotations

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.toolsets.projects.rules.search import (
    EXCERPT_CHARS,
    MAX_EXCERPTS,
    MAX_PARTS,
    NO_DOCUMENTS,
    Matches,
    SearchableDocument,
    SearchableDocuments,
    Segment,
    find_documents,
    searchable,
)

FILES = {
    "tea.md": "---\ntitle: Green tea\nkeywords: [drink]\n---\nIntro on tea.\n\n## Making\n\nBoil water, steep TEA.\n",
    "code.md": "---\ntitle: Code\n---\n## C++ notes\n\nIn C++ one writes `$x`.\n\n## Other\n\nNothing.\n",
    "steam.md": "---\ntitle: Steam\n---\n## Steam\n\nSteam and teapots.\n",
    "cjk.md": "---\ntitle: \u8336\n---\n## \u9053\n\n\u65e5\u672c\u306e\u8336\u9053\u3002\n",
}


def document(name: str, text: str) -> SearchableDocument:
    return searchable(name, read_document(Address(name), text.encode()))


def found(*words: str, limit: int = 10, files: dict[str, str] = FILES) -> Matches:
    texts = SearchableDocuments(Segment([document(name, text) for name, text in files.items()]))
    return find_documents(texts, words, limit)


def names(matches: Matches) -> list[str]:
    return [match.text.filename for match in matches.matches]


@each_case(
    ("words", "expected"),
    [
        (["tea"], ["tea.md", "steam.md"]),
        (["TEA"], ["tea.md", "steam.md"]),
        (["c++"], ["code.md"]),
        (["$x"], ["code.md"]),
        (["\u8336\u9053"], ["cjk.md"]),
        (["drink"], ["tea.md"]),
        (["steam", "water"], ["steam.md", "tea.md"]),
        (["nothing", "tea", "steep"], ["tea.md", "code.md", "steam.md"]),
        (["quokka"], []),
        ([], []),
    ],
)
def test_documents_with_any_word_are_found_whole_words_first(words: list[str], expected: list[str]) -> None:
    assert names(found(*words)) == expected


def test_a_match_says_which_words_occur_in_which_chapters() -> None:
    (match,) = found("water", "Tea", "quokka", limit=1).matches
    assert match.keywords == ("water", "tea")
    assert [(part.chapter, part.keywords) for part in match.parts] == [
        ("Making", ("water", "tea")),
        ("(Document Introduction)", ("tea",)),
    ]
    assert match.matching == 2
    assert match.parts[0].excerpts["tea"] == ["Making Boil water, steep TEA."]


def test_a_word_in_a_field_alone_is_named_though_no_chapter_shows_it() -> None:
    (match,) = found("drink").matches
    assert (match.keywords, match.parts, match.matching) == (("drink",), (), 0)


def test_a_limit_cuts_the_documents_and_not_the_counts() -> None:
    cut, whole = found("e", limit=1), found("e")
    assert len(cut.matches) == 1
    assert cut.matches[0] == whole.matches[0]
    assert (cut.total_documents, cut.total_matches) == (whole.total_documents, whole.total_matches)
    assert whole.total_documents == len(whole.matches)


def test_excerpts_are_short_and_few_and_cut_marks_stand_where_text_is_left_out() -> None:
    text = "## Long\n\n" + "filler words " * 100 + "needle " + "more words " * 100 + "needle\nneedle end\n"
    (match,) = found("needle", files={"a.md": text}).matches
    excerpts = match.parts[0].excerpts["needle"]
    assert len(excerpts) == MAX_EXCERPTS
    assert all("needle" in excerpt and len(excerpt) <= EXCERPT_CHARS + 10 for excerpt in excerpts)
    assert excerpts[0].startswith("...")
    assert excerpts[0].endswith("...")
    assert "\n" not in "".join(excerpts)


def test_with_many_words_each_has_one_excerpt() -> None:
    text = "## A\n\n" + " ".join(f"word{number} {'x' * 120}" for number in range(6)) * 2
    (match,) = found(*(f"word{number}" for number in range(6)), files={"a.md": text}).matches
    assert [len(excerpts) for excerpts in match.parts[0].excerpts.values()] == [1] * 6


def test_of_very_many_chapters_the_first_are_shown_and_all_are_counted() -> None:
    text = (
        "".join(f"## Chapter {number}\n\nneedle\n\n" for number in range(MAX_PARTS + 5)) + "## Last\n\nother needle\n"
    )
    (match,) = found("needle", "other", files={"a.md": text}).matches
    assert len(match.parts) == MAX_PARTS
    assert match.matching == MAX_PARTS + 6
    assert match.keywords == ("needle", "other")


def test_a_letter_that_folding_makes_longer_is_found_and_shown() -> None:
    (match,) = found("stra\u00dfe", files={"a.md": "## A\n\nDie Stra\u00dfe und STRASSE.\n"}).matches
    assert match.parts[0].keywords == ("stra\u00dfe",)


def test_changed_documents_are_searched_in_their_newest_form() -> None:
    texts = SearchableDocuments(Segment([document(name, text) for name, text in FILES.items()]))
    changed = texts.updated(["tea.md", "code.md"], [document("tea.md", "# Drinks\n\n## Coffee\n\nNo leaves.\n")])
    assert names(find_documents(changed, ["tea"], 10)) == ["steam.md"]
    assert names(find_documents(changed, ["coffee"], 10)) == ["tea.md"]
    assert names(find_documents(changed, ["c++"], 10)) == []
    assert names(find_documents(NO_DOCUMENTS, ["tea"], 10)) == []
