"""Who may do what: every face, tier and limit of a key, for every kind of act, on one server; and who sees nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from agent import Agent, agent
from forms import HTML, page, sent
from receiver import SECRET, receiving
from serving import Server, create_key, served
from shell import Shell
from support import GitRepo, eventually, new_repo

TIERS = ("read", "propose", "write", "admin")
FILES: dict[str, str | bytes] = {"inbox/A.md": "# A\n\nalpha\n", "out/B.md": "# B\n\nbeta\n"}
Outcome = Literal["done", "proposed", "refused"]
ACTS = ("read", "write in", "write out", "accept in", "accept out", "undo in", "undo out", "activity", "admin")
"""Each act: reading, writing, deciding on a proposal and undoing a write inside and outside of the key's folder, seeing
the activity, and the face's own act of administration."""


def expected(face: str, tier: str, act: str, *, limited: bool) -> Outcome:
    """What becomes of an act: the rule that every face keeps."""
    rank = TIERS.index(tier)
    kind = act.partition(" ")[0]
    if kind == "read":
        return "done"
    if limited and act.endswith(" out"):
        return "refused"
    if kind == "write":
        return ("refused", "proposed", "done", "done")[rank]  # type: ignore[return-value]
    if kind == "admin":
        # REST's `reindex` needs `write`; a limited key must not make keys in the browser.
        needed = 2 if face == "rest" else 3
        return "done" if rank >= needed and not (face == "pages" and limited) else "refused"
    return "done" if rank >= 2 else "refused"


@dataclass
class Site:
    """A server whose keys act in every face."""

    server: Server
    repo: GitRepo
    proposer: str
    writer: str
    made: int = 0
    waiting: dict[str, str] = field(default_factory=dict)
    """Id of an open proposal by the folder of its page."""
    written: dict[str, tuple[str, str]] = field(default_factory=dict)
    """A commit that is not undone yet by the folder of its page, and the page."""

    def tool(self, key: str, toolset: str, name: str, **arguments: Any) -> bool:
        """Whether a tool's call over MCP succeeds."""
        result = self.server.call(toolset, name, arguments, key=key)
        return "content" in result and not result.get("isError")

    def name(self, act: str) -> str:
        """The path of a new page, inside or outside of the limited key's folder."""
        self.made += 1
        return f"{'inbox' if act.endswith(' in') else 'out'}/page-{self.made}"

    def proposal(self, act: str) -> str:
        """An open proposal about a page inside or outside of the folder."""
        folder = act.rpartition(" ")[2]
        if folder not in self.waiting:
            path = f"/api/v1/pages/{self.name(act).replace('/', '%2F')}"
            purpose = {"Commonplace-Purpose": f"page {self.made}"}
            made = self.server.ask("PUT", path, {"content": "# New\n"}, key=self.proposer, headers=purpose)
            match = re.search(r"[0-9]{8}-[0-9a-f]{6}", made.json["proposal"])
            assert match
            self.waiting[folder] = match[0]
        return self.waiting[folder]

    def commit(self, act: str) -> str:
        """A commit of a new page inside or outside of the folder."""
        folder = act.rpartition(" ")[2]
        if folder not in self.written:
            name = self.name(act)
            assert self.tool(self.writer, "notes", "write", page=name, text="# New\n")
            self.written[folder] = self.repo.git("rev-parse", "HEAD"), name
        return self.written[folder][0]

    def open(self) -> set[str]:
        """The ids of the open proposals."""
        listed = self.repo.git("for-each-ref", "--format=%(refname)", "refs/heads/proposals").split()
        return {element.rpartition("/")[2] for element in listed}

    def state(self) -> tuple[str, str, str]:
        """Everything that a refused act must leave as it is."""
        files: dict[str, bytes] = {}
        for folder, folders, names in os.walk(self.repo.path):
            folders[:] = [name for name in folders if name != ".git"]
            files |= {f"{folder}/{name}": Path(folder, name).read_bytes() for name in names if name.endswith(".md")}
        keys = Path(os.environ["XDG_STATE_HOME"]) / "commonplace" / "keys.json"
        return self.repo.git("for-each-ref"), repr(sorted(files.items())), keys.read_text()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with pytest.MonkeyPatch.context() as patch:
        place = tmp_path_factory.mktemp("matrix")
        for name in ("CACHE", "STATE"):
            patch.setenv(f"XDG_{name}_HOME", str(place / name.lower()))
        repo = new_repo(place / "tea", FILES)
        proposer, writer = create_key("proposer", "--tier", "propose"), create_key("writer", "--tier", "write")
        with served(repo.path, "--commit", "auto") as server:
            page(server, "/p/out/B", key=writer)
            yield Site(server, repo, proposer, writer)


