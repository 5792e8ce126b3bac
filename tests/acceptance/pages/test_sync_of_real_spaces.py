"""The exports and bodies beside the project: pulled and pushed they stay as they are, and an edit changes its word."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.toolsets.pages.confluence.push import normal_form
from commonplace.toolsets.pages.confluence.to_markdown import page_markdown, render
from commonplace.toolsets.pages.confluence.to_storage import PageView, merge_edit, view_of
from commonplace.toolsets.pages.confluence.tokens import Token
from confluence.bodies import Links, real_bodies
from confluence.clones import Clone, served_clone
from confluence.exports import exports, sites_of
from confluence.site import Site
from support import Amount

pytestmark = pytest.mark.skipif(not real_bodies(), reason="the exports are not there")
LINKS = Links()
WORD = "Zebra"


def test_every_export_is_cloned_and_nothing_is_written_back(tmp_path: Path, amount: Amount) -> None:
    chosen = exports()[:: amount(6, 1)]
    assert len(exports()) == 86
    for number, site in enumerate(site for export in chosen for site in sites_of(export)):
        with served_clone(tmp_path / str(number), site) as clone:
            new = clone.clone().new
            hidden = [page for page in site.pages.values() if page.restricted or page.status != "current"]
            assert len(new) == len(site.pages) - len(hidden), site.name
            assert clone.pull().summary == "nothing changed", site.name
            assert (clone.push().pushed, clone.changes(), site.writes) == ([], {}, []), site.name
            assert clone.git("status", "--short") == "", site.name


def site_of_all_bodies() -> Site:
    """One space with a page for each body."""
    site = Site()
    for number, body in enumerate(dict.fromkeys(real_bodies().values())):
        site.add(f"Body {number}", body=body)
    return site


def test_all_bodies_in_one_space_cause_no_request_that_writes_until_a_word_is_edited(
    tmp_path: Path, amount: Amount
) -> None:
    site = site_of_all_bodies()
    before = {page.id: page.body for page in site.pages.values()}
    with served_clone(tmp_path, site) as clone:
        assert len(clone.clone().new) == len(site.pages) > 250
        assert clone.pull().summary == "nothing changed"
        assert (clone.push().pushed, clone.changes(), site.writes) == ([], {}, [])
        edits = edited_files(clone, amount(31, 1))
        assert clone.push().refused == {}
        assert len(site.writes) == len(edits) > 3
        for page in site.pages.values():
            assert page.body == site.store(edits.get(page.id, before[page.id])) or page.id not in edits
            assert page.id in edits or page.body == before[page.id]
        assert clone.changes() == {}


def edited_files(clone: Clone, step: int) -> dict[str, str]:
    """Edit a word in the file of every `step`-th page; returns the body to be of each."""
    bodies: dict[str, str] = {}
    for page in list(clone.site.pages.values())[::step]:
        path = next((path for path in clone.folder.glob("*.md") if f'page_id: "{page.id}"' in path.read_text()), None)
        view = view_of(page.body.encode(), LINKS)
        token = next((token for _, token in editable_words(view) if token.kind == "word"), None)
        if path is None or token is None:
            continue
        text = path.read_text()
        head, title, rest = text.partition(f"\n# {page.title}\n")
        if rest.count(token.key) != 1:
            continue
        path.write_text(head + title + rest.replace(token.key, WORD))
        bodies[page.id] = replaced(view, token).decode()
    return bodies


def editable_words(view: PageView) -> Iterator[tuple[str, Token]]:
    """The first plain word of each kind of block, with the kinds of the elements around it."""
    kinds: set[str] = set()
    for block in view.blocks:
        around: list[str] = []
        for token in block.tokens if not block.opaque else ():
            if token.kind == "open":
                around.append(token.name)
            elif token.kind == "close":
                around.pop()
            kind = " ".join([*around, token.name])
            if kind not in kinds and not token.form and word_of(token, view.body):
                kinds.add(kind)
                yield kind, token


def word_of(token: Token, body: bytes) -> str:
    """A word of a token that stands in its bytes once; "" if it has none."""
    if token.kind != "word" and (token.kind, token.name) != ("leaf", "code"):
        return ""
    text = token.key if token.kind == "word" else token.value[0]
    words = [text] if token.kind == "word" else re.findall(r"[A-Za-z]+", text)
    piece = body[token.start : token.end]
    return next((word for word in words if re.fullmatch("[A-Za-z]{3,}", word) and piece.count(word.encode()) == 1), "")


def replaced(view: PageView, token: Token) -> bytes:
    """A body with another word in a token's place."""
    piece = view.body[token.start : token.end].replace(word_of(token, view.body).encode(), WORD.encode())
    return view.body[: token.start] + piece + view.body[token.end :]


def markdown_with(view: PageView, token: Token) -> str:
    """The Markdown of a page with another word in a token's place."""
    key, value, word = token.key, token.value, word_of(token, view.body)
    if token.kind == "word":
        token.key = WORD
    else:
        token.value = (value[0].replace(word, WORD), *value[1:])
    text = page_markdown(render([token for block in view.blocks for token in block.tokens]))
    token.key, token.value = key, value
    return text


def differing(first: str, second: str) -> tuple[str, str]:
    """What is left of two texts without what they begin and end with alike."""
    start = shared(first, second)
    first, second = first[start:], second[start:]
    end = shared(first[::-1], second[::-1])
    return first[: len(first) - end], second[: len(second) - end]


def shared(first: str, second: str) -> int:
    """With how many characters two texts begin alike."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(first), len(second)))


def test_one_edited_word_in_each_kind_of_block_of_each_body_changes_that_word_alone(amount: Amount) -> None:
    rng = random.Random(46)
    percent = amount(25, 100)
    edits, kinds = 0, set[str]()
    for body in dict.fromkeys(real_bodies().values()):
        raw = body.encode()
        for number in range(len(list(editable_words(view_of(raw, LINKS))))):
            if rng.randrange(100) >= percent:
                continue
            view = view_of(raw, LINKS)
            kind, token = list(editable_words(view))[number]
            merged = merge_edit(view, markdown_with(view, token), LINKS)
            assert merged == replaced(view, token), (kind, token.key, body)
            old, new = differing(normal_form(raw), normal_form(merged))
            assert old in word_of(token, raw), kind
            assert new in WORD, kind
            edits, kinds = edits + 1, kinds | {kind}
    assert edits > 4 * percent - 20  # 469 words in 93 kinds of nesting in all
    assert len(kinds) > 30
