"""Access control: keys, tiers and collections on every endpoint and every tool, rate limits, and secrecy."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from commonplace.faces.access.authentication import KeyStore
from commonplace.faces.mcp.proposals import PROPOSALS
from commonplace.faces.rest import proposals
from commonplace.faces.rest.endpoint import Endpoint
from commonplace.registration import load, registered, registration_of
from serving import Server, commonplace, create_key, served
from support import GitRepo, MakeRepo, new_repo
from wiki_base import wiki_repo

API = "/api/v1"
TIERS = ("read", "propose", "write", "admin")
OF_REMOTES = {"sync_storage", "status", "diff", "push"}
"""Tools of the tier `write` that have no write to propose: they ask or change a remote."""
CANARY = "canary-7f3a9c1e"
OVER_ALL = (f"{API}/activity", f"{API}/undo")
"""Endpoints that answer for the collections of the caller, also if there are none."""
OPEN_PATHS = {f"{API}/health", f"{API}/openapi.json"}
CONFINED = ("kb", "notes", "wiki", "pages")
"""Toolsets that serve keys of some collections."""


@dataclass(frozen=True, slots=True)
class Site:
    """A server of two collections, of which one holds canaries, and a key for each tier and collection."""

    server: Server
    closed: GitRepo
    keys: dict[tuple[str, str], str]
    """Keys by tier, and by `all`, `open` or `nowhere`."""
    endpoints: list[tuple[str, str, Endpoint]]
    """Method, and path of a page that is in the closed collection, of each endpoint."""
    proposal: str
    """Id of a proposal to the closed collection."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    shared = new_repo(folder / "open", {"Open.md": "---\ncategory: a\n---\nshared [[closed:Closed]]\n"})
    closed = new_repo(folder / "closed", {"Closed.md": f"{CANARY} shared [[open:Open]]\n", "More.md": f"{CANARY}\n"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        scopes = {"all": None, "open": ("open",), "nowhere": ("other",)}
        stored = KeyStore(folder / "state" / "commonplace")
        keys = {
            (tier, name): stored.create(f"{name} {tier}", tier, collections)[0]
            for tier, (name, collections) in product(TIERS, scopes.items())
        }
        env = {"KNOWLEDGE_MCP_HOME": str(folder / "projects")}
        with served(closed.path, shared.path, "--log-level", "debug", env=env) as server:
            key = create_key("agent", "--tier", "propose", "--collection", "closed")
            assert server.page("PUT", "Proposed", {"content": CANARY}, key=key).status == 201
            (proposal,) = server.ask("GET", f"{API}/proposals", key=keys["write", "all"]).json["proposals"]
            yield Site(server, closed, keys, _endpoints(server, keys, proposal["id"]), proposal["id"])


def _endpoints(server: Server, keys: Mapping[tuple[str, str], str], proposal: str) -> list[tuple[str, str, Endpoint]]:
    paths = server.ask("GET", f"{API}/openapi.json", key=keys["read", "all"]).json["paths"]
    rows: list[tuple[str, str, Endpoint]] = []
    for endpoint in (
        *load(registration_of("wiki").rest).endpoints(),
        *proposals.endpoints(),
        *proposals.activity_endpoints(),
    ):
        assert endpoint.method.lower() in paths.pop(endpoint.template, {endpoint.method.lower()})
        path = API + endpoint.template.replace("{path}", "Closed").replace("{filename}", "n.png")
        path += "?q=shared" if endpoint.template.endswith("search") else ""
        rows.append((endpoint.method, path.replace("{id}", proposal).replace("{session}", "0" * 16), endpoint))
    assert not paths
    return rows


def _may(endpoint: Endpoint, tier: str) -> bool:
    """Whether a tier may call an endpoint: from its own tier up, and at `propose` what is proposed there."""
    needed = "read" if endpoint.tier is None else endpoint.tier
    return TIERS.index(tier) >= TIERS.index(needed) or (tier, needed, endpoint.proposes) == ("propose", "write", True)


BODIES: dict[str, Any] = {
    "PUT": {"content": "changed\n", "revision": "1234567"},
    "PATCH": {"revision": "1234567", "old_string": "shared", "new_string": "x"},
    "DELETE": {"revision": "1234567"},
    "POST": {"new_path": "Closed2", "filename": "n.png", "content": "aGk="},
}


@pytest.mark.parametrize("scope", ["all", "open", "nowhere"])
@pytest.mark.parametrize("tier", TIERS)
def test_every_endpoint_heeds_tier_and_collection(tier: str, scope: str, site: Site) -> None:
    for method, path, endpoint in site.endpoints:
        if "/proposals" in path:
            continue
        body = {"revision": "1234567"} if path.endswith("/restore") else BODIES.get(method)
        answer = site.server.ask(method, path, body, key=site.keys[tier, scope])
        if path in OPEN_PATHS:
            assert answer.status == 200
        elif not _may(endpoint, tier) or (scope == "nowhere" and not path.startswith(OVER_ALL)):
            assert answer.status == 403, (method, path, answer.body)
            assert answer.json["hint"]
        elif path.endswith("/rename") and scope == "all":
            assert answer.status == 200
            undone = site.server.page(
                "POST", "Closed2", {"new_path": "Closed"}, below="/rename", key=site.keys[tier, scope]
            )
            assert undone.status == 200
        else:
            assert answer.status not in {401, 403, 500}, (method, path, answer.body)
        if scope != "all":
            assert CANARY.encode() not in answer.body, path
            assert b"More" not in answer.body, path
    if scope == "open":
        _only_open_is_seen(site.server, site.keys[tier, scope])


@pytest.mark.parametrize("scope", ["all", "open", "nowhere"])
@pytest.mark.parametrize("tier", TIERS)
def test_a_proposal_is_seen_by_its_proposer_and_by_those_who_decide(tier: str, scope: str, site: Site) -> None:
    is_seen = tier in {"write", "admin"} and scope == "all"
    for method, path, endpoint in site.endpoints:
        if "/proposals" not in path or (is_seen and path.endswith(("/accept", "/decline"))):
            continue
        answer = site.server.ask(method, path, key=site.keys[tier, scope])
        if not _may(endpoint, tier):
            assert answer.status == 403, (path, answer.body)
        elif path.endswith("/proposals"):
            assert (site.proposal in {proposal["id"] for proposal in answer.json["proposals"]}) is is_seen
        elif is_seen:
            assert answer.status == (200 if method == "GET" else 403), (path, answer.body)
        else:
            assert answer.status == 404, (path, answer.body)
        assert is_seen or b"Proposed" not in answer.body, path


def _only_open_is_seen(server: Server, key: str) -> None:
    assert server.ask("GET", f"{API}/pages/Closed", key=key).status == 404
    assert server.ask("GET", f"{API}/pages/Open", key=key).json["linked_from"] == []
    assert server.ask("GET", f"{API}/search?q={CANARY}", key=key).json["total"] == 0
    assert server.ask("GET", f"{API}/links", key=key).json["nodes"] == [{"path": "Open", "exists": True}]
    assert server.ask("GET", f"{API}/changelog", key=key).json["total"] == 1


VALUES = ("Closed", "closed:Closed", "closed", "shared")


@pytest.mark.parametrize("toolset", [registration.name for registration in registered()])
@pytest.mark.parametrize("tier", TIERS)
def test_every_tool_heeds_tier_and_collection(tier: str, toolset: str, site: Site) -> None:
    rows = load(registration_of(toolset).mcp).tools
    allowed = [row for row in rows if TIERS.index(row.tier) <= TIERS.index(tier)]
    if tier == "propose":
        allowed = [row for row in rows if row.tier != "admin" and row.name not in OF_REMOTES]
        allowed += [] if PROPOSALS in allowed or toolset == "notes" else [PROPOSALS]
    head = site.closed.git("rev-parse", "HEAD")
    whole = site.server.rpc(toolset, "tools/list", {}, key=site.keys[tier, "all"])
    assert [tool["name"] for tool in whole["tools"]] == [row.name for row in allowed]
    for row in rows:
        if row not in allowed:
            for scope in ("all", "open"):
                refused = site.server.call(toolset, row.name, {}, key=site.keys[tier, scope])
                assert "error" in refused, row.name
                assert toolset not in CONFINED or refused["error"]["code"] == -32602
    for tool, row in zip(whole["tools"], allowed, strict=True):
        # What a tool reads is the same at every tier, and a write is another thing as a proposal only.
        is_other = tier == "admin" or (tier == "propose" and not row.only_reads)
        values = VALUES if is_other and toolset in CONFINED else VALUES[1:2]
        for scope, chosen in (("open", values), ("nowhere", VALUES[1:2])):
            for arguments in _calls(tool["inputSchema"], chosen):
                said = json.dumps(site.server.call(toolset, tool["name"], arguments, key=site.keys[tier, scope]))
                assert CANARY not in said, (tool["name"], arguments)
                assert "More" not in said, (tool["name"], arguments)
                assert toolset in CONFINED or '"forbidden"' in said, (tool["name"], said)
    assert site.closed.git("rev-parse", "HEAD") == head
    assert site.closed.git("status", "--porcelain") == ""


def _calls(schema: dict[str, Any], values: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Arguments that a schema allows, as far as names and types tell, with every text naming what is closed."""
    given: list[dict[str, Any]] = []
    for value, whole in product(values, (False, True)):
        names = schema.get("properties", {}) if whole else schema.get("required", [])
        arguments = {name: _value(schema["properties"][name], value) for name in names}
        if arguments not in given:
            given.append(arguments)
            yield arguments


def _value(schema: dict[str, Any], text: str) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "array":
        return [_value(schema.get("items", {}), text)]
    return {"string": text, "integer": 1, "number": 1, "boolean": True, "object": {}}.get(str(kind), text)


async def _read_in_the_older_era(url: str, key: str) -> str:
    headers: dict[str, str] = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode="legacy") as client,
    ):
        result: Any = await client.call_tool("read_note", {"path": "Closed"})
        return result.content[0].text


def test_no_secret_is_logged_or_counted(site: Site) -> None:
    key = site.keys["write", "all"]
    assert CANARY in json.dumps(site.server.call("wiki", "read_note", {"path": "Closed"}, key=key))
    assert CANARY in anyio.run(_read_in_the_older_era, f"{site.server.url}/mcp/wiki", key)
    assert site.server.page("PUT", "Secret", {"content": CANARY}, key=key).status == 201
    assert site.server.call("wiki", "delete_note", {"path": "Secret", "commit_message": CANARY}, key=key)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    for wrong in ({"x": CANARY}, call | {"params": CANARY}, call | {"method": CANARY}, [CANARY], call | {"id": CANARY}):
        assert site.server.ask("POST", "/mcp/wiki", wrong, key=key).status in {400, 406}
    said = "".join(site.server.lines)
    assert all(key not in said for key in site.keys.values())
    assert CANARY not in said
    assert CANARY.encode() not in site.server.ask("GET", "/metrics", key=site.keys["read", "all"]).body


@pytest.fixture
def repo(git_repo: MakeRepo, cache_dir: Path) -> GitRepo:
    assert cache_dir.is_dir()
    return wiki_repo(git_repo)


def test_keys_are_created_listed_revoked_and_stored_as_digests(repo: GitRepo) -> None:
    with served(repo.path) as server:
        assert server.ask("GET", f"{API}/pages").status == 200
        key = create_key("laptop", "--tier", "write")
        assert key.startswith("cpk_")
        assert server.ask("GET", f"{API}/pages").status == 401
        for wrong in ("x", key[:-1], f"{key}x", key.upper(), "Basic"):
            answer = server.ask("GET", f"{API}/pages", key=wrong)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Bearer error="invalid_token"')
            assert answer.json["hint"]
        assert server.ask("GET", f"{API}/pages", key=key).status == 200
        assert server.ask("GET", f"{API}/health").status == 200
        for route in ("/mcp", "/metrics", f"{API}/openapi.json", "/nothing"):
            refused = server.ask("GET", route)
            assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer"), route
        listed = json.loads(commonplace("keys", "list", "--json").stdout)
        assert [(row["name"], row["tier"], row["collections"]) for row in listed["keys"]] == [("laptop", "write", None)]
        assert commonplace("keys", "revoke", "laptop").returncode == 0
        again = create_key("other")
        assert server.ask("GET", f"{API}/pages", key=key).status == 401
        assert server.ask("GET", f"{API}/pages", key=again).status == 200
        assert commonplace("keys", "revoke", "other").returncode == 0
        assert server.ask("GET", f"{API}/pages", key=again).status == 401
        assert server.ask("GET", f"{API}/pages").status == 401, "revoking the last key opens nothing"
    assert commonplace("keys", "revoke", "nobody").returncode == 3
    assert commonplace("keys", "create", "x", "--tier", "root").returncode == 4
    last = create_key("last")
    (file,) = (Path(p) for p in Path(os.environ["XDG_STATE_HOME"]).rglob("keys.json"))
    stored = file.read_text()
    assert all(secret not in stored for secret in (key, again, last))
    assert file.stat().st_mode & 0o077 == 0


def test_a_key_that_came_and_went_between_two_requests_closes_a_server_without_keys(repo: GitRepo) -> None:
    with served(repo.path) as server:
        assert server.ask("GET", f"{API}/pages").status == 200
        create_key("short")
        assert commonplace("keys", "revoke", "short").returncode == 0
        assert server.ask("GET", f"{API}/pages").status == 401
    with served(repo.path) as server:
        assert server.ask("GET", f"{API}/pages").status == 200, "no key is there at the start"
        create_key("short")
        assert commonplace("keys", "revoke", "short").returncode == 0
        assert server.ask("GET", f"{API}/pages").status == 401


def test_the_servers_own_key_has_the_servers_tier_and_rate(repo: GitRepo) -> None:
    with served(repo.path, "--tier", "read", "--rate-limit", "30", env={"OTTERWIKI_API_KEY": "k"}) as server:
        refused = server.page("PUT", "x", {"content": "x"}, key="k")
        assert (refused.status, refused.json["code"]) == (403, "forbidden")
        answers = [server.ask("GET", f"{API}/pages", key="k") for _ in range(40)]
        late = [answer for answer in answers if answer.status == 429]
        assert late
        assert {answer.status for answer in answers} == {200, 429}
        assert int(late[0].headers["retry-after"]) in {1, 2}
        assert late[0].json["hint"]
        assert server.ask("GET", "/health").status == 200


def test_other_addresses_need_a_key_first(repo: GitRepo) -> None:
    everywhere = ".".join("0000")
    done = commonplace("serve", repo.path, "--host", everywhere, "--port", "0")
    assert done.returncode == 2
    assert "Others can reach 0.0.0.0, and no key is needed there." in done.stderr
    with served(repo.path, "--host", everywhere, "--allow-anonymous") as server:
        assert server.ask("GET", f"{API}/pages").status == 200
        assert server.ask("GET", f"{API}/pages", headers={"Host": "evil.example"}).status == 421
        for origin in ("http://6.6.6.6", "http://192.168.1.9:3000"):
            assert server.ask("GET", f"{API}/pages", headers={"Origin": origin}).status == 403
            assert server.ask("PUT", f"{API}/pages/x", {"content": "x"}, headers={"Origin": origin}).status == 403
    with served(repo.path, "--host", everywhere, env={"OTTERWIKI_API_KEY": "k"}) as server:
        assert server.ask("GET", f"{API}/pages").status == 401
        assert server.ask("GET", f"{API}/pages", key="k").status == 200
