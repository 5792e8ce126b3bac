"""Cases that users of layered graphs rely on, one line each: a call over the real process, and facts of its answer.

Cases that differ by choice are in docs/differences.md.
"""

# ruff: noqa: E501 - one line a case

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, agent
from commonplace.main import main
from layers import write_cascade

COMPANY = {
    "systems/auth-service.md": "---\ntype: Service\ntitle: Auth Service\naliases: [Login]\nowner: Finance IT\ntags: [security]\nupdated: 2026-01-01\n---\nThe login of everybody.\n\n## Owner\nFinance IT\n\n## On-call\nNobody\n\n## Policy {#rules}\nRotate keys.\n\n## Phones\n12345\n",
    "systems/billing.md": "---\ntype: Service\ntitle: Billing\n---\n# Billing\nDepends on [[systems/auth-service]] and [the runbook](../runbooks/auth-outage.md#steps), [[Login]], ![x](a.png), [web](https://example.org).\n",
    "runbooks/auth-outage.md": "---\ntype: Runbook\ntitle: Auth outage\n---\n## Steps\nSee [[systems/auth-service|the service]], [[auth-service]], [[nowhere]], [[/systems/billing]], [[team:systems/auth-service]], [x](team:systems/auth-service.md#owner), [y](company:billing.md), [z](elsewhere:billing.md), [[BILLING]], [[a/b/c]], [[Auth Service]].\n",
    "deep/a/b/c.md": "# Deep\nDeep text. [up](../../x.md) [down](./d.md)\n",
    "deep/a/b/d.md": "---\naliases: Downtown\n---\n# D\nshort\n",
    "deep/x.md": "# X\n",
    "nofront.md": "## Alone\nno frontmatter\n",
    "crlf.md": "\ufeff---\r\ntype: Note\r\nlist:\r\n- one\r\n- two\r\nmap:\r\n  inner: 1\r\n---\r\n# Head\r\ntext\r\n",
    "fence.md": "# Real\n```\n# not one\n## nor this\n```\n~~~\n# nor that\n~~~\nafter\n",
    "twice.md": "## Same\nfirst\n\n## Same\nsecond\n\n## same {#x}\nthird\n\n## SAME\nfourth\n",
    "levels.md": "# One\na\n### Three\nb\n###### Six\nc\n####### Seven\n#NoBlank\n",
    "spaces.md": "##   Two   words  ##\ntext\n",
    "index.md": "# Index\nreserved\n",
    "deep/log.md": "# Log\nreserved\n",
    ".hidden.md": "# Hidden\n",
    "node_modules/m.md": "# Module\n",
    "日本.md": "---\ntitle: 日本語のページ\n---\n# 見出し\n東京は首都です。\n",
    "emptied.md": "---\ntype: Note\ncost: 5\n---\n## Body\nfull\n",
    "cut.md": "---\ntype: Low\nlow: 1\n---\n## Low\nlow\n",
    "gone.md": "## Secret {#secret}\nthe sentinel word xylophone\n\n## Stays\nhere\n",
    "dates.md": "---\nupdated: 2026-03-01\n---\n## A\ncompany\n\n## B {updated=2026-06-01}\ncompany\n\n## C {updated='1 May 2026'}\ncompany\n\n## D {updated=soon}\ncompany\n",
}
TEAM = {
    "systems/auth-service.md": "---\ntype: Identity\nowner: Team Payments\nupdated: 2026-05-01\n---\n## Owner {updated=2026-05-02}\nTeam Payments\n\n## On-call\nThe team\n\n## Contacts\nteam@example.org\n",
    "emptied.md": "---\ncost: ''\ntags: []\n---\n## Body\n\n",
    "cut.md": "---\ntype: Middle\noverride: full\nmid: 1\n---\n## Mid\nmid\n",
    "gone.md": "## Secret {.cls override=none #secret}\n",
    "dates.md": "## A {updated=2026-01-01}\nteam\n\n## B {updated=2026-05-01T10:00:00Z}\nteam\n\n## C {updated=2026-04-01}\nteam\n\n## D {updated=2026-04-01}\nteam\n",
    "team-only.md": "---\ntype: Note\ntitle: Zebra crossing\n---\n# Z\nonly the team\n",
}
PERSONAL = {
    "systems/auth-service.md": "---\nmood: calm\n---\nMine first.\n\n## On-call {override='none'}\n",
    "cut.md": "---\ntype: Top\n---\n## Top\ntop\n",
}


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    layers = {"company": (0, COMPANY), "team": (2, TEAM), "personal": (3, PERSONAL)}
    return write_cascade(tmp_path_factory.mktemp("cases"), layers)


