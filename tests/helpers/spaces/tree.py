"""A synced space of some 150 pages, written as a sync leaves it: `space = write_space(tmp_path / "eng")`."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

DAY = 86_400
AREAS = {
    "deployments": "deploy rollback release canary pipeline artifact staging promote approve freeze",
    "databases": "database replica failover backup restore migration schema index vacuum snapshot",
    "networks": "gateway firewall router latency bandwidth proxy certificate handshake packet tunnel",
    "incidents": "incident alert pager escalation postmortem severity mitigation responder timeline outage",
    "hiring": "interview candidate offer onboarding mentor referral contract probation salary feedback",
    "design": "typography palette spacing prototype wireframe contrast accessibility layout icon grid",
    "billing": "invoice payment refund ledger currency subscription discount receipt taxation balance",
    "search": "relevance synonym tokenizer stemming ranking facet snippet query recall precision",
    "mobile": "android iphone widget gesture offline notification keyboard rotation battery permission",
    "security": "credential rotation encryption audit phishing vulnerability patching threat token secret",
    "office": "kitchen parking visitor printer projector badge cleaning recycling furniture catering",
}
"""Words of the pages, by folder."""
PEOPLE = (
    ("ann.archer@example.org", "Ann Archer"),
    ("", "Boris Bělák"),
    ("chen@example.org", "陈伟"),
    ("", "Dora Straße"),
    ("E.Eriksson@Example.org", "Erik Eriksson"),
)
"""E-mail address and name; some addresses are hidden."""
LABELS = ("runbook", "Draft", "howto", "policy", "über-uns", "会议", "RFC 12", "architecture", "faq", "ARCHIVE")
FILLER = (
    "Everybody on the team may change this.",
    "Ask in the channel before you begin.",
    "This was agreed in spring and has held since.",
    "The order of the steps matters.",
    "Numbers are rounded to the next hundred.",
)


@dataclass(frozen=True, slots=True)
class Written:
    """A page as it was written, for comparing."""

    id: str
    path: str
    title: str
    labels: tuple[str, ...]
    email: str
    name: str
    created: datetime | None
    updated: datetime | None
    body: str
    url: str | None


@dataclass(slots=True)
class SpaceFolder:
    """A synced folder."""

    root: Path
    pages: dict[str, Written] = field(default_factory=dict[str, Written])
    """Pages by id."""

    def write_map(self, **more: Any) -> None:
        """Write the space file anew."""
        paths = {page.id: page.path for page in self.pages.values()}
        values = {"spaceKey": "ENG", "spaceId": "98304", "spaceName": "Engineering", "pages": paths, **more}
        (self.root / ".confluence.json").write_text(json.dumps(values, indent=2), encoding="utf-8")

    def write(self, page: Written, front: str) -> None:
        """Write one page; what a frontmatter says beyond id and title is given as its lines."""
        file = self.root / page.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            f"---\n{front}---\n\n# {page.title}\n\n{page.body}\n"
            if page.title
            else f"---\n{front}---\n\n{page.body}\n",
            encoding="utf-8",
        )
        self.pages[page.id] = page

    def remove(self, identifier: str) -> Written:
        """Delete a page's file, as a sync does for a deleted page."""
        page = self.pages.pop(identifier)
        (self.root / page.path).unlink()
        return page


def write_space(root: Path, **more: Any) -> SpaceFolder:
    """The space; `more` goes into its space file."""
    chance = random.Random(7)
    root.mkdir(parents=True, exist_ok=True)
    space = SpaceFolder(root)
    _add(space, chance, "README.md", "Engineering home", "welcome handbook directory")
    for number, (area, words) in enumerate(AREAS.items()):
        # Older trees have index.md where newer ones have README.md.
        name = "index.md" if number % 3 == 2 else "README.md"
        _add(space, chance, f"{area}/{name}", f"All about {area}", words)
        for place in range(12):
            topic = chance.sample(words.split(), 3)
            folder = f"{area}/{topic[0]}-{place}" if place % 5 == 4 else area
            leaf = "README.md" if place % 5 == 4 else f"{'-'.join(topic)}-{place}.md"
            _add(space, chance, f"{folder}/{leaf}", f"{' '.join(topic)} {place}".capitalize(), words)
    for path, title, words in SPECIAL:
        _add(space, chance, path, title, words)
    _write_no_pages(root)
    space.write_map(**more)
    return space


SPECIAL = (
    ("i18n/руководство.md", "Руководство по развёртыванию", "развёртывание сервер откат проверка журнал"),
    ("i18n/会议纪要.md", "会议纪要", "会议 纪要 讨论 决定 数据库迁移"),
    ("i18n/日本語.md", "リリース手順", "リリース 手順 確認 承認"),
    ("i18n/café.md", "Café «naïve» résumé", "crème brûlée façade jalapeño"),
    ("i18n/ελληνικά.md", "Οδηγός", "διακομιστής ανάπτυξη έλεγχος"),
    ("quotes.md", 'The "quoted" \\ back\\slash: title', "quotation apostrophe semicolon"),
)


