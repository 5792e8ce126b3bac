"""Signing in at an identity provider that runs here, as a browser does it: authorization code with PKCE."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import httpx2
import pytest

from identity import provider
from npm import needs_npm
from serving import Server, served

pytestmark = [needs_npm, pytest.mark.timeout(300)]
AUDIENCE = "notes"


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with provider(scope="commonplace:read") as url:
        yield url


@pytest.fixture(scope="module")
def server(issuer: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("notes")
    (folder / "hub.md").write_text("# Hub\n\nWords of the hub.\n")
    env = {name: str(tmp_path_factory.mktemp("xdg")) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
    requested_texts = ["--oauth-issuer", issuer, "--oauth-audience", AUDIENCE, "--oauth-client-id", "pages"]
    with served(folder, *requested_texts, env=env) as running:
        yield running


@pytest.fixture
def browser(server: Server) -> Iterator[httpx2.Client]:
    headers = {"Accept": "text/html"}
    with httpx2.Client(base_url=server.url, headers=headers, timeout=60, follow_redirects=False) as client:
        yield client


def at_provider(browser: httpx2.Client, begin: str) -> httpx2.URL:
    """URL to which the provider redirects a person who started at a URL of the server."""
    sent = browser.get(begin)
    assert sent.status_code == 302, sent.text
    return httpx2.URL(browser.get(sent.headers["location"]).headers["location"])


def begin_link(page: httpx2.Response) -> str:
    match = re.search(r'href="(/sign-in/begin\?next=[^"]*)"', page.text)
    assert match, page.text
    return match[1].replace("&amp;", "&")


def test_a_person_signs_in_and_is_where_they_wanted_to_be(browser: httpx2.Client, issuer: str) -> None:
    wanted_text = "/search?q=words+of+%22the+hub%22+type:"
    refused = browser.get(wanted_text)
    assert refused.status_code == 401
    assert urlsplit(issuer).netloc in refused.text
    assert browser.get("/robots.txt").text == "User-agent: *\nDisallow: /\n"
    sent = browser.get(begin_link(refused))
    requested_values = {name: values[0] for name, values in parse_qs(urlsplit(sent.headers["location"]).query).items()}
    assert requested_values["response_type"] == "code"
    assert requested_values["code_challenge_method"] == "S256"
    assert requested_values["resource"] == AUDIENCE
    assert requested_values["scope"] == "openid commonplace:read"
    assert "HttpOnly; SameSite=Lax" in sent.headers["set-cookie"]

    back = browser.get(sent.headers["location"]).headers["location"]
    done = browser.get(back)

    assert (done.status_code, done.headers["location"]) == (303, wanted_text)
    assert "HttpOnly; SameSite=Lax" in done.headers["set-cookie"]
    assert "Sign out" in browser.get("/p/hub").text
    assert browser.get("/api/v1/pages").status_code == 401, "the cookie counts for pages alone"
    browser.post("/sign-out")
    assert browser.get("/p/hub").status_code == 401


def test_a_session_that_has_run_out_leads_back_to_what_was_typed(browser: httpx2.Client) -> None:
    browser.cookies.set("commonplace_key", "a.b.c")
    page = browser.get("/agent/hub?budget=500&question=what+is+it")

    assert page.status_code == 401
    assert "What you typed is kept" in page.text
    assert begin_link(page).endswith(f"next={quote('/agent/hub?budget=500&question=what+is+it', safe='/')}")
    done = browser.get(at_provider(browser, begin_link(page)))
    assert done.headers["location"] == "/agent/hub?budget=500&question=what+is+it"
    assert browser.get(done.headers["location"]).status_code == 200


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"state": "other"}, "belongs to no sign-in"),
        ({"state": ""}, "belongs to no sign-in"),
        ({"code": "none-of-the-provider"}, "did not accept the code"),
        ({"code": ""}, "signed nobody in"),
        ({"error": "access_denied", "error_description": "<b>No</b>"}, "signed nobody in: &lt;b&gt;No"),
        ({"iss": "https://other.example"}, "comes from another identity provider"),
    ],
)
def test_an_answer_that_is_not_the_providers_signs_nobody_in(
    browser: httpx2.Client, change: dict[str, str], said: str
) -> None:
    back = at_provider(browser, "/sign-in/begin?next=/p/hub")

    refused = browser.get(back.copy_merge_params(change))

    assert refused.status_code == 401
    assert said in refused.text
    assert "commonplace_key" not in refused.headers.get("set-cookie", "")
    assert browser.get("/p/hub").status_code == 401


def test_the_answer_for_one_browser_signs_no_other_in(browser: httpx2.Client, server: Server) -> None:
    back = at_provider(browser, "/sign-in/begin?next=/p/hub")

    with httpx2.Client(base_url=server.url, headers={"Accept": "text/html"}, timeout=60) as other:
        other.get("/sign-in/begin?next=/")
        refused = other.get(back)

    assert "belongs to no sign-in" in refused.text


def test_a_cookie_that_another_server_sealed_is_none(browser: httpx2.Client) -> None:
    back = at_provider(browser, "/sign-in/begin?next=/p/hub")
    sealed = browser.cookies.get("commonplace_sign_in") or ""
    browser.cookies.clear()
    browser.cookies.set("commonplace_sign_in", f"{sealed[:-2]}xx")

    assert "belongs to no sign-in" in browser.get(back).text


@pytest.mark.parametrize("target", ["https://far.example", "//far.example", "/\\far.example", "/sign-out"])
def test_nobody_is_sent_to_another_server(browser: httpx2.Client, target: str) -> None:
    done = browser.get(at_provider(browser, f"/sign-in/begin?next={quote(target, safe='')}"))

    assert done.headers["location"] == "/"


def test_a_token_without_a_scope_of_ours_signs_nobody_in(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    with provider(scope="email") as issuer:
        requested_texts = ["--oauth-issuer", issuer, "--oauth-audience", AUDIENCE, "--oauth-client-id", "pages"]
        with (
            served(tmp_path / "notes", *requested_texts, env=env) as server,
            httpx2.Client(base_url=server.url, headers={"Accept": "text/html"}, timeout=60) as browser,
        ):
            refused = browser.get(at_provider(browser, "/sign-in/begin"))

    assert refused.status_code == 401
    assert "no scope of this server" in refused.text


def test_a_provider_that_is_away_is_said_and_keys_still_work(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    audiences = ["--oauth-issuer", "http://127.0.0.1:9", "--oauth-audience", AUDIENCE, "--oauth-client-id", "pages"]
    with served(tmp_path / "notes", *audiences, env={"XDG_STATE_HOME": str(tmp_path / "state")}) as server:
        page = server.ask("GET", "/sign-in/begin", headers={"Accept": "text/html"})

    assert page.status == 401
    assert b"The identity provider does not answer." in page.body
    assert b'name="key"' in page.body


def test_without_a_client_there_is_the_form_alone(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "COMMONPLACE_API_KEY": "a-key-of-the-server"}
    with served(tmp_path / "notes", env=env) as server:
        page = server.ask("GET", "/sign-in/begin?next=/p/x", headers={"Accept": "text/html"})

    assert page.status == 200
    assert b"/sign-in/begin" not in page.body