def tip_of(site: Site, proposal: str) -> str:
    return site.repo.git("rev-parse", f"proposals/{proposal}")


def by_mcp(site: Site, key: str, act: str) -> bool:
    """An act over MCP; whether it was allowed."""
    kind = act.partition(" ")[0]
    if kind == "read":
        return site.tool(key, "notes", "read", page="out/B")
    if kind == "write":
        return site.tool(key, "notes", "write", page=site.name(act), text="# New\n")
    if kind == "accept":
        return site.tool(key, "notes", "proposals", action="accept", id=site.proposal(act))
    if kind == "undo":
        return site.tool(key, "notes", "proposals", action="undo", id=site.commit(act))
    return site.tool(key, "kb", "kb_index_sync")


def by_rest(site: Site, key: str, act: str) -> bool:
    """An act over REST; whether it was allowed."""
    kind = act.partition(" ")[0]
    if kind == "accept":
        proposal = site.proposal(act)
        row: tuple[str, str, Any] = "POST", f"/proposals/{proposal}/accept", {"tip": tip_of(site, proposal)}
    elif kind == "write":
        row = "PUT", f"/pages/{site.name(act).replace('/', '%2F')}", {"content": "# New\n"}
    elif kind == "undo":
        row = "POST", "/undo", {"commits": [site.commit(act)]}
    else:
        row = {
            "read": ("GET", "/pages/out%2FB", None),
            "activity": ("GET", "/activity", None),
            "admin": ("POST", "/reindex", None),
        }[kind]
    method, path, body = row
    return allowed(site.server.ask(method, f"/api/v1{path}", body, key=key).status)


def by_pages(site: Site, key: str, act: str) -> bool:
    """An act in the browser; whether it was allowed."""
    kind = act.partition(" ")[0]
    if kind == "write":
        answer = sent(site.server, "/new/", key=key, path=site.name(act), text="# New\n", revision="", action="save")
    elif kind == "accept":
        proposal = site.proposal(act)
        fields = {"tip": tip_of(site, proposal), "action": "accept"}
        answer = sent(site.server, f"/proposals/{proposal}", key=key, **fields)
    elif kind == "undo":
        commit = site.commit(act)
        session = re.search(
            r'href="/activity/([0-9a-f]{16})"><bdi>writer</bdi>', page(site.server, "/activity", key=site.writer)
        )
        assert session
        answer = sent(site.server, f"/activity/{session[1]}", key=key, commit=commit, action="write")
    elif kind == "admin":
        answer = sent(site.server, "/admin/keys", key=key, action="create", name="made", tier="read")
    else:
        path = {"read": "/p/out/B", "activity": "/activity"}[kind]
        answer = site.server.ask("GET", path, key=key, headers=HTML)
    return allowed(answer.status)


def allowed(status: int) -> bool:
    """Whether an answer grants an act; any other status than these is a failure of the test."""
    assert status in {200, 201, 202, 303, 403, 404}, status
    return status < 400


def outcome(site: Site, act: str, granted: bool, before: tuple[str, str, str]) -> Outcome:
    """What became of an act, by what it changed; what a refused act changed is a failure."""
    after = site.state()
    if not granted:
        assert after == before, "a refused act changed something"
        return "refused"
    folder = act.rpartition(" ")[2]
    if act.startswith("write"):
        served = before[1] != after[1]
        assert served or before[0] != after[0], "nothing was written"
        return "done" if served else "proposed"
    if act.startswith("accept"):
        assert site.waiting.pop(folder) not in site.open()
        assert before[1] != after[1]
    if act.startswith("undo"):
        assert not (site.repo.path / f"{site.written.pop(folder)[1]}.md").exists()
    return "done"


