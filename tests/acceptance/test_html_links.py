"""Links in HTML and behind the tags of MDX are links: listed, checked, rewritten by moves, and shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from shell import Shell
from support import GitRepo, new_repo

PAGE = (
    '# A\n\n<img src="../img/p.png" width="200">\n\n'
    "Text <a href='b.md#Part One'>b</a>, <A HREF=b.md>b</A> and <a href=\"../x%20y/c.md?v=1&amp;w=2#top\">c</a>.\n\n"
    '<video poster="../img/s.png">\n  <source\n    src="../img/v.mp4">\n</video>\n\n'
    '<picture><source srcset="../img/r.webp 1x, ../img/s.png 2x"></picture>\n\n'
    '<!-- <img src="../img/gone.png"> --> `<a href="gone.md">` <a href="https://far.example/x.md">far</a>\n\n'
    '<a href="#top">up</a> <a href="{{ url }}/x.md">computed</a> <a href="gone.md">gone</a> <img src="\n'
)
PICTURES = ("p.png", "s.png", "v.mp4", "r.webp")


@pytest.fixture
def repo(tmp_path: Path, cache_dir: Path) -> GitRepo:
    assert cache_dir.is_dir()
    files: dict[str, str | bytes] = {
        "notes/a.md": PAGE,
        "notes/b.md": "# B\n\n## Part One\n",
        "x y/c.md": "# C\n",
        **{f"img/{name}": b"\x89PNG" for name in PICTURES},
    }
    return new_repo(tmp_path / "base", files)


def findings(shell: Shell, *rules: str) -> list[str]:
    """Path and message of the findings of these rules."""
    found_findings = shell("check", "--json").json["findings"]
    return [f"{finding['path']}: {finding['message']}" for finding in found_findings if finding["rule"] in rules]


def test_attributes_of_html_are_links_of_their_page(repo: GitRepo) -> None:
    shell = Shell(repo.path)
    broken = findings(shell, "broken_link", "dead_anchor", "unused_attachment")
    assert len(broken) == 1
    assert "gone.md" in broken[0]
    assert "notes/a.md" in shell.ok("links", "notes/b.md", "--back").text


def test_a_page_that_moves_takes_them_along_and_every_other_byte_stays(repo: GitRepo) -> None:
    shell = Shell(repo.path)
    shell.ok("mv", "notes/a.md", "deep/er/a.md")
    moved = (
        PAGE.replace('"../img/', '"../../img/').replace(", ../img/", ", ../../img/").replace("../x%20y", "../../x%20y")
    )
    moved = moved.replace("'b.md#", "'../../notes/b.md#").replace("HREF=b.md", "HREF=../../notes/b.md")
    moved = moved.replace('<!-- <img src="../../img', '<!-- <img src="../img')
    assert (repo.path / "deep/er/a.md").read_text() == moved
    shell.ok("mv", "notes/b.md", "notes/it's 1, 2 = b.md")
    assert "<a href='../../notes/it%27s%201%2C%202%20%3D%20b.md#Part One'>" in (repo.path / "deep/er/a.md").read_text()
    assert len(findings(shell, "broken_link", "dead_anchor", "unused_attachment")) == 1


def test_links_of_mdx_in_lines_that_begin_with_a_tag(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    text = (
        "# A\n<Note>See [x](b.mdx) and [g](gone.mdx)</Note>\n\n- item\n\n  <Tip>[in a list](b.mdx)</Tip>\n\n"
        '<a href="b.mdx">b</a> <Card href="no.mdx" /> {/* <a href="no.mdx">x</a> */}\n\n'
        "```\n<Note>[code](no.mdx)</Note>\n```\n"
    )
    repo = new_repo(tmp_path / "base", {"a.mdx": text, "b.mdx": "# B\n"})
    shell = Shell(repo.path)
    (broken,) = findings(shell, "broken_link")
    assert "gone.mdx" in broken
    shell.ok("mv", "b.mdx", "bb.mdx")
    assert (repo.path / "a.mdx").read_text() == text.replace("(b.mdx", "(bb.mdx").replace('"b.mdx', '"bb.mdx')


def test_pictures_and_code_of_docfx_are_links_of_their_page(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    text = (
        '# A\n\n:::image type="content" source="m/a%20b.png" alt-text="A: b" lightbox="m/big.png":::\n\n'
        '- item\n\n  :::image source="m/gone.png" alt-text="x":::\n\n:::code source="x.cs" range="1-2":::\n\n'
        '```\n:::image source="m/code.png":::\n```\n\n:::image source="~/root.png":::\n'
    )
    pictures: dict[str, str | bytes] = {f"m/{name}.png": b"\x89PNG" for name in ("a b", "big", "unused")}
    repo = new_repo(tmp_path / "base", {"a.md": text, "x.cs": "code\n", **pictures})
    shell = Shell(repo.path)
    (broken, unused) = findings(shell, "broken_link", "dead_anchor", "missing_attachment", "unused_attachment")
    assert "m/gone.png" in broken
    assert unused.startswith("m/unused.png")
    shell.ok("mv", "a.md", "deep/a.md")
    moved = text.replace('source="m/', 'source="../m/').replace('box="m/', 'box="../m/').replace("x.cs", "../x.cs")
    assert (repo.path / "deep/a.md").read_text() == moved.replace('"../m/code', '"m/code').replace(
        '"../m/gone', '"m/gone'
    )