def moments(page: Written) -> tuple[int | None, int | None]:
    """Creation and modification time of a page in unix seconds."""
    return _seconds(page.created), _seconds(page.updated)


def same_text(text: str) -> str:
    """The form in which labels and authors are compared."""
    return text.strip().lower()


def kept(pages: Iterable[Written], *tests: Callable[[Written], bool]) -> set[str]:
    """Ids of the pages that pass every test."""
    return {page.id for page in pages if all(test(page) for test in tests)}


def _seconds(when: datetime | None) -> int | None:
    return int(when.timestamp()) if when else None


def _add(space: SpaceFolder, chance: random.Random, path: str, title: str, words: str) -> None:
    number = len(space.pages)
    identifier = str(100_000 + 37 * number) if number % 7 else f"page-{number}"
    email, name = PEOPLE[number % len(PEOPLE)]
    labels = tuple(chance.sample(LABELS, chance.randrange(4)))
    created, created_text = _moment(chance, number)
    updated, updated_text = _moment(chance, number + 1)
    url = f"https://example.org/wiki/spaces/ENG/pages/{identifier}" if number % 4 else None
    front: Mapping[str, str] = {
        "page_id": identifier if number % 2 else json.dumps(identifier),
        "title": json.dumps(title, ensure_ascii=False),
        "created_at": created_text,
        "updated_at": updated_text,
        "version": str(1 + number % 9),
        "parent_title": "Engineering home" if number else "",
        "author_name": json.dumps(name, ensure_ascii=False),
        "author_email": email,
        "labels": json.dumps(labels, ensure_ascii=False),
        "url": url or "",
        "synced_at": "2026-03-01T00:00:00.000Z",
    }
    lines = "".join(f"{key}: {value}\n" for key, value in front.items() if value)
    page = Written(identifier, path, title, labels, email, name, created, updated, _body(chance, words, number), url)
    space.write(page, lines)


def _moment(chance: random.Random, number: int) -> tuple[datetime | None, str]:
    """A moment and one of the ways in which it is written; every ninth page has none."""
    when = datetime(2023, 1, 1, tzinfo=UTC) + timedelta(seconds=chance.randrange(1_250 * DAY))
    when = when.replace(microsecond=0)
    match number % 9:
        case 0:
            return None, ""
        case 1 | 2:
            day = when.replace(hour=0, minute=0, second=0)
            return day, f"{day:%Y-%m-%d}" if number % 2 else f'"{day:%Y-%m-%d}"'
        case 3:
            return when, f"{when.astimezone(UTC) + timedelta(hours=2):%Y-%m-%dT%H:%M:%S}+02:00"
        case 4:
            return when, f"{when:%Y-%m-%d %H:%M:%S}"
        case _:
            return when, f'"{when:%Y-%m-%dT%H:%M:%S}.000Z"'


def _body(chance: random.Random, words: str, number: int) -> str:
    """Some sections, the words of the topic deep inside them; every eighth body is long."""
    chosen = words.split()
    parts = [chance.choice(FILLER)]
    for section in range(2 + number % 3):
        text = chance.sample(chosen, min(4, len(chosen)))
        parts += [
            f"## {chance.choice(FILLER).rstrip('.')}",
            f"{chance.choice(FILLER)} See **{text[0]}** and [{text[1 % len(text)]}](../x.md), then `{text[-1]}`.",
            f"- {' '.join(text)}\n- {chance.choice(FILLER)}",
        ]
        if number % 8 == section:
            parts.append(" ".join(chance.choice(FILLER) for _ in range(120)))
    return "\n\n".join(parts)


def _write_no_pages(root: Path) -> None:
    """Files in such folders that are not pages; each contains `sentinel`, which no page contains."""
    for path, text in {
        "notes.md": "# Notes\n\nA sentinel without frontmatter.\n",
        "draft.md": "---\ntitle: Draft\n---\n\nA sentinel without page_id.\n",
        "node_modules/x/README.md": "---\npage_id: 1\n---\nsentinel\n",
        "dist/page.md": "---\npage_id: 2\n---\nsentinel\n",
        "build/deep/page.md": "---\npage_id: 3\n---\nsentinel\n",
        "coverage/page.md": "---\npage_id: 4\n---\nsentinel\n",
        "__pycache__/page.md": "---\npage_id: 5\n---\nsentinel\n",
        ".hidden/page.md": "---\npage_id: 6\n---\nsentinel\n",
        ".git/config": "[core]\n\tsentinel = true\n",
        ".env": "SECRET=sentinel\n",
        "image.png": "sentinel",
    }.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