BY: dict[str, Callable[[Site, str, str], bool]] = {"mcp": by_mcp, "rest": by_rest, "pages": by_pages}

LIMITS = {"mcp": "inbox", "rest": "tea:inbox", "pages": "tea:inbox/"}
"""The folder of the limited key, as it is given in different ways."""


def _acts(tier: str, *, limited: bool) -> list[str]:
    """The acts that can end differently for such a key: without a limit nothing is outside.

    Those of a limited `admin` that succeed succeed for a limited `write` and for an `admin` without a limit.
    """
    same = " out" if not limited else " in" if tier == "admin" else " none"
    return [act for act in ACTS if not act.endswith(same)]


@pytest.mark.parametrize("face", list(BY))
def test_every_cell_over_the_network(site: Site, face: str) -> None:
    wrong: list[str] = []
    for tier in TIERS:
        for limited in (False, True):
            options = ("--folder", LIMITS[face], "--folder", "other:") if limited else ()
            key = create_key(f"{face} {tier} {limited}", "--tier", tier, *options)
            for act in _acts(tier, limited=limited):
                if (face, act) == ("mcp", "activity"):
                    continue  # MCP shows no activity
                became = _became(site, act, lambda act: BY[face](site, key, act))  # noqa: B023 - called at once
                if became != expected(face, tier, act, limited=limited):
                    wrong.append(f"{face}, {tier}, {'limited' if limited else 'free'}, {act}: {became}")
    assert wrong == []


def test_every_cell_of_programs_of_this_machine(site: Site) -> None:
    """A program on stdio has the tier of its command line; the command line itself is the user, who may do all."""
    wrong: list[str] = []
    for tier in TIERS:
        shell = Shell(site.repo.path, {"COMMONPLACE_TIER": tier})
        options = ("--tier", tier, "--commit", "auto")
        with (
            agent("mcp", site.repo.path, "--toolset", "notes", *options) as notes,
            agent("mcp", site.repo.path, "--toolset", "kb", *options) as kb,
        ):
            for act in [other_act for other_act in _acts(tier, limited=False) if other_act != "activity"]:
                became = _became(site, act, lambda act: by_stdio(site, notes, kb, act))
                if became != expected("mcp", tier, act, limited=False):
                    wrong.append(f"stdio, {tier}, {act}: {became}")
        for act in _acts(tier, limited=False) if tier in {TIERS[0], TIERS[-1]} else ():
            became = _became(site, act, lambda act: by_command(site, shell, act))  # noqa: B023 - called at once
            if became != "done":
                wrong.append(f"command, {tier}, {act}: {became}")
    assert wrong == []


def _became(site: Site, act: str, done_by: Callable[[str], bool]) -> Outcome:
    """What becomes of an act, for which everything that it needs is made first."""
    if act.startswith("accept"):
        site.proposal(act)
    if act.startswith("undo"):
        site.commit(act)
    before = site.state()
    return outcome(site, act, done_by(act), before)


def by_stdio(site: Site, notes: Agent, kb: Agent, act: str) -> bool:
    """An act over MCP on stdio; whether it was allowed."""
    kind = act.partition(" ")[0]
    if kind == "read":
        return not notes.raw("read", page="out/B").is_error
    if kind == "write":
        return granted(notes, "write", page=site.name(act), text="# New\n")
    if kind == "accept":
        return granted(notes, "proposals", action="accept", id=site.proposal(act))
    if kind == "undo":
        return granted(notes, "proposals", action="undo", id=site.commit(act))
    return granted(kb, "kb_index_sync")


def granted(client: Agent, tool: str, **arguments: Any) -> bool:
    """Whether a call succeeds; a tool that the tier does not have counts as refused."""
    from mcp import MCPError  # noqa: PLC0415 - used here only

    try:
        return not client.raw(tool, **arguments).is_error
    except MCPError:
        return False


