"""Searching through the port: what is found, in which order, and what is shown."""

from __future__ import annotations

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.query import Filter, SearchQuery
from commonplace.index.fulltext.ranking import MAX_TIED
from indexed import MakeBase

NOTES = {
    "backup.md": "# Backups\n\nWe restore the database from the nightly backup.\n\n## When\n\nEvery night at two.\n",
    "outage.md": "# Outages\n\nWhat to do after an outage: call the person on duty.\n",
    "cooking.md": "# Soup\n\nBoil water, add lentils and wait.\n",
    "cafe.md": "# Café\n\nEin Lokal mit Kuchen.\n",
}


def test_a_question_as_typed_finds_its_page_first(base: MakeBase) -> None:
    assert base(NOTES).found("How do I restore the database after an outage?")[0] == "backup.md"


def test_words_are_ored_and_more_of_them_rank_higher(base: MakeBase) -> None:
    files = {"one.md": "# X\n\nalpha", "two.md": "# Y\n\nalpha beta", "three.md": "# Z\n\ngamma"}
    assert base(files).found("alpha beta") == ["two.md", "one.md"]


def test_a_word_in_the_title_weighs_more_than_in_the_text(base: MakeBase) -> None:
    files = {
        "text.md": "# Some page\n\nHere is a word about gardening in the middle of other things to do.\n",
        "title.md": "# Gardening\n\nHere is a line about plants in the middle of other things to do.\n",
    }
    assert base(files).found("gardening") == ["title.md", "text.md"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a kettle", {"kettle"}),
        ("the kettle", {"kettle"}),
        ("the who", {"the", "who"}),
        ("what is it", {"what", "is", "it"}),
    ],
)
def test_stop_words_are_highlighted_only_where_nothing_else_is_searched(
    base: MakeBase, text: str, shown: set[str]
) -> None:
    result = base({"k.md": "# Kettle\n\nThis is a kettle, the who and what it is.\n"}).index.search(
        SearchQuery(text=text)
    )
    assert result.highlight is not None
    assert set(result.highlight.words) == shown


@pytest.mark.parametrize("text", ["CAFÉ", "cafe", "Cafe\u0301", "café"])
def test_case_and_accents_do_not_matter(base: MakeBase, text: str) -> None:
    assert base(NOTES).found(text) == ["cafe.md"]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Ёлка", "елка"),
        ("مُحَمَّد", "محمد"),
        ("Ά λόγος", "λογος"),
        ("\ufb01ne \uff37\uff29\uff24\uff25", "wide"),
        ("Straße", "strasse"),
    ],
)
def test_accents_of_other_scripts_do_not_matter(base: MakeBase, text: str, asked: str) -> None:
    assert base({"a.md": f"# A\n\n{text}", "b.md": "# B\n\nother"}).found(asked) == ["a.md"]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("知识库是保存知识的地方", "知识"),
        ("私は猫が好きです", "猫"),
        ("データベースを復元する", "復元"),
        ("ฐานข้อมูลสำรอง", "ข้อมูล"),
        ("데이터베이스를 복원합니다", "복원"),
        ("ການສຳຮອງ", "ສຳຮອງ"),
    ],
)
def test_scripts_without_blanks_are_found_by_any_part(base: MakeBase, text: str, asked: str) -> None:
    assert base({"a.md": f"# A\n\n{text}", "b.md": "# B\n\n数据 データ 한국"}).found(asked)[0] == "a.md"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("the colour of it", "colors"),
        ("encoded as UTF-8", "utf8"),
        ("encoded as utf8", "UTF-8"),
        ("call get_user_name now", "getUserName"),
        ("send an email", "e-mail"),
        ("русский язык", "русские языки"),
        ("تحتوي المكتبة على كتب", "مكتبات"),
        ("في القرن ١٩", "القرن 19"),
    ],
)
def test_what_is_written_otherwise_is_found_and_shown(base: MakeBase, text: str, asked: str) -> None:
    rest = "\n\nOther lines.\n" * 40
    files = {"a.md": f"# A\n\n{rest}\n\n{text}\n", "b.md": "# B\n\nother\n"}
    (hit,) = base(files).index.search(SearchQuery(text=asked)).hits
    assert hit.record.address.path == "a.md"
    assert text.split()[-2] in hit.sections[0].snippet


