"""Questions of mixed scripts and in capitals: what is there is found and not denied, and capitals change no answer."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from benchmarks.judged.mixed import mixed_set
from benchmarks.judged.sets import DEPTH, JudgedSet, write_vault

from commonplace.domain.query import SearchQuery
from commonplace.services.searches import search
from indexed import Indexed
from support import ROOT, Amount

LEAST_RECALL = 0.97
EXAMPLES = ROOT / "examples" / "kb"


@pytest.fixture(scope="module")
def judged() -> JudgedSet:
    return mixed_set()


@pytest.fixture(scope="module")
def base(judged: JudgedSet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    place = tmp_path_factory.mktemp("mixed")
    write_vault(judged.documents, place / "base")
    with Indexed(place) as made:
        yield made


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    files = {str(file.relative_to(EXAMPLES)): file.read_bytes() for file in sorted(EXAMPLES.rglob("*.md"))}
    with Indexed(tmp_path_factory.mktemp("harbour"), files) as made:
        yield made


def test_known_items_of_mixed_scripts_are_found(judged: JudgedSet, base: Indexed) -> None:
    by_path = {f"{number:06}.md": document["_id"] for number, document in enumerate(judged.documents)}
    found_texts = [{by_path[path] for path in base.found(question.text, limit=DEPTH)} for question in judged.questions]
    right = sum(
        not answer.isdisjoint(question.grades) for answer, question in zip(found_texts, judged.questions, strict=True)
    )
    assert right / len(judged.questions) >= LEAST_RECALL


def test_no_notice_denies_a_piece_of_a_text(judged: JudgedSet, base: Indexed, amount: Amount) -> None:
    chance = random.Random(4)
    for document in chance.sample(judged.documents, amount(60, 400)):
        line = chance.choice(document["text"].split("。\n\n"))
        start = chance.randrange(len(line))
        piece = line[start : start + chance.randrange(1, 14)]
        # A word of the piece is whole if no letter or digit of it is cut off.
        whole = piece if _is_cut_between_words(line, start, piece) else line
        for text in (whole, f'"{whole}"'):
            if any(map(str.isalnum, text)):
                answer = search([base.collection], SearchQuery(text=text, limit=1000))
                assert "No page" not in answer.notice, (text, answer.notice)
                assert answer.hits, text


def _is_cut_between_words(line: str, start: int, piece: str) -> bool:
    end = start + len(piece)
    edges = (line[max(start - 1, 0) : start + 1], line[end - 1 : end + 1])
    return not any(len(edge) > 1 and edge.isascii() and edge.isalnum() for edge in edges)


@pytest.mark.parametrize("words", [2, 5, 12])
def test_a_question_in_capitals_is_answered_as_in_lower_case(harbour: Indexed, words: int, amount: Amount) -> None:
    chance = random.Random(words)
    texts = [(EXAMPLES / path).read_text(encoding="utf-8").split() for path in harbour.listed()]
    for _ in range(amount(40, 300)):
        text = chance.choice(texts)
        start = chance.randrange(len(text))
        joined = chance.choice(["AND", "OR", "NOT", "and", ""])
        question = " ".join([*text[start : start + words], joined, *chance.choice(texts)[:words]]).upper()
        assert _scores(harbour, question) == _scores(harbour, question.lower()), question


def _scores(base: Indexed, text: str) -> list[tuple[str, float]]:
    hits = base.index.search(SearchQuery(text=text, limit=50)).hits if text.strip() else ()
    return [(hit.record.address.path, hit.score) for hit in hits]