@pytest.fixture(scope="module")
def reader(manifest: Path) -> Iterator[Agent]:
    with agent("mcp", "--manifest", manifest) as client:
        yield client


Check = Callable[[Any], bool]
"""Whether an answer holds what the case is about."""
AUTH = {"concept_id": "systems/auth-service"}
READ = "read_file"


def keys(shown: Any) -> list[str]:
    return [other_section["key"] for other_section in shown["sections"]]


def section(shown: Any, key: str) -> dict[str, Any]:
    return next(other_section for other_section in shown["sections"] if other_section["key"] == key)


def ids(shown: Any) -> list[str]:
    return [element["id"] for element in shown["result"]]


def row(shown: Any, concept: str) -> dict[str, Any]:
    return next(element for element in shown["result"] if element["id"] == concept)


def out(shown: Any, target: str) -> dict[str, Any]:
    return next(element for element in shown["outgoing"] if element["target"] == target)


CASES: list[tuple[str, str, dict[str, Any], Check]] = [
    # Ids.
    ("by id", READ, AUTH, lambda a: a["id"] == "systems/auth-service"),
    ("with the suffix", READ, {"concept_id": "systems/auth-service.md"}, lambda a: a["id"] == "systems/auth-service"),
    ("with a fragment", READ, {"concept_id": "systems/auth-service#owner"}, lambda a: a["id"] == "systems/auth-service"),
    ("with a query", READ, {"concept_id": "systems/auth-service?x=1"}, lambda a: a["id"] == "systems/auth-service"),
    ("with backslashes", READ, {"concept_id": "systems\\auth-service"}, lambda a: a["id"] == "systems/auth-service"),
    ("to be normalised", READ, {"concept_id": "./systems/../systems//auth-service"}, lambda a: a["id"] == "systems/auth-service"),
    ("of another script", READ, {"concept_id": "日本"}, lambda a: a["frontmatter"]["title"] == "日本語のページ"),
    # A concept.
    ("its keys in order", READ, AUTH, lambda a: list(a)[:6] == ["id", "contributors", "frontmatter", "frontmatterProvenance", "sections", "markdown"]),
    ("no frontmatter is an empty one", READ, {"concept_id": "nofront"}, lambda a: (a["frontmatter"], a["frontmatterProvenance"]) == ({}, {})),
    ("a byte order mark and CRLF", READ, {"concept_id": "crlf"}, lambda a: a["frontmatter"] == {"type": "Note", "list": ["one", "two"], "map": {"inner": 1}}),
    ("CRLF in sections", READ, {"concept_id": "crlf"}, lambda a: section(a, "head")["content"] == "text"),
    ("headings in fences are text", READ, {"concept_id": "fence"}, lambda a: keys(a) == ["real"]),
    ("a fence stays whole", READ, {"concept_id": "fence"}, lambda a: "# not one\n## nor this" in section(a, "real")["content"]),
    ("a key twice keeps both", READ, {"concept_id": "twice"}, lambda a: keys(a) == ["same", "same-2", "x", "same-3"]),
    ("headings of every level are sections", READ, {"concept_id": "levels"}, lambda a: keys(a) == ["one", "three", "six"]),
    ("seven marks are text", READ, {"concept_id": "levels"}, lambda a: "#NoBlank" in section(a, "six")["content"]),
    ("inner spaces collapse", READ, {"concept_id": "spaces"}, lambda a: keys(a) == ["two words"]),
    ("the heading as written", READ, AUTH, lambda a: section(a, "rules")["heading"] == "## Policy {#rules}"),
    ("a preamble has no heading", READ, AUTH, lambda a: (a["sections"][0]["key"], a["sections"][0]["heading"]) == ("", None)),
    ("dates stay texts", READ, AUTH, lambda a: a["frontmatter"]["updated"] == "2026-05-01"),
    # Merge.
    ("contributors by level", READ, AUTH, lambda a: [(item["layer"], item["level"]) for item in a["contributors"]] == [("personal", 3), ("team", 2), ("company", 0)]),
    ("their dates", READ, AUTH, lambda a: [item["updated"] for item in a["contributors"]][1:] == ["2026-05-01", "2026-01-01"]),
    ("the highest sets a key", READ, AUTH, lambda a: (a["frontmatter"]["owner"], a["frontmatterProvenance"]["owner"]) == ("Team Payments", "team")),
    ("a key of one layer", READ, AUTH, lambda a: a["frontmatterProvenance"]["mood"] == "personal"),
    ("a key of the lowest", READ, AUTH, lambda a: (a["frontmatter"]["title"], a["frontmatterProvenance"]["title"]) == ("Auth Service", "company")),
    ("an empty value wins", READ, {"concept_id": "emptied"}, lambda a: (a["frontmatter"]["cost"], a["frontmatterProvenance"]["cost"]) == ("", "team")),
    ("an empty list, too", READ, {"concept_id": "emptied"}, lambda a: a["frontmatter"]["tags"] == []),
    ("an empty section wins", READ, {"concept_id": "emptied"}, lambda a: (section(a, "body")["content"], section(a, "body")["sourceLayer"]) == ("", "team")),
    ("full cuts off all below", READ, {"concept_id": "cut"}, lambda a: keys(a) == ["top", "mid"]),
    ("and their frontmatter", READ, {"concept_id": "cut"}, lambda a: "low" not in a["frontmatter"]),
    ("and lists them", READ, {"concept_id": "cut"}, lambda a: [item["layer"] for item in a["contributors"]] == ["personal", "team", "company"]),
    ("override is a key", READ, {"concept_id": "cut"}, lambda a: (a["frontmatter"]["override"], a["frontmatterProvenance"]["override"]) == ("full", "team")),
    ("sections in order of appearance", READ, AUTH, lambda a: keys(a) == ["", "on-call", "owner", "contacts", "rules", "phones"]),
    ("the highest wins", READ, AUTH, lambda a: (section(a, "owner")["content"], section(a, "owner")["sourceLayer"]) == ("Team Payments", "team")),
    ("its date", READ, AUTH, lambda a: section(a, "owner")["sourceUpdated"] == "2026-05-02"),
    ("the document's date", READ, AUTH, lambda a: section(a, "contacts")["sourceUpdated"] == "2026-05-01"),
    ("a dissent", READ, AUTH, lambda a: section(a, "owner")["conflicts"] == [{"layer": "company", "updated": "2026-01-01", "content": "Finance IT"}]),
    ("no conflicts, no key", READ, AUTH, lambda a: "conflicts" not in section(a, "contacts")),
    ("a preamble dissents", READ, AUTH, lambda a: section(a, "")["conflicts"][0]["content"] == "The login of everybody."),
    ("a tombstone is empty", READ, AUTH, lambda a: (section(a, "on-call")["content"], section(a, "on-call")["suppressed"]) == ("", True)),
    ("a tombstone has no conflicts", READ, AUTH, lambda a: "conflicts" not in section(a, "on-call")),
    ("attributes in any order", READ, {"concept_id": "gone"}, lambda a: section(a, "secret")["suppressed"] is True),
    ("the frontmatter's conflicts", READ, AUTH, lambda a: {item["key"] for item in a["frontmatterConflicts"]} == {"owner", "type"}),
    ("a list of who says what", READ, AUTH, lambda a: next(item for item in a["frontmatterConflicts"] if item["key"] == "owner") == {"key": "owner", "winner": {"layer": "team", "level": 2, "updated": "2026-05-01", "value": "Team Payments"}, "contributions": [{"layer": "team", "level": 2, "updated": "2026-05-01", "value": "Team Payments"}, {"layer": "company", "level": 0, "updated": "2026-01-01", "value": "Finance IT"}]}),
    ("override is no conflict", READ, {"concept_id": "cut"}, lambda a: "override" not in json.dumps(a.get("frontmatterConflicts", []))),
    # Dates.
    ("a dissent that is fresher", READ, {"concept_id": "dates"}, lambda a: section(a, "a")["fresherDissent"] is True),
    ("a day after a time", READ, {"concept_id": "dates"}, lambda a: section(a, "b")["fresherDissent"] is True),
    ("a date in words", READ, {"concept_id": "dates"}, lambda a: section(a, "c")["fresherDissent"] is True),
    ("what is no date", READ, {"concept_id": "dates"}, lambda a: "fresherDissent" not in section(a, "d")),
    ("a winner that is fresher", READ, AUTH, lambda a: "fresherDissent" not in section(a, "owner")),
    # Markdown.
    ("a line for a dissent", READ, AUTH, lambda a: "> ⚠ company disagrees (updated 2026-01-01): Finance IT" in a["markdown"]),
    ("without suppressed sections", READ, AUTH, lambda a: "On-call" not in a["markdown"]),
    ("suppressed text nowhere", READ, {"concept_id": "gone"}, lambda a: "xylophone" not in json.dumps(a)),
    ("the preamble first", READ, AUTH, lambda a: a["markdown"].split("---\n", 2)[2].lstrip().startswith("Mine first.")),
    # One layer.
    ("raw", READ, {**AUTH, "layer": "company"}, lambda a: (list(a)[:5], a["raw"]) == (["id", "layer", "raw", "frontmatter", "sections"], True)),
    ("raw sections", READ, {**AUTH, "layer": "company"}, lambda a: list(a["sections"][0])[:5] == ["key", "heading", "content", "updated", "override"]),
    ("raw text of its own", READ, {**AUTH, "layer": "company"}, lambda a: section(a, "owner")["content"] == "Finance IT"),
    ("raw override", READ, {**AUTH, "layer": "personal"}, lambda a: section(a, "on-call")["override"] == "none"),
    ("raw frontmatter", READ, {**AUTH, "layer": "personal"}, lambda a: a["frontmatter"] == {"mood": "calm"}),
    ("suppressed text in its layer, marked", READ, {"concept_id": "gone", "layer": "company"}, lambda a: "xylophone" in section(a, "secret")["content"] and section(a, "secret").get("suppressed") is True),
    # Lists.
    ("every concept by id", "list_concepts", {}, lambda a: ids(a) == sorted(ids(a)) and len(ids(a)) == len(set(ids(a)))),
    ("reserved and hidden ones are none", "list_concepts", {}, lambda a: not {"index", "deep/log", ".hidden", "node_modules/m"} & set(ids(a))),
    ("four keys", "list_concepts", {}, lambda a: all(list(item) == ["id", "type", "title", "layers"] for item in a["result"])),
    ("the effective type", "list_concepts", {}, lambda a: row(a, "systems/auth-service")["type"] == "Identity"),
    ("the filter is the effective type", "list_concepts", {"type": "Service"}, lambda a: ids(a) == ["systems/billing"]),
    ("a type that nobody has", "list_concepts", {"type": "Ship"}, lambda a: ids(a) == []),
    ("the effective title", "list_concepts", {}, lambda a: row(a, "systems/auth-service")["title"] == "Auth Service"),
    ("a missing title is null", "list_concepts", {}, lambda a: row(a, "nofront")["title"] is None),
    ("layers, highest first", "list_concepts", {}, lambda a: row(a, "systems/auth-service")["layers"] == ["personal", "team", "company"]),
    # Search.
    ("a hit's keys", "search", {"query": "billing"}, lambda a: list(a["result"][0])[:5] == ["id", "title", "score", "layers", "snippet"]),
    ("its section", "search", {"query": "payments"}, lambda a: a["result"][0]["section"] == {"key": "owner", "heading": "## Owner {updated=2026-05-02}"}),
    ("no section for a name alone", "search", {"query": "downtown"}, lambda a: a["result"][0]["section"] is None),
    ("links to it", "search", {"query": "auth service"}, lambda a: row(a, "systems/auth-service")["inbound"] == 2),
    ("no links to it", "search", {"query": "zebra"}, lambda a: a["result"][0]["inbound"] == 0),
    ("a section on which layers differ", "search", {"query": "payments"}, lambda a: a["result"][0]["contested"] is True),
    ("a section on which they agree", "search", {"query": "contacts"}, lambda a: "contested" not in a["result"][0]),
    ("a title", "search", {"query": "billing"}, lambda a: ids(a)[0] == "systems/billing"),
    ("an alias", "search", {"query": "downtown"}, lambda a: ids(a) == ["deep/a/b/d"]),
    ("a tag", "search", {"query": "security"}, lambda a: ids(a)[0] == "systems/auth-service"),
    ("a question", "search", {"query": "who owns the auth service?"}, lambda a: ids(a)[0] == "systems/auth-service"),
    ("a phrase that nothing has", "search", {"query": "“crossing a zebra”"}, lambda a: ids(a)[0] == "team-only"),
    ("in another case", "search", {"query": "ZEBRA"}, lambda a: ids(a) == ["team-only"]),
    ("another script", "search", {"query": "東京"}, lambda a: ids(a) == ["日本"]),
    ("text that loses", "search", {"query": "Finance"}, lambda a: ids(a) == ["systems/auth-service"]),
    ("one entry for a concept", "search", {"query": "auth"}, lambda a: len(ids(a)) == len(set(ids(a)))),
    ("layers of a hit", "search", {"query": "payments"}, lambda a: a["result"][0]["layers"] == ["personal", "team", "company"]),
    ("by score, then id", "search", {"query": "text"}, lambda a: (pairs := [(-item["score"], item["id"]) for item in a["result"]]) == sorted(pairs)),
    ("the limit is 10", "search", {"query": "text one first service auth company low"}, lambda a: len(ids(a)) <= 10),
    ("a limit", "search", {"query": "service", "limit": 1}, lambda a: len(ids(a)) == 1),
    ("no match", "search", {"query": "zzzyxw"}, lambda a: ids(a) == []),
    ("a missing title in a hit is null", "search", {"query": "frontmatter"}, lambda a: row(a, "nofront")["title"] is None),
    ("the snippet is effective", "search", {"query": "payments"}, lambda a: "Team Payments" in a["result"][0]["snippet"]),
    ("no suppressed text in a snippet", "search", {"query": "xylophone"}, lambda a: "xylophone" not in json.dumps(a)),
    # Links.
    ("three keys of links", "get_links", AUTH, lambda a: list(a)[:3] == ["source", "outgoing", "incoming"]),
    ("the source", "get_links", AUTH, lambda a: a["source"] == {"id": "systems/auth-service", "contributors": [{"layer": "personal", "level": 3, "updated": None}, {"layer": "team", "level": 2, "updated": "2026-05-01"}, {"layer": "company", "level": 0, "updated": "2026-01-01"}]}),
    ("a wikilink from the root", "get_links", {"concept_id": "runbooks/auth-outage"}, lambda a: out(a, "systems/auth-service")["id"] == "systems/auth-service"),
    ("its layers", "get_links", {"concept_id": "runbooks/auth-outage"}, lambda a: out(a, "systems/auth-service")["layers"] == ["personal", "team", "company"]),
    ("the link as written", "get_links", {"concept_id": "runbooks/auth-outage"}, lambda a: out(a, "systems/auth-service")["raw"] == "[[systems/auth-service|the service]]"),
    ("a slash is the root", "get_links", {"concept_id": "runbooks/auth-outage"}, lambda a: out(a, "/systems/billing")["id"] == "systems/billing"),
    ("a layer's name", "get_links", {"concept_id": "runbooks/auth-outage"}, lambda a: (out(a, "team:systems/auth-service")["id"], out(a, "team:systems/auth-service")["layers"]) == ("systems/auth-service", ["team"])),
    ("a layer's name in a Markdown link", "get_links", {"concept_id": "runbooks/auth-outage"}, lambda a: (out(a, "team:systems/auth-service.md#owner")["id"], out(a, "team:systems/auth-service.md#owner")["layers"], out(a, "team:systems/auth-service.md#owner")["raw"]) == ("systems/auth-service", ["team"], "[x](team:systems/auth-service.md#owner)")),
    ("a file name in a layer", "get_links", {"concept_id": "runbooks/auth-outage"}, lambda a: (out(a, "company:billing.md")["id"], out(a, "company:billing.md")["layers"]) == ("systems/billing", ["company"])),
    ("what is no layer is an address", "get_links", {"concept_id": "runbooks/auth-outage"}, lambda a: "elsewhere:billing.md" not in json.dumps(a)),
    ("a file name", "get_links", {"concept_id": "runbooks/auth-outage"}, lambda a: out(a, "auth-service")["id"] == "systems/auth-service"),
    ("a file name in another case", "get_links", {"concept_id": "runbooks/auth-outage"}, lambda a: out(a, "BILLING")["id"] == "systems/billing"),
    ("the end of a path", "get_links", {"concept_id": "runbooks/auth-outage"}, lambda a: out(a, "a/b/c")["id"] == "deep/a/b/c"),
    ("a title", "get_links", {"concept_id": "runbooks/auth-outage"}, lambda a: out(a, "Auth Service")["id"] == "systems/auth-service"),
    ("incoming by file name", "get_links", {"concept_id": "deep/a/b/c"}, lambda a: [(item["id"], item["raw"]) for item in a["incoming"]] == [("runbooks/auth-outage", "[[a/b/c]]")]),
    ("a target that is not there", "get_links", {"concept_id": "runbooks/auth-outage"}, lambda a: (out(a, "nowhere")["id"], out(a, "nowhere")["layers"]) == (None, [])),
    ("an alias", "get_links", {"concept_id": "systems/billing"}, lambda a: out(a, "Login")["id"] == "systems/auth-service"),
    ("a Markdown link with a fragment", "get_links", {"concept_id": "systems/billing"}, lambda a: "runbooks/auth-outage" in {item["id"] for item in a["outgoing"]}),
    ("no images, no addresses", "get_links", {"concept_id": "systems/billing"}, lambda a: len(a["outgoing"]) == 3),
    ("Markdown links first", "get_links", {"concept_id": "systems/billing"}, lambda a: a["outgoing"][0]["id"] == "runbooks/auth-outage"),
    ("from the linking folder", "get_links", {"concept_id": "deep/a/b/c"}, lambda a: [item["id"] for item in a["outgoing"]] == ["deep/x", "deep/a/b/d"]),
    ("incoming", "get_links", AUTH, lambda a: {(item["id"], item["layer"]) for item in a["incoming"]} == {("systems/billing", "company"), ("runbooks/auth-outage", "company")}),
    ("one for a concept and layer", "get_links", AUTH, lambda a: len(a["incoming"]) == 2),
    ("no incoming", "get_links", {"concept_id": "spaces"}, lambda a: (a["incoming"], a["outgoing"]) == ([], [])),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "holds"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_call_answers_as_its_users_know_it(reader: Agent, tool: str, arguments: dict[str, Any], holds: Check) -> None:
    answer = reader.call(tool, **arguments)
    assert holds(answer), json.dumps(answer, indent=1, ensure_ascii=False)


REFUSED: list[tuple[str, str, dict[str, Any], str]] = [
    ("an unknown concept names the nearest", READ, {"concept_id": "systems/auth-servise"}, "Nearest: systems/auth-service"),
    ("ids are case-sensitive", READ, {"concept_id": "Systems/Auth-Service"}, "There is no concept"),
    ("an unknown layer names the layers", READ, {**AUTH, "layer": "region"}, "Layers: company, team, personal."),
    ("a layer without the concept", READ, {"concept_id": "team-only", "layer": "company"}, "team"),
    ("an id that leads out", READ, {"concept_id": "../secret"}, "Invalid concept id"),
    ("an absolute id", READ, {"concept_id": "/etc/passwd"}, "Invalid concept id"),
    ("an empty id", READ, {"concept_id": ""}, "Invalid concept id"),
    ("a reserved name", READ, {"concept_id": "index"}, "There is no concept"),
    ("a hidden file", READ, {"concept_id": ".hidden"}, "concept"),
    ("links of an unknown concept", "get_links", {"concept_id": "nix"}, "There is no concept"),
    ("links of an id that leads out", "get_links", {"concept_id": "../../x"}, "Invalid concept id"),
    ("a blank query", "search", {"query": "  "}, "query"),
    ("no query", "search", {}, "query"),
    ("a limit of 0", "search", {"query": "x", "limit": 0}, "limit"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "arguments", "says"), [other_row[1:] for other_row in REFUSED], ids=[other_row[0] for other_row in REFUSED]
)
def test_a_refusal_says_what_to_do_next(reader: Agent, tool: str, arguments: dict[str, Any], says: str) -> None:
    result = reader.raw(tool, **arguments)
    text = "".join(getattr(block, "text", "") for block in result.content)
    assert (result.is_error, says in text) == (True, True), text


MANIFESTS: list[tuple[str, str, str]] = [
    ("no JSON", "{", "JSON"),
    ("no object", "[]", "layers"),
    ("no layers", "{}", "layers"),
    ("a layer without a name", '{"layers": [{"level": 1, "path": "a"}]}', "name"),
    ("a name twice", '{"layers": [{"name": "a", "level": 1, "path": "a"}, {"name": "a", "level": 2, "path": "b"}]}', "a"),
    ("a level in words", '{"layers": [{"name": "a", "level": "high", "path": "a"}]}', "level"),
    ("half a level", '{"layers": [{"name": "a", "level": 1.5, "path": "a"}]}', "level"),
    ("an unknown source", '{"layers": [{"name": "a", "level": 1, "source": "ftp", "path": "a"}]}', "source"),
    ("no path", '{"layers": [{"name": "a", "level": 1}]}', "path"),
    ("no command", '{"layers": [{"name": "a", "level": 1, "source": "mcp"}]}', "command"),
    ("a profile without layers", '{"profiles": {"default": {"layer": []}}}', "layers"),
    ("no default profile", '{"profiles": {"work": {"layers": []}}}', "there are work"),
    ("two live layers", '{"layers": [{"name": "a", "level": 1, "path": "a", "live": true}, {"name": "b", "level": 2, "source": "live", "path": "b"}]}', "both live"),
    ("a repository that is none", '{"layers": [{"name": "a", "level": 1, "source": "github", "repo": "alone"}]}', "OWNER/NAME"),
    ("a remote that is an option", '{"layers": [{"name": "a", "level": 1, "source": "git", "url": "--upload-pack=x"}]}', "address"),
    ("a remote that is a program", '{"layers": [{"name": "a", "level": 1, "source": "git", "url": "ext::sh -c x"}]}', "address"),
    ("a credential in arguments", '{"layers": [{"name": "a", "level": 1, "source": "mcp", "command": "x", "args": ["--token", "abc"]}]}', "environment variable"),
    ("a misspelt key", '{"layers": [{"name": "a", "level": 1, "paht": "a"}]}', "path"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"), [other_row[1:] for other_row in MANIFESTS], ids=[other_row[0] for other_row in MANIFESTS]
)
def test_what_is_no_manifest_is_refused_at_start_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    (tmp_path / "layers.json").write_text(text)
    code = main(["mcp", "--manifest", str(tmp_path / "layers.json")])
    readouterr = capsys.readouterr()
    assert (code, readouterr.out, says in readouterr.err, readouterr.err.count("\n")) == (2, "", True, 1), (
        readouterr.err
    )
    assert str(tmp_path) not in readouterr.err


STARTS: list[tuple[str, tuple[str, ...], int]] = [
    ("personal without shared", ("mcp", "--personal", "a"), 2),
    ("shared without personal", ("mcp", "--shared", "a"), 2),
    ("a folder beside a manifest", ("mcp", "a", "--manifest", "layers.json"), 2),
    ("another toolset beside a manifest", ("mcp", "--toolset", "wiki", "--manifest", "layers.json"), 2),
    ("a profile beside a folder", ("mcp", "a", "--profile", "work"), 2),
    (
        "a profile that is not there",
        ("resolve", "--manifest", "layers.json", "--concept", "nofront", "--profile", "work"),
        2,
    ),
    (
        "the default profile of layers",
        ("resolve", "--manifest", "layers.json", "--concept", "nofront", "--profile", "default"),
        0,
    ),
    ("a concept at the command line", ("resolve", "--manifest", "layers.json", "--concept", "nofront"), 0),
    ("one that is not there", ("resolve", "--manifest", "layers.json", "--concept", "nix"), 1),
]


@pytest.mark.parametrize(("arguments", "code"), [start[1:] for start in STARTS], ids=[start[0] for start in STARTS])
def test_a_start_ends_with_its_code(manifest: Path, arguments: tuple[str, ...], code: int) -> None:
    with contextlib.chdir(manifest.parent):
        assert main(list(arguments)) == code