def test_a_phrase_must_stand_there_as_it_is(base: MakeBase) -> None:
    files = {"a.md": "# A\n\nthe move constructor runs", "b.md": "# B\n\nthe constructor can move"}
    assert base(files).found('"move constructor"') == ["a.md"]


def test_an_excluded_word_or_phrase_keeps_documents_out(base: MakeBase) -> None:
    files = {"a.md": "# A\n\nred apple", "b.md": "# B\n\ngreen apple", "c.md": "# C\n\napple pie"}
    made = base(files)
    assert sorted(made.found("apple -green")) == ["a.md", "c.md"]
    assert sorted(made.found('apple -"apple pie"')) == ["a.md", "b.md"]


def test_only_exclusions_give_everything_else_by_path(base: MakeBase) -> None:
    files = {"b.md": "# B\n\nred", "a.md": "# A\n\nblue", "c.md": "# C\n\ngreen"}
    assert base(files).found("-green") == ["a.md", "b.md"]


@pytest.mark.parametrize("text", ["???", "- ", '""', "()", "…", "&& ||"])
def test_a_search_without_letters_finds_nothing(base: MakeBase, text: str) -> None:
    assert base(NOTES).found(text) == []


@pytest.mark.parametrize("text", ["", "   ", "\n\t"])
def test_a_blank_search_is_refused(base: MakeBase, text: str) -> None:
    made = base(NOTES)
    with pytest.raises(InvalidInputError, match="empty"):
        made.index.search(SearchQuery(text=text))


@pytest.mark.parametrize(
    "text",
    [
        '"restore database',
        "restore AND (",
        "database:",
        "restore^2 ~",
        "data* OR",
        "[restore TO",
        "restore\\",
        "+restore",
    ],
)
def test_what_is_no_syntax_is_searched_as_words(base: MakeBase, text: str) -> None:
    assert "backup.md" in base(NOTES).found(text)


def test_and_and_or_in_capitals_are_operators_and_no_words(base: MakeBase) -> None:
    made = base({"a.md": "# A\n\nsalt", "b.md": "# B\n\npepper", "c.md": "# C\n\nthis and that or those"})
    assert made.found("salt AND pepper") == []
    assert sorted(made.found("salt OR pepper")) == ["a.md", "b.md"]


def test_a_star_stands_for_the_rest_of_a_word(base: MakeBase) -> None:
    assert base(NOTES).found("da* night", prefix=False) == ["backup.md"]


def test_the_last_word_may_be_unfinished(base: MakeBase) -> None:
    made = base(NOTES)
    assert made.found("nightly back")[0] == "backup.md"
    assert made.found("datab") == ["backup.md"]
    assert made.found("datab", prefix=False) == []
    assert made.found("datab xyzzy", prefix=False) == []


def test_a_short_finished_word_is_the_beginning_of_another_only_when_it_stands_nowhere(base: MakeBase) -> None:
    made = base({"a.md": "# A\n\ncattle", "b.md": "# B\n\ncat", "c.md": "# C\n\nzebra"})
    assert made.found("cat ") == ["b.md"]
    assert made.found("zeb ") == ["c.md"]


@pytest.mark.parametrize("typed", ["databse", "dtaabase", "databasee", "datebase"])
def test_a_typo_in_an_unknown_word_is_forgiven(base: MakeBase, typed: str) -> None:
    assert base(NOTES).found(f"{typed} ") == ["backup.md"]


