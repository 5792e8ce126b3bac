"""A site of Data Center, by the command line: the same folder, the same commands, the same care."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from confluence.bodies import BLOCKS
from confluence.data_center import CONTEXT, DataCenterHandler
from confluence.server import SiteServer, serving
from confluence.site import Comment, Page, Site
from spaces.places import cn


def site_of_pages() -> Site:
    site = Site("~ann", "Ann's space")
    run = site.add("Runbooks", body='<p>See <ac:link><ri:page ri:content-title="Deploy" /></ac:link>.</p>')
    deploy = site.add("Deploy", run.id, '<p>alpha</p><p><ac:link><ri:user ri:userkey="a2" /></ac:link></p>')
    deploy.files = {"a b.png": (1, b"PNG")}
    deploy.labels = {"ops"}
    deploy.comments = [Comment("c1", "<p>Below</p>", replies=[Comment("c2", "<p>Reply</p>")])]
    deploy.comments.append(Comment("c3", "<p>Inside</p>", "a2", "r-1", "alpha"))
    site.add("Blocks", run.id, "".join(BLOCKS.values()))
    return site


def page(server: SiteServer, title: str) -> Page:
    return next(page for page in server.site.pages.values() if page.title == title)


@pytest.fixture
def server() -> Iterator[SiteServer]:
    with serving(site_of_pages(), DataCenterHandler) as running:
        yield running


def test_a_folder_comes_from_data_center_as_from_the_cloud(tmp_path: Path, server: SiteServer) -> None:
    folder, home = tmp_path / "ann", {"HOME": str(tmp_path)}
    site, address = server.site, f"{server.url}{CONTEXT}"
    wrong = cn(tmp_path, "login", server.url, "--token-stdin", env=home, stdin="other\n")
    assert (wrong.code, "rejects the token" in wrong.stderr) == (3, True)
    signed = cn(tmp_path, "login", f"{address}/display/x", "--token-stdin", env=home, stdin="secret\n")
    assert f"Signed in to {address};" in signed.stderr
    assert address in cn(tmp_path, "login", server.url, "--token-stdin", env=home, stdin="secret\n").stderr
    cloned = cn(tmp_path, "clone", "~ann", str(folder), "--site", server.url, "--comments", env=home)
    assert (cloned.text, cloned.code) == ("ann: 4 new\n", 0)
    deploy = folder / "runbooks/deploy.md"
    text = deploy.read_text()
    assert f"\nurl: {address}/pages/viewpage.action?pageId={page(server, 'Deploy').id}\n" in text
    assert all(part in text for part in ("[@Bo Ek](", "\n  - ops\n", "\nauthor_name: Ann Lee\n"))
    assert (folder / "attachments/runbooks/deploy/a b.png").read_bytes() == b"PNG"
    shown = (folder / "runbooks/deploy.comments.md").read_text()
    assert [shown.index(word) for word in ("Below", "Reply", "> alpha", "Inside")] == sorted(
        shown.index(word) for word in ("Below", "Reply", "> alpha", "Inside")
    )
    assert cn(folder, "push", env=home).text == "Nothing to push.\n"
    assert cn(folder, "pull", env=home).text == "Nothing changed\n"
    assert site.writes == []


def test_edits_go_there_and_back(tmp_path: Path, server: SiteServer) -> None:
    site, folder = server.site, tmp_path / "ann"
    home = {"CN_TOKEN": "secret", "CN_SITE": server.url}
    assert cn(tmp_path, "clone", "~ann", str(folder), env=home).code == 0
    deploy = folder / "runbooks/deploy.md"
    deploy.write_text(deploy.read_text().replace("alpha", "omega").replace("- ops", "- fast"))
    new = folder / cn(folder, "new", "Fresh", "--parent", "runbooks/README.md").text.strip()
    new.write_text(new.read_text() + "\nSee [deploy](deploy.md).\n")
    pushed = json.loads(cn(folder, "push", "--json", env=home).text)
    assert (sorted(pushed["pushed"]), pushed["refused"]) == (["runbooks/deploy.md", "runbooks/fresh.md"], [])
    assert page(server, "Deploy").body.startswith('<p>omega</p><p><ac:link><ri:user ri:userkey="a2" />')
    assert page(server, "Deploy").labels == {"fast"}
    assert page(server, "Fresh").parent == page(server, "Runbooks").id
    for content in (b"1", b"2"):
        (tmp_path / "x.txt").write_bytes(content)
        assert cn(folder, "attach", "runbooks/deploy.md", str(tmp_path / "x.txt"), env=home).code == 0
    assert page(server, "Deploy").files["x.txt"] == (2, b"2")
    site.rename(page(server, "Deploy"), "Roll out")
    page(server, "Blocks").status = "trashed"
    site.edit(page(server, "Fresh"), "<p>Theirs.</p>")
    new.write_text(new.read_text().replace("See ", "Mine. See "))
    pulled = cn(folder, "pull", "--json", env=home)
    report = json.loads(pulled.text)
    assert (pulled.code, report["conflicts"], report["deleted"]) == (
        8,
        ["runbooks/fresh.md"],
        ["runbooks/blocks.md"],
    )
    assert report["moved"] == [{"from": "runbooks/deploy.md", "to": "runbooks/roll-out.md"}]
    assert "(roll-out.md)" in (folder / "runbooks/README.md").read_text()
    page(server, "Roll out").restricted = True
    assert "no longer shows" in cn(folder, "pull", env=home).stderr
    server.tokens = {"newer"}
    expired = cn(folder, "pull", env=home)
    assert (expired.code, "goes on where it was" in expired.stderr) == (3, True)
