"""Two people and two agents write into the same pages at once: what is acknowledged is in the history or on the page.

One agent writes over MCP, the other one proposes; the people edit in the browser, merge, decide on proposals, and undo.
"""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from forms import HTML, edited, page, sent
from serving import Server, create_key, served
from support import Amount, GitRepo, new_repo

SEED = 500
SAMPLED, WHOLE = 40, 500
PAGES = [f"p{number}" for number in range(6)]
FILES: dict[str, str | bytes] = {f"{name}.md": f"# {name}\n\n" + "line\n\n" * 8 for name in PAGES}


@dataclass
class Site:
    """A server, and what was acknowledged to whom."""

    server: Server
    repo: GitRepo
    keys: dict[str, str]
    acknowledged: list[str] = field(default_factory=list[str])
    """The words that acknowledged writes contain, one for each write."""
    counts: dict[str, int] = field(default_factory=dict[str, int])
    """Number of acts by their kind and result."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, word: str = "") -> None:
        """Count an act; a word is one that was acknowledged."""
        with self.lock:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            if word:
                self.acknowledged.append(word)

    def tool(self, key: str, name: str, **arguments: object) -> str:
        """The text of a tool's answer; "" for an error."""
        result = self.server.call("notes", name, arguments, key=self.keys[key])
        return "" if result.get("isError") else str(result["content"][0]["text"])


@pytest.fixture
def site(tmp_path: Path, cache_dir: Path) -> Iterator[Site]:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "notes", FILES)
    tiers = {"writer": "write", "proposer": "propose", "Ada": "write", "Bo": "write"}
    keys = {name: create_key(name, "--tier", tier) for name, tier in tiers.items()}
    with served(repo.path, "--commit", "auto") as server:
        page(server, "/p/p0", key=keys["Ada"])
        yield Site(server, repo, keys)


def act_of_an_agent(site: Site, name: str, chance: random.Random, word: str) -> None:
    """An agent appends to a page, replaces a line, or makes a page."""
    target = chance.choice(PAGES)
    kind = chance.choice(["append", "append", "replace", "new"])
    if kind == "new":
        done = site.tool(name, "write", page=f"made/{word}", text=f"# {word}\n")
    elif kind == "append":
        done = site.tool(name, "edit", page=target, changes=[{"do": "append", "text": f"{word}\n"}])
    else:
        shown = re.findall(r"^[a-z]*-?[0-9A-Za-z-]*word-[0-9]+$", site.tool(name, "read", page=target), re.MULTILINE)
        old = chance.choice(shown) if shown else f"# {target}"
        new = f"{old}\n\n{word}" if old.startswith("#") else word
        done = site.tool(name, "edit", page=target, changes=[{"do": "replace", "old": old, "text": new}])
    site.note(f"{name} {kind} {'done' if done else 'refused'}", word if done else "")


def act_of_a_person(site: Site, name: str, chance: random.Random, word: str) -> None:
    """A person edits in the browser and merges, decides on a proposal, or takes a write of an agent back."""
    kind = chance.choice(["edit", "edit", "edit", "decide", "undo"])
    act: Callable[[Site, str, random.Random, str], str] = {"edit": changed, "decide": decided, "undo": undone}[kind]
    result = act(site, name, chance, word)
    site.note(f"person {kind} {result}", word if kind == "edit" and result in {"saved", "merged"} else "")


def changed(site: Site, name: str, chance: random.Random, word: str) -> str:
    def with_word(text: str) -> str:
        lines = text.split("\n")
        lines.insert(chance.randrange(2, len(lines)), f"\n{word}\n")
        return "\n".join(lines)

    return edited(site.server, f"/edit/{chance.choice(PAGES)}", with_word, word, key=site.keys[name])


def decided(site: Site, name: str, chance: random.Random, word: str) -> str:
    key = site.keys[name]
    listed = page(site.server, "/proposals", key=key).partition("<h2>Closed")[0]
    ids = re.findall(r'href="(/proposals/[0-9]+-[0-9a-f]+)"', listed)
    if not ids:
        return "nothing"
    url = chance.choice(ids)
    action, status = chance.choice(["accept", "accept", "accept", "decline"]), 409
    for _ in range(5):  # what was amended since it was shown is shown again
        html = page(site.server, url, key=key)
        tip = re.search(r'name="tip" value="([0-9a-f]{40})"', html)
        files = re.findall(r'name="file" value="([^"]*)"', html)
        if not tip or not files:
            return "closed meanwhile"
        chosen = {"file": chance.choice(files)} if action == "accept" else {}
        status = sent(site.server, url, key=key, tip=tip[1], action=action, word=word, **chosen).status
        if status != 409:
            break
    return f"{action} {status}"


def undone(site: Site, name: str, chance: random.Random, word: str) -> str:
    del word
    key = site.keys[name]
    session = re.search(r'href="(/activity/[0-9a-f]{16})"><bdi>writer</bdi>', page(site.server, "/activity", key=key))
    if not session:
        return "nothing"
    commits = re.findall(r'name="commit" value="([0-9a-f]{40})"', page(site.server, session[1], key=key))
    if not commits:
        return "all undone"
    answer = sent(site.server, session[1], key=key, commit=chance.choice(commits), action="write")
    return str(answer.status)


@pytest.mark.timeout(3_000)
def test_nothing_that_was_acknowledged_is_lost(
    site: Site, amount: Amount, record_property: Callable[[str, object], None]
) -> None:
    acts = amount(SAMPLED, WHOLE) // 4

    def works(name: str) -> None:
        chance = random.Random(f"{SEED} {name}")
        act = act_of_an_agent if name in {"writer", "proposer"} else act_of_a_person
        for number in range(acts):
            act(site, name, chance, f"{name.lower()}-word-{number}")

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(works, name) for name in site.keys]:
            done.result()
    assert sum(site.counts.values()) == 4 * acts
    history = site.repo.git("log", "--all", "--format=%H", "-p", "--no-renames")
    history += site.repo.git("log", "--format=%H", "-p", "--glob=refs/commonplace/proposals")
    pages = "".join(path.read_text() for path in site.repo.path.rglob("*.md"))
    words = set(re.findall(r"[a-z]+-word-[0-9]+", history + pages))
    assert [word for word in site.acknowledged if word not in words] == []
    assert len(site.acknowledged) > acts, site.counts
    assert site.repo.git("fsck", "--no-dangling", "--no-progress") == ""
    assert site.repo.git("status", "--porcelain") == ""
    for name in PAGES:
        answer = site.server.ask("GET", f"/p/{name}", key=site.keys["Ada"], headers=HTML)
        assert answer.status == 200, name
    record_property("acts", str(site.counts))
