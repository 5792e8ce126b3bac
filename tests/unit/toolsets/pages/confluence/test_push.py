"""Pushing: one request that writes a page, nothing twice, nothing over what others wrote."""

from __future__ import annotations

import random
import re
from contextlib import suppress
from pathlib import Path

from commonplace.domain.errors import KnowledgeError
from commonplace.toolsets.pages.confluence.push import attach, diff, new_page, set_labels, status
from commonplace.toolsets.pages.confluence.workspace import Workspace
from confluence.clones import Clone, served_clone, small_site
from support import Amount


def test_each_part_of_a_page_is_pushed_with_one_request(tmp_path: Path) -> None:
    with served_clone(tmp_path) as clone:
        clone.clone()
        clone.edit("runbooks/deploy.md", "alpha", "omega")
        clone.edit("runbooks/deploy.md", "# Deploy", "# Deploy \\*now\\*")
        clone.edit("runbooks/deploy.md", "  - ops\n", "  - fast\n")
        (clone.folder / "runbooks/blocks.md").rename(clone.folder / "drawer/blocks.md")
        assert clone.changes() == {
            "drawer/blocks.md": "place",
            "runbooks/deploy.md": "text, title (was Deploy), +fast, -ops",
        }
        (change,) = [one for one in status(Workspace(clone.folder)).changes if one.body]
        assert "-alpha\n+omega" in diff(Workspace(clone.folder), change)
        assert clone.push(dry_run=True).pushed == ["drawer/blocks.md", "runbooks/deploy.md"]
        assert clone.site.writes == []
        assert clone.push().refused == {}
        page = clone.page("Deploy *now*")
        assert page.body.startswith("<p>omega</p><p>beta</p>")
        assert (page.version, page.labels) == (2, {"fast", "runbook"})
        assert clone.page("Blocks").parent == clone.page("Drawer").id
        assert [name for name, _ in clone.site.writes].count("PUT") == 2
        assert clone.changes() == {}
        assert clone.git("status", "--short") == ""
        assert "See [Deploy](deploy.md)." in clone.read("runbooks/README.md")
        assert clone.pull().moved == [("runbooks/deploy.md", "runbooks/deploy-now.md")]
        assert "See [Deploy \\*now\\*](deploy-now.md)." in clone.read("runbooks/README.md")
        assert (clone.changes(), clone.pull().summary) == ({}, "nothing changed")


def test_new_pages_lie_where_their_file_does(tmp_path: Path) -> None:
    with served_clone(tmp_path) as clone:
        clone.clone()
        workspace = Workspace(clone.folder)
        path = new_page(workspace, "How we deploy", "runbooks/deploy.md")
        assert path == "runbooks/deploy/how-we-deploy.md"
        with (clone.folder / path).open("a") as file:
            file.write("\nSee [this](../deploy.md) and ![x](https://example.org/x.png).\n\n> [!NOTE]\n> `a`\n")
        set_labels(workspace, path, ["new"], [])
        (clone.folder / "notes.md").write_text("# No page\n")
        assert clone.push().pushed == [path]
        page = clone.page("How we deploy")
        assert (page.parent, page.labels) == (clone.page("Deploy").id, {"new"})
        assert f"/pages/{page.parent}" in page.body
        assert clone.changes() == {}
        assert clone.pull().moved == [("runbooks/deploy.md", "runbooks/deploy/README.md")]
        assert "[this](README.md)" in clone.read(path)
        assert clone.changes() == {}
        with clone.api() as api:
            links = attach(api, Workspace(clone.folder), path, [clone.folder / "notes.md"], dry_run=False)
        assert (list(page.files), links) == (
            ["notes.md"],
            ["[notes.md](../../attachments/runbooks/deploy/how-we-deploy/notes.md)"],
        )


def test_what_cannot_be_pushed_is_refused_with_its_line_and_the_rest_is_pushed(tmp_path: Path) -> None:
    with served_clone(tmp_path) as clone:
        clone.clone()
        clone.edit("runbooks/blocks.md", "[jira-chart:", "[changed:")
        clone.edit("runbooks/deploy.md", "beta", "omega")
        clone.edit("README.md", "Welcome.", "<video>")
        site_before = clone.page("Blocks").body
        clone.site.edit(clone.page("Inside"), "<p>inside 2</p>")
        clone.edit("drawer/inside.md", "inside\n", "inside 3\n")
        report = clone.push()
        assert report.pushed == ["runbooks/deploy.md"]
        lines = clone.read("README.md").split("\n")
        assert str(report.refused["README.md"]).startswith(f"Line {lines.index('<video>') + 1}: ")
        assert "cannot be edited" in str(report.refused["runbooks/blocks.md"])
        assert "version 2" in str(report.refused["drawer/inside.md"])
        assert clone.page("Blocks").body == site_before


