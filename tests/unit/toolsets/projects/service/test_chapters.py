"""A store made by hand opens as it is, and random edits of it change nothing but what they name."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.document_reader import read_document
from commonplace.toolsets.projects.remote.setup import open_project_store
from commonplace.toolsets.projects.rules.chapters import Chapter, read_chapters
from commonplace.toolsets.projects.service import chapters, instructions, knowledge
from commonplace.toolsets.projects.service.project_store import IDENTITY, ProjectStore
from support import Amount

DOCUMENTS = {
    "projects/shop/knowledge/plain.md": (
        "---\ntitle: Plain # the title\nkeywords: [a, b]\ncustom: {x: 1}\ncreated: 2024-01-01T00:00:00.000Z\n"
        'updated: "2024-01-01T00:00:00.000Z" # by hand\n---\n\nIntroduction.\n\n## One\n\nText.\n\n### Deep\n\nInner.\n'
        "\n#### Deeper\n\nInnermost.\n\n## Two\n\n```md\n## Not a heading\n```\n\n## Three\nNo blank line.\n"
    ),
    "projects/shop/knowledge/windows.md": (
        "---\r\ntitle: Windows\r\nupdated: 2024-01-01T00:00:00.000Z\r\n---\r\n\r\n## One\r\n\r\nText.\r\n\r\n"
        "## Two\r\n\r\nMore.\r\n"
    ),
    "projects/shop/knowledge/My Old File.md": "## Only\n\nNo front matter.\n\n## Only\n\nAgain.",
    "projects/shop/knowledge/broken.md": (
        "---\ntitle: [unclosed\nkeywords: a: b\nupdated: 2024-01-01T00:00:00.000Z\n---\n\n"
        "Intro\n\n## A\n\na\n\n## B\n\nb\n"
    ),
    "projects/blog/knowledge/setext.md": (
        "---\ntitle: Setext\nupdated: x\n---\nIntro\n\nFirst\n-----\n\none\n\nSecond\n-----\n\ntwo\n"
    ),
    "projects/blog/main.md": "# Blog\r\n",
}
UPDATED = re.compile(rb"^updated:[^\r\n]*", re.MULTILINE)


@pytest.fixture
def home(tmp_path: Path, cache_dir: Path) -> Iterator[ProjectStore]:
    assert cache_dir.is_dir()
    folder = tmp_path / "store"
    for path, text in DOCUMENTS.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
    (folder / "index.json").write_text('{"projects": {"The Shop": "shop", "blog": "blog"}, "version": 2}')
    who = ["-c", "user.name=h", "-c", "user.email=h@h"]
    for command in (["init", "-q", "-b", "trunk"], ["add", "-A"], [*who, "commit", "-qm", "Make by hand"]):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    opened = open_project_store(folder, tmp_path / "state", IDENTITY)
    yield ProjectStore(str(folder), opened.store, opened.folders, opened.origin, opened.activity)
    opened.activity.close()


def test_a_store_made_by_hand_opens_as_it_is(home: ProjectStore) -> None:
    assert [(p.id, p.documents) for p in instructions.list_projects(home)] == [("The Shop", 4), ("blog", 1)]
    for path, text in DOCUMENTS.items():
        assert home.store.read(Address(path)) == text.encode()
    assert home.upstream.status().branch == "trunk"
    assert home.upstream.status().uncommitted == ()
    _, listed, _ = chapters.list_chapters(home, "The Shop", "plain")
    assert [chapter.title for chapter in listed] == ["One", "Deep", "Deeper", "Two", "Three"]
    assert knowledge.get_document(home, "The Shop", "My Old File").address.name == "My Old File.md"


def test_random_edits_change_only_what_they_name(home: ProjectStore, amount: Amount) -> None:
    chance = random.Random(20260701)
    places = [("The Shop", n) for n in ("plain", "windows", "My Old File", "broken")] + [("blog", "setext")]
    edits = amount(100, 1000)
    for number in range(edits):
        project_id, name = chance.choice(places)
        document = knowledge.get_document(home, project_id, name)
        before, found_chapters = document.raw, read_chapters(document)
        first = {chapter.title: chapter for chapter in reversed(found_chapters)}
        kind = chance.choice(["update", "add", "remove"] if len(first) > 2 else ["update", "add"])
        chapter = chance.choice(list(first.values()))
        where = (project_id, name)
        if kind == "update":
            chapters.update_chapter(home, where, chapter.title, f"new text {number}\n\nsecond paragraph", None)
            start, end = chapter.section.content, chapter.end
        elif kind == "remove":
            chapters.remove_chapter(home, where, chapter.title)
            start, end = chapter.section.start, chapter.section.tree_end
        else:
            chapters.add_chapter(home, where, f"Added {number}", "added text")
            start = end = len(before)
        after = knowledge.get_document(home, project_id, name).raw
        _assert_only_between(before, after, start, end)
        _assert_line_ends(after)
    assert home.upstream.status().uncommitted == ()
    log = subprocess.run(
        ["git", "-C", home.path, "rev-list", "--count", "HEAD"], check=True, capture_output=True, text=True
    )
    assert int(log.stdout) == edits + 1
    subprocess.run(["git", "-C", home.path, "fsck", "--strict", "--no-dangling"], check=True, capture_output=True)


def _assert_only_between(before: bytes, after: bytes, start: int, end: int) -> None:
    """Check that the bytes outside the range are unchanged, except for the value of `updated`."""
    head, tail = UPDATED.sub(b"updated", before[:start]), before[end:]
    assert UPDATED.sub(b"updated", after).startswith(head)
    assert after.endswith(tail)


def _assert_line_ends(after: bytes) -> None:
    if b"\r\n" in after:
        assert after.count(b"\n") == after.count(b"\r\n")


def test_reading_is_by_the_texts_own_words() -> None:
    document = read_document(Address("a.md"), b"## C\\# \\##\n\nx\n\n## `code` & *b* ##\n")
    titles: list[Chapter] = read_chapters(document)
    assert [chapter.title for chapter in titles] == ["C\\# ##", "`code` & *b*"]