def test_two_typos_are_forgiven_in_long_words_only(base: MakeBase) -> None:
    made = base({"a.md": "# A\n\nadministration", "b.md": "# B\n\nhouse"})
    assert made.found("admnistartion ") == ["a.md"]
    assert made.found("hosse ") == ["b.md"]
    assert made.found("hxxse ") == []


def test_a_known_word_is_not_corrected(base: MakeBase) -> None:
    assert base({"a.md": "# A\n\nhorse", "b.md": "# B\n\nhouse"}).found("house ") == ["b.md"]


def test_other_forms_of_a_word_are_found_behind_the_word_itself(base: MakeBase) -> None:
    files = {"a.md": "# A\n\nrestoring takes time", "b.md": "# B\n\nrestore takes time", "c.md": "# C\n\nnothing here"}
    assert base(files).found("restore ") == ["b.md", "a.md"]


@pytest.mark.parametrize(
    ("content", "asked"),
    [
        ("uses std::vector here", "std::vector"),
        ("an unordered_map of things", "unordered_map"),
        ("marked __declspec(dllexport)", "__declspec"),
        ("warning C4996 is raised", "C4996"),
        ("compile with /clr please", "/clr"),
        ("written in C++ mostly", "C++"),
        ("written in C# mostly", "C#"),
        ("runs on Node.js today", "Node.js"),
        ("look at foo.bar_baz-1", "foo.bar_baz-1"),
    ],
)
def test_names_with_signs_are_found(base: MakeBase, content: str, asked: str) -> None:
    files = {
        "a.md": f"# A\n\n{content}",
        "b.md": "# B\n\nthe std of a map, declared in C, net and js, an unordered list",
    }
    assert base(files).found(asked)[0] == "a.md"


def test_aliases_tags_description_and_id_are_searched(base: MakeBase) -> None:
    front = (
        "---\nid: zz-77\naliases: [Quokka]\ntags: [marsupial]\ndescription: lives on Rottnest\n---\n# Page\n\ntext\n"
    )
    made = base({"a.md": front, "b.md": "# B\n\nnothing"})
    assert [made.found(word) for word in ("quokka", "marsupial", "Rottnest", "zz-77")] == [["a.md"]] * 4


def test_hits_are_documents_with_their_best_sections(base: MakeBase) -> None:
    text = (
        "# Guide\n\nintro\n\n## Install\n\nuse the wizard\n\n## Remove\n\nthe wizard, wizard wizard\n\n### Deep\n\nx\n"
    )
    hit = base({"a.md": text}).index.search(SearchQuery(text="wizard", sections=5)).hits[0]
    assert [section.path for section in hit.sections] == [("Guide", "Remove"), ("Guide", "Install")]
    assert [section.ordinal for section in hit.sections] == [3, 2]
    assert hit.sections[0].anchor == "remove"
    assert hit.sections[0].score > hit.sections[1].score > 0


def test_a_document_found_by_its_names_alone_shows_its_beginning(base: MakeBase) -> None:
    made = base({"a.md": "---\ntags: [zebra]\n---\n# Page\n\nThe first lines.\n\n## Later\n\nmore\n"})
    hit = made.index.search(SearchQuery(text="zebra")).hits[0]
    assert hit.sections[0].path == ("Page",)
    assert hit.sections[0].snippet == "The first lines."


def test_a_snippet_shows_the_file_as_it_is_now(base: MakeBase) -> None:
    made = base({"a.md": "# A\n\nan old walrus\n"})
    made.write("a.md", "# A\n\na young and very quick walrus\n")
    assert made.index.search(SearchQuery(text="walrus")).hits[0].sections[0].snippet == "a young and very quick walrus"
    made.write("a.md", "shorter\n")
    assert made.index.search(SearchQuery(text="walrus")).hits[0].sections[0].snippet == "shorter"
    (made.folder / "a.md").unlink()
    assert made.index.search(SearchQuery(text="walrus")).hits[0].sections == ()


