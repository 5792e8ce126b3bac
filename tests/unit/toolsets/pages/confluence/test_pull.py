"""Cloning and pulling: whole states, nothing overwritten, nothing deleted by guess."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.domain.errors import (
    AlreadyExistsError,
    PreconditionError,
    StorageError,
    UnauthenticatedError,
    UnavailableError,
)
from confluence.clones import Clone, served_clone, small_site
from confluence.site import Site


def test_a_clone_has_every_page_and_a_pull_without_changes_does_nothing(tmp_path: Path) -> None:
    with served_clone(tmp_path) as clone:
        report = clone.clone()
        assert sorted(report.new) == [
            "README.md",
            "drawer/README.md",
            "drawer/inside.md",
            "runbooks/README.md",
            "runbooks/blocks.md",
            "runbooks/deploy.md",
        ]
        assert (clone.folder / "attachments/runbooks/deploy/a b.png").read_bytes() == b"PNG"
        assert "See [Deploy](deploy.md)." in clone.read("runbooks/README.md")
        assert "labels:\n  - ops\n  - runbook\n" in clone.read("runbooks/deploy.md")
        assert "A folder of the site" in clone.read("drawer/README.md")
        before = clone.tree()
        assert clone.pull().summary == "nothing changed"
        assert clone.push().pushed == []
        assert (clone.tree(), clone.site.writes, clone.git("status", "--short")) == (before, [], "")
        assert clone.git("log", "--format=%s").split("\n")[0] == "Pull ENG: 6 new"
        with pytest.raises(AlreadyExistsError):
            clone.clone()


def test_what_happens_on_the_site_happens_in_the_folder(tmp_path: Path) -> None:
    with served_clone(tmp_path) as clone:
        clone.clone()
        site, deploy = clone.site, clone.page("Deploy")
        site.rename(deploy, "Deploying now")
        site.edit(clone.page("Inside"), "<p>inside out</p>")
        site.move(clone.page("Inside"), deploy)
        clone.page("Blocks").status = "trashed"
        clone.page("Home").labels = {"start"}
        report = clone.pull()
        assert report.deleted == ["runbooks/blocks.md"]
        tree = clone.tree()
        assert "runbooks/deploying-now/README.md" in tree
        assert "inside out" in clone.read("runbooks/deploying-now/inside.md")
        assert "attachments/runbooks/deploying-now/a b.png" in tree
        assert "See [Deploying now](deploying-now/README.md)." in clone.read("runbooks/README.md")
        assert "- start" in clone.read("README.md")
        assert not {"runbooks/deploy.md", "drawer/README.md"} & set(tree)
        assert clone.git("log", "--follow", "--format=%s", "runbooks/deploying-now/README.md").count("Pull") == 2
        assert "Inside: version 3 by" in clone.git("log", "-1", "--format=%b")
        assert clone.git("status", "--short") == ""


def test_a_page_that_is_listed_and_not_given_is_named_and_comes_later(tmp_path: Path) -> None:
    with served_clone(tmp_path) as clone:
        clone.clone()
        late = clone.site.add("Late")
        late.restricted = True
        clone.site.listed = lambda: [*Site.listed(clone.site), *([late] if late.restricted else [])]  # type: ignore[method-assign]
        report = clone.pull()
        assert report.new == []
        assert [f"'Late' (page {late.id})" in note for note in report.notes] == [True]
        late.restricted = False
        report = clone.pull()
        assert ([Path(path).name for path in report.new], report.notes) == (["late.md"], [])


def test_pages_that_are_hidden_are_kept_and_many_that_are_gone_must_be_confirmed(tmp_path: Path) -> None:
    with served_clone(tmp_path) as clone:
        for number in range(10):
            clone.site.add(f"Page {number}")
        clone.clone()
        clone.page("Deploy").restricted = True
        assert clone.pull().restricted == ["runbooks/deploy.md"]
        assert "alpha" in clone.read("runbooks/deploy.md")
        assert clone.pull().restricted == []
        for number in range(10):
            clone.page(f"Page {number}").status = "trashed"
        before = clone.tree()
        with pytest.raises(PreconditionError, match="10 of 16 pages are gone"):
            clone.pull()
        assert clone.tree() == before
        assert len(clone.pull(confirmed=True).deleted) == 10
        clone.page("Deploy").restricted = False
        assert clone.pull().changed == []


def test_edits_are_merged_or_left_alone_whether_committed_or_not(tmp_path: Path) -> None:
    for committed in (False, True):
        with served_clone(tmp_path / str(committed)) as clone:
            clone.clone()
            clone.edit("runbooks/deploy.md", "alpha", "mine")
            clone.edit("runbooks/blocks.md", "An <span", "My <span")
            if committed:
                clone.git("commit", "-qam", "Mine")
            deploy, blocks = clone.page("Deploy"), clone.page("Blocks")
            clone.site.edit(deploy, deploy.body.replace("gamma", "theirs"))
            clone.site.edit(blocks, blocks.body.replace("An <ac", "Our <ac"))
            report = clone.pull()
            assert (report.merged, report.conflicts) == (["runbooks/deploy.md"], ["runbooks/blocks.md"])
            assert "mine\n\nbeta\n\ntheirs" in clone.read("runbooks/deploy.md")
            assert "My <span" in clone.read("runbooks/blocks.md")
            assert "Our <span" in clone.read("runbooks/blocks.md.remote")
            assert list(clone.push().refused) == ["runbooks/blocks.md"]
            assert deploy.body.startswith("<p>mine</p><p>beta</p><p>theirs</p>")
            clone.edit("runbooks/blocks.md", "version: 1", "version: 2")
            assert clone.push().refused == {}
            assert "My <ac" in blocks.body
            assert not (clone.folder / "runbooks/blocks.md.remote").exists()
            assert clone.changes() == {}
            clone.edit("drawer/inside.md", "inside\n", "mine\n")
            clone.site.edit(clone.page("Inside"), "<p>theirs</p>")
            assert clone.pull().conflicts == ["drawer/inside.md"]
            remote = clone.folder / "drawer/inside.md.remote"
            (clone.folder / "drawer/inside.md").write_bytes(remote.read_bytes())
            assert (clone.push().pushed, remote.exists()) == ([], False)


@pytest.mark.parametrize("what", ["clone", "pull"])
def test_a_run_that_is_killed_at_any_request_is_continued(tmp_path: Path, what: str) -> None:
    def prepared(folder: Path) -> Clone:
        clone = Clone(stack, folder)
        if what == "pull":
            clone.clone()
        return clone

    def change(site: Site) -> None:
        if what == "pull":
            page = next(page for page in site.pages.values() if page.title == "Deploy")
            site.edit(page, page.body.replace("beta", "omega"))
            site.rename(page, "Deployed")

    number, trees = 0, list[dict[str, bytes]]()
    while True:
        number += 1
        with served_clone(tmp_path, small_site()) as served:
            stack = served.server
            clone = prepared(tmp_path / f"{what}{number}")
            change(stack.site)
            run: Callable[[], object] = clone.clone if what == "clone" else clone.pull
            before = clone.tree() if what == "pull" else {}
            stack.count = 0
            stack.fault = lambda count, _method, _path, last=number: "401" if count == last else None
            try:
                run()
            except (UnauthenticatedError, UnavailableError):
                stack.fault = lambda *_: None
                assert (clone.tree() if clone.folder.exists() else {}) == before
                run()
                trees.append({path: raw.replace(stack.url.encode(), b"") for path, raw in clone.tree().items()})
                continue
            trees.append({path: raw.replace(stack.url.encode(), b"") for path, raw in clone.tree().items()})
            break
    assert number > 4
    assert all(tree == trees[-1] for tree in trees)


def test_a_change_of_the_folder_that_failed_midway_is_finished(tmp_path: Path) -> None:
    with served_clone(tmp_path) as clone:
        clone.clone()
        clone.site.rename(clone.page("Deploy"), "Deployed")
        obstacle = clone.folder / "runbooks/deployed.md"
        (obstacle / "x").mkdir(parents=True)
        for _ in range(2):
            with pytest.raises(StorageError, match="is a folder"):
                clone.pull()
        assert "runbooks/deploy.md" in clone.tree()
        (obstacle / "x").rmdir()
        obstacle.rmdir()
        clone.pull()
        assert "runbooks/deployed.md" in clone.tree()
        assert "runbooks/deploy.md" not in clone.tree()
        assert "See [Deployed](deployed.md)." in clone.read("runbooks/README.md")
        assert (clone.git("status", "--short"), clone.changes()) == ("", {})


def test_odd_sites_are_cloned(tmp_path: Path) -> None:
    site = Site()
    for title in ("Same", "same ", "/", "\U0001f600" * 60, "README"):
        site.add(title, body="<p>x</p>")
    ring = site.add("Ring")
    ring.parent = site.add("Round", ring.id).id
    site.add("Broken", body="<p>open & lost")
    site.add("Empty")
    site.add("Large", body="<p>word <b>bold</b> text</p>" * 2_000)
    many = site.add("Many", body='<p><ac:image><ri:attachment ri:filename="f1.txt" /></ac:image></p>')
    many.files = {f"f{number}.txt": (1, b"%d" % number) for number in range(12)}
    with served_clone(tmp_path, site) as clone:
        assert len(clone.clone().new) == len(site.pages)
        assert "not well-formed" in clone.read("broken.md")
        assert len(list((clone.folder / "attachments/many").iterdir())) == 12
        assert (clone.pull().summary, clone.changes()) == ("nothing changed", {})
        site.key = "NEW"
        assert clone.pull().conflicts == []
        (clone.folder / "ring.md").write_text("# Mine\n")
        taken = site.add("Fresh")
        (clone.folder / "fresh.md").write_text("# My own file\n")
        clone.pull()
        assert f'page_id: "{taken.id}"' in clone.read("fresh.md")
        assert [path.read_text() for path in clone.folder.glob("fresh.mine-*.md")] == ["# My own file\n"]
