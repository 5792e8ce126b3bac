"""Activity, undo and the limits of keys, over MCP, REST and the command line, on real servers."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from forms import fields, page, sent
from serving import Answer, Server, create_key, served
from shell import Shell
from support import GitRepo, new_repo

API = "/api/v1"
CANARY = "canary-3e5b7d9f"
PAGES: dict[str, str | bytes] = {
    "inbox/A.md": f"---\ntype: note\n---\n# A\n\nalpha {CANARY}\n",
    "B.md": "---\ntype: fact\n---\n# B\n\nbeta\n",
}


@dataclass(frozen=True, slots=True)
class Site:
    """A server of one folder that keys of every kind use."""

    server: Server
    repo: GitRepo

    def rest(self, key: str, method: str, path: str, body: Any = None) -> Answer:
        return self.server.ask(method, f"{API}{path}", body, key=key)

    def tool(self, key: str, tool: str, **arguments: Any) -> str:
        """The text of the answer of a tool of `notes`."""
        return str(self.server.call("notes", tool, arguments, key=key)["content"][0]["text"])


@pytest.fixture
def site(tmp_path: Path, cache_dir: Path) -> Iterator[Site]:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "tea", PAGES)
    with served(repo.path, "--commit", "auto") as server:
        yield Site(server, repo)


def test_a_session_is_followed_and_undone(site: Site, tmp_path: Path) -> None:
    agent, person = create_key("agent", "--tier", "write"), create_key("Ada Lovelace", "--tier", "write")
    assert "alpha" in site.tool(agent, "read", page="inbox/A")
    site.tool(agent, "edit", page="inbox/A", changes=[{"do": "replace", "old": "alpha", "text": "ALPHA"}])
    site.tool(agent, "write", page="C", text="# C\n")
    revision = site.rest(person, "GET", "/pages/B").json["revision"]
    changed = {"revision": revision, "old_string": "beta", "new_string": "BETA"}
    assert site.rest(person, "PATCH", "/pages/B", changed).status == 200
    rows = {session["name"]: session for session in site.rest(person, "GET", "/activity").json["sessions"]}
    assert {name: (row["face"], row["writes"], row["reads"]) for name, row in rows.items()} == {
        "agent": ("mcp", 2, 1),
        "Ada Lovelace": ("rest", 1, 1),
    }
    assert rows["agent"]["tools"] == {"edit": 1, "write": 1}
    session = rows["agent"]["session"]
    writes = site.rest(person, "GET", f"/activity/{session}").json["writes"]
    assert [(write["tool"], write["files"], write["read_before"]) for write in writes] == [
        ("edit", ["inbox/A.md"], ["inbox/A.md"]),
        ("write", ["C.md"], []),
    ]
    assert "+ALPHA" in writes[0]["diff"].replace(f" {CANARY}", "")
    listed = Shell(tmp_path, dict(os.environ)).ok("activity", "--session", session, "--json", "-C", site.repo.path).json
    assert [write["commit"] for write in listed["writes"]] == [write["commit"] for write in writes]
    kept_text = "".join(path.read_text() for path in Path(os.environ["XDG_STATE_HOME"]).rglob("activity/*"))
    assert session in kept_text
    assert CANARY not in kept_text
    assert agent not in kept_text
    result = site.rest(person, "POST", "/undo", {"session": session}).json["undone"]
    assert [(element["written"], element["removed"]) for element in result] == [(["inbox/A.md"], ["C.md"])]
    assert (site.repo.path / "inbox" / "A.md").read_text() == PAGES["inbox/A.md"]
    assert "BETA" in (site.repo.path / "B.md").read_text()
    assert site.repo.git("log", "-1", "--format=%cn") == "Ada Lovelace"
    again = site.rest(person, "POST", "/undo", {"session": session}).json["undone"]
    assert [element["commit"] for element in again] == [""]
    proposer = create_key("proposer", "--tier", "propose")
    site.tool(proposer, "write", page="D", text="# D\n")
    sessions = site.rest(person, "GET", "/activity").json["sessions"]
    (session,) = (row["session"] for row in sessions if row["name"] == "proposer")
    (proposal,) = (row["id"] for row in site.rest(person, "GET", "/proposals").json["proposals"])
    refused = site.rest(person, "POST", "/undo", {"session": session})
    assert f"It only proposed: {proposal}." in refused.body.decode()


def other_files_are_undone(server: Server, session: str, key: str) -> None:
    """Undo the files of a session in the bases `tea` and `milk` that have no conflict, by names of every form."""
    html = sent(server, f"/activity/{session}", key=key, action="session").body.decode()
    assert "milk:x.md, line 3" in html
    others = re.search(r'name="pages" hidden>\n(.*?)</textarea>.*?Undo the other 4 files<', html, re.DOTALL)
    assert others
    assert sorted(others[1].split()) == ["milk:both.md", "tea:both.md", "tea:only.md", "tea:x.md"]
    for pages, said in ((["only", "nowhere"], "did not change nowhere"), (["milk:only"], "change milk:only")):
        answer = server.ask("POST", f"{API}/undo", {"session": session, "pages": pages}, key=key)
        assert (answer.status, said in answer.json["error"]) == (404, True), answer.body
    done = server.ask("POST", f"{API}/undo", {"session": session, "pages": ["Only", "milk:both"]}, key=key)
    assert [row["removed"] for row in done.json["undone"]] == [["only.md"], ["both.md"]], done.body
    assert sent(server, f"/activity/{session}", key=key, action="session", pages="tea:both.md").status == 200


def test_a_session_over_several_bases_is_undone_in_all_of_them_or_in_none(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    repos = [new_repo(tmp_path / name, {"x.md": f"# {name}\n\none\n"}) for name in ("tea", "milk")]
    before = [(repo.path / "x.md").read_text() for repo in repos]
    with served(*(repo.path for repo in repos), "--commit", "auto") as server:
        keys = [create_key(name, "--tier", "write") for name in ("agent", "person")]
        for name in ("tea", "milk"):
            change = {"do": "replace", "old": "one", "text": "two"}
            server.call("notes", "edit", {"page": f"{name}:x", "changes": [change]}, key=keys[0])
        change = {"do": "replace", "old": "two", "text": "three"}
        server.call("notes", "edit", {"page": "milk:x", "changes": [change]}, key=keys[1])
        for name in ("tea:only", "tea:both", "milk:both"):
            server.call("notes", "write", {"page": name, "text": f"# {name[-4:]}\n"}, key=keys[0])
        heads = [repo.git("rev-parse", "HEAD") for repo in repos]
        (session,) = (
            row["session"]
            for row in server.ask("GET", f"{API}/activity", key=keys[1]).json["sessions"]
            if row["name"] == "agent"
        )
        refused = server.ask("POST", f"{API}/undo", {"session": session}, key=keys[1])
        assert (refused.status, "milk:x.md:3" in refused.json["error"]) == (409, True), refused.body
        assert [repo.git("rev-parse", "HEAD") for repo in repos] == heads
        other_files_are_undone(server, session, keys[1])
        assert [sorted(path.name for path in repo.path.glob("*.md")) for repo in repos] == [["x.md"], ["x.md"]]
        back = {**change, "old": "three", "text": "two"}
        server.call("notes", "edit", {"page": "milk:x", "changes": [back]}, key=keys[1])
        lock = repos[1].path / ".git/refs/heads/main.lock"  # the undo of this base fails when it is made, not before
        lock.touch()
        failed = server.ask("POST", f"{API}/undo", {"session": session}, key=keys[1])
        lock.unlink()
        assert failed.status == 503, failed.body
        subjects = repos[0].git("log", "-2", "--format=%s").splitlines()
        assert (subjects[0].startswith("Undo"), repos[0].git("diff", "HEAD~2", "--stat")) == (True, ""), subjects
        assert "two" in (repos[0].path / "x.md").read_text()
        assert "two" in (repos[1].path / "x.md").read_text()
        assert [repo.git("status", "--porcelain") for repo in repos] == ["", ""]
        done = server.ask("POST", f"{API}/undo", {"session": session}, key=keys[1])
        assert [row["collection"] for row in done.json["undone"]] == ["tea", "milk"], done.body
        assert [(repo.path / "x.md").read_text() for repo in repos] == before


def test_an_agent_undoes_its_own_writes(site: Site) -> None:
    agent = create_key("agent", "--tier", "write")
    for name in ("C", "D"):
        site.tool(agent, "write", page=name, text=f"# {name}\n")
    written = site.repo.git("rev-parse", "HEAD")
    site.tool(agent, "edit", page="B", changes=[{"do": "replace", "old": "beta", "text": "BETA"}])
    head = site.repo.git("rev-parse", "HEAD")
    assert "did not change D" in site.tool(agent, "proposals", action="undo", id=head, page="D")
    undone = site.tool(agent, "proposals", action="undo", id=head[:10], page="tea:B")
    assert undone.startswith(f"Undone {head[:12]}: B.md")
    for name in ("B", "B.md", "tea:B.md"):
        said = site.tool(agent, "proposals", action="undo", id=head, page=name)
        assert said == "Nothing of it is left to undo.", name
    assert site.tool(agent, "proposals", action="undo", page="D").startswith(f"Undone {written[:12]}: D.md")
    assert site.repo.git("log", "-1", "--format=%(trailers:key=Undoes,valueonly)").split() == [written]
    assert "beta" in (site.repo.path / "B.md").read_text()
    assert (site.repo.path / "C.md").exists()
    assert site.tool(agent, "proposals", action="undo").startswith("Undone ")
    assert not (site.repo.path / "C.md").exists()
    assert site.rest(agent, "POST", "/undo", {"commits": ["0" * 40]}).status == 404
    assert site.rest(agent, "POST", "/undo", {}).status == 422


@pytest.mark.parametrize("way", ["commits", "session", "command"])
def test_text_that_was_not_committed_before_a_write_stays_when_the_write_is_undone(
    site: Site, way: str, tmp_path: Path
) -> None:
    base, agent = site.repo.path, create_key("agent", "--tier", "write")
    own = {
        "mine.md": "# Mine\n\nmine\n",
        "B.md": "---\ntype: fact\n---\n# B\n\nbeta\n\nmy line\n",
        "draft.md": "# Draft\n",
    }
    for path, text in own.items():
        (base / path).write_text(text)
    site.tool(agent, "edit", page="mine", changes=[{"do": "append", "text": "by the agent"}])
    site.tool(agent, "edit", page="B", changes=[{"do": "replace", "old": "beta", "text": "BETA"}])
    site.tool(agent, "move", page="draft", to="sub/draft")
    assert (base / "sub" / "draft.md").exists()
    assert site.repo.git("status", "--short").strip() == "M B.md", "the commits took in the pages that no commit had"
    assert [line for line in site.repo.git("diff").splitlines() if re.match(r"[-+](?![-+])", line)] == ["+", "+my line"]
    commits = site.repo.git("log", "-3", "--format=%H").split()
    if way == "commits":
        assert site.rest(agent, "POST", "/undo", {"commits": commits}).status == 200
    elif way == "command":
        Shell(tmp_path, dict(os.environ)).ok("undo", *commits, "-C", base)
    else:
        site.tool(agent, "proposals", action="undo")
    assert {path: (base / path).read_text() for path in own} == own
    assert not (base / "sub").exists()


def test_a_key_of_other_collections_sees_no_activity(site: Site) -> None:
    agent = create_key("agent", "--tier", "write")
    other = create_key("other", "--tier", "write", "--collection", "elsewhere")
    site.tool(agent, "write", page="C", text="# C\n")
    session = site.rest(agent, "GET", "/activity").json["sessions"][0]["session"]
    assert site.rest(other, "GET", "/activity").json == {"sessions": [], "total": 0}
    assert site.rest(other, "GET", f"/activity/{session}").status == 404
    assert site.rest(other, "POST", "/undo", {"session": session}).status == 404
    assert site.rest(other, "POST", "/undo", {"commits": [site.repo.git("rev-parse", "HEAD")]}).status == 404
    for tier in ("read", "propose"):
        key = create_key(tier, "--tier", tier)
        for method, path in (("GET", "/activity"), ("GET", f"/activity/{session}"), ("POST", "/undo")):
            assert site.rest(key, method, path).status == 403, (tier, path)


LIMITS: dict[str, tuple[tuple[str, ...], str]] = {
    "folder": (("--folder", "inbox"), "writes in inbox/ only"),
    "type": (("--type", "note"), "type note only"),
    "pages": (("--pages-per-hour", "2"), "2 pages an hour: 2 are written, 0 are left, and this write has 1"),
    "bytes": (("--bytes-per-hour", "60"), "60 bytes an hour"),
}
"""Options of a key, and what a refusal says."""


def acts(site: Site, face: str, key: str, name: str) -> list[str]:
    """What is said to three writes: one that every limit allows, one outside the folder and type, one too many."""
    allowed, text = f"inbox/{name}", "---\ntype: note\n---\n# New\n"
    other = "---\ntype: fact\n---\n# New\n" + "x" * 30
    said: list[str] = []
    for path, content in ((allowed, text), (f"out-{name}", other), (f"out-{name}-2", other)):
        if face == "mcp":
            said.append(site.tool(key, "write", page=path, text=content))
        else:
            answer = site.rest(key, "PUT", f"/pages/{path.replace('/', '%2F')}", {"content": content})
            said.append(answer.body.decode())
    return said


@pytest.mark.parametrize(("face", "tier"), list(product(("mcp", "rest"), ("propose", "write", "admin"))))
def test_every_limit_holds_in_every_face_and_tier(site: Site, face: str, tier: str) -> None:
    for name, (options, message) in LIMITS.items():
        key = create_key(f"{name} {face} {tier}", "--tier", tier, *options)
        said = acts(site, face, key, f"{name}-{face}-{tier}")
        refused = [message in element for element in said]
        expected = {"folder": [False, True, True], "type": [False, True, True], "pages": [False, False, True]}
        assert refused == expected.get(name, [False, True, True]), (name, said)
        assert all("Nothing was written" in element for element, was in zip(said, refused, strict=True) if was)
        made = {path.name for path in site.repo.path.rglob("*.md")}
        for number, was in enumerate(refused):
            suffix = ("", "", "-2")[number]
            start = "" if number == 0 else "out-"
            path = f"{start}{name}-{face}-{tier}{suffix}.md"
            assert (path in made) is (not was and tier != "propose"), path


def test_limits_hold_for_moves_uploads_undo_and_acceptance(site: Site) -> None:
    free, bound = create_key("free", "--tier", "write"), create_key("bound", "--tier", "write", "--folder", "inbox")
    agent = create_key("agent", "--tier", "propose")
    site.tool(free, "edit", page="B", changes=[{"do": "replace", "old": "beta", "text": "BETA"}])
    head = site.repo.git("rev-parse", "HEAD")
    site.rest(agent, "PUT", "/pages/Outside", {"content": "# O\n"})
    (proposal,) = site.rest(free, "GET", "/proposals").json["proposals"]
    for method, path, body in (
        ("POST", "/pages/inbox%2FA/rename", {"new_path": "A"}),
        ("POST", "/pages/B/rename", {"new_path": "inbox/B"}),
        ("POST", "/pages/B/attachments", {"filename": "n.txt", "content": "aGk="}),
        ("POST", "/undo", {"commits": [head]}),
        ("POST", f"/proposals/{proposal['id']}/accept", None),
    ):
        answer = site.rest(bound, method, path, body)
        assert (answer.status, "writes in inbox/ only" in answer.json["error"]) == (403, True), (path, answer.body)
    assert site.repo.git("rev-parse", "HEAD") == head
    assert site.repo.git("status", "--short") == ""
    assert site.rest(bound, "POST", "/pages/inbox%2FA/rename", {"new_path": "inbox/sub/A"}).status == 200


def test_keys_are_listed_with_their_limits_and_a_damaged_limit_lets_nobody_in(site: Site, tmp_path: Path) -> None:
    key = create_key("agent", "--tier", "write", "--folder", "inbox/", "--type", "note", "--pages-per-hour", "5")
    shell = Shell(tmp_path, dict(os.environ))
    (row,) = shell.ok("keys", "list", "--json").json["keys"]
    assert (row["folders"], row["types"], row["pages_per_hour"], row["bytes_per_hour"]) == (
        ["inbox"],
        ["note"],
        5,
        None,
    )
    assert "writes below inbox; writes the types note; 5 pages an hour" in shell.ok("keys", "list").text
    assert shell("keys", "create", "x", "--folder", "../up").code == 4
    (file,) = Path(os.environ["XDG_STATE_HOME"]).rglob("keys.json")
    stored = json.loads(file.read_text())
    for wrong in ({"pages": "5"}, {"pages": -1}, {"folder": ["inbox"]}):
        file.write_text(json.dumps({"keys": [{**stored["keys"][0], "limits": wrong}]}))
        assert site.rest(key, "GET", "/pages").status == 500, wrong


def test_limits_and_activity_in_the_browser(site: Site) -> None:
    bound = create_key("bound", "--tier", "write", "--folder", "inbox")
    form = fields(page(site.server, "/edit/B", key=bound))
    refused = sent(site.server, "/edit/B", key=bound, **{**form, "text": form["text"].replace("beta", "BETA")})
    assert (refused.status, b"writes in inbox/ only" in refused.body) == (403, True)
    assert (site.repo.path / "B.md").read_text() == PAGES["B.md"]
    form = fields(page(site.server, "/edit/inbox/A", key=bound))
    allowed = sent(site.server, "/edit/inbox/A", key=bound, **{**form, "text": form["text"].replace("alpha", "ALPHA")})
    assert allowed.status == 303
    (row,) = site.rest(bound, "GET", "/activity").json["sessions"]
    assert (row["face"], row["name"], row["writes"]) == ("web", "bound", 1)


def attachment_acts(site: Site, key: str, page: str, name: str) -> dict[str, tuple[bool, str]]:
    """Whether each way to add, replace and delete an attachment of a page is refused, and what is said."""
    path = f"/pages/{page.replace('/', '%2F')}/attachments/{name}"
    content = {"Origin": site.server.url, "Content-Type": "application/octet-stream"}
    answers = {
        "web": site.server.ask("PUT", f"/attach/{page}?name=web-{name}", b"a,b\n", key=key, headers=content),
        "put": site.server.ask("PUT", f"{API}{path}", b"a,b\n", key=key, headers=content),
        "delete": site.rest(key, "DELETE", path.replace(name, "old.csv")),
    }
    said = {way: (answer.status == 403, answer.body.decode()) for way, answer in answers.items()}
    assert all(answer.status in {200, 201, 403} for answer in answers.values()), said
    upload = {"path": page, "filename": f"mcp-{name}", "content": "YSxiCg=="}
    for tool, arguments in (
        ("upload_attachment", upload),
        ("delete_attachment", {"path": page, "filename": "old-2.csv"}),
    ):
        result = site.server.call("wiki", tool, arguments, key=key)
        said[tool] = bool(result.get("isError")), result["content"][0]["text"]
    return said


def test_an_attachment_is_written_by_who_may_write_its_page(site: Site) -> None:
    free = create_key("free", "--tier", "write")
    content = {"Content-Type": "application/octet-stream"}
    for page_id, name in [(element, name) for element in ("inbox%2FA", "B") for name in ("old.csv", "old-2.csv")]:
        put = site.server.ask("PUT", f"{API}/pages/{page_id}/attachments/{name}", b"1\n", key=free, headers=content)
        assert put.status == 201
    for options, message in (("--type", "note"), "type note only"), (("--folder", "inbox"), "in inbox/ only"):
        key = create_key(f"bound {options[0]}", "--tier", "write", *options)
        head = site.repo.git("rev-parse", "HEAD")
        outside = attachment_acts(site, key, "B", "x.csv")
        assert {way: was and message in text for way, (was, text) in outside.items()} == dict.fromkeys(outside, True)
        assert site.repo.git("rev-parse", "HEAD") == head
        inside = attachment_acts(site, key, "inbox/A", f"{options[0]}.csv")
        assert {way: was for way, (was, _) in inside.items()} == dict.fromkeys(inside, False), inside
        for name in ("old.csv", "old-2.csv"):
            site.server.ask("PUT", f"{API}/pages/inbox%2FA/attachments/{name}", b"1\n", key=free, headers=content)
    for letter, option, most in (("p", "--pages-per-hour", "2"), ("b", "--bytes-per-hour", "9")):
        key = create_key(f"bound {option}", "--tier", "write", option, most)
        counted = [
            site.server.ask(
                "PUT", f"{API}/pages/B/attachments/{letter}{number}.csv", b"a,b\n", key=key, headers=content
            ).status
            for number in range(3)
        ]
        assert counted == [201, 201, 429]


def test_the_pages_of_an_attachment_decide_on_undo_and_acceptance(site: Site) -> None:
    bound, free = create_key("bound", "--tier", "write", "--type", "note"), create_key("free", "--tier", "write")
    agent = create_key("agent", "--tier", "propose")
    content = {"Origin": site.server.url, "Content-Type": "application/octet-stream"}
    page(site.server, "/p/B", key=free)  # the pages answer once there is an index
    linked = site.server.ask("PUT", "/attach/B?name=linked.csv", b"a\n", key=free, headers=content).json
    site.tool(free, "edit", page="B", changes=[{"do": "append", "text": f"\n{linked['markdown']}\n"}])
    commits = [site.repo.git("log", "-1", "--format=%H", "--", linked["path"])]
    own = site.server.ask("PUT", f"{API}/pages/inbox%2FA/attachments/own.csv", b"a\n", key=bound, headers=content)
    assert own.status == 201
    head = site.repo.git("rev-parse", "HEAD")
    refused = site.rest(bound, "POST", "/undo", {"commits": commits})
    assert (refused.status, "type fact" in refused.json["error"]) == (403, True)
    assert site.rest(bound, "POST", "/undo", {"commits": [head]}).status == 200
    put = site.server.ask("PUT", f"{API}/pages/B/attachments/p.csv", b"a\n", key=agent, headers=content)
    assert put.status == 201
    (identifier,) = (proposal["id"] for proposal in site.rest(free, "GET", "/proposals").json["proposals"])
    for decision in ("accept", "decline"):
        answer = site.rest(bound, "POST", f"/proposals/{identifier}/{decision}")
        assert (answer.status, "type note only" in answer.json["error"]) == (403, True), decision
    assert site.rest(free, "POST", f"/proposals/{identifier}/accept").status == 200


def test_decisions_on_a_proposal_need_the_right_to_write_its_pages(site: Site) -> None:
    bound, free = create_key("bound", "--tier", "write", "--folder", "inbox"), create_key("free", "--tier", "write")
    agent = create_key("agent", "--tier", "propose")
    site.rest(agent, "PUT", "/pages/Outside", {"content": "# O\n"})
    (proposal,) = site.rest(free, "GET", "/proposals").json["proposals"]
    where = f"/proposals/{proposal['id']}"
    for decision, body in (
        ("accept", None),
        ("decline", {"word": "no"}),
        ("amend", {"page": "inbox/New.md", "text": "# N\n"}),
        ("withdraw", None),
    ):
        answer = site.rest(bound, "POST", f"{where}/{decision}", body)
        assert answer.status == 403, (decision, answer.body)
    for decision in ("accept", "decline"):
        assert "inbox/ only" in site.tool(bound, "proposals", action=decision, id=proposal["id"]), decision
        form = sent(site.server, where, key=bound, action=decision, tip=proposal["tip"])
        assert (form.status, b"inbox/ only" in form.body) == (403, True), decision
    (site.repo.path / "Outside.md").write_text("# O\n")
    assert site.rest(bound, "POST", f"{where}/accept").status == 403, "nothing would be written, but it would be closed"
    now = site.rest(free, "GET", where).json
    assert (now["state"], now["tip"]) == ("open", proposal["tip"])
    assert site.rest(free, "POST", f"{where}/decline").json["state"] == "declined"


@pytest.mark.parametrize("tier", ["write", "propose"])
def test_who_calls_is_the_author_in_every_face(site: Site, tier: str) -> None:
    key, person = create_key("Ada Lovelace", "--tier", tier), create_key("Grace", "--tier", "write")
    content = {"Origin": site.server.url, "Content-Type": "application/octet-stream"}
    revision = site.rest(key, "GET", "/pages/B").json["revision"]
    acts = {
        "rest": lambda: site.rest(key, "PUT", "/pages/R", {"content": "# R\n"}),
        "mcp": lambda: site.tool(key, "write", page="M", text="# M\n"),
        "patch": lambda: site.rest(
            key, "PATCH", "/pages/B", {"revision": revision, "old_string": "beta", "new_string": "BETA"}
        ),
        "file": lambda: site.server.ask("PUT", f"{API}/pages/B/attachments/x.csv", b"a\n", key=key, headers=content),
        "web": lambda: sent(site.server, "/new/", key=key, path="W", text="# W\n"),
        "upload": lambda: site.server.ask("PUT", "/attach/B?name=y.csv", b"a\n", key=key, headers=content),
    }
    for way, act in acts.items():
        act()
        branch = "HEAD" if tier == "write" else site.repo.git("branch", "--list", "proposals/*").split()[0]
        people = site.repo.git("log", "-1", "--format=%an <%ae>|%cn <%ce>", branch).split("|")
        assert people == ["Ada Lovelace <ada-lovelace@localhost>"] * 2, way
    if tier == "propose":
        for proposal in site.rest(person, "GET", "/proposals").json["proposals"]:
            assert proposal["author"] == "Ada Lovelace"
            assert site.rest(person, "POST", f"/proposals/{proposal['id']}/accept").status == 200
            assert site.repo.git("log", "-1", "--format=%an|%cn") == "Ada Lovelace|Grace"
    else:
        head = site.repo.git("rev-parse", "HEAD")
        assert site.rest(person, "POST", "/undo", {"commits": [head]}).status == 200
        assert site.repo.git("log", "-1", "--format=%an|%cn") == "Grace|Grace"
