"""The pages as an application: methods, parameters, cookies, compression, errors, and who sees what."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest
from starlette.datastructures import Headers

from asgi.browsing import Pages
from cases import each_case
from commonplace.domain.errors import ForbiddenError, UnauthenticatedError
from commonplace.faces.access.callers import Caller
from commonplace.faces.web.app import MAX_FIELDS, SECURITY_HEADERS, cookies_of, credentials
from commonplace.faces.web.pages import asset_url
from support import new_repo

HTML = {"accept": "text/html"}
LONG = "# Long\n\n" + "Many words of a page that is long enough.\n\n" * 200


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    place = tmp_path_factory.mktemp("pages")
    repo = new_repo(place / "one", {"long.md": LONG, "über uns.md": "# Über uns\n"})
    two = new_repo(place / "two", {"alpha.md": "# Alpha\n"})
    with Pages(place, repo.path, two.path) as served:
        yield served


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "NOTHING"])
@pytest.mark.parametrize("url", ["/", "/p/long", "/events", "/static/x/app.js"])
def test_pages_and_files_take_no_other_methods(pages: Pages, method: str, url: str) -> None:
    answer = pages.ask(method, url)

    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
    assert answer.json["code"] == "invalid"


@pytest.mark.parametrize("url", ["/no-such-page", "/no/such/page", "/%2Fabs"])
def test_where_nothing_is_no_method_is_named(pages: Pages, url: str) -> None:
    answereds = [pages.ask(method, url, {"accept": "*/*"}) for method in ("GET", "PUT", "DELETE")]

    assert [answer.status for answer in answereds] == [404, 404, 404]
    assert answereds[0].json == answereds[1].json
    assert "allow" not in answereds[1].headers


def test_head_gives_the_headers_alone(pages: Pages) -> None:
    got, answered = pages.get("/p/long"), pages.ask("HEAD", "/p/long")

    assert (answered.status, answered.body) == (200, b"")
    assert answered.headers == got.headers
    assert set(SECURITY_HEADERS) < set(got.headers)


@pytest.mark.parametrize("url", ["/?", "/search?q=alpha&", "/p/long?part=1&"])
def test_parameters_beyond_the_limit_are_ignored(pages: Pages, url: str) -> None:
    answer = pages.get(url + "&".join(f"x{number}=1" for number in range(MAX_FIELDS * 2)))
    assert answer.status == 200


def test_a_page_that_is_known_is_not_sent_again(pages: Pages) -> None:
    tag = pages.get("/p/long").headers["etag"]

    again = pages.get("/p/long", {**HTML, "if-none-match": f'"other", W/{tag}'})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert pages.get("/p/long", {**HTML, "if-none-match": '"other"'}).status == 200


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip", "gzip"),
        ("br, GZIP;q=0.5", "gzip"),
        ("*", "gzip"),
        ("gzip;q=0", ""),
        ("gzip; q=0.000, *", ""),
        ("*;q=0", ""),
        ("identity", ""),
        ("gzippy", ""),
        ("", ""),
    ],
)
def test_what_is_compressed_is_what_the_client_accepts(pages: Pages, accepted: str, coding: str) -> None:
    plain = pages.get("/p/long").body
    for url, whole in (("/p/long", plain), (asset_url("app.css"), pages.get(asset_url("app.css")).body)):
        answer = pages.get(url, {**HTML, "accept-encoding": accepted})

        assert answer.headers.get("content-encoding", "") == coding
        assert (gzip.decompress(answer.body) if coding else answer.body) == whole
        assert "accept-encoding" in answer.headers["vary"]


@each_case(
    "other",
    [
        'x={"a": 1}',
        'x={"a":"b c"}',
        'x="unclosed',
        "no-value",
        "bad[x]=1",
        "x=a b",
        "expires=1",
        "path=/",
        "=",
        "",
        "x=é",
    ],
)
def test_cookies_of_other_programs_hide_none_of_ours(other: str) -> None:
    for header in (f"{other}; theme=dark; commonplace_key=a%20key", f"theme=dark; commonplace_key=a%20key; {other}"):
        cookies = cookies_of(Headers({"cookie": header}))
        assert (cookies["theme"], cookies["commonplace_key"]) == ("dark", "a key")


def test_a_key_in_the_header_counts_before_that_of_the_cookie() -> None:
    cookie = {"cookie": "commonplace_key=one"}
    assert credentials(Headers(cookie)) == "Bearer one"
    assert credentials(Headers({**cookie, "authorization": "Bearer two"})) == "Bearer two"
    assert credentials(Headers({**cookie, "authorization": ""})) == ""
    assert credentials(Headers({"cookie": "commonplace_key="})) is None
    assert credentials(Headers({})) is None


@pytest.mark.parametrize("path", ["/no-such-page", "/tags/none", "/p/%00", "/p/..%2f..%2fetc%2fpasswd", "/raw/long/x"])
def test_what_is_not_there_is_a_page_for_browsers_and_json_for_programs(pages: Pages, path: str) -> None:
    page, answered = pages.get(path), pages.get(path, {"accept": "application/json"})

    assert (page.status, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert answered.status == 404
    if answered.headers["content-type"] == "application/json":
        assert answered.json["code"] in {"not_found", "invalid"}


def test_near_names_lead_into_the_collection_that_was_asked(pages: Pages) -> None:
    page = pages.get("/raw/@two/alphx").text
    (near,) = (part.partition('"')[0] for part in page.split('href="')[1:] if part.startswith("/p/"))

    assert near == "/p/@two/alpha"
    assert pages.get(near).status == 200


def test_a_caller_sees_only_the_collections_of_the_key(pages: Pages) -> None:
    confined = Caller("k", "read", frozenset({"two"}))

    assert pages.get("/p/@two/alpha", caller=confined).status == 200
    assert pages.get("/p/long", caller=confined).status == 404
    home = pages.get("/", caller=confined).text
    assert "one" not in home.partition("<title>")[2].partition("</title>")[0]
    assert "/p/long" not in home


@pytest.mark.parametrize(
    ("cookie", "shown"), [("theme=dark", 'data-theme="dark"'), ("theme=light", 'data-theme="light"')]
)
def test_a_theme_is_that_of_the_cookie(pages: Pages, cookie: str, shown: str) -> None:
    assert shown in pages.get("/", {**HTML, "cookie": cookie}).text
    assert "data-theme" not in pages.get("/", {**HTML, "cookie": 'theme="><script>'}).text


def test_only_signing_in_and_files_that_are_the_same_everywhere_need_no_key(pages: Pages) -> None:
    opened = [path for path in PATHS if pages.app.is_open({"type": "http", "path": path})]
    assert opened == ["/sign-in", "/sign-out", "/sign-in/begin", "/static/x/app.js", "/robots.txt"]
    assert pages.app.max_body({"path": "/sign-in"}) > 0
    assert pages.app.max_body({"path": "/p/long"}) == 0


PATHS = [
    "/",
    "/sign-in",
    "/sign-out",
    "/sign-in/begin",
    "/static/x/app.js",
    "/robots.txt",
    "/events",
    "/static",
    "/p/a",
]


def test_a_caller_without_a_key_gets_the_form_and_a_program_nothing_of_it(pages: Pages) -> None:
    refused = pages.refused("/p/long?part=2", HTML, UnauthenticatedError("A key is needed.", kind="credentials"))
    assert refused is not None
    assert refused.status == 401
    assert 'value="/p/long?part=2"' in refused.text
    denied = pages.refused("/p/long", HTML, ForbiddenError("Not yours.", kind="tier"))
    assert denied is not None
    assert denied.status == 403
    assert pages.refused("/p/long", {"accept": "*/*"}, UnauthenticatedError("A key is needed.")) is None
