"""REST beside the older API: versions, one of several occurrences, files as bytes, wanted pages, names."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent import RefusedError, agent
from serving import Answer, Server, served
from support import GitRepo, new_repo

API = "/api/v1"
BYTES = {"Accept": "application/octet-stream"}
Site = tuple[Server, GitRepo]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("versions")
    files = {
        "Hub.md": "---\ntitle: The hub\ncategory: index\n---\n[[New Page]] [[new page#Part]] [[Actors/Iran]]\n",
        "Actors/Iran.md": "See [[it|New Page]] and [x](gone.md).\n",
        "plain.md": "one two one two one\n",
    }
    repo = new_repo(folder / "wiki", files)
    env = {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_STATE_HOME": str(folder / "state")}
    with served(repo.path, env=env) as server:
        yield server, repo


def put(server: Server, path: str, content: str, revision: str = "") -> Answer:
    return server.page("PUT", path, {"content": content, **({"revision": revision} if revision else {})})


def test_a_name_is_the_title_of_the_frontmatter(site: Site) -> None:
    server, _ = site
    text = "---\ntitle: Own\nname: x\n---\n# Heading\nfindable\n"
    assert put(server, "named/Page", text).json["name"] == "Own"
    read = server.page("GET", "named/Page").json
    assert read["name"] == "Own"
    assert server.ask("GET", f"{API}/pages?prefix=named/").json["pages"][0]["name"] == "Own"
    assert server.ask("GET", f"{API}/search?q=findable").json["results"][0]["name"] == "Own"
    patch = {"revision": read["revision"], "old_string": "title: Own", "new_string": "title: Other"}
    assert server.page("PATCH", "named/Page", patch).json["name"] == "Other"
    assert put(server, "named/Second", "# Heading\n").json["name"] == "Second"


@pytest.mark.parametrize("prefix", ["actors/", "ACTORS/I", "Actors/Iran"])
def test_a_prefix_is_compared_without_regard_to_case(site: Site, prefix: str) -> None:
    assert [page["path"] for page in site[0].ask("GET", f"{API}/pages?prefix={prefix}").json["pages"]] == [
        "Actors/Iran"
    ]


def test_a_prefix_of_another_script_and_a_filter_beside_it(site: Site) -> None:
    server, _ = site
    put(server, "Straße/Ärger", "---\ncategory: odd\n---\nx\n")
    for request in ("prefix=STRASSE%2F%C3%A4", "prefix=stra%C3%9Fe/&category=ODD"):
        assert [page["path"] for page in server.ask("GET", f"{API}/pages?{request}").json["pages"]] == ["Straße/Ärger"]
    assert server.ask("GET", f"{API}/pages?prefix=stra%C3%9Fe/&category=no").json["total"] == 0


def test_the_graph_holds_pages_that_are_only_linked_to(site: Site) -> None:
    server, _ = site
    graph = server.ask("GET", f"{API}/links").json
    absent = [node["path"] for node in graph["nodes"] if not node["exists"]]
    assert absent == ["New Page"], "a Markdown link to a file is no wanted page"
    assert {"path": "Hub", "exists": True} in graph["nodes"]
    edges = [(edge["source"], edge["target"]) for edge in graph["edges"] if edge["target"] == "New Page"]
    assert edges == [("Actors/Iran", "New Page"), ("Hub", "New Page")]
    links = server.ask("GET", f"{API}/links/new%20page")
    assert (links.status, links.json) == (
        200,
        {"path": "New Page", "links_to": [], "linked_from": ["Actors/Iran", "Hub"]},
    )
    assert server.ask("GET", f"{API}/links/nobody").status == 404


def test_a_wanted_page_is_told_over_mcp_and_through_another_server(site: Site, tmp_path: Path) -> None:
    server, repo = site
    expected = "Links for New Page:\n\nLinks to (0):\n  (none)\nLinked from (2):\n  - Actors/Iran\n  - Hub"
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    with agent("mcp", repo.path, "--toolset", "wiki", env=env) as client:
        assert client.text("get_links", path="New Page") == expected
    with agent("mcp", "--toolset", "wiki", env={**env, "OTTERWIKI_API_URL": server.url}) as client:
        assert client.text("get_links", path="New Page") == expected
        assert "Actors/Iran" not in client.text("find_orphaned_notes")
        with pytest.raises(RefusedError, match="Page not found"):
            client.text("get_links", path="nobody")


def test_an_ambiguous_edit_counts_and_takes_the_one_that_is_meant(site: Site) -> None:
    server, _ = site
    revision = server.page("GET", "plain").json["revision"]
    edit: dict[str, Any] = {"revision": revision, "old_string": "one", "new_string": "1"}
    refused = server.page("PATCH", "plain", edit)
    assert (refused.status, "ambiguous: it occurs 3 times" in refused.json["error"]) == (422, True)
    assert "occurrence 4" in server.page("PATCH", "plain", {**edit, "occurrence": 4}).json["error"]
    assert server.page("PATCH", "plain", {**edit, "occurrence": 2}).status == 200
    assert server.page("GET", "plain").json["content"] == "one two 1 two one\n"


def test_versions_are_compared_and_brought_back(site: Site) -> None:
    server, repo = site
    first = put(server, "kept", "first\n").json["revision"]
    second = put(server, "kept", "second\n", first).json["revision"]
    diff = server.page("GET", "kept", below=f"/diff?from={first[:9]}").json
    assert (diff["path"], diff["from"], diff["to"]) == ("kept", first[:9], "")
    assert diff["diff"].splitlines()[-2:] == ["-first", "+second"]
    assert (
        server.page("GET", "kept", below=f"/diff?from={second}&to={first}").json["diff"].endswith("-second\n+first\n")
    )
    assert server.page("GET", "kept", below=f"/diff?from={second}").json["diff"] == ""
    assert server.page("GET", "kept", below="/diff").status == 422
    assert server.page("GET", "kept", below="/diff?from=1234567").status == 404
    assert server.page("GET", "never", below=f"/diff?from={first}").status == 404

    stale = server.page("POST", "kept", {"revision": first}, below="/restore", headers={"If-Match": f'"{first}"'})
    assert stale.status == 412
    back = server.page("POST", "kept", {"revision": first}, below="/restore", headers={"If-Match": f'"{second}"'})
    assert (back.status, back.json["created"]) == (200, False)
    assert back.headers["etag"] == f'"{back.json["revision"]}"'
    assert server.page("GET", "kept").json["content"] == "first\n"
    assert repo.git("log", "-1", "--format=%s") == f"[api] Restore: kept at {first}"
    again = server.page("POST", "kept", {"revision": first, "commit_message": "Again"}, below="/restore")
    assert (again.status, again.json["unchanged"]) == (200, True)

    assert server.page("DELETE", "kept").status == 200
    gone = server.page("POST", "kept", {"revision": second, "commit_message": "Back"}, below="/restore")
    assert (gone.status, gone.json["created"]) == (201, True)
    assert server.page("GET", "kept").json["content"] == "second\n"
    assert server.page("POST", "kept", {"revision": "1234567"}, below="/restore").status == 404
    assert server.page("POST", "kept", {"revision": "x"}, below="/restore").status == 422


def test_text_that_no_commit_holds_is_not_replaced_by_a_restore(site: Site) -> None:
    server, repo = site
    first = put(server, "edited", "first\n").json["revision"]
    repo.write("edited.md", "by hand\n")
    assert server.page("POST", "edited", {"revision": first}, below="/restore").status == 409
    assert (repo.path / "edited.md").read_text() == "by hand\n"
    repo.git("checkout", "--quiet", "edited.md")


def test_a_file_goes_up_and_down_as_bytes(site: Site) -> None:
    server, repo = site
    content = bytes(range(256)) * 40
    file = "/attachments/map%20one.png"
    png = {"Content-Type": "image/png"}
    made = server.page("PUT", "Hub", content, below=file, headers=png)
    assert (made.status, made.json) == (
        201,
        {"filename": "map one.png", "path": "Hub", "size": len(content), "mime_type": "image/png"},
    )
    assert (repo.path / "Hub" / "map one.png").read_bytes() == content
    raw = server.page("GET", "Hub", below=file, headers=BYTES)
    assert (raw.body, raw.headers["content-type"], raw.headers["etag"]) == (content, "image/png", made.headers["etag"])
    assert raw.headers["content-disposition"] == "attachment"
    assert raw.headers["x-content-type-options"] == "nosniff"
    assert base64.b64decode(server.page("GET", "Hub", below=file).json["content"]) == content
    assert server.page("GET", "Hub", below=file, headers={"Accept": "*/*"}).json["size"] == len(content)
    headers = {**BYTES, "If-None-Match": made.headers["etag"]}
    assert server.page("GET", "Hub", below=file, headers=headers).status == 304

    refused = server.page("PUT", "Hub", b"other", below=file)
    assert (refused.status, f'"{refused.json["current_revision"]}"') == (409, made.headers["etag"])
    assert server.page("PUT", "Hub", b"other", below=file, headers={"If-Match": '"' + "0" * 40 + '"'}).status == 412
    replaced = server.page("PUT", "Hub", b"other", below=file, headers={"If-Match": made.headers["etag"]})
    assert (replaced.status, replaced.json["size"]) == (200, 5)
    assert server.page("GET", "Hub", below=file, headers=BYTES).body == b"other"
    assert server.page("PUT", "Hub", b"", below="/attachments/empty.bin").status == 201
    assert server.page("PUT", "Hub", bytes(10 * 1024 * 1024 + 1), below="/attachments/large.bin").status == 413
    assert server.page("PUT", "Hub", b"x", below="/attachments/page.md").status == 422
    assert server.page("PUT", "nobody", b"x", below=file).status == 404
    assert server.page("PUT", "text", b'{"content": "x"}', headers=png).status == 415, "a page is sent as JSON"
    assert repo.git("status", "--porcelain") == ""


def test_a_page_has_the_same_limit_over_rest_and_stdio(site: Site, tmp_path: Path) -> None:
    server, repo = site
    most = f"{'ä' * 62}\n" * 32_000
    assert len(most.encode()) == 4_000_000
    escaped = most[:600_000]
    assert put(server, "limits/Rest", most).status == 201
    assert put(server, "limits/Escaped", escaped).status == 201
    refused = put(server, "limits/More", f"{most}x")
    assert (refused.status, "4,000,000" in refused.json["error"]) == (413, True)
    with agent("mcp", repo.path, "--toolset", "wiki", env={"XDG_CACHE_HOME": str(tmp_path)}) as client:
        assert client.text("write_note", path="limits/Stdio", content=most).startswith("Created limits/Stdio")
        with pytest.raises(RefusedError, match="4,000,000"):
            client.text("write_note", path="limits/Over", content=f"{most}x")
        with pytest.raises(RefusedError, match=r"10000|10,000"):
            client.text("search_notes", query="x" * 10_001)
