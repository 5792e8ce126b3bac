"""The pages of a running server, as a browser without scripts gets them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

import pytest

from serving import Answer, Server, create_key, served
from shell import Shell
from support import GitRepo, new_repo

HTML = {"Accept": "text/html"}
FILES: dict[str, str | bytes] = {
    "index.md": "---\ntags: [start]\n---\n# Handbook\n\nSee [[Guide]] and [[Not yet]].\n",
    "guides/guide.md": "---\ntitle: Guide\ntype: note\ntags: [how/to]\nsource: https://source.example/x\n---\n"
    "Intro.\n\n## Setup\n\nInstall it.\n\n## Use\n\nAs [[index]] says.\n",
    "guides/old.md": "# Old name\n\n" + "".join(f"Line {number} of a text that stays.\n" for number in range(12)),
    "guides/gone.md": "# Gone\n\nLast words.\n",
    "broken.md": "---\ntags: [a\n---\n# Broken\n\nText.\n",
    "files/pic.svg": '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    "files/data.html": "<script>alert(1)</script>",
    "binary.md": b"\xff\xfe\x00 no text \x80",
    "Odd & <name> 100%.md": "# Odd\n",
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    made = new_repo(tmp_path_factory.mktemp("site") / "handbook", FILES)
    (made.path / "guides/new.md").write_text((made.path / "guides/old.md").read_text() + "One more line.\n")
    made.git("rm", "-q", "guides/old.md", "guides/gone.md")
    made.git("add", "-A")
    made.git("commit", "-qm", "Rename old, drop gone\n\nCo-authored-by: Some Agent <agent@example.org>")
    return made


@pytest.fixture(scope="module")
def server(repo: GitRepo) -> Iterator[Server]:
    with served(repo.path) as running:
        get(running, "/")  # suggestions do not wait for the first index
        yield running


def get(server: Server, path: str, **headers: str) -> Answer:
    answer = server.ask("GET", path, headers={**HTML, **headers})
    while answer.status == 503 and answer.headers.get("refresh"):
        answer = server.ask("GET", path, headers={**HTML, **headers})
    return answer


def text(answer: Answer) -> str:
    return answer.body.decode()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", "Where to begin|Recent changes"),
        ("/p/guides/guide", '<h2 id="setup">Setup'),
        ("/p/guides/guide", '<a class="external" href="https://source.example/x"'),
        ("/p/index", 'class="wanted" href="/wanted/Not%20yet"'),
        ("/p/guides/guide", "Linked from 1 page"),
        ("/p/broken", "Something is wrong with this file"),
        ("/p/binary", "Something is wrong with this file"),
        ("/p/" + quote("Odd & <name> 100%"), '<h1 id="odd">Odd'),
        ("/tree/", "guides/"),
        ("/tree/guides/", "Guide"),
        ("/tags", "#how"),
        ("/tags/how", "Guide"),
        ("/types", "note"),
        ("/types/note", "Guide"),
        ("/timeline", "Handbook"),
        ("/search?q=install", "<mark>Install</mark>"),
        ("/search?q=type:note", "Guide"),
        ("/search?q=%22", "Search"),
        ("/suggest?q=gui", 'role="option"'),
        ("/recent", "with Some Agent"),
        ("/history/guides/guide", "this version"),
        ("/wanted", "Not yet"),
        ("/broken", "Not yet"),
        ("/orphans", "Odd"),
        ("/findings", "severity-"),
        ("/attachments", "files/pic.svg"),
        ("/graph", "Pages with most links"),
        ("/sections/guides/guide", "Setup"),
        ("/mentions/index", "Mentions of"),
        ("/backlinks/index", "Links to"),
        ("/preview/guides/guide?fragment=use", "As "),
        ("/agent/guides/guide", "Install it."),
    ],
)
def test_a_page_of_each_kind_is_there(server: Server, path: str, expected: str) -> None:
    answer = get(server, path)

    assert answer.status == 200, text(answer)
    assert re.search(expected, text(answer)) or expected in text(answer)
    assert answer.headers["content-security-policy"].startswith("default-src 'self'; object-src 'none'")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=", text(answer))


def test_one_document_has_one_url(server: Server) -> None:
    for path in ("/p/guides/guide.md", "/p/Guide", "/p/@handbook/guides/guide"):
        answer = get(server, path)
        assert (answer.status, answer.headers["location"]) == (302, "/p/guides/guide"), path


def test_a_renamed_page_leads_to_its_new_name(server: Server) -> None:
    answer = get(server, "/p/guides/old")

    assert (answer.status, answer.headers["location"]) == (302, "/p/guides/new")


def test_a_page_that_is_gone_says_who_removed_it_and_shows_its_last_version(server: Server) -> None:
    answer = get(server, "/p/guides/gone")

    assert answer.status == 404
    assert "This page was removed" in text(answer)
    assert "Rename old, drop gone" in text(answer)
    assert "with Some Agent" in text(answer)
    link = re.search(r'href="(/p/guides/gone\?at=[0-9a-f]{40})"', text(answer))
    assert link
    assert "Last words." in text(get(server, link[1]))


def test_a_page_that_never_was_names_near_ones_and_who_links_to_it(server: Server) -> None:
    answer = get(server, "/p/Not%20yet")

    assert answer.status == 404
    assert "does not exist yet" in text(answer)
    assert "Pages that link to it" in text(answer)


def test_a_commit_shows_what_it_changed_side_by_side_and_inline(server: Server) -> None:
    link = re.search(r'href="(/commit/[0-9a-f]{40})"', text(get(server, "/recent")))
    assert link
    assert "One more line." in text(get(server, link[1]))
    inline = text(get(server, f"{link[1]}?view=inline"))
    assert 'class="diff diff-inline"' in inline
    assert "Last words." in inline


def test_what_an_agent_sees_is_what_mcp_gives(server: Server) -> None:
    rpc = server.rpc("notes", "tools/call", {"name": "read", "arguments": {"page": "guides/guide.md"}})
    shown = re.search(
        r'<pre class="agent-text" tabindex="0">(.*?)</pre>', text(get(server, "/agent/guides/guide")), re.DOTALL
    )

    assert shown
    assert _unescaped(shown[1]) == rpc["content"][0]["text"]


def _unescaped(html: str) -> str:
    from html import unescape  # noqa: PLC0415

    return unescape(html)


def test_files_never_run(server: Server) -> None:
    image = get(server, "/files/files/pic.svg")
    assert image.headers["content-type"] == "image/svg+xml"
    assert image.headers["content-security-policy"].endswith("sandbox")
    other = get(server, "/files/files/data.html")
    assert other.headers["content-type"] == "application/octet-stream"
    assert other.headers["content-disposition"] == "attachment"


NO_PATHS = [
    "/p/../../etc/passwd",
    "/files/../serving.py",
    "/files/.git/config",
    "/raw/.git/HEAD",
    "/p/%00",
    "/tree/%2e%2e/",
    "/commit/--output=x",
    "/files/",
    "/xyz",
    "/static/0/app.js",
]


@pytest.mark.parametrize("path", NO_PATHS)
def test_a_path_that_is_none_is_not_found(server: Server, path: str) -> None:
    assert get(server, path).status == 404


def test_programs_get_errors_as_json(server: Server) -> None:
    get(server, "/")  # once the index is there
    answer = server.ask("GET", "/p/none-such-path")
    other = server.ask("GET", "/xyz")

    assert answer.status == 404
    assert other.json["kind"] == "url"
    assert server.ask("POST", "/p/guides/guide").status == 405
    assert server.ask("PUT", "/xyz").json == other.json


def test_an_unchanged_page_is_not_sent_again(server: Server) -> None:
    first = get(server, "/p/guides/guide")

    again = get(server, "/p/guides/guide", **{"If-None-Match": first.headers["etag"]})

    assert (again.status, again.body) == (304, b"")


def test_the_feed_and_the_search_description_are_valid_xml(server: Server) -> None:
    feed = ET.fromstring(get(server, "/feed.atom").body)  # noqa: S314 - the server's own
    atom = "{http://www.w3.org/2005/Atom}"
    assert next(feed.iter(f"{atom}entry")).findtext(f"{atom}title") == "Rename old, drop gone"
    only = ET.fromstring(get(server, "/feed.atom?folder=none").body)  # noqa: S314 - the server's own
    assert not list(only.iter(f"{atom}entry"))
    described = ET.fromstring(get(server, "/opensearch.xml").body)  # noqa: S314 - the server's own
    assert "{searchTerms}" in ET.tostring(described, encoding="unicode")


def test_the_stream_of_changes_answers_head_as_get(server: Server) -> None:
    answered = server.ask("HEAD", "/events", headers=HTML)
    assert answered.status == 200
    assert answered.headers["content-type"] == "text/event-stream"
    assert answered.body == b""


def test_a_change_is_told_within_a_second_of_being_noticed(server: Server, repo: GitRepo) -> None:
    import http.client  # noqa: PLC0415

    get(server, "/")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", "/events")
    stream = connection.getresponse()
    assert stream.readline() == b": open\n"
    lines: list[bytes] = []
    done = threading.Event()

    def listen() -> None:
        while line := stream.readline():
            lines.append(line)
            if b"index.md" in line:
                done.set()
                return

    threading.Thread(target=listen, daemon=True).start()
    page = repo.path / "index.md"
    before = page.read_bytes()
    page.write_bytes(before + b"\nMore.\n")
    try:
        assert done.wait(30), lines
    finally:
        page.write_bytes(before)
        connection.close()


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, dict[str, str]]]:
    root = tmp_path_factory.mktemp("closed")
    secret: dict[str, str | bytes] = {
        "plans/secret.md": "---\ntags: [hush]\n---\n# Canary plan\n\n[[handbook:index]]\n"
    }
    open_repo, hidden = new_repo(root / "handbook", FILES), new_repo(root / "vault", secret)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(root / "state"))
        keys = {"all": create_key("all"), "one": create_key("one", "--collection", "handbook")}
        with served(open_repo.path, hidden.path) as running:
            yield running, keys


def test_without_a_key_there_is_only_the_form(closed: tuple[Server, dict[str, str]]) -> None:
    server, _ = closed
    answer = get(server, "/p/@vault/plans/secret?x=1")

    assert answer.status == 401
    assert 'name="next" value="/p/@vault/plans/secret?x=1"' in text(answer)
    assert "handbook" not in text(answer)
    assert server.ask("GET", "/").headers["www-authenticate"].startswith("Bearer")


def signed_in(server: Server, key: str, **headers: str) -> Answer:
    body = f"key={quote(key)}&next=%2Ftags".encode()
    sent = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    return server.ask("POST", "/sign-in", body, headers=sent)


def test_a_key_is_kept_as_a_cookie_that_pages_alone_accept(closed: tuple[Server, dict[str, str]]) -> None:
    server, keys = closed
    answer = signed_in(server, keys["all"])
    cookie = answer.headers["set-cookie"]
    headers = {"Cookie": cookie.partition(";")[0]}

    assert (answer.status, answer.headers["location"]) == (303, "/tags")
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Secure" not in cookie
    assert "; Secure" in signed_in(server, keys["all"], **{"X-Forwarded-Proto": "https"}).headers["set-cookie"]
    assert get(server, "/", **headers).status == 200
    assert server.ask("GET", "/api/v1/pages", headers=headers).status == 401
    assert server.ask("POST", "/mcp/kb", {}, headers=headers).status == 401
    assert get(server, "/", Cookie="commonplace_key=wrong").status == 401
    gone = server.ask("POST", "/sign-out", headers=headers).headers["set-cookie"]
    assert "Max-Age=0" in gone


def test_a_form_of_another_site_signs_nobody_in(closed: tuple[Server, dict[str, str]]) -> None:
    server, keys = closed

    assert signed_in(server, keys["all"], Origin="https://far.example").status == 403
    assert signed_in(server, keys["all"], Origin="null").status == 403


PATHS = [
    "/",
    "/tree/",
    "/tags",
    "/types",
    "/timeline",
    "/recent",
    "/search?q=canary",
    "/suggest?q=canary",
    "/wanted",
    "/broken",
    "/orphans",
    "/findings",
    "/attachments",
    "/graph",
    "/graph.json",
    "/feed.atom",
    "/opensearch.xml",
    "/p/index",
    "/preview/index",
    "/mentions/index",
    "/backlinks/index",
    "/tags/hush",
    "/p/@vault/plans/secret",
    "/p/@vault/none",
    "/tree/@vault/",
    "/graph/@vault/",
    "/graph.json/@vault/",
    "/history/@vault/plans/secret",
    "/raw/@vault/plans/secret",
    "/agent/@vault/plans/secret",
    "/files/@vault/plans/secret.md",
    "/wanted/@vault/secret",
    "/p/secret",
]


def test_a_reader_of_one_collection_sees_no_trace_of_another(closed: tuple[Server, dict[str, str]]) -> None:
    server, keys = closed
    seen: dict[str, Any] = {}
    for name, key in keys.items():
        seen[name] = {path: text(get(server, path, Authorization=f"Bearer {key}")) for path in PATHS}

    assert any("Canary plan" in body for body in seen["all"].values())
    for path, body in seen["one"].items():
        assert "Canary" not in body, path
        assert "hush" not in body.replace("/tags/hush", "").replace("#hush", ""), path
        echo = "@vault" in path or "vault" in path
        assert echo or "vault" not in body, path


def test_each_collection_of_several_has_its_own_urls(closed: tuple[Server, dict[str, str]]) -> None:
    server, keys = closed
    answer = get(server, "/p/@vault/plans/secret", Authorization=f"Bearer {keys['all']}")

    assert answer.status == 200
    assert 'href="/p/index"' in text(answer)
    linked = text(get(server, "/p/index", Authorization=f"Bearer {keys['all']}"))
    assert 'href="/p/@vault/plans/secret"' in linked


def test_an_empty_folder_says_how_to_begin(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    with served(tmp_path / "base", env={"XDG_STATE_HOME": str(tmp_path / "state")}) as running:
        assert "This base is empty" in text(get(running, "/"))


def test_counts_of_the_overview_are_those_of_the_commands(server: Server, repo: GitRepo) -> None:
    html = text(get(server, "/overview"))
    shown = dict(re.findall(r'<a href="/(wanted|orphans)">[^<]*</a> <span class="count">([\d,]+)', html))
    shell = Shell(repo.path.parent)
    findings = shell("check", "--kb", str(repo.path), "--json").json["findings"]
    wanted = shell("wanted", "--kb", str(repo.path), "--json").json["total"]
    orphans = sum(finding["rule"] == "orphan_entry" for finding in findings)
    assert shown == {"wanted": f"{wanted}", "orphans": f"{orphans}"}
    assert (wanted > 0, orphans > 0) == (True, True)