def test_words_that_come_and_go_are_known_to_the_next_search(base: MakeBase) -> None:
    made = base({"a.md": "# A\n\nwalrusses\n", "b.md": "# B\n\nsomething else\n"})
    assert made.found("walrus") == ["a.md"]
    made.write("b.md", "# B\n\na walrussian tale\n")
    made.index.update([Address("b.md")])
    assert sorted(made.found("walrus")) == ["a.md", "b.md"]
    (made.folder / "a.md").unlink()
    made.index.update([Address("a.md")])
    assert made.found("walrus") == ["b.md"]


def test_totals_are_true_whatever_the_limit(base: MakeBase) -> None:
    made = base({f"n{number:03}.md": f"# N{number}\n\nshared word {number}\n" for number in range(120)})
    result = made.index.search(SearchQuery(text="shared", limit=7))
    assert (len(result.hits), result.total) == (7, 120)
    assert made.index.search(SearchQuery(text="shared", limit=0)).total == 120


def test_pages_of_an_answer_neither_overlap_nor_leave_anything_out(base: MakeBase) -> None:
    files = {f"n{number:03}.md": f"# Same\n\nequal text {'extra ' * (number % 3)}\n" for number in range(90)}
    made = base(files)
    whole = made.found("equal extra", limit=90)
    pages = [path for offset in range(0, 90, 11) for path in made.found("equal extra", limit=11, offset=offset)]
    assert pages == whole
    assert sorted(whole) == sorted(files)


def test_pages_of_more_alike_documents_than_are_put_in_order_neither_overlap_nor_leave_anything_out(
    base: MakeBase,
) -> None:
    files = {f"n{number:03}.md": "# Same\n\nequal text\n" for number in range(2 * MAX_TIED + 25)}
    made = base(files)
    made.write("n007.md", "# Same\n\nequal text\n\n")
    made.index.update([Address("n007.md")])
    whole = made.found("equal", limit=len(files))
    pages = [path for offset in range(0, len(files), 10) for path in made.found("equal", limit=10, offset=offset)]
    assert pages == whole
    assert sorted(whole) == sorted(files)


def test_alike_documents_come_by_path(base: MakeBase) -> None:
    made = base({f"{name}.md": "# Same\n\nequal text\n" for name in "dbeacf"})
    assert made.found("equal text") == ["a.md", "b.md", "c.md", "d.md", "e.md", "f.md"]


@pytest.mark.parametrize(
    ("sort", "up"),
    [
        ("path", ["a.md", "b.md", "c.md"]),
        ("title", ["b.md", "c.md", "a.md"]),
        ("type", ["c.md", "a.md", "b.md"]),
        ("date", ["b.md", "c.md", "a.md"]),
    ],
)
def test_answers_can_be_sorted_otherwise(base: MakeBase, sort: str, up: list[str]) -> None:
    made = base(
        {
            "a.md": "---\ntitle: zoo\ntype: b\ndate: 2024-03-01\n---\nword word\n",
            "b.md": "---\ntitle: Ant\ntype: C\n---\nword\n",
            "c.md": "---\ntitle: bee\ntype: A\ndate: 2023-01-05\n---\nword and more\n",
        }
    )
    assert made.found("word", sort=sort, descending=False) == up
    assert made.found("word", sort=sort, descending=True) == up[::-1]


def test_a_filter_holds_in_a_search_and_its_total_is_true(base: MakeBase) -> None:
    made = base(
        {
            "notes/a.md": "---\ntype: Note\ntags: [x/y]\nstatus: open\n---\nword\n",
            "notes/deep/b.md": "---\ntype: person\n---\nword\n",
            "other/c.md": "---\ntags: [x]\n---\nword\n",
        }
    )
    assert sorted(made.found("word", Filter(prefix="notes/"))) == ["notes/a.md", "notes/deep/b.md"]
    assert made.found("word", Filter(prefix="notes/d")) == ["notes/deep/b.md"]
    assert made.found("word", Filter(types=("note",))) == ["notes/a.md"]
    assert sorted(made.found("word", Filter(tags=("X",)))) == ["notes/a.md", "other/c.md"]
    assert made.found("word", Filter(any_tags=("x",))) == ["other/c.md"]
    assert made.found("word", Filter(fields=(("Status", "OPEN"),))) == ["notes/a.md"]
    assert made.index.search(SearchQuery(text="word", filter=Filter(prefix="notes/"), limit=1)).total == 2


