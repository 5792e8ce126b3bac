"""Graphs of Logseq and vaults of Dendron, Foam and TiddlyWiki after random moves and edits.

Each link means the page that it meant before, by the other program's own rules; each page keeps that program's form;
no byte changes but in the names of links and in the properties that were set.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import InvalidInputError
from commonplace.domain.frontmatter import set_fields
from commonplace.domain.tasks import tasks_of
from commonplace.services.writes.documents import append, edit, edit_section, read_to_edit
from commonplace.services.writes.new_paths import new_page_address, title_and_name
from commonplace.services.writes.renames import rename
from graph_rules import Pages, dendron, foam, logseq, tiddlywiki
from indexed import Indexed
from support import Amount

_BLOCK = "6{0:07x}-238e-4748-9b19-27088f9c3771"
_LINK = re.compile(r"(?<!`)\[\[([^\[\]]+)\]\]|\(\(([0-9a-f-]{36})\)\)")
_WORDS = ("Tea", "black tea", "Köln", "Project", "term", "Zoo", "Über", "v2", "Ideas")
Names = Callable[[Address], str]


def _logseq_vault(rng: random.Random) -> dict[str, str]:
    vault = {"logseq/config.edn": '{:file/name-format :triple-lowbar ; "x"\n :hidden ["/private"]}\n'}
    names = [f"{word}___{number}" if number % 3 else f"{word} {number}" for number, word in enumerate(_WORDS)]
    paths = [f"pages/{name}.md" for name in [*names, "what%3F"]]
    paths += ["journals/2026_11_28.md", "journals/2026_11_29.md"]
    shown = [name.replace("___", "/") for name in names] + ["What?", "Nov 28th, 2026", "2026-11-29", "Old name"]
    for number, path in enumerate(paths):
        head = "alias:: Old name, [[other]]\npublic:: true\n\n" if number == 0 else ""
        head = "title:: A title of its own\n\n" if number == 1 else head
        first, second, third = (rng.choice(shown) for _ in range(3))
        vault[path] = (
            f"{head}- TODO see [[{first}]] and #[[{second}]], `[[{first}]]`\n"
            f"  id:: {_BLOCK.format(number)}\n\t- {{{{embed [[{third}]]}}}} [[A title of its own]]\n"
            f"\t- (({_BLOCK.format(rng.randrange(len(paths)))})) [x]([[{second}]]) ![p](../assets/p.png)\n"
        )
    return vault


def _logseq_name(path: str, rng: random.Random) -> str:
    if path.startswith("journals/"):
        return f"journals/2026_12_{rng.randrange(1, 32):02}.md"
    return f"pages/{rng.choice(_WORDS)}{rng.choice(('___', ' ', '%2F'))}{rng.randrange(10**6)}.md"


def _dendron_vault(rng: random.Random) -> dict[str, str]:
    vault = {"dendron.yml": "workspace:\n  vaults:\n    - fsPath: notes\n    - fsPath: work\n"}
    names = [
        "root",
        "lang",
        "lang.python.data",
        "lang.python.loops",
        "lang.markdown",
        "daily.journal.2026.11.29",
        "proj.a",
        "proj.b.c",
    ]
    for number, name in enumerate([*names, "root"]):
        first, second = rng.choice(names), rng.choice(names)
        folder = "work" if number == len(names) or name.startswith("proj") else "notes"
        vault[f"{folder}/{name}.md"] = (
            f"---\nid: {number}aB\ntitle: {name.rpartition('.')[2].title()}\ndesc: ''\nupdated: 1700000000000\n---\n"
            f"See [[{first}]], [[A label|{second}]] and ![[{first}#usage]]. [[lang.python]]\r\n`[[{first}]]`\n"
        )
    return vault


def _dendron_name(path: str, rng: random.Random) -> str:
    folder = path.partition("/")[0]
    return f"{folder}/{rng.choice(('lang', 'proj', 'new.level'))}.n{rng.randrange(10**6)}.md"


def _foam_vault(rng: random.Random) -> dict[str, str]:
    vault = {".vscode/extensions.json": '{"recommendations": ["foam.foam-vscode"]}'}
    paths = ["inbox.md", "todo.md", "area/Tea.md", "area/köln.md", "area/index.md", "work/plan.md", "work/todo.md"]
    names = ["inbox", "Tea", "köln", "area/tea", "area", "work/plan", "work/todo", "placeholder", "Über"]
    for number, path in enumerate(paths):
        first, second = rng.choice(names), rng.choice(names)
        vault[path] = (
            f"# Title {number}\n\nSee [[{first}]], [[{second}#Title {number}]] and [[#Part]].\n\n"
            f"## Part\n\n![[{first}]] `[[{first}]]`\n"
        )
    return vault


def _foam_name(path: str, rng: random.Random) -> str:
    folder = path.rpartition("/")[0]
    return f"{folder}/{rng.choice(('new', 'New note'))} {rng.randrange(10**6)}.md".lstrip("/")


def _tiddlers(rng: random.Random) -> dict[str, str]:
    vault = {"tiddlywiki.info": "{}"}
    titles = ["Getting Started", "Über uns", "index", "a/b", "getting started", "$:/config", "Version 1.2"]
    for number, title in enumerate(titles):
        first, second = rng.choice(titles), rng.choice([*titles, "Missing", "t1"])
        vault[f"tiddlers/t{number}.tid"] = (
            f"created: 20240102030405678\ntags: one two\ntitle: {title}\ntype: text/vnd.tiddlywiki\n\n"
            f"! Head\n\n* See [[{first}]] and [[a label|{second}]], `[[{first}]]`\n# one [[{second}]]\n"
        )
    return vault


def _tiddler_name(path: str, rng: random.Random) -> str:
    return f"{path.rpartition('/')[0]}/m{rng.randrange(10**6)}.tid"


VAULTS = {
    "Logseq": (_logseq_vault, _logseq_name, logseq),
    "Dendron": (_dendron_vault, _dendron_name, dendron),
    "Foam": (_foam_vault, _foam_name, foam),
    "TiddlyWiki": (_tiddlers, _tiddler_name, tiddlywiki),
}


def pages_of(base: Indexed) -> dict[str, str]:
    files = [path for path in base.folder.rglob("*") if path.suffix in {".md", ".tid"}]
    return {path.relative_to(base.folder).as_posix(): path.read_bytes().decode() for path in files}


def meant(pages: Pages, rules: Callable[[Pages], Callable[[str, str], set[str]]]) -> dict[str, list[set[str]]]:
    """The pages that each link of each page means by the other program's rules, in order."""
    name_of = rules(pages)
    return {
        path: [
            name_of(f"(({m[2]}))" if m[2] else m[1].rpartition("|")[2].partition("#")[0], path)
            for m in _LINK.finditer(text)
        ]
        for path, text in pages.items()
    }