def test_a_push_that_is_killed_at_any_request_writes_no_page_twice(tmp_path: Path) -> None:
    for fault in ("401", "cut-after"):
        number = 0
        while True:
            number += 1
            with served_clone(tmp_path / fault / str(number)) as clone:
                clone.clone()
                clone.edit("runbooks/deploy.md", "alpha", "omega")
                clone.edit("README.md", "Welcome.", "Welcome, **all**.")
                path = new_page(Workspace(clone.folder), "Brand new", "")
                server = clone.server
                server.count = 0
                server.fault = lambda count, _method, _path, last=number, fault=fault: fault if count == last else None
                with suppress(KnowledgeError):
                    clone.push()
                sent = server.count
                server.fault = lambda *_: None
                assert clone.push().refused == {}
                assert clone.changes() == {}
                versions = {page.title: page.version for page in clone.site.pages.values()}
                assert (versions["Home"], versions["Deploy"], versions["Brand new"]) == (2, 2, 1), (fault, number)
                assert "page_id" in clone.read(path)
                assert clone.site.pages[clone.site.home].body == "<p>Welcome, <strong>all</strong>.</p>"
                if sent < number:
                    break
        assert number > 5


def test_nothing_that_two_people_and_the_site_wrote_is_lost(tmp_path: Path, amount: Amount) -> None:
    rng = random.Random(49)
    with served_clone(tmp_path, small_site()) as ann:
        ann.clone()
        bo = Clone(ann.server, tmp_path / "bo" / "eng")
        bo.folder.parent.mkdir()
        bo.clone()
        page = ann.page("Deploy")
        page.body = "".join(f"<p>p{number}</p>" for number in range(12))
        page.version += 1
        written: list[str] = []

        def site_edits(mark: str) -> None:
            ends = [match.start() for match in re.finditer("</p>", page.body)]
            at = rng.choice(ends)
            ann.site.edit(page, f"{page.body[:at]} {mark}{page.body[at:]}")
            written.append(mark)

        def between(count: int, _method: str, _path: str) -> None:
            """Let the site edit in mid-pull and in mid-push."""
            if rng.random() < 0.05:
                site_edits(f"m{count}x")

        for number in range(amount(3, 500)):
            ann.server.fault = between
            for person in (ann, bo):
                settle(person)
                mark = f"{'a' if person is ann else 'b'}{number}x"
                lines = person.read("runbooks/deploy.md").split("\n")
                spots = [at for at, line in enumerate(lines) if line[:1] in "pabsm" and line[1:2].isdigit()]
                at = rng.choice(spots)
                lines[at] = f"{lines[at]} {mark}"
                (person.folder / "runbooks/deploy.md").write_text("\n".join(lines))
                written.append(mark)
            site_edits(f"s{number}x")
            for person in (ann, bo):
                settle(person)
        ann.server.fault = lambda *_: None
        for person in (ann, bo, ann):
            settle(person)
        assert [
            mark for mark in written if mark not in page.body.replace("</p>", " ").replace("<p>", " ").split()
        ] == []
        assert (ann.tree().keys(), ann.changes(), bo.changes()) == (bo.tree().keys(), {}, {})


def settle(person: Clone) -> None:
    """Pull and push, and solve a conflict, once."""
    person.pull()
    if (person.folder / "runbooks/deploy.md.remote").exists():
        resolve(person)
    person.push()


def resolve(person: Clone) -> None:
    """Do what a person does with a conflict: append what the site has not, to the site's text."""
    remote = person.folder / "runbooks/deploy.md.remote"
    theirs, mine = remote.read_text(), person.read("runbooks/deploy.md")
    marks = [word for word in mine.split() if word[-1:] == "x" and word not in theirs.split()]
    (person.folder / "runbooks/deploy.md").write_text(theirs.rstrip("\n") + f"\n\n{' '.join(marks)}\n")