def test_a_fresh_change_is_searched_as_if_it_had_always_been_there(base: MakeBase) -> None:
    files = {f"n{number}.md": f"# Note {number}\n\ntext on topic {number % 7} and things\n" for number in range(100)}
    made = base(files)
    made.update("n5.md", "# Note 5\n\nnow about kangaroos and topic 3\n")
    made.update("new.md", "# New\n\nkangaroo, topic and things\n")
    (made.folder / "n6.md").unlink()
    made.index.update([Address("n6.md")])
    assert sorted(made.found("kangaroo")) == ["n5.md", "new.md"]
    assert made.index.search(SearchQuery(text="things")).total == 99
    assert "n6.md" not in made.found("things", limit=200)


def test_a_long_search_is_cut_and_answered(base: MakeBase) -> None:
    made = base(NOTES)
    assert made.found("restore " * 5000)[0] == "backup.md"
    assert made.found("restore " * 5000 + "zeppelin") == made.found("restore " * 5000)


ACCENTED = {
    "ghost.md": "# Ghosts\n\nCon ma trong nhà, ma ở khắp nơi.\n",
    "mother.md": "# Mothers\n\nMá trong nhà, má ở khắp nơi.\n",
    "grave.md": "# Graves\n\nMả trong nhà, mả ở khắp nơi.\n",
}


def test_accents_that_are_typed_rank_the_words_that_have_them_first(base: MakeBase) -> None:
    made = base(ACCENTED)
    assert made.found("má")[0] == "mother.md"
    assert made.found("mả")[0] == "grave.md"
    assert set(made.found("ma")) == set(ACCENTED)


def test_recent_pages_know_accents_as_the_full_text_does(base: MakeBase) -> None:
    made = base(ACCENTED)
    made.write("late.md", "# Late\n\nMá đến muộn, má ở khắp nơi.\n")
    made.index.update([Address("late.md")])
    assert set(made.found("má")[:2]) == {"mother.md", "late.md"}


def test_accents_that_no_page_has_do_not_weaken_the_word(base: MakeBase) -> None:
    files = {"one.md": "# A\n\nMuller writes.", "two.md": "# B\n\nSomebody writes and writes."}
    assert base(files).found("Müller writes")[0] == "one.md"


def test_a_snippet_that_was_shown_before_is_of_the_text_that_the_index_knows(base: MakeBase) -> None:
    made = base({"a.md": "# A\n\nthe first gnu\n\n## Part\n\nan other gnu\n"})

    def shown(text: str) -> str:
        return made.index.search(SearchQuery(text=text)).hits[0].sections[0].snippet

    assert shown("first gnu") == shown("first gnu") == "the first gnu"
    assert shown("other gnu") == "an other gnu"
    made.update("a.md", "# A\n\nthe second gnu\n\n## Part\n\nan other gnu\n")
    assert shown("second gnu") == shown("second gnu") == "the second gnu"


def test_a_file_that_changed_unnoticed_is_not_taken_for_what_the_index_knows(base: MakeBase) -> None:
    made = base({"a.md": "# A\n\nthe first gnu\n"})
    made.write("a.md", "# A\n\nunseen words about a gnu\n")
    assert made.index.search(SearchQuery(text="gnu")).hits[0].sections[0].snippet == "unseen words about a gnu"
    made.update("a.md", "# A\n\nthe first gnu\n")
    assert made.index.search(SearchQuery(text="gnu")).hits[0].sections[0].snippet == "the first gnu"
