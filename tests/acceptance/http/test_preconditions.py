"""`If-Match` and `If-None-Match` as RFC 9110 has them, on every resource of the REST API that has a revision."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from commonplace.domain.revisions import revision_of
from serving import Answer, Server, served
from support import GitRepo, new_repo

NONE = "0" * 40
PAGES = 40


@dataclass(frozen=True, slots=True)
class Site:
    """A server, its repository, and pages that no test has used yet."""

    server: Server
    repo: GitRepo
    pages: Iterator[str]

    def page(self) -> tuple[str, str, str]:
        """A page of two commits: its path, its revision before and its current one."""
        path = next(self.pages)
        old = self.server.page("GET", path).json["revision"]
        saved = self.server.page("PUT", path, {"content": "# Second\n", "revision": old})
        return path, old, saved.json["revision"]

    def ask(self, method: str, path: str, body: Any = None, *, below: str = "", **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.server.page(method, path, body, below=below, headers=named)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("preconditions")
    repo = new_repo(folder / "wiki", {f"p{number}.md": f"# First {number}\n" for number in range(PAGES)})
    env = {f"XDG_{name}_HOME": str(folder / name) for name in ("CACHE", "STATE")}
    with served(repo.path, "--tier", "write", env=env) as server:
        yield Site(server, repo, iter(f"p{number}" for number in range(PAGES)))


WRITES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "PUT": ("PUT", "", {"content": "# Third\n"}),
    "PATCH": ("PATCH", "", {"old_string": "Second", "new_string": "Third"}),
    "DELETE": ("DELETE", "", {}),
    "rename": ("POST", "/rename", {"new_path": "moved"}),
}


def body_of(write: str, path: str, revision: str) -> tuple[str, str, dict[str, Any]]:
    """Method, what follows the path, and body; the body names the revision where it can."""
    method, below, body = WRITES[write]
    if write == "rename":
        return method, below, {"new_path": f"moved/{path}"}
    return method, below, {**body, "revision": revision}


@pytest.mark.parametrize("write", WRITES)
def test_a_stale_if_match_is_412_whatever_the_body_says(site: Site, write: str) -> None:
    path, old, current = site.page()
    method, below, body = body_of(write, path, current)
    for match in (f'"{old}"', f'"{NONE}", "{old}"', f'W/"{current}"', '"*"', '"no revision"'):
        answer = site.ask(method, path, body, below=below, If_Match=match)
        assert answer.status == 412, match
        assert answer.json["code"] == "precondition_failed"
        assert answer.json["current_revision"] == current
    assert site.ask("GET", path).json["content"] == "# Second\n"
    assert site.ask(method, path, body, below=below, If_Match=f'"{NONE}", "{current}"').status == 200


@pytest.mark.parametrize("write", [write for write in WRITES if write != "rename"])
def test_a_stale_revision_in_the_body_is_409_whatever_if_match_says(site: Site, write: str) -> None:
    path, old, current = site.page()
    method, below, body = body_of(write, path, old)
    for given_values in ({}, {"If_Match": f'"{current}"'}, {"If_Match": "*"}):
        answer = site.ask(method, path, body, below=below, **given_values)
        assert answer.status == 409, given_values
        assert answer.json["current_revision"] == current
        assert answer.json["changes"] == ["line 1 removed", "line 1 added: # Second"]
    assert site.ask("GET", path).json["content"] == "# Second\n"


@pytest.mark.parametrize("write", WRITES)
def test_an_asterisk_means_whatever_is_there(site: Site, write: str) -> None:
    path, _, current = site.page()
    method, below, body = body_of(write, path, current)
    assert site.ask(method, path, body, below=below, If_None_Match="*").status == 412
    assert site.ask(method, path, body, below=below, If_None_Match=f'W/"{current}"').status == 412
    assert site.ask(method, path, body, below=below, If_Match="*").status == 200
    missing = site.ask(method, f"no-{path}", body, below=below, If_Match="*")
    assert missing.status == (412 if write == "PUT" else 404)


def test_put_makes_a_page_where_there_is_none(site: Site) -> None:
    made = site.ask("PUT", "made", {"content": "# Made\n"}, If_None_Match="*")
    assert made.status == 201
    assert site.ask("PUT", "made", {"content": "# Other\n"}, If_None_Match="*").status == 412
    replaced = site.ask("PUT", "made", {"content": "# Other\n"}, If_Match=made.headers["etag"])
    assert replaced.status == 200
    assert site.ask("PUT", "made", {"content": "# Third\n"}, If_None_Match=made.headers["etag"]).status == 409
    assert site.ask("PUT", "made", {"content": "# Third\n"}).status == 409


def test_a_page_that_the_client_has_is_304(site: Site) -> None:
    path, old, current = site.page()
    got = site.ask("GET", path)
    assert got.headers["etag"] == f'"{current}"'
    blob = revision_of(b"# Second\n")
    for method in ("GET", "HEAD"):
        for etag in (got.headers["etag"], f'W/"{current}"', f'"{NONE}", "{current}"', "*", f'"{blob}"'):
            answer = site.ask(method, path, If_None_Match=etag)
            assert (answer.status, answer.body) == (304, b""), etag
            assert answer.headers["etag"] == f'"{current}"'
            assert "content-type" not in answer.headers
        assert site.ask(method, path, If_None_Match=f'"{old}"').status == 200
        assert site.ask(method, path, If_Match=f'"{old}"').status == 412
        assert site.ask(method, path, If_Match=f'"{current}"', If_None_Match=f'"{current}"').status == 304
    earlier = site.server.ask("GET", f"/api/v1/pages/{path}?revision={old}", headers={"If-None-Match": f'"{old}"'})
    assert earlier.status == 304
    assert site.ask("GET", f"no-{path}", If_None_Match="*").status == 404


REVISION_LIKE = "0123456"


def test_a_header_that_is_no_list_of_tags_is_400(site: Site) -> None:
    path, _, _ = site.page()
    for given_text in ("", ",", '"unended', '"a" "b"', '*, "a"', "junk", '"a", junk', "W/junk", REVISION_LIKE):
        for header in ("If_Match", "If_None_Match"):
            assert site.ask("GET", path, **{header: given_text}).status == 400, given_text
            assert site.ask("DELETE", path, **{header: given_text}).status == 400, given_text
    assert site.ask("GET", path).status == 200


def test_attachments_have_tags_of_their_bytes(site: Site) -> None:
    path, _, _ = site.page()
    element, two = b"\0one", b"\0two"
    upload = {"filename": "a.bin", "content": base64.b64encode(element).decode()}
    assert site.ask("POST", path, upload, below="/attachments", If_Match="*").status == 412
    made = site.ask("POST", path, upload, below="/attachments", If_None_Match="*")
    assert (made.status, made.headers["etag"]) == (201, f'"{revision_of(element)}"')
    assert site.ask("POST", path, upload, below="/attachments", If_None_Match="*").status == 412
    again = site.ask("POST", path, upload, below="/attachments")
    assert (again.status, again.json["code"]) == (409, "already_exists")
    assert "exactly these bytes" in again.json["hint"]
    file = "/attachments/a.bin"
    got = site.ask("GET", path, below=file)
    assert got.headers["etag"] == made.headers["etag"]
    assert site.ask("GET", path, below=file, If_None_Match=got.headers["etag"]).status == 304
    site.repo.write(f"{path}/a.bin", two)
    assert site.ask("GET", path, below=file, If_None_Match=got.headers["etag"]).status == 200
    stale = site.ask("DELETE", path, below=file, If_Match=got.headers["etag"])
    assert (stale.status, stale.json["current_revision"]) == (412, revision_of(two))
    assert site.ask("DELETE", path, below=file, If_None_Match=f'"{revision_of(two)}"').status == 412
    assert site.ask("DELETE", path, below=file, If_Match=f'"{revision_of(two)}"').status == 200
    assert site.ask("DELETE", path, below=file, If_Match="*").status == 404


def test_a_put_that_is_sent_again_finds_its_own_text(site: Site) -> None:
    path, _, current = site.page()
    head = site.repo.git("rev-parse", "HEAD")
    for given_values in ({"revision": current}, {}):
        headers = {} if given_values else {"If_Match": f'"{current}"'}
        content = f"# Sent twice {len(given_values)}\n"
        first = site.ask("PUT", path, {"content": content, **given_values}, **headers)
        again = site.ask("PUT", path, {"content": content, **given_values}, **headers)
        assert (first.status, again.status) == (200, 200)
        assert "unchanged" not in first.json
        assert again.json == {**first.json, "unchanged": True}
        current = first.json["revision"]
    assert site.repo.git("rev-list", "--count", f"{head}..HEAD") == "2"
    unsaid = site.ask("PUT", path, {"content": content})
    assert (unsaid.status, unsaid.json["unchanged"], unsaid.json["revision"]) == (200, True, current)
    assert site.ask("PUT", path, {"content": content}, If_None_Match="*").status == 412
    other = site.ask("PUT", path, {"content": "# Another text\n"})
    assert (other.status, other.json["current_revision"]) == (409, current)
    contradicting = {"content": content, "revision": current}
    assert site.ask("PUT", path, contradicting, If_Match=f'"{NONE}"').status == 412


def test_what_an_asterisk_replaces_unseen_is_kept(site: Site) -> None:
    path, _, _ = site.page()
    mine = "# By hand, in no commit\n"
    site.repo.write(f"{path}.md", mine)
    (kept_value,) = site.ask("PUT", path, {"content": "# Star\n"}, If_Match="*").json["kept"]
    assert kept_value["revision"] == revision_of(mine.encode())
    assert site.repo.git("cat-file", "blob", kept_value["revision"]) == mine.rstrip("\n")


def test_the_document_of_the_api_names_preconditions_where_they_hold(site: Site) -> None:
    paths = site.server.ask("GET", "/api/v1/openapi.json").json["paths"]
    conditional = {
        f"{method} {path}"
        for path, operations in paths.items()
        for method, operation in operations.items()
        if method != "parameters"
        and {"If-Match", "If-None-Match"} <= {parameter["name"] for parameter in operation["parameters"]}
    }
    page, file = "/pages/{path}", "/pages/{path}/attachments/{filename}"
    assert conditional == {
        f"get {page}", f"put {page}", f"patch {page}", f"delete {page}", f"post {page}/rename",
        f"post {page}/attachments", f"get {file}", f"put {file}", f"delete {file}", f"post {page}/restore",
    }  # fmt: skip
    for place in conditional:
        method, path = place.split(" ")
        answers = paths[path][method]["responses"]
        assert "412" in answers
        assert ("304" in answers) == (method == "get")