def resolved(base: Indexed, path: str) -> list[set[str]]:
    """The pages that the links of a page lead to here."""
    links = base.index.links_from(Address(path))
    return [{link.target.path} if link.target else set() for link in links if not link.link.raw.startswith("..")]


@pytest.mark.parametrize("program", VAULTS)
def test_random_moves_and_edits_keep_the_form_and_every_link(program: str, tmp_path: Path, amount: Amount) -> None:
    rng = random.Random(20261129)
    vault, new_name, rules = VAULTS[program]
    with Indexed(tmp_path, vault(rng)) as base:
        assert [site.generator for site in base.index.surroundings().sites] == [program]
        for step in range(amount(12, 200)):
            before = pages_of(base)
            path = rng.choice(sorted(before))
            was = meant(before, rules)
            if step % 2 and program == "TiddlyWiki":
                with pytest.raises(InvalidInputError, match="fields of a tiddler, of which no key is changed"):
                    edit(base.collection, Address(path), lambda document: set_fields(document, {"status": "x"}))
                after, moved = pages_of(base), {}
                assert after == before
            elif step % 2:
                key, value = rng.choice(["status", "rating"]), rng.randrange(100)
                edit(
                    base.collection,
                    Address(path),
                    lambda document, key=key, value=value: set_fields(document, {key: value}),
                )
                after, moved = pages_of(base), {}
                _require_form(program, before[path], after[path], f"{key}:: {value}", f"{key}: {value}")
            else:
                new = new_name(path, rng)
                if new in before:
                    continue
                rename(base.collection, Address(path), Address(new))
                after, moved = pages_of(base), {path: new}
            now = meant(after, rules)
            assert {path: len(links) for path, links in now.items()} == {
                moved.get(path, path): len(links) for path, links in was.items()
            }
            for page, links in was.items():
                here = moved.get(page, page)
                expected = [{moved.get(target, target) for target in link} for link in links]
                assert now[here] == expected, (step, page, after[here])
                assert resolved(base, here) == [link if len(link) == 1 else set() for link in expected], (
                    step,
                    after[here],
                )
                if moved:
                    assert _LINK.sub("", after[here]) == _LINK.sub("", before[page])


