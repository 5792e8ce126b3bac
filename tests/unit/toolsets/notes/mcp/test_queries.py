"""Searching and reading by agents: the best first, within a budget, and where the rest is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.domain.revisions import revision_of
from commonplace.domain.tokens import tokens_of
from commonplace.faces.mcp.toolset import Call
from commonplace.index import open_past
from commonplace.services.collections import Collection, Collections
from commonplace.services.evidence import EvidenceSection
from commonplace.services.services import Services
from commonplace.services.sessions import SessionMemory
from commonplace.toolsets.notes.mcp.parameters import NotesRead, NotesSearch
from commonplace.toolsets.notes.mcp.queries import read, search, without_repeats
from indexed import Indexed
from support import GitRepo, new_repo

LONG = "# Long\n\n" + "".join(f"## Part {n}\n\nLine {n} about boats.\nMore of it.\n\n" for n in range(60))
FILES = {
    "notes/tea.md": "---\ntype: drink\ntags: [hot]\nstatus: open\n---\n# Tea\n\n"
    "Green walrus tea.\n\n## Water\n\nHot. ^temp\n",
    "notes/coffee.md": "# Coffee\n\nBlack walrus coffee.\n",
    "long.md": LONG,
}


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    repo = new_repo(tmp_path / "base", {"notes/tea.md": "# Tea\n\nOld kiwi tea.\n", "gone.md": "# Gone\n\nA heron.\n"})
    repo.git("tag", "first")
    (repo.path / "gone.md").unlink()
    repo.commit("Now", **FILES)
    return repo


@pytest.fixture
def call(repo: GitRepo, tmp_path: Path) -> Iterator[Call]:
    del repo
    with Indexed(tmp_path) as base:
        past = open_past(base.store, base.cache)
        assert past is not None
        with closing(past):
            collection = replace(base.collection, past=past)
            services = Services(collections=Collections(lambda: [collection]))
            yield Call(services=services, tier="read", progress=lambda *_: None, session=SessionMemory())


def found(call: Call, query: str, **more: object) -> str:
    return str(search(call, NotesSearch.model_validate({"query": query, **more})))


def shown(call: Call, page: str | list[str], **more: object) -> str:
    return str(read(call, NotesRead.model_validate({"page": page, **more})))


def test_sections_come_with_their_place_and_text(call: Call) -> None:
    reported_text = found(call, "walrus")
    assert "[1] notes/" in reported_text
    assert "Green walrus tea." in reported_text
    assert "Black walrus coffee." in reported_text
    assert reported_text.rstrip().endswith("tokens)")


@pytest.mark.parametrize(
    "narrowed", [{"tag": "hot"}, {"tag": "#hot"}, {"type": "drink"}, {"fields": {"status": "open"}}]
)
def test_a_search_is_narrowed_by_what_pages_say_of_themselves(call: Call, narrowed: dict[str, object]) -> None:
    reported_text = found(call, "walrus", **narrowed)
    assert "notes/tea.md" in reported_text
    assert "coffee" not in reported_text


def test_nothing_found_says_by_what_the_search_was_narrowed(call: Call) -> None:
    reported_text = found(call, "zebra", folder="notes/", since="yesterday")
    assert reported_text.startswith("Nothing found for 'zebra'.")
    assert "narrowed by folder, since" in reported_text


def test_a_search_of_an_unfinished_index_says_so_and_denies_no_tag(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base, closing(base.another()) as unready:
        collection = replace(base.collection, name="tea", index=unready)
        call = Call(
            services=Services(collections=Collections(lambda: [collection])), tier="read", progress=lambda *_: None
        )
        for query, more, start in (
            ("walrus", {"max_tokens": 100}, "tea: The index is still being built"),
            (
                "heron",
                {"tag": "none", "folder": "none/"},
                "Nothing found yet for 'heron'.\ntea: The index is still ",
            ),
        ):
            assert found(call, query, **more).startswith(start), query


def test_a_small_budget_shows_the_best_and_a_cursor_leads_through_the_rest(call: Call) -> None:
    seen: list[str] = []
    cursor = ""
    for _ in range(200):
        reported_text = found(call, "boats", max_tokens=150, cursor=cursor)
        assert tokens_of(reported_text) <= 150
        seen += [line for line in reported_text.splitlines() if line.startswith("[")]
        if "More: cursor=" not in reported_text:
            break
        cursor = reported_text.partition("More: cursor='")[2].partition("'")[0]
    whole = found(call, "boats", max_tokens=20_000).splitlines()
    assert seen == [line for line in whole if line.startswith("[")]
    with pytest.raises(InvalidInputError, match="cursor"):
        found(call, "boats", cursor="x")


def test_a_page_is_read_whole_in_part_or_by_lines(call: Call) -> None:
    whole = shown(call, "notes/tea")
    assert whole.startswith(f"notes/tea.md rev {revision_of(FILES['notes/tea.md'].encode())[:12]}")
    assert "Green walrus tea." in whole
    assert "Green" not in shown(call, "notes/tea#Water")
    assert "Hot." in shown(call, "Tea", section="Water")
    assert "Hot." in shown(call, "notes/tea#^temp")
    lines = shown(call, "long", lines="3-4")
    assert "[lines 3-4 of" in lines
    assert "## Part 0" in lines
    assert "Line 0" not in lines


@pytest.mark.parametrize("lines", ["0", "9-3", "x", "5-", "1-2-3", "99999"])
def test_lines_that_the_page_has_not_are_refused_or_read_to_the_end(call: Call, lines: str) -> None:
    if lines == "5-":
        assert "Green" not in shown(call, "notes/coffee", lines="3-")
        return
    with pytest.raises(InvalidInputError, match="lines"):
        shown(call, "notes/tea", lines=lines)


def test_a_page_that_is_too_long_comes_with_its_outline_and_says_where_to_go_on(call: Call) -> None:
    report = shown(call, "long", max_tokens=400)
    assert tokens_of(report) <= 400
    assert "more than fit. Outline" in report
    assert "- Part 0 3-" in report
    following = report.partition('"lines": "')[2].partition('"')[0] or report.partition("lines='")[2].partition("'")[0]
    assert following.rstrip("-").isdigit()
    assert "Part" in shown(call, "long", lines=following, max_tokens=400)


def test_several_pages_share_a_budget_and_a_missing_one_is_told_in_its_place(call: Call) -> None:
    reported_text = shown(call, ["notes/tea", "none", "notes/coffee"])
    assert "Green walrus tea." in reported_text
    assert "There is no page 'none'." in reported_text
    assert "Black walrus coffee." in reported_text
    with pytest.raises(InvalidInputError):
        shown(call, [])
    with pytest.raises(NotFoundError):
        shown(call, "none")


def test_only_the_sections_that_answer_are_read_on_request(call: Call) -> None:
    reported_text = shown(call, "long", query="Line 42", max_tokens=200)
    assert "## Long > Part 42" in reported_text


def test_the_past_is_searched_and_read_as_it_was(call: Call) -> None:
    assert "Old kiwi tea." in found(call, "kiwi", at="first")
    assert "Nothing found" in found(call, "kiwi")
    assert "Old kiwi tea." in shown(call, "notes/tea", at="first")
    assert "A heron." in shown(call, "gone", at="first")
    assert "AS IT WAS at first" in shown(call, "gone.md", at="first")
    with pytest.raises(NotFoundError):
        shown(call, "long", at="first")


def test_what_was_shown_of_a_page_is_known_to_the_session(call: Call) -> None:
    assert call.session is not None
    shown(call, "notes/tea")
    seen = call.session.seen("base", "notes/tea.md")
    assert seen is not None
    assert seen.revision == revision_of(FILES["notes/tea.md"].encode())
    shown(call, "gone", at="first")
    assert call.session.seen("base", "gone.md") is None


def test_every_read_makes_progress_also_within_a_line_that_is_longer_than_the_budget(tmp_path: Path) -> None:
    giant = "# Giant\n\n" + "word " * 2_000 + "\n\nBetween.\n\n" + "more " * 2_000
    with Indexed(tmp_path, {"giant.md": giant}) as base:
        services = Services(collections=Collections(lambda: [base.collection]))
        call = Call(services=services, tier="read", progress=lambda *_: None, session=SessionMemory())
        answers = [shown(call, "giant", max_tokens=100)]
        while match := re.search(r'"lines": "([\d+]+-\d*)"', answers[-1]):
            answers.append(shown(call, "giant", lines=match[1], max_tokens=100))
        assert all(tokens_of(answer) <= 100 for answer in answers)
        reported_text = "\n".join(answers)
        assert re.search(r"Line 3 is cut: characters 1-\d+ of 10000\. ", reported_text)
        assert "Between." in reported_text
        text = "".join(answer.split("\n")[1].removesuffix("…") for answer in answers[1:])
        assert "word " * 1_999 + "word" in text
        assert "more " * 1_999 + "more" in text
        seen = call.session.seen(base.collection.name, "giant.md") if call.session else None
        assert seen is None or not seen.is_whole, "a line that is cut was not shown"


def test_one_long_line_in_the_middle_is_read_from_a_character_on(call: Call) -> None:
    assert "\nabout boats.\nMore of it." in shown(call, "long", lines="5+7-6")
    for lines in ("5+", "+7", "5+x-9", "0+1"):
        with pytest.raises(InvalidInputError, match="Invalid argument lines"):
            shown(call, "long", lines=lines)


def test_a_question_is_answered_within_a_section_and_lines_are_of_the_whole_page(call: Call) -> None:
    reported_text = shown(call, "notes/tea", query="tea water", section="Water")
    assert "## Tea > Water\n" in reported_text
    assert "Green walrus" not in reported_text
    assert "[Tea > Water]" in shown(call, "notes/tea#Water", query="tea water")
    for more in ({"section": "Water"}, {"query": "water"}):
        with pytest.raises(InvalidInputError, match="lines are counted in the whole page"):
            shown(call, "notes/tea", lines="1-2", **more)


def test_an_answer_to_a_question_that_is_cut_says_where_the_rest_is(call: Call) -> None:
    reported_text = shown(call, "long", query="boats", max_tokens=100)
    section = re.search(r"Next: read (\{.*\})", reported_text)
    assert section is not None
    assert "Line " in shown(call, **json.loads(section[1]))


def test_several_pages_within_a_small_budget_begin_and_go_on(call: Call) -> None:
    reported_text = shown(call, ["notes/tea", "notes/coffee", "long"], max_tokens=180)
    assert "Green walrus tea." in reported_text
    rest = re.search(r"No room for \d more\. Next: read (\{.*\})", reported_text)
    assert rest is not None
    assert json.loads(rest[1]) == {"page": ["long"]}


def test_a_search_beyond_its_end_and_an_unknown_field_say_so(call: Call) -> None:
    assert found(call, "walrus", cursor="0.99").startswith("No more results.")
    assert found(call, "walrus", cursor="999.0").startswith("No more results.")
    assert "narrowed by fields (stauts)" in found(call, "walrus", fields={"stauts": "open"})


def test_a_budget_without_room_for_text_is_refused_with_one_that_has(tmp_path: Path) -> None:
    path = f"{'deep' * 40}/{'page' * 40}"
    with Indexed(tmp_path, {f"{path}.md": "# Deep\n\n" + "walrus " * 200}) as base:
        call = Call(
            services=Services(collections=Collections(lambda: [base.collection])), tier="read", progress=lambda *_: None
        )
        for ask in (
            lambda tokens: shown(call, path, max_tokens=tokens),
            lambda tokens: shown(call, path, lines="1-3", max_tokens=tokens),
            lambda tokens: shown(call, path, query="walrus", max_tokens=tokens),
            lambda tokens: found(call, "walrus", max_tokens=tokens),
        ):
            with pytest.raises(InvalidInputError, match="max_tokens=100 leaves no room") as refused:
                ask(100)
            least = re.fullmatch(r"Give max_tokens=(\d+) or more\.", refused.value.hint)
            assert least
            assert re.search("# Deep|walrus", ask(int(least[1])))
        assert "no room for its text" in shown(call, [path, "nowhere"], max_tokens=250)


def test_a_long_page_of_the_past_is_read_on_from_where_the_answer_ends(call: Call, repo: GitRepo) -> None:
    at = repo.git("rev-parse", "HEAD")[:7]
    first = shown(call, "long", at=at, max_tokens=150)
    following = re.search(r'Next: read .*"lines": "(\d+)-(\d+)", "at": ', first)
    assert following
    assert int(following[1]) > 1
    second = shown(call, "long", at=at, lines=f"{following[1]}-{following[2]}", max_tokens=150)
    assert LONG.splitlines()[int(following[1]) - 1] in second.splitlines()


PAGE = "# Page\n\n## One\n\nFirst.\n\n## Two\n\nSecond.\n\n## Three\n\nThird.\n"
TWO = "Second."
ALL = "First.\n\n## Two\n\nSecond.\n\n## Three\n\nThird."


def sections(base: Indexed, *rows: tuple[str, str, tuple[str, ...]]) -> list[EvidenceSection]:
    """Sections of the page by anchor, text and the anchors that the text holds."""
    collection = Collection("base", base.store, base.index)
    record = base.index.record(Address("page.md"))
    assert record is not None
    return [EvidenceSection(collection, record, (anchor,), anchor, text, inner, 1.0) for anchor, text, inner in rows]


def test_a_larger_section_is_shown_without_the_better_one_in_it(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"page.md": PAGE}) as base:
        evidence_sections = sections(base, ("two", TWO, ("two",)), ("one", ALL, ("one", "two", "three")))
        shown = [(section.anchor, section.text) for section in without_repeats(evidence_sections)]
    assert shown == [("two", TWO), ("one", "First.\n\n## Three\n\nThird.")]


def test_a_section_that_a_better_one_holds_is_not_shown_again(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"page.md": PAGE}) as base:
        evidence_sections = sections(base, ("one", ALL, ("one", "two", "three")), ("two", TWO, ("two",)))
        assert [section.anchor for section in without_repeats(evidence_sections)] == ["one"]


def test_a_section_of_which_nothing_is_left_is_not_shown(tmp_path: Path) -> None:
    with Indexed(tmp_path, {"page.md": PAGE}) as base:
        evidence_sections = sections(base, ("two", TWO, ("two",)), ("one", f"## Two\n\n{TWO}", ("one", "two")))
        assert [section.anchor for section in without_repeats(evidence_sections)] == ["two"]
