"""Odd questions, by every way of asking: each is answered, and none ends in a traceback."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from serving import Server, served
from shell import Shell
from support import ROOT

EXAMPLES = ROOT / "examples" / "kb"
RESTORE = "runbooks/restore-database"
TRACE = """Traceback (most recent call last):
  File "restore.py", line 42, in <module>
    main(sys.argv[1:])
  File "restore.py", line 17, in main
    raise RuntimeError("could not restore the database: permission denied")
RuntimeError: could not restore the database: permission denied
"""
PAGE = (EXAMPLES / f"{RESTORE}.md").read_text(encoding="utf-8")
RESTORING = {
    "mixed scripts and directions": "מסד restore \u200fשחזר\u200f database база \u202edatabase\u202c 数据库",
    "unbalanced quotes": '"restore the database „after” «outage',
    "emoji": "🦘 restore 👩\u200d👩\u200d👧 database 🏳️\u200d🌈",
    "a stack trace": TRACE,
    "a page": PAGE,
    "a page many times": PAGE * 40,
    "signs between words": "restore;;;database???!!! -- ((( ***",
    "a question in capitals": "HOW DO I RESTORE THE DATABASE AND WHAT DO I DO IF IT FAILS",
    "a question with an operator": "why is my database NOT restored OR recovered",
    "an expression that no page matches": "restore AND database AND zzyzx",
    "control characters": "restore\x07 \x1b[31mdatabase\x1b[0m",
}
"""Questions that lead to one page."""
OTHERS = {
    "ten thousand words": " ".join(f"word{number % 700}" for number in range(10_000)),
    "ten thousand known words": " ".join(("restore", "database", "outage", "harbour")[n % 4] for n in range(10_000)),
    "one letter": "a",
    "one ideograph": "库",
    "only stop words": "how is it that the of and to",
    "one word without blanks": "x" * 20_000,
    "brackets": "((((((((" * 200 + "a OR b",
    "only exclusions": "-restore -database",
}
OPERATORS = "AND OR NOT ( AND ) -"
SIGNS = {"only quotes": "\"\" “” «» 「」 ''", "only emoji": "🦘🦘", "only signs": "?! … --"}
"""Questions without a letter or digit."""
HERONS = "herons"
IN_THE_FILE = {"markup": '"by <u>two</u>"', "half a tag": '"by <u>tw"', "part of a compound": "hafenrestaurant"}
"""Texts that stand in the file of one page, but not as words."""
MAX_SHOWN = 10
MAX_FIRST = 4
"""Place by which the page has to come: two words are in several pages."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer."""

    pages: tuple[str, ...]
    """Whatever names the hits, best first."""
    notice: str


Ask = Callable[[str], Answered]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = shutil.copytree(EXAMPLES, tmp_path_factory.mktemp("odd") / "harbour")
    (copy / f"{HERONS}.md").write_text(
        "# Herons\n\nEaten by <u>two</u> grey herons near the Fischereihafenrestaurant.\n"
    )
    return copy


@pytest.fixture(scope="module")
def server(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    place = tmp_path_factory.mktemp("server")
    env = {"XDG_CACHE_HOME": str(place / "cache"), "XDG_STATE_HOME": str(place / "state"), "COMMONPLACE_EMBED": "false"}
    with served(folder, env=env) as running:
        yield running
        assert not [line for line in running.lines if "Traceback" in line]


@pytest.fixture(scope="module", params=["kb_search", "notes", "rest", "command line"])
def ask(request: pytest.FixtureRequest, server: Server, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    cache = tmp_path_factory.mktemp("shell")
    shell = Shell(folder, {"XDG_CACHE_HOME": str(cache), "XDG_STATE_HOME": str(cache), "COMMONPLACE_EMBED": "false"})

    def kb(text: str) -> Answered:
        answer = _structured(server.call("kb", "kb_search", {"query": text, "limit": MAX_SHOWN}))
        return Answered(tuple(row["id"] for row in answer["results"]), answer.get("notice", ""))

    def notes(text: str) -> Answered:
        result = server.call("notes", "search", {"query": text, "max_tokens": 4000})
        shown = "".join(part["text"] for part in result["content"])
        assert not result.get("isError"), shown
        return Answered(tuple(line for line in shown.splitlines() if line.startswith("[")), shown)

    def rest(text: str) -> Answered:
        answer = server.ask("GET", f"/api/v1/search?q={quote(text[:2500], safe='')}")
        assert answer.status == 200, answer.body
        return Answered(tuple(row["path"] for row in answer.json["results"]), answer.json.get("notice", ""))

    def line(text: str) -> Answered:
        done = shell("search", "-", "--json", stdin=text)
        assert (done.code, "Traceback" in done.stderr) == (0, False), done.stderr
        answer: Any = done.json
        return Answered(tuple(row["path"] for row in answer["hits"]), answer.get("notice", ""))

    return {"kb_search": kb, "notes": notes, "rest": rest, "command line": line}[request.param]


def _structured(result: Mapping[str, Any]) -> Any:
    assert not result.get("isError"), result
    return result["structuredContent"]


@pytest.mark.parametrize("question", RESTORING.values(), ids=RESTORING)
def test_a_question_that_holds_words_of_a_page_finds_it(ask: Ask, question: str) -> None:
    answered = ask(question)
    assert any(RESTORE in page for page in answered.pages[:MAX_FIRST]), answered


@pytest.mark.parametrize("question", OTHERS.values(), ids=OTHERS)
def test_an_odd_question_is_answered(ask: Ask, question: str) -> None:
    answered = ask(question)
    assert answered.pages or answered.notice


@pytest.mark.parametrize("question", SIGNS.values(), ids=SIGNS)
def test_signs_alone_find_nothing_and_that_is_said(ask: Ask, question: str) -> None:
    answered = ask(question)
    assert answered.pages == ()
    assert "no letter or digit" in answered.notice


def test_an_expression_that_no_page_matches_is_answered_by_its_words_and_that_is_said(ask: Ask) -> None:
    answered = ask("(restore AND zzyzx) OR (database AND zzyzx)")
    assert answered.pages
    assert "No page matches the query with its operators. These pages were found by its words." in answered.notice


@pytest.mark.parametrize("question", IN_THE_FILE.values(), ids=IN_THE_FILE)
def test_a_text_that_stands_in_a_file_is_not_denied(ask: Ask, question: str) -> None:
    answered = ask(question)
    assert any(HERONS in page for page in answered.pages[:1]), answered
    assert f"stands in {HERONS}.md" in answered.notice
    assert "No page contains" not in answered.notice


def test_operators_without_terms_are_answered(ask: Ask) -> None:
    ask(OPERATORS)


def test_a_url_that_is_too_long_is_refused_and_the_next_one_served(server: Server) -> None:
    refused = server.ask("GET", f"/api/v1/search?q={quote(OTHERS['ten thousand words'])}")
    assert refused.status in {414, 422, 431}
    assert server.ask("GET", "/api/v1/search?q=restore").status == 200