def by_command(site: Site, shell: Shell, act: str) -> bool:
    """An act on the command line; whether it was allowed."""
    kind = act.partition(" ")[0]
    if kind == "write":
        done = shell("write", f"{site.name(act)}.md", stdin="# New\n")
    else:
        arguments = {
            "read": ["read", "out/B"],
            "accept": ["proposals", "accept", site.proposal(act)] if kind == "accept" else [],
            "undo": ["undo", site.commit(act)] if kind == "undo" else [],
            "activity": ["activity"],
            "admin": ["keys", "create", "made"],
        }[kind]
        done = shell(*arguments)
    assert done.code == 0 or "tier" in done.stderr, done.stderr
    return done.code == 0


CANARY = "canary-9f2d4b6a"


def test_what_a_caller_may_not_see_stands_nowhere(
    tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache_dir.is_dir()
    open_base = new_repo(tmp_path / "tea", FILES)
    hidden = new_repo(tmp_path / "hidden", {f"{CANARY}.md": f"# {CANARY}\n\n{CANARY}\n"})
    keys = {tier: create_key(f"some {tier}", "--tier", tier, "--collection", "tea") for tier in TIERS}
    everything = create_key("everything", "--tier", "admin")
    proposer = create_key("proposer", "--tier", "propose")
    with receiving() as receiver:
        monkeypatch.setenv("COMMONPLACE_NOTICE_URL", f"{receiver.url}/#base=tea")
        monkeypatch.setenv("COMMONPLACE_NOTICE_SECRET", SECRET)
        monkeypatch.setenv("COMMONPLACE_NOTICE_PRIVATE", "true")
        with served(open_base.path, hidden.path, "--commit", "auto") as server:
            page(server, "/p/out/B", key=everything)
            state = Path(os.environ["XDG_STATE_HOME"])
            eventually(lambda: len(list(state.rglob("notices/*.json"))) == 1)
            for number, key in enumerate((everything, proposer)):
                for name, text in ((f"hidden:{CANARY}", CANARY), ("tea:out/B", "plain")):
                    changes = [{"do": "append", "text": f"More {text} {number}."}]
                    arguments = {"page": name, "changes": changes, "message": f"About {text}"}
                    assert not server.call("notes", "read", {"page": name}, key=key).get("isError")
                    done = server.call("notes", "edit", arguments, key=key)
                    assert not done.get("isError"), done
            receiver.wait(2)
            whole = page(server, "/activity", key=everything) + page(server, "/feed.atom", key=everything)
            assert CANARY in whole, "it is there for who may see it"
            sessions = set(re.findall(r"/activity/([0-9a-f]{16})", whole))
            ids = open_proposals(open_base) | open_proposals(hidden)
            assert len(ids) == 2
            paths = [f"/activity/{session}" for session in sessions] + [f"/proposals/{other_id}" for other_id in ids]
            paths += [f"/api/v1{path}" for path in ("/activity", "/proposals", *paths)]
            paths += ["/activity", "/proposals", "/feed.atom", "/proposals.atom", "/recent", "/admin", "/admin/keys"]
            for tier, key in keys.items():
                for path in paths:
                    answer = server.ask("GET", path, key=key, headers=HTML)
                    assert CANARY.encode() not in answer.body, (tier, path)
                for action in ("list", "show", "accept", "undo"):
                    for element in (*ids, *sessions, hidden.git("rev-parse", "HEAD")):
                        if action != "accept" or element not in open_proposals(open_base):
                            said = server.call("notes", "proposals", {"action": action, "id": element}, key=key)
                            assert CANARY not in str(said).replace(element, ""), (tier, action)
        assert [CANARY.encode() in body for _, _, body in receiver.got] == [False] * len(receiver.got)
        assert {element["base"] for element in receiver.taken} == {"tea"}
    assert hidden.git("log", "-1", "--format=%s").endswith(CANARY)


def open_proposals(repo: GitRepo) -> set[str]:
    """The ids of the open proposals of a repository."""
    listed = repo.git("for-each-ref", "--format=%(refname)", "refs/heads/proposals").split()
    return {element.rpartition("/")[2] for element in listed}
