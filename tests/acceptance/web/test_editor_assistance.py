"""While a person types, the server completes links, and stores what is pasted as attachments."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from browser import needs_browser, opened, running
from forms import page
from serving import Answer, Server, served
from support import GitRepo, new_repo

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
FILES: dict[str, str | bytes] = {
    "kb.yaml": "types:\n  meeting:\n    fields:\n      attendees:\n        type: list\n",
    "guides/green tea.md": "---\ntags: [drink/green, drink]\naliases: [Sencha]\n---\n# Green tea\n\n## Water\n",
    "pot.md": "# Pot\n\n![[img/old.png]]\n",
    "img/old.png": PNG,
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    return new_repo(tmp_path_factory.mktemp("site") / "notes", FILES)


@pytest.fixture(scope="module")
def server(repo: GitRepo) -> Iterator[Server]:
    with served(repo.path, "--tier", "write", "--commit", "auto") as running_server:
        page(running_server, "/p/pot")
        yield running_server


def options(server: Server, **query: str) -> list[str]:
    return [option["text"] for option in server.ask("GET", f"/complete/pot?{urlencode(query)}").json["options"]]


def put(server: Server, name: str, content: bytes, path: str = "pot") -> Answer:
    headers = {"Origin": server.url, "Content-Type": "application/octet-stream"}
    return server.ask("PUT", f"/attach/{path}?{urlencode({'name': name})}", content, headers=headers)


def test_links_headings_tags_and_keys_are_completed(server: Server) -> None:
    assert options(server, kind="page", q="sen") == ["green tea"]
    assert options(server, kind="heading", page="green tea", q="wat") == ["Water"]
    assert options(server, kind="heading", page="absent", q="") == []
    assert options(server, kind="tag", q="drink/") == ["drink/green"]
    assert options(server, kind="key", q="att", type="meeting") == ["attendees"]
    assert options(server, kind="page", q='"(*' * 150) == []
    assert server.ask("GET", "/complete/pot?kind=x").status == 404


def test_a_file_is_stored_beside_the_others_and_nothing_is_overwritten(server: Server, repo: GitRepo) -> None:
    first = put(server, "My [new] pot.png", PNG).json
    assert first == {
        "path": "img/My [new] pot.png", "created": True, "markdown": "![My  new  pot](img/My%20[new]%20pot.png)",
    }  # fmt: skip
    assert (repo.path / first["path"]).read_bytes() == PNG
    assert repo.git("log", "-1", "--format=%s") == "Attach: My [new] pot.png"
    assert put(server, "My [new] pot.png", PNG).json == first | {"created": False}
    assert put(server, "old.png", PNG + b"x").json["path"] == "img/old-2.png"
    assert (repo.path / "img/old.png").read_bytes() == PNG
    device = put(server, "CON.png", PNG).json
    assert (device["path"], device["markdown"]) == ("img/CON page.png", "![CON page](img/CON%20page.png)")
    beside = put(server, "list.csv", b"a,b\n", "guides/green%20tea").json
    assert (beside["path"], beside["markdown"]) == ("guides/attachments/list.csv", "[list.csv](attachments/list.csv)")


def test_scripts_escapes_and_large_files_are_refused(server: Server, repo: GitRepo) -> None:
    before = repo.git("rev-parse", "HEAD")
    for name, content in (
        ("x.png", b"<script>"),
        ("x.svg", b"<svg onload='x'/>"),
        ("x.html", b"<p>"),
        ("../../x.html", PNG),
        (".png", b"x"),
        ("", PNG),
    ):
        assert put(server, name, content).status == 422, name
    assert put(server, "../../up.png", PNG).json["path"] == "img/up.png"
    with server.connect() as connection:
        head = f"PUT /attach/pot?name=x.png HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: {server.url}\r\n"
        connection.sendall(f"{head}Content-Type: image/png\r\nContent-Length: 200000000\r\n\r\n".encode())
        assert b" 413 " in connection.recv(200)
    foreign = {"Origin": "http://evil.example", "Content-Type": "image/png"}
    assert server.ask("PUT", "/attach/pot?name=x.png", PNG, headers=foreign).status == 403
    assert repo.git("log", "--format=%s", f"{before}..").splitlines() == ["Attach: up.png"]


def test_readers_complete_and_attach_nothing(repo: GitRepo) -> None:
    with served(repo.path) as server:
        page(server, "/p/pot")
        assert server.ask("GET", "/complete/pot?kind=tag&q=").status == 403
        assert put(server, "x.png", PNG).status == 403


@needs_browser
@pytest.mark.xdist_group("browser")
def test_a_link_is_completed_by_keyboard_and_a_picture_is_pasted(server: Server, repo: GitRepo) -> None:
    with running() as browser:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        tab = context.new_page()
        opened(tab, f"{server.url}/edit/pot")
        tab.locator(".cm-content").click()
        tab.keyboard.press("Control+End")
        tab.keyboard.type("See [[Sen")
        expect(tab.get_by_role("option", name="Green tea")).to_be_visible()
        tab.wait_for_timeout(100)  # CodeMirror takes no key within 75 ms of showing completions
        tab.keyboard.press("Enter")
        expect(tab.locator(".cm-content")).to_contain_text("See [[green tea]]")
        tab.keyboard.type(" and ")
        tab.evaluate(
            """bytes => {
                const data = new DataTransfer();
                data.items.add(new File([new Uint8Array(bytes)], "cup.png", { type: "image/png" }));
                const target = document.querySelector(".edit-host").shadowRoot.querySelector(".cm-content");
                const options = { clipboardData: data, bubbles: true, cancelable: true };
                target.dispatchEvent(new ClipboardEvent("paste", options));
            }""",
            [*PNG],
        )
        expect(tab.locator(".cm-content")).to_contain_text("and ![cup](img/cup.png)")
        expect(tab.locator(".edit-preview img[src*='/files/img/cup.png']")).to_be_visible()
        tab.keyboard.press("Control+s")
        tab.wait_for_url("**/p/pot")
        context.close()
    assert (repo.path / "pot.md").read_text().endswith("See [[green tea]] and ![cup](img/cup.png)")
