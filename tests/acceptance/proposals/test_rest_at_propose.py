"""REST at the tier `propose`: every write waits, and the endpoints of proposals list, show and decide."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from at_propose import served as served_files
from commonplace.toolsets.wiki.rest.endpoints import endpoints
from commonplace.toolsets.wiki.rest.models import MomentParameters
from forms import HTML
from serving import Server, create_key, served
from support import GitRepo, new_repo

API = "/api/v1"
PAGES: dict[str, str | bytes] = {"A.md": "# A\n\nalpha\n\nomega\n", "B.md": "# B\n\n[a](A.md)\n"}


@dataclass(frozen=True, slots=True)
class Site:
    """A server of one folder, and a key of each kind."""

    server: Server
    repo: GitRepo
    keys: dict[str, str]

    def ask(self, who: str, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """The JSON of an answer that is no refusal."""
        answer = self.server.ask(method, f"{API}{path}", body, key=self.keys[who], **more)
        assert answer.status in {200, 201}, answer.body
        return answer.json

    def refused(self, who: str, method: str, path: str, body: Any = None) -> tuple[int, str]:
        """Status and message of a refusal."""
        answer = self.server.ask(method, f"{API}{path}", body, key=self.keys[who])
        return answer.status, answer.json["error"]


@pytest.fixture
def site(tmp_path: Path, cache_dir: Path) -> Iterator[Site]:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "tea", PAGES)
    with served(repo.path, "--commit", "auto") as server:
        tiers = {"agent": "propose", "other": "propose", "Ada Lovelace": "write", "reader": "read"}
        keys = {name: create_key(name, "--tier", tier) for name, tier in tiers.items()}
        yield Site(server, repo, keys)


def revision(site: Site, page: str, who: str = "agent") -> str:
    return site.ask(who, "GET", f"/pages/{page}")["revision"]


def test_a_moment_is_one_of_what_is_served(site: Site) -> None:
    edit = {"revision": revision(site, "A"), "old_string": "alpha", "new_string": "ALPHA [b](B.md)"}
    site.ask("agent", "PATCH", "/pages/A", edit)
    for row in endpoints():
        if row.query and issubclass(row.query, MomentParameters):
            path = f"{row.template.replace('{path}', 'A')}?at=HEAD"
            answer = site.ask("agent", "GET", f"{path}&q=alpha" if "search" in path else path)
            assert "ALPHA" not in str(answer), path
            assert "proposal" not in answer, path
    for tool, arguments in (
        ("read", {"page": "A"}),
        ("search", {"query": "alpha"}),
        ("links", {"page": "A"}),
        ("overview", {}),
    ):
        result = site.server.call("notes", tool, {**arguments, "at": "HEAD"}, key=site.keys["agent"])
        text = result["content"][0]["text"]
        assert not result.get("isError"), text
        assert "AS IT WAS" in text, text
        assert "ALPHA" not in text, text
        assert "PROPOSAL" not in text, text
    result = site.server.call("notes", "restore", {"page": "A", "at": "HEAD"}, key=site.keys["agent"])
    assert "There is no history" not in result["content"][0]["text"], result


def test_writes_wait_until_a_person_accepts_them(site: Site) -> None:
    before = served_files(site.repo.path)
    made = [
        site.ask("agent", "PUT", "/pages/C", {"content": "# C\n"}),
        site.ask(
            "agent",
            "PATCH",
            "/pages/A",
            {"revision": revision(site, "A"), "old_string": "alpha", "new_string": "ALPHA"},
        ),
        site.ask("agent", "POST", "/pages/A/rename", {"new_path": "sub/D"}),
        site.ask("agent", "DELETE", "/pages/C", {"revision": revision(site, "C")}),
        site.ask("agent", "POST", "/pages/B/attachments", {"filename": "n.txt", "content": "aGk="}),
    ]
    assert served_files(site.repo.path) == before
    assert all(element["proposal"].startswith("PROPOSED") for element in made)
    assert "ALPHA" in site.ask("agent", "GET", "/pages/sub%2FD")["content"]
    assert "WITH YOUR PROPOSAL" in site.ask("agent", "GET", "/search?q=alpha")["proposal"]
    assert site.server.page("GET", "sub/D", key=site.keys["reader"]).status == 404
    (row,) = site.ask("Ada Lovelace", "GET", "/proposals")["proposals"]
    seen = site.ask("agent", "GET", "/search?q=alpha")
    assert [element["proposal_ids"] for element in (*made, seen)] == [[row["id"]]] * 6
    shown = site.ask("Ada Lovelace", "GET", f"/proposals/{row['id']}")
    assert {(file["action"], file["path"].rpartition("/")[2]) for file in shown["files"]} == {
        ("create", "n.txt"),
        ("change", "B.md"),
        ("move", "D.md"),
    }
    assert shown["total"] == 3
    element = site.ask("Ada Lovelace", "GET", f"/proposals/{row['id']}?page=B&limit=1")
    assert [file["path"] for file in element["files"]] == ["B.md"]
    text = {"pages": ["B.md"], "text": "# B\n\nmine\n"}
    place, ada = f"/proposals/{row['id']}/accept", "Ada Lovelace"
    code, words = site.refused(ada, "POST", place, {**text, "seen": "0123456789"})
    assert (code, "changed" in words) == (409, True), words
    answer = site.ask(ada, "POST", place, {"tip": row["tip"], "word": "Thanks"})
    assert (answer["state"], answer["word"], answer["accepted_as"]) == ("accepted", "Thanks", answer["commit"])
    assert (site.repo.path / "sub" / "D.md").read_text() == "# A\n\nALPHA\n\nomega\n"
    assert (site.repo.path / "B.md").read_text() == "# B\n\n[a](sub/D.md)\n"
    assert site.repo.git("log", "-1", "--format=%cn <%ce>").strip() == "Ada Lovelace <ada-lovelace@localhost>"
    (own,) = site.ask("agent", "GET", "/proposals?state=closed")["proposals"]
    assert own["word"] == "Thanks"


def test_only_the_own_proposals_are_seen_and_only_a_writer_decides(site: Site) -> None:
    site.ask("agent", "PUT", "/pages/C", {"content": "# C\n"})
    (row,) = site.ask("agent", "GET", "/proposals")["proposals"]
    assert site.ask("other", "GET", "/proposals?state=all")["total"] == 0
    place = f"/proposals/{row['id']}"
    for method, path, body in (
        ("GET", place, None),
        ("POST", f"{place}/withdraw", None),
        ("POST", f"{place}/amend", None),
        ("POST", f"{place}/amend", {"page": "C", "text": "x"}),
    ):
        assert site.refused("other", method, path, body)[0] == 404, path
        assert site.refused("reader", method, path, body)[0] == 403, path
    for action in ("accept", "decline"):
        assert site.refused("agent", "POST", f"{place}/{action}") == (
            403,
            "This needs the tier write; yours is propose.",
        )
    assert site.refused("Ada Lovelace", "POST", f"{place}/withdraw")[0] == 403
    assert site.refused("Ada Lovelace", "POST", f"{place}/accept", {"tip": "0" * 40})[0] == 409
    for action, tip in product(("accept", "decline"), ("", row["tip"][:8], row["tip"][:39])):
        assert site.refused("Ada Lovelace", "POST", f"{place}/{action}", {"tip": tip})[0] in {400, 422}, tip
    assert site.refused("agent", "POST", "/reindex")[0] == 403
    assert site.refused("agent", "POST", f"{place}/amend", {"page": "C"})[0] == 422
    site.ask("agent", "POST", f"{place}/amend", {"page": "C", "text": "# C\n\nmore\n"})
    assert site.refused("Ada Lovelace", "POST", f"{place}/decline", {"tip": row["tip"]})[0] == 409
    declined = site.ask("Ada Lovelace", "POST", f"{place}/decline", {"word": "Not now"})
    assert (declined["state"], declined["word"]) == ("declined", "Not now")
    assert site.refused("agent", "POST", f"{place}/withdraw")[0] == 409
    site.ask("agent", "PUT", "/pages/C", {"content": "# C\n"})
    (row,) = site.ask("agent", "GET", "/proposals")["proposals"]
    withdrawn = site.ask("agent", "POST", f"/proposals/{row['id']}/withdraw")
    assert (withdrawn["state"], "proposal" in withdrawn) == ("withdrawn", False)
    assert not (site.repo.path / "C.md").exists()


def test_a_stated_purpose_has_a_proposal_of_its_own(site: Site) -> None:
    for number, purpose in enumerate(("tidy", "tidy", "glossary", "")):
        headers = {"Commonplace-Purpose": purpose} if purpose else {}
        site.ask("agent", "PUT", f"/pages/P{number}", {"content": f"# P{number}\n"}, headers=headers)
    rows = site.ask("agent", "GET", "/proposals")["proposals"]
    assert sorted(row["purpose"] for row in rows) == ["", "glossary", "tidy"]
    tidy = next(row for row in rows if row["purpose"] == "tidy")
    assert site.ask("agent", "GET", f"/proposals/{tidy['id']}")["total"] == 2


def test_a_conflict_names_its_three_sides(site: Site) -> None:
    site.ask(
        "agent", "PATCH", "/pages/A", {"revision": revision(site, "A"), "old_string": "alpha", "new_string": "ours"}
    )
    writer = "Ada Lovelace"
    site.ask(
        writer,
        "PATCH",
        "/pages/A",
        {"revision": revision(site, "A", writer), "old_string": "alpha", "new_string": "theirs"},
    )
    (row,) = site.ask(writer, "GET", "/proposals")["proposals"]
    (file,) = site.ask(writer, "GET", f"/proposals/{row['id']}")["files"]
    (conflict,) = file["conflicts"]
    assert (conflict["base"], conflict["proposed"], conflict["current"]) == ("alpha\n", "ours\n", "theirs\n")
    refused = site.server.ask("POST", f"{API}/proposals/{row['id']}/accept", key=site.keys[writer])
    assert refused.status == 409
    call = f'The call: POST /proposals/{row["id"]}/accept {{"pages": ["A.md"], "text": "..."}}'
    assert refused.json["hint"].endswith(call), refused.json["hint"]
    every = site.server.ask("GET", "/proposals?state=all", key=site.keys[writer], headers=HTML)
    assert f"/proposals/{row['id']}".encode() in every.body
    final = {"pages": ["A"], "text": "# A\n\nboth\n", "seen": revision(site, "A", writer)}
    answer = site.ask(writer, "POST", f"/proposals/{row['id']}/accept", final)
    assert (answer["state"], answer["edited"]) == ("accepted", "A.md")
    page = site.server.ask("GET", f"/proposals/{row['id']}", key=site.keys[writer], headers=HTML)
    assert b"Edited before it was accepted: A.md." in page.body
    assert (site.repo.path / "A.md").read_text() == "# A\n\nboth\n"


def test_a_commit_that_is_not_there_is_said_so_by_every_route(site: Site) -> None:
    head, absent = site.repo.git("rev-parse", "HEAD"), "0123456789" * 4
    person, restore = site.keys["Ada Lovelace"], {"revision": absent}
    moments = [row for row in endpoints() if row.query and issubclass(row.query, MomentParameters)]
    paths = [f"{API}{row.template.replace('{path}', 'A')}?q=alpha&at={{}}" for row in moments]
    paths = [path if "search" in path else path.replace("q=alpha&", "") for path in paths]
    paths += [f"{API}/pages/A/diff?from={{}}", f"{API}/pages/A/diff?from={head}&to={{}}"]
    paths += ["/p/A?at={}", "/tree?at={}", "/search?q=alpha&at={}"]
    paths += ["/commit/{}", "/compare/A?from={}", f"/compare/A?from={head}&to={{}}"]
    answers = {path: site.server.ask("GET", path.format(absent), key=person, headers=HTML) for path in paths}
    answers["restore"] = site.server.ask("POST", f"{API}/pages/A/restore", restore, key=person)
    answers["undo"] = site.server.ask("POST", f"{API}/undo", {"commits": [absent]}, key=person)
    assert len(moments) > 3
    assert {path: answer.status for path, answer in answers.items() if answer.status != 404} == {}
    of_versions = re.compile(rb"commit|evision|version|before")
    assert [path for path, answer in answers.items() if not of_versions.search(answer.body)] == []
    for path in paths:
        assert site.server.ask("GET", path.format(head), key=person, headers=HTML).status == 200, path


def test_a_list_is_narrowed_and_a_part_is_tried(site: Site) -> None:
    site.ask(
        "agent", "PUT", "/pages/inbox%2FC", {"content": "# C\n\n[d](D.md)\n"}, headers={"Commonplace-Purpose": "tidy"}
    )
    site.ask("agent", "PUT", "/pages/inbox%2FD", {"content": "# D\n"}, headers={"Commonplace-Purpose": "tidy"})
    site.ask("other", "DELETE", "/pages/B", {"revision": revision(site, "B", "other")})
    (tidy,) = site.ask("agent", "GET", "/proposals")["proposals"]
    (other,) = site.ask("other", "GET", "/proposals")["proposals"]
    both, ada, program = {tidy["id"], other["id"]}, "Ada Lovelace", tidy["client"].partition("/")[0]
    none = set[str]()
    for query, ids in (
        ("", both), ("author=AGENT", {tidy["id"]}), ("author=age", none), (f"client={program}", both),
        ("client=x", none), ("page=inbox", {tidy["id"]}), ("page=inbox/C", {tidy["id"]}), ("page=B.md", {other["id"]}),
        ("page=in", none), ("q=TID", {tidy["id"]}), ("q=nothing", none), ("state=declined", none),
        ("author=other&page=inbox", none), ("state=all&limit=1", both),
    ):  # fmt: skip
        answer = site.ask(ada, "GET", f"/proposals?{query}")
        assert {row["id"] for row in answer["proposals"]} <= ids, query
        assert (answer["total"], len(answer["proposals"])) == (len(ids), 1 if "limit" in query else len(ids)), query
    head = site.repo.git("rev-parse", "HEAD")
    place = f"/proposals/{tidy['id']}/accept"
    tried = site.ask(ada, "POST", place, {"pages": ["inbox/C.md"], "dry_run": True})
    assert (tried["dry_run"], tried["state"], tried["written"], tried["commit"]) == (True, "open", ["inbox/C.md"], "")
    assert [row["path"] for row in tried["new_findings"] if "D.md" in row["message"]] == ["inbox/C.md"]
    assert site.ask(ada, "POST", place, {"dry_run": True})["new_findings"] == []
    assert (site.repo.git("rev-parse", "HEAD"), (site.repo.path / "inbox").exists()) == (head, False)
    done = site.ask(ada, "POST", place, {"pages": ["inbox/C.md"]})
    assert (done["dry_run"], done["new_findings"]) == (False, tried["new_findings"])
