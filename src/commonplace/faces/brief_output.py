"""The brief at the start of a session as lines of text within a budget, the same in every face."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from commonplace.domain.changes import people_of
from commonplace.domain.snippets import strip_markdown
from commonplace.domain.tokens import beginning, size_of
from commonplace.domain.words.amounts import amount
from commonplace.faces.lazy_module import LazyModule
from commonplace.services.brief import Brief, ChangedPage, RulePage, place_of
from commonplace.services.collections import Collection
from commonplace.services.evidence import EvidenceSection, fit

if TYPE_CHECKING:
    from commonplace.faces import proposal_output
    from commonplace.services.proposals.decisions import FoundProposal
else:
    proposal_output = LazyModule("commonplace.faces.proposal_output")

RULES_SHARE = 0.3
"""The part of the budget for purpose and rules."""
FIRST_SHARE = 0.75
"""The part of that for a page before the last."""
NEWS_SHARE = 0.2
"""The part of the budget for what changed, and for what waits for a person."""
MIN_LINE = 60
"""Quarters of a token below which a line is left out instead of cut."""
MAX_PROPOSALS = MAX_REVIEWS = 5
MAX_REPEATS = 3
"""Maximum number of places that are named for one text."""
_BLANK_LINES = re.compile(r"\n{2,}")

PathOf = Callable[[Collection, str], str]
"""The path of a page for the reader, by its collection and its path there."""


def brief_lines(brief: Brief, proposals: Sequence[FoundProposal], room: int, path_of: PathOf, rest: str) -> list[str]:
    """The lines, most important first; never larger than the room.

    The number of pages that changed always has room: the next brief of the same client tells of later changes only.

    Args:
        brief: The brief.
        proposals: The open proposals that the reader may see.
        room: The budget in quarters of a token, for the lines and their line ends.
        path_of: Names a page.
        rest: A sentence with the way to the changes that have no room.
    """
    reserved = size_of(_change_line(brief, path_of, rest, 0)) + 1 if brief.since else 0
    lines = _Lines(room - reserved)
    for element in brief.unknown:
        lines.add(element)
    part = lines.part(RULES_SHARE)
    rules = _add_rules(part, brief.rules, path_of)
    lines.take(part)
    reviews = [
        f"To review: {address.path}{f':{finding.line}' if finding.line else ''}: {finding.message} [{finding.rule}]"
        for address, finding in brief.reviews[:MAX_REVIEWS]
    ]
    news = [*reviews, *map(proposal_output.proposal_line, proposals[:MAX_PROPOSALS])]
    if len(proposals) > MAX_PROPOSALS:
        news.append(f"and {amount(len(proposals) - MAX_PROPOSALS, 'more proposal')}")

    def shown(section: EvidenceSection, text: str) -> tuple[str, int]:
        place = place_of(section)
        status = section.status.mark if section.status else ""
        doubts = f"TO REVIEW ({', '.join(brief.doubts[place])})" if place in brief.doubts else ""
        marks = ("changed since" if place in brief.news else "", status, doubts)
        head = " ".join(filter(None, (f"[{_place(section, path_of)}]", *marks, " > ".join(section.path))))
        row = f"{head}{_repeats(brief.repeats.get(place, ()), path_of)}\n{text}"
        return row, size_of(row) + 1

    def add_news(part: _Lines) -> None:
        if brief.since:
            part.add(_change_line(brief, path_of, rest, part.room))
        part.add_all(news)

    lines.room += min(room, reserved)
    part = _Lines(max(reserved, int(NEWS_SHARE * lines.room)))
    add_news(part)
    room = lines.room - sum(size_of(line) + 1 for line in part.kept)
    sections = fit([section for section in brief.sections if _compared(section.text) not in rules], room, shown)
    left = room - sum(size_of(row) + 1 for row in sections)
    part = _Lines(lines.room - room + left)  # what the sections leave is for the news
    add_news(part)
    return [*lines.kept, *part.kept, *sections]


def _add_rules(part: _Lines, pages: Sequence[RulePage], path_of: PathOf) -> str:
    """Add the rules to their part of the brief; return the text that is there then, in its compared form."""
    rules = ""
    for number, page in enumerate(pages):
        own = part.part(1 if number + 1 == len(pages) else FIRST_SHARE)
        text = _rule_text(page, is_first=number == 0)
        if _compared(text) not in rules:
            own.add(f"{path_of(page.collection, page.address.path)}: {text}")
        part.take(own)
        rules = _compared("\n".join(part.kept))
    return rules


def _place(section: EvidenceSection, path_of: PathOf) -> str:
    path = path_of(section.collection, section.record.address.path)
    return f"{path}#{section.anchor}" if section.anchor else path


def _repeats(sections: Sequence[EvidenceSection], path_of: PathOf) -> str:
    """The end of a heading that names the other sections with the same text."""
    places = [_place(section, path_of) for section in sections[:MAX_REPEATS]]
    more = [f"{len(sections) - MAX_REPEATS} more"] if len(sections) > MAX_REPEATS else []
    return f"; also in {', '.join([*places, *more])}" if places else ""


def _compared(text: str) -> str:
    """A text without markup and line ends."""
    return " ".join(strip_markdown(text).split())


def _rule_text(page: RulePage, *, is_first: bool) -> str:
    """The whole of the first page, the first paragraph of others."""
    if is_first:
        return _BLANK_LINES.sub("\n", page.text)
    parts = (strip_markdown(part).strip() for part in page.text.split("\n\n") if not part.lstrip().startswith("#"))
    return " ".join(next(filter(None, parts), "").split())


def _change_line(brief: Brief, path_of: PathOf, rest: str, room: int) -> str:
    """The number of pages that changed, the first of them as far as there is room, and the way to the others."""
    head = f"Since {brief.since_name or f'{datetime.fromtimestamp(brief.since, UTC):%Y-%m-%d %H:%M}'}:"
    if not brief.changed:
        return f"{head} no page changed." if brief.is_complete else f"{head} no changed page is known. {rest}"
    head += f" {amount(len(brief.changed), 'page')} changed"
    pages = [_changed(page, path_of) for page in brief.changed]
    way = "" if brief.is_complete else f". {rest}"
    if size_of(whole := f"{head}: {', '.join(pages)}{way}") < room:
        return whole
    left, count = room - size_of(f"{head}: and {len(pages)} more. {rest}") - 1, 0
    while count < len(pages) and (left := left - size_of(pages[count]) - 2) >= 0:
        count += 1
    return f"{head}: {', '.join(pages[:count])} and {len(pages) - count} more. {rest}" if count else f"{head}. {rest}"


def _changed(page: ChangedPage, path_of: PathOf) -> str:
    facts = "; ".join(filter(None, (people_of(page.last) if page.last else "", page.state)))
    return f"{path_of(page.collection, page.address.path)} ({facts})"


class _Lines:
    """Lines within a budget."""

    def __init__(self, room: int) -> None:
        self.room = max(0, room)
        self.kept: list[str] = []

    def part(self, share: float) -> _Lines:
        """Lines of their own with a share of the room."""
        return _Lines(int(share * self.room))

    def take(self, part: _Lines) -> None:
        """Add the lines of a part."""
        self.kept += part.kept
        self.room -= sum(size_of(line) + 1 for line in part.kept)

    def add_all(self, lines: Sequence[str]) -> None:
        """Add lines, as far as there is room."""
        for line in lines:
            self.add(line)

    def add(self, line: str) -> None:
        """Add a line, cut to the room between two words; nothing if there is none for it."""
        room = self.room - 1
        if size_of(line) > room:
            mark = size_of("…") + 1
            start = beginning(line, room - mark)
            whole = start if line[len(start)].isspace() else start.rpartition(" ")[0] or start
            line = f"{whole.rstrip()}…" if room >= MIN_LINE else ""
        if line:
            self.kept.append(line)
            self.room -= size_of(line) + 1
