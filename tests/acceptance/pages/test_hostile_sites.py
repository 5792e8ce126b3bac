"""Sites that answer what no site should, or an odd space: a sentence that says so, or a whole folder, never harm."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from commonplace.domain.errors import RateLimitedError, UnauthenticatedError, UnavailableError
from commonplace.toolsets.pages.confluence.to_storage import merge_edit, view_of
from confluence.bodies import Links
from confluence.clones import served_clone, small_site
from confluence.site import Page, Site
from support import Amount


@contextmanager
def other_host() -> Iterator[tuple[str, list[str | None]]]:
    """Another host, and the tokens that it was sent."""
    tokens: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            tokens.append(self.headers.get("Authorization"))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", tokens
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_names_that_lead_out_of_the_folder_or_steer_a_terminal_are_names(tmp_path: Path) -> None:
    site = small_site()
    titles = ("../../up", "/etc/passwd", ".git", "a\x1b[31mred\x07", "line\nSigned-off-by: x", "..", "CON", "a\u202eb")
    pages = [site.add(title, body="<p>x</p>") for title in titles]
    pages[0].files = {
        "../../../out.txt": (1, b"1"),
        ".git": (1, b"2"),
        "a/b": (1, b"3"),
        "a\\b": (1, b"4"),
        "...": (1, b"5"),
    }
    pages[1].labels = {"../x"}
    site.people["a1"] = ("Ann\n---\n# Lee", "x\x1b@y")
    with served_clone(tmp_path / "in", site) as served:
        served.clone()
        outside = [path for path in tmp_path.rglob("*") if path.is_file() and served.folder not in path.parents]
        assert outside == []
        files = [path.read_bytes() for path in (served.folder / "attachments/up").iterdir()]
        assert sorted(files) == [b"1", b"2", b"3", b"4", b"5"]
        assert (served.folder / ".git/HEAD").read_text().startswith("ref: ")
        log = served.git("log", "--format=%B%(trailers)")
        assert "\x1b" not in log + "".join(str(path) for path in served.folder.rglob("*"))
        assert "\nSigned-off-by" not in log
        assert (served.changes(), served.pull().summary) == ({}, "nothing changed")


def test_ids_versions_and_links_that_cannot_be_end_the_run(tmp_path: Path) -> None:
    def changed(**values: object) -> Callable[[dict[str, Any]], None]:
        return lambda page: page.update(values)

    cases = (changed(id="../../x"), changed(id=""), changed(parentId="a/b"), changed(id={"a": 1}), changed(id="x" * 99))
    for number, change in enumerate(cases):
        with served_clone(tmp_path / str(number)) as served:
            handler = served.server.RequestHandlerClass
            original = handler._page

            def page_of(self: Any, page: Page, query: Any, original: Any = original, change: Any = change) -> Any:
                answer = original(self, page, query)
                if page.title == "Deploy":
                    change(answer)
                return answer

            handler._page = page_of
            try:
                with pytest.raises(UnavailableError, match="an id that cannot be one"):
                    served.clone()
            finally:
                handler._page = original
                served.server.violations.clear()
            assert not served.folder.exists()


def test_a_token_stays_with_its_site(tmp_path: Path) -> None:
    with other_host() as (elsewhere, tokens), served_clone(tmp_path) as served:
        for place in (
            f"{elsewhere}/x",
            f"//{elsewhere.partition('://')[2]}/x",
            "http://169.254.169.254/latest",
            "file:///etc/passwd",
        ):
            served.server.redirect = place
            with pytest.raises(UnavailableError, match=r"neither its own nor https|leads elsewhere|address"):
                served.clone()
        assert tokens == []


def test_bombs_and_markup_in_bodies_are_text() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><p>&b;</p>'
    outside = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><p>&a;</p>'
    include = '<p xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="file:///etc/passwd" parse="text"/></p>'
    code = "&lt;script&gt;alert(1)&lt;/script&gt;"
    script = (
        f'<ac:structured-macro ac:name="x --&gt;{code}"><ac:rich-text-body><p>alpha</p></ac:rich-text-body>'
        "</ac:structured-macro>"
    )
    label = (
        f'<ac:structured-macro ac:name="toc"><ac:parameter ac:name="a">](javascript:x){code}</ac:parameter>'
        "</ac:structured-macro>"
    )
    marker = f'<p><ac:inline-comment-marker ac:ref="&quot;&gt;{code}">alpha</ac:inline-comment-marker></p>'
    link = f'<p><a href="javascript:alert(1)">alpha</a> <a href="x) {code}">beta</a></p>'
    for body in (bomb, outside, include, script, label, marker, link):
        view = view_of(body.encode(), Links())
        plain = "".join(view.markdown.split("```")[::2]).replace("\\<", "")
        assert "root:" not in view.markdown, body
        assert len(view.markdown) < 3 * len(body) + 200
        assert "<script" not in plain, (body, view.markdown)
        assert merge_edit(view, view.markdown, Links()) == body.encode()


def test_a_run_that_something_comes_between_says_so_and_the_next_one_is_whole(
    tmp_path: Path,
) -> None:
    site = small_site()
    with served_clone(tmp_path, site) as served:
        for fault, kind, sentence in (
            ("401", UnauthenticatedError, "rejects the login"),
            ("html", UnavailableError, "a page instead of data"),
            ("503", UnavailableError, "answers 503"),
            ("429", RateLimitedError, "limits how often"),
        ):
            served.server.count = 0
            served.server.fault = lambda number, _method, _path, fault=fault: fault if number > 3 else None
            with pytest.raises(kind, match=sentence):
                served.clone()
            assert not served.folder.exists()
        served.server.fault = lambda *_: None
        served.clone()
        clean = served.tree()

        def renames(_number: int, _method: str, path: str) -> None:
            if "/pages" in path:
                site.key, site.name = "NEW", "New name"

        served.server.fault = renames
        site.edit(served.page("Deploy"), "<p>alpha</p>")
        served.edit("drawer/inside.md", "inside\n", "mine, not committed\n")
        served.server.ahead = 3600
        assert (
            "runbooks/deploy.md" in served.pull().changed
        )  # and the addresses of all pages, if the key is new already
        served.server.fault = lambda *_: None
        served.pull()
        assert '"spaceKey": "NEW"' in served.read(".confluence.json")
        assert (served.changes(), served.push().refused) == ({"drawer/inside.md": "text"}, {})
        assert served.page("Inside").body == "<p>mine, not committed</p>"
        assert served.tree().keys() == clean.keys()


def test_large_and_odd_spaces_are_cloned_and_edited(tmp_path: Path, amount: Amount) -> None:
    site = Site()
    for title in ("\U0001f600" * 255, "/", "Same", "sAME", "same", "C#", "  two  blanks  ", "# [x](y) *z*", "`a`"):
        site.add(title, body="<p>alpha</p>")
    ring = site.add("Ring", body="<p>alpha</p>")
    ring.parent = site.add("Round", ring.id, "<p>alpha</p>").id
    site.add("Self").parent = str(100 + len(site.pages) - 1)
    large = site.add("Large", body="<p>beta</p>" * amount(2_000, 450_000) + "<p>alpha</p>")
    for number in range(amount(20, 2_000)):
        large.files[f"file {number}.txt"] = (1, b"%d" % number)
    bodies = {page.id: page.body for page in site.pages.values()}
    with served_clone(tmp_path, site) as served:
        assert len(served.clone().new) == len(site.pages)
        assert (served.changes(), served.pull().summary) == ({}, "nothing changed")
        assert len(list((served.folder / "attachments/large").iterdir())) == len(large.files)
        for path in served.folder.rglob("*.md"):
            path.write_text(path.read_text().replace("\nalpha\n", "\nomega\n"))
        assert served.push().refused == {}
        assert {page.id: page.body for page in site.pages.values()} == {
            page: body.replace("alpha", "omega") for page, body in bodies.items()
        }
