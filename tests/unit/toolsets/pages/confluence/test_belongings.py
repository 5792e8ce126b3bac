"""What a space has beside the text of its pages: boards, files that no page names, comments."""

from __future__ import annotations

from pathlib import Path

from commonplace.toolsets.pages.confluence.pull import PullOptions, clone
from confluence.clones import Clone, served_clone, small_site
from confluence.site import Comment, Site


def rich_site() -> Site:
    site = small_site()
    site.add("Board", kind="whiteboard")
    site.add("Figures", site.home, kind="database")
    site.add("Empty drawer", kind="folder")
    home = site.pages[site.home]
    home.files = {"x.txt": (1, b"X"), "X.txt": (1, b"XX"), "a:b.txt": (1, b"AB")}
    # a file of the site is never a page, whatever it says
    home.files["a.md"] = (1, b'---\npage_id: "102"\ntitle: Deploy\n---\n# Evil\n')
    home.files["b.md"] = (1, b"---\ntitle: New\n---\n# New\n")
    deploy = next(page for page in site.pages.values() if page.title == "Deploy")
    reply = Comment("c3", "<p>Because.</p>")
    deploy.comments = [
        Comment("c1", "<p>Nice &amp; good</p>"),
        Comment("c2", "<p>Why?</p>", "a2", "r-1", "alpha", replies=[reply]),
    ]
    return site


def cloned(served: Clone, *, comments: bool) -> list[str]:
    lines: list[str] = []
    with served.api() as api:
        clone(api, "ENG", served.folder, PullOptions(comments=comments), lines.append)
    return lines


def test_leaves_and_files_that_no_page_names_are_there_and_kept_up_to_date(tmp_path: Path) -> None:
    with served_clone(tmp_path, rich_site()) as served:
        assert "attachments of 3 pages fetched, 0 left" in cloned(served, comments=False)
        assert f"[Board]({served.server.url}/wiki/spaces/ENG/whiteboard/" in served.read("board.md")
        assert "A database of the site" in served.read("figures.md")
        assert (served.folder / "empty-drawer.md").exists()
        files = {path.name: path.read_bytes() for path in (served.folder / "attachments/README").iterdir()}
        assert {files["x.txt"], files["X-2.txt"], files["a_b.txt"]} == {b"X", b"XX", b"AB"}
        assert (served.changes(), served.pull().summary) == ({}, "nothing changed")
        home = served.site.pages[served.site.home]
        served.site.attach(home, "late.txt", b"L")
        served.page("Board").status = "trashed"
        figures = served.page("Figures")
        figures.restricted = True
        report = served.pull()
        assert (report.restricted, (served.folder / "board.md").exists()) == (["figures.md"], False)
        assert (served.folder / "attachments/README/late.txt").read_bytes() == b"L"
        assert (served.folder / "figures.md").exists()
        figures.restricted = False
        served.pull()
        (served.folder / "README.md").write_text(served.read("README.md") + "\n![b](attachments/README/a_b.txt)\n")
        assert served.push().refused == {}
        assert '<ri:attachment ri:filename="a:b.txt" />' in home.body
        served.server.searchable = False
        assert "were not looked for" in served.pull().notes[0]
        assert (served.changes(), served.git("status", "--short")) == ({}, "")


def test_comments_lie_beside_their_page_while_they_are_asked_for(tmp_path: Path) -> None:
    with served_clone(tmp_path, rich_site()) as served:
        cloned(served, comments=True)
        shown = served.read("runbooks/deploy.comments.md")
        assert shown == (
            "# Comments on Deploy\n\n## Ann Lee, 2026-03-03\n\nNice & good\n\n## Bo Ek, 2026-03-03, open\n\n> alpha\n\n"
            "Why?\n\n### Ann Lee, 2026-03-03\n\nBecause.\n"
        )
        home = served.site.pages[served.site.home]
        served.site.comment(home, Comment("c9", "<p>Hi</p>"))
        served.site.rename(served.page("Deploy"), "Deployed")
        served.pull()
        assert "Hi" in served.read("README.comments.md")
        assert served.read("runbooks/deployed.comments.md") == shown
        assert not (served.folder / "runbooks/deploy.comments.md").exists()
        assert (served.changes(), served.pull().summary, served.git("status", "--short")) == ({}, "nothing changed", "")
        served.pull(comments=False)
        assert list(served.folder.rglob("*.comments.md")) == []
        served.pull(comments=True)
        assert len(list(served.folder.rglob("*.comments.md"))) == 2
