"""`commonplace check --questions` over the real process: what it prints, and its exit code for a pipeline."""

from __future__ import annotations

import json
from pathlib import Path

from serving import commonplace

PAGES = {
    "green.md": "# Green tea\n\n## Brewing\n\nWater of 80 degrees.\n",
    "pots.md": "# Pots\n\nA kyusu has a side handle.\n",
}
ASKED = (
    "- question: how hot is the water for green tea\n  pages: [green.md]\n- {question: side handle, pages: [pots]}\n"
)


def base(place: Path, questions: str | None) -> Path:
    for path, text in PAGES.items():
        (place / path).write_text(text)
    if questions is not None:
        (place / "questions.yaml").write_text(questions)
    return place


def test_answered_questions_end_with_0_and_an_unanswered_one_with_1(tmp_path: Path) -> None:
    folder = base(tmp_path, ASKED)
    done = commonplace("check", "--questions", "--kb", folder)
    assert (done.returncode, done.stdout) == (0, "")
    assert "2 questions: 0 errors" in done.stderr
    (folder / "pots.md").write_text("# Pots\n\nNothing here.\n")
    done = commonplace("check", "--questions", "--kb", folder)
    assert done.returncode == 1
    assert done.stdout.startswith("questions.yaml: error: 'side handle': pots.md not found within 1,000 tokens.")
    shown = json.loads(commonplace("check", "--questions", "--json", "--kb", folder).stdout)
    assert (shown["questions"], shown["counts"]["error"]) == (2, 1)


def test_without_a_file_or_with_a_broken_one_the_command_says_what_is_valid(tmp_path: Path) -> None:
    folder = base(tmp_path, None)
    for text, said in ((None, "There is no questions.yaml"), ("- 1\n", "question 1 is not a mapping")):
        if text:
            (folder / "questions.yaml").write_text(text)
        done = commonplace("check", "--questions", "--kb", folder)
        assert done.returncode not in {0, 1}
        assert said in done.stderr
        assert "{question: How hot for" in done.stderr
