"""Tokens of a real identity provider that runs here, and a hosted assistant's whole way in, through a TLS proxy."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import secrets
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import jwt
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from identity import provider
from npm import needs_npm
from serving import Server, served
from support import ROOT, MakeRepo, eventually
from wiki_base import wiki_repo

PUBLIC = "https://notes.example.org"
METADATA = "/.well-known/oauth-protected-resource"
CLAIMS: dict[str, object] = {"aud": f"{PUBLIC}/mcp", "scope": "commonplace:read"}
"""Claims of a token with read access."""

pytestmark = [needs_npm, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with provider() as url:
        yield url


def token(issuer: str, **claims: object) -> str:
    """An access token that the provider gives to a machine, with these claims; one that is None is left out."""
    requested_values = {"grant_type": "client_credentials", "claims": json.dumps(CLAIMS | claims)}
    return httpx2.post(f"{issuer}/token", data=requested_values, timeout=30).json()["access_token"]


@pytest.fixture(scope="module")
def server(issuer: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("wiki")
    (folder / "Hub.md").write_text("Hub.\n")
    env = {name: str(tmp_path_factory.mktemp("xdg")) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    with served(folder, "--public-url", PUBLIC, "--oauth-issuer", issuer, "--log-level", "debug", env=env) as running:
        yield running


@pytest.mark.parametrize(
    ("scope", "tier"),
    [
        ("openid commonplace:read", "read"),
        ("commonplace:write", "write"),
        (["commonplace:read", "commonplace:admin"], "admin"),
    ],
)
def test_scopes_give_the_tier(scope: object, tier: str, server: Server, issuer: str) -> None:
    key = token(issuer, scope=scope)
    assert server.ask("GET", "/api/v1/pages", key=key).json["total"] >= 1
    written = server.page("PUT", f"by {tier} {secrets.token_hex(4)}", {"content": "x\n"}, key=key)
    assert written.status == (403 if tier == "read" else 201)
    tools = server.rpc("kb", "tools/list", {}, key=key)["tools"]
    names = {tool["name"] for tool in tools}
    assert ("kb_create" in names, "kb_commit" in names) == (tier != "read", tier == "admin")


@pytest.mark.parametrize(
    "scope", [None, "", "openid profile", "commonplace:adminx write", "commonplace:", ["read"], []]
)
def test_a_token_without_a_scope_of_ours_gets_nothing(scope: object, server: Server, issuer: str) -> None:
    key = token(issuer, scope=scope)
    for refused in (
        server.ask("GET", "/api/v1/pages", key=key),
        server.ask("GET", "/metrics", key=key),
        server.ask("POST", "/mcp/kb", {}, key=key),
    ):
        assert (refused.status, refused.json["kind"]) == (403, "scope")
        assert 'error="insufficient_scope", scope="commonplace:read"' in refused.headers["www-authenticate"]


@pytest.mark.parametrize("name", ["scope", "scp", "sub", "client_id", "azp", "nbf", "iat", "jti"])
def test_a_claim_of_another_type_is_an_invalid_token_and_no_failure(name: str, server: Server, issuer: str) -> None:
    values = (7, -1.5, True, {"commonplace:admin": 1}, [7], [["commonplace:admin"]], [None], "x" * 10_000)
    # Who someone is and what they may is read from every type; the others are dates and names that one rule checks.
    for value in values if name in {"scope", "scp", "sub"} else values[::3]:
        claims: dict[str, object] = {"scope": None} if name == "scp" else {}
        answer = server.ask("GET", "/api/v1/pages", key=token(issuer, **claims, **{name: value}))
        assert answer.status in {200, 401, 403}, (name, value, answer.body)
        if name in {"scope", "scp"}:
            assert answer.status == (403 if isinstance(value, str) else 401), (name, value)
    assert not [line for line in server.lines if "Traceback" in line]


def test_only_tokens_of_the_provider_for_this_server_and_this_time_open_the_door(server: Server, issuer: str) -> None:
    now = int(time.time())
    good = token(issuer)
    assert server.ask("GET", "/api/v1/pages", key=good).status == 200
    with provider() as stranger:
        foreign = token(stranger, iss=issuer)
    head, payload, signature = good.split(".")
    claims = jwt.decode(good, options={"verify_signature": False})
    public = json.dumps(httpx2.get(f"{issuer}/jwks", timeout=30).json()["keys"][0])
    bad = {
        "expired": token(issuer, exp=now - 60),
        "not yet valid": token(issuer, nbf=now + 600),
        "without an end": token(issuer, exp=None),
        "for another": token(issuer, aud="https://another.example.org/mcp"),
        "for all of the host": token(issuer, aud=PUBLIC),
        "for nobody": token(issuer, aud=None),
        "of another issuer": token(issuer, iss="https://elsewhere.example.org"),
        "signed by another": foreign,
        "with another signature": f"{head}.{payload}.{signature[:-4]}AAAA",
        "with another payload": f"{head}.{_encoded(claims | {'scope': 'commonplace:admin'})}.{signature}",
        "not signed": f"{_encoded({'alg': 'none'})}.{payload}.",
        "signed with the public key": _signed(claims, public.encode()),
        "no token": "a.b.c",
    }
    for what, key in bad.items():
        refused = server.ask("GET", "/api/v1/pages", key=key)
        assert refused.status == 401, what
        assert 'error="invalid_token"' in refused.headers["www-authenticate"], what
    said = "".join(server.lines)
    assert all(key not in said for key in (good, *bad.values()))


def _encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _signed(claims: object, secret: bytes) -> str:
    """A token signed as if the provider's public key were a shared secret."""
    text = f"{_encoded({'alg': 'HS256', 'typ': 'JWT'})}.{_encoded(claims)}"
    seal = hmac.digest(secret, text.encode(), "sha256")
    return f"{text}.{base64.urlsafe_b64encode(seal).decode().rstrip('=')}"


