"""A person with the tier admin sees bases, locks and findings, and makes, limits and revokes keys, in the browser."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest

from forms import HTML, page, sent
from serving import Answer, Server, commonplace, create_key, served
from support import GitRepo, new_repo

TIERS = ("read", "propose", "write", "admin")


@dataclass(frozen=True, slots=True)
class Site:
    """A server of a repository and of a plain folder, and the key of an administrator."""

    server: Server
    repo: GitRepo
    key: str

    def change(self, key: str = "", **fields: str) -> Answer:
        return sent(self.server, "/admin/keys", key=key or self.key, **fields)

    def status(self, key: str, path: str = "/p/a") -> int:
        return self.server.ask("GET", path, key=key, headers=HTML).status


@pytest.fixture
def site(tmp_path: Path, cache_dir: Path) -> Iterator[Site]:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "tea", {"a.md": "# A\n\n[[b]]\n", "inbox/b.md": "# B\n"})
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "c.md").write_text("# C\n")
    key = create_key("Ada", "--tier", "admin")
    with served(repo.path, tmp_path / "plain", "--commit", "manual") as server:
        page(server, "/p/a", key=key)
        yield Site(server, repo, key)


def test_a_key_is_made_shown_once_limited_used_and_revoked(site: Site) -> None:
    made = site.change(
        action="create", name="bot", tier="write", bases="some", **{"base-0": "on"}, folders="inbox/\n", pages="9"
    )
    html = made.body.decode()
    token = re.search(r'value="(cpk_[\w-]+)"', html)
    assert token, html
    assert made.headers["cache-control"] == "no-store"
    for words in ("below inbox", "9 files an hour", "not used yet", "tea"):
        assert words in html, words
    assert token[1] not in page(site.server, "/admin/keys", key=site.key), "it is shown once"
    state = Path(os.environ["XDG_STATE_HOME"])
    assert all(token[1].encode() not in path.read_bytes() for path in state.rglob("*") if path.is_file())
    assert site.status(token[1]) == 200
    assert site.status(token[1], "/p/@plain/c") == 404
    write = site.server.ask("PUT", "/api/v1/pages/out", {"content": "# Out\n"}, key=token[1])
    assert (write.status, b"writes in inbox/ only" in write.body) == (403, True)
    listed = page(site.server, "/admin/keys", key=site.key)
    assert listed.count("not used yet") == 0
    identifier = re.findall(r"<code>([0-9a-f]{8})</code>", listed)[1]
    assert site.change(action="limit", id=identifier, folders="out", types="", pages="", size="").status == 200
    again = site.server.ask("PUT", "/api/v1/pages/out%2Fx", {"content": "# Out\n"}, key=token[1])
    assert again.status == 201, again.body
    rows = commonplace("keys", "list", "--json").stdout
    assert '"last_used":"' in rows.replace(" ", "")
    assert '"folders":["out"]' in rows.replace(" ", "")
    assert site.change(action="revoke", id=identifier).status == 200
    assert site.status(token[1]) == 401
    assert "bot" not in page(site.server, "/admin/keys", key=site.key)


def test_wrong_forms_change_nothing_and_say_why(site: Site) -> None:
    before = page(site.server, "/admin/keys", key=site.key)
    own = re.findall(r"<code>([0-9a-f]{8})</code>", before)[0]
    for fields, status, words in (
        ({"action": "create", "name": "", "tier": "read"}, 422, "Invalid name"),
        ({"action": "create", "name": "x", "tier": "root"}, 422, "Invalid tier"),
        ({"action": "create", "name": "x", "tier": "read", "pages": "-1"}, 422, "Invalid number"),
        ({"action": "create", "name": "x", "tier": "read", "folders": "../out"}, 422, "out"),
        ({"action": "limit", "id": "none"}, 404, "There is no key"),
        ({"action": "revoke", "id": "none"}, 404, "There is no key"),
        ({"action": "revoke", "id": own}, 422, "Create another one first"),
        ({"action": "limit", "id": own, "folders": "inbox"}, 422, "Create another one first"),
        ({"action": "burn"}, 422, "names no change"),
    ):
        answer = site.change(**fields)
        assert (answer.status, words in unescape(answer.body.decode())) == (status, True), (fields, answer.body)
    for origin in ("https://example.org", ""):
        answer = sent(site.server, "/admin/keys", key=site.key, origin=origin, action="create", name="x", tier="admin")
        assert answer.status == 403, origin
    assert page(site.server, "/admin/keys", key=site.key) == before


def test_only_an_unlimited_key_of_the_tier_admin_reaches_keys(site: Site) -> None:
    some = create_key("some", "--tier", "admin", "--collection", "tea")
    folder = create_key("folder", "--tier", "admin", "--folder", "inbox")
    for key in (some, folder):
        for path in ("/admin/keys", "/admin/doctor"):
            assert site.status(key, path) == 403, path
        assert site.change(key, action="create", name="wider", tier="admin").status == 403
    overview = page(site.server, "/admin", key=some)
    assert (">tea<" in overview, ">plain<" in overview, "/admin/keys" in overview) == (True, False, False)
    for tier in TIERS:
        key = create_key(tier, "--tier", tier)
        wanted_number = 200 if tier == "admin" else 403
        for path in ("/admin", "/admin/keys", "/admin/doctor"):
            assert site.status(key, path) == wanted_number, (tier, path)
        assert ('href="/admin"' in page(site.server, "/p/a", key=key)) == (tier == "admin"), tier
        assert site.change(key, action="create", name="x", tier="read").status == wanted_number, tier
    assert site.server.ask("GET", "/admin/keys", headers=HTML).status == 401
    assert site.status(site.key, "/admin/none") == 404


def test_bases_locks_and_what_the_doctor_finds(site: Site) -> None:
    overview = page(site.server, "/admin", key=site.key)
    for words in ("2 pages", "folder in Git", "generation", site.repo.git("rev-parse", "HEAD")[:10], "Meaning"):
        assert words in overview, words
    with (site.repo.path / ".git" / "commonplace.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        held = page(site.server, "/admin", key=site.key)
        assert re.search(rf"Process {os.getpid()} \([^)]+\) has the writer lock now", held), held
    assert "The writer lock is free" in page(site.server, "/admin", key=site.key)
    stale = site.repo.path / ".git" / "index.lock"
    stale.touch()
    os.utime(stale, (1, 1))
    found_unescape = unescape(page(site.server, "/admin/doctor", key=site.key))
    for words in ("A killed git left index.lock", f"rm {stale}", "The index matches the files", "GB are free"):
        assert words in found_unescape, words
    stale.unlink()


def test_the_first_key_does_not_lock_its_maker_out(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    repo = new_repo(tmp_path / "tea", {"a.md": "# A\n"})
    with served(repo.path, "--tier", "admin") as server:
        assert "<option selected>admin</option>" in page(server, "/admin/keys")
        refused = sent(server, "/admin/keys", action="create", name="bot", tier="propose")
        assert refused.status == 422
        assert "The first key must be of the tier admin" in refused.body.decode()
        assert "There is no key" in page(server, "/admin/keys")
        made = sent(server, "/admin/keys", action="create", name="Ada", tier="admin").body.decode()
        token = re.search(r'value="(cpk_[\w-]+)"', made)
        assert token
        assert sent(server, "/admin/keys", key=token[1], action="create", name="bot", tier="propose").status == 200