def _require_form(program: str, before: str, after: str, as_property: str, as_yaml: str) -> None:
    if program != "Logseq":
        assert as_yaml in after.split("---\n")[1]
        return
    assert not after.startswith("---")
    head = after.partition("\n\n")[0]
    assert as_property in head.split("\n")
    assert after.endswith(before.partition("\n\n")[2] if before[0] != "-" else before)


def test_what_is_written_to_a_graph_is_blocks_also_below_yaml(tmp_path: Path) -> None:
    page = Address("pages/a.md")
    for head in ("", "---\ntitle: v6\n---\n", "alias:: b\n\n"):
        files: dict[str, str | bytes] = {"logseq/config.edn": "{}", page.path: f"{head}- ## Plan\n\t- LATER chat six\n"}
        with Indexed(tmp_path / str(len(head)), files) as base:
            document = read_to_edit(base.collection, page, base.collection.store.read(page))
            assert [task.text for task in tasks_of(document)] == ["chat six"]
            edit_section(base.collection, page, "Plan", "one\n\n- [ ] two")
            edit_section(base.collection, page, "Plan", "- new\n\t- child")
            append(base.collection, page, "last")
            text = base.collection.store.read(page).decode()
            assert text == f"{head}- ## Plan\n\t- new\n\t\t- child\n- last\n"


def test_a_new_page_of_logseq_has_its_whole_name(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"logseq/config.edn": "{:file/name-format :triple-lowbar}", "pages/a.md": "- a\n"}
    with Indexed(tmp_path, files) as base:
        for reference, expected in (
            ("Tea: hot/cold?", ("Tea: hot/cold?", "pages/Tea%3A hot___cold%3F.md")),
            ("Why?", ("Why?", "pages/Why%3F.md")),
            ("pages/Why?", ("Why?", "pages/Why.md")),
            ("pages/x.md", ("", "pages/x.md")),
        ):
            title, name = title_and_name(base.collection, reference)
            assert (title, new_page_address(base.collection, name).path) == expected


def test_the_label_of_a_definition_follows_its_wikilink_alone(tmp_path: Path) -> None:
    text = (
        "See [[wikilinks]], ![[wikilinks#Part|x]] and [other][other].\n\n# Part\n\n"
        '[wikilinks]: wikilinks.md "Wikilinks"\n[wikilinks#Part|x]: wikilinks.md "Wikilinks"\n[other]: wikilinks.md\n'
    )
    files: dict[str, str | bytes] = {
        ".vscode/extensions.json": '{"recommendations": ["foam.foam-vscode"]}',
        "wikilinks.md": "# Wikilinks\n\n# Part\n",
        "a.md": text,
    }
    with Indexed(tmp_path, files) as base:
        rename(base.collection, Address("wikilinks.md"), Address("wiki-links.md"))
        assert base.collection.store.read(Address("a.md")).decode() == text.replace("wikilinks", "wiki-links")
