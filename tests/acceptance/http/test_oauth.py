"""Tokens of a real identity provider that runs here: which of them open the door, and which do not."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from serving import served
from support import MakeRepo, eventually
from wiki_base import wiki_repo

PROVIDER = "oauth2-mock-server@8"
PUBLIC = "https://notes.example.org"

pytestmark = [
    pytest.mark.skipif(shutil.which("npx") is None, reason="needs npx, which runs the identity provider"),
    pytest.mark.timeout(300),
]


@contextmanager
def provider(folder: Path) -> Iterator[str]:
    """An identity provider on a free port; its issuer URL."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    asked = f"exec oauth2-mock-server -a localhost -p {port}"
    with (folder / f"provider-{port}.log").open("w") as log:
        command = ["npx", "-y", "-p", "node@22.23.3", "-p", PROVIDER, "-c", asked]
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            issuer = f"http://localhost:{port}"
            eventually(lambda: _answers(f"{issuer}/.well-known/openid-configuration"), 150)
            yield issuer
        finally:
            process.terminate()
            process.wait()


def _answers(url: str) -> bool:
    try:
        return httpx2.get(url, timeout=2).is_success
    except httpx2.HTTPError:
        return False


def token(issuer: str, **more: str) -> str:
    """An access token that the provider gives to a machine."""
    answer = httpx2.post(f"{issuer}/token", data={"grant_type": "client_credentials", **more}, timeout=30)
    return answer.json()["access_token"]


def test_only_tokens_of_the_provider_for_this_server_open_the_door(
    git_repo: MakeRepo, cache_dir: Path, tmp_path: Path
) -> None:
    assert cache_dir.is_dir()
    repo = wiki_repo(git_repo)
    with provider(tmp_path) as issuer, provider(tmp_path) as stranger:
        audience = f"{PUBLIC}/mcp"
        good = token(issuer, aud=audience, scope="commonplace:write")
        claims = _claims(good)
        options = ["--public-url", PUBLIC, "--oauth-issuer", issuer]
        if claims.get("aud") != audience:
            options += ["--oauth-audience", str(claims.get("aud"))]
        with served(repo.path, *options) as server:
            refused = server.ask("GET", "/api/v1/pages")
            assert refused.status == 401
            where = f"{PUBLIC}/.well-known/oauth-protected-resource"
            assert refused.headers["www-authenticate"] == f'Bearer resource_metadata="{where}"'
            metadata = server.ask("GET", "/.well-known/oauth-protected-resource").json
            assert metadata["authorization_servers"] == [issuer]
            assert server.ask("GET", "/api/v1/pages", key=good).status == 200, claims
            foreign = token(stranger, aud=audience, scope="commonplace:write")
            head, payload, signature = good.split(".")
            for bad in (foreign, f"{head}.{payload}.{signature[:-4]}AAAA", f"eyJhbGciOiJub25lIn0.{payload}.", "a.b.c"):
                assert server.ask("GET", "/api/v1/pages", key=bad).status == 401
            assert good not in "".join(server.lines)
        with served(repo.path, *options[:4], "--oauth-audience", "https://another.example.org") as server:
            assert server.ask("GET", "/api/v1/pages", key=good).status == 401


def _claims(access_token: str) -> dict[str, object]:
    payload = access_token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