def test_a_client_without_a_token_learns_where_to_get_one(server: Server, issuer: str) -> None:
    refused = server.ask("POST", "/mcp", {})
    assert refused.status == 401
    assert refused.headers["www-authenticate"] == f'Bearer resource_metadata="{PUBLIC}{METADATA}"'
    for path in (METADATA, f"{METADATA}/mcp"):
        document = server.ask("GET", path).json
        assert document["resource"] == f"{PUBLIC}/mcp"
        assert document["authorization_servers"] == [issuer]
        scopes = ["commonplace:read", "commonplace:propose", "commonplace:write", "commonplace:admin"]
        assert document["scopes_supported"] == scopes


def test_a_provider_that_is_away_is_told_from_a_wrong_token(git_repo: MakeRepo, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    with provider() as gone:
        key = token(gone)
    with served(wiki_repo(git_repo).path, "--public-url", PUBLIC, "--oauth-issuer", gone) as server:
        answer = server.ask("GET", "/api/v1/pages", key=key)
        assert (answer.status, answer.json["kind"]) == (503, "oauth")
        assert answer.headers["retry-after"]


@contextmanager
def proxy(folder: Path, port: int, upstream: int) -> Iterator[ssl.SSLContext]:
    """nginx as docs/hosting.md sets it up, with a certificate of its own; what a client must trust."""
    certificate, secret = folder / "certificate.pem", folder / "secret.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*made, "-keyout", secret, "-out", certificate], check=True, capture_output=True)
    match = re.search(r"```nginx\n(.*?)```", (ROOT / "docs" / "hosting.md").read_text(), re.DOTALL)
    assert match
    site = re.sub(r"(ssl_certificate) .*?;", rf"\1 {certificate};", match[1])
    site = re.sub(r"(ssl_certificate_key) .*?;", rf"\1 {secret};", site)
    site = site.replace("listen 443", f"listen 127.0.0.1:{port}").replace(":8090", f":{upstream}")
    site = site.replace("notes.example.org", "localhost")
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;\n" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user}daemon off;\npid {folder}/pid;\nevents {{}}\nhttp {{\naccess_log off;\n{temporary}{site}}}\n"
    )
    errors = folder / "errors"
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
    process = subprocess.Popen([nginx or "nginx", "-e", errors, "-p", folder, "-c", folder / "nginx.conf"])
    try:
        eventually(lambda: _listens(port, process), 30)
        yield ssl.create_default_context(cafile=str(certificate))
    finally:
        process.terminate()
        process.wait()


def _listens(port: int, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(
    "REQUIRE_TOOLS" not in os.environ and not shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin"),
    reason="needs nginx, the TLS proxy that docs/hosting.md sets up",
)
def test_a_hosted_assistant_finds_its_way_in_through_a_tls_proxy(
    git_repo: MakeRepo, cache_dir: Path, tmp_path: Path, issuer: str
) -> None:
    assert cache_dir.is_dir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    public = f"https://localhost:{port}"
    issuers = ["--toolset", "wiki", "--public-url", public, "--oauth-issuer", issuer]
    with served(wiki_repo(git_repo).path, *issuers) as server, proxy(tmp_path, port, server.port) as trusted:
        with httpx2.Client(verify=trusted, timeout=30) as browser:
            refused = browser.post(f"{public}/mcp", json={})
            match = re.search(r'resource_metadata="(.*?)"', refused.headers["www-authenticate"])
            assert match
            metadata = browser.get(match[1]).json()
            key = _signed_in(browser, metadata["authorization_servers"][0], metadata["resource"])
            assert browser.get(f"{public}/api/v1/pages", headers={"Host": "evil.example"}).status_code == 421
        shown = anyio.run(_listed, f"{public}/mcp", key, trusted)
    assert shown.startswith("Found 6 notes:")


def _signed_in(browser: httpx2.Client, issuer: str, resource: str) -> str:
    """An access token for a person, by authorization code with PKCE and a resource indicator."""
    about = browser.get(f"{issuer}/.well-known/openid-configuration").json()
    verifier = secrets.token_urlsafe(48)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    back = "https://assistant.example.org/callback"
    params = {
        "response_type": "code", "client_id": "assistant", "redirect_uri": back, "scope": "commonplace:read",
        "state": "s", "code_challenge": challenge, "code_challenge_method": "S256", "resource": resource,
    }  # fmt: skip
    sent_back = browser.get(about["authorization_endpoint"], params=params)
    code = parse_qs(urlsplit(sent_back.headers["location"]).query)["code"][0]
    given_values = {
        "grant_type": "authorization_code", "code": code, "redirect_uri": back, "client_id": "assistant",
        "code_verifier": verifier, "resource": resource, "claims": json.dumps({"scope": "commonplace:read"}),
    }  # fmt: skip
    return browser.post(about["token_endpoint"], data=given_values).json()["access_token"]


async def _listed(url: str, key: str, trusted: ssl.SSLContext) -> str:
    headers: dict[str, str] = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, verify=trusted, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        result: Any = await client.call_tool("list_notes", {})
        return result.content[0].text
