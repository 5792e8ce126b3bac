"""Feeds, which are well-formed for any commit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from asgi.browsing import Pages
from commonplace.faces.access.callers import Caller
from commonplace.faces.web.views.feeds import atom, opensearch, robots
from support import GitRepo, MakeRepo, new_repo

ATOM = "{http://www.w3.org/2005/Atom}"
FILES: dict[str, str | bytes] = {
    "notes/a.md": "# A\n\n#Guide/First\n",
    "notebook/b.md": "# B\n\n#guidebook\n",
    "c.md": "# C\n\n#straße\n",
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    made = new_repo(tmp_path_factory.mktemp("feeds") / "base <&>")
    for number, (path, text) in enumerate(FILES.items()):
        os.utime(made.write(path, text), (number, number))
        made.git("add", path)
        message = f"Escape \x1b[31m, \x01, \ufffe and ]]> {number} 🚀"
        made.git("commit", "--quiet", "--message", message, f"--date=@{number + 1} +0000")
    return made


@pytest.fixture(scope="module")
def pages(repo: GitRepo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    with Pages(tmp_path_factory.mktemp("place"), repo.path) as served:
        yield served


def entries(pages: Pages, **query: str) -> list[str]:
    """The paths that a feed names, an entry each."""
    elements = ET.fromstring(pages.view(atom, **query)).iter(f"{ATOM}entry")  # noqa: S314 - our own
    return [element.findtext(f"{ATOM}summary") or "" for element in elements]


def test_a_feed_is_well_formed_whatever_messages_hold(pages: Pages) -> None:
    feed = ET.fromstring(pages.view(atom))  # noqa: S314 - our own
    titles = [element.findtext(f"{ATOM}title") for element in feed.iter(f"{ATOM}entry")]

    assert len(titles) == 3
    assert any("]]> 0 🚀" in str(title) for title in titles)
    assert "base <&>" in str(feed.findtext(f"{ATOM}title"))
    assert [element.attrib["href"].partition("/commit/")[0] for element in feed.iter(f"{ATOM}link")][
        -1
    ] == "http://localhost"


@pytest.mark.parametrize("name", ["folder", "tag"])
@pytest.mark.parametrize("value", ["\0", "\x1b", "none", "a&b<c>", "ä ö", "/", "\ufffe"])
def test_a_feed_of_what_nothing_has_is_well_formed(pages: Pages, name: str, value: str) -> None:
    assert entries(pages, **{name: value}) in ([], list(reversed(FILES)))


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ({"folder": "notes"}, ["notes/a.md"]),
        ({"folder": "/notes/"}, ["notes/a.md"]),
        ({"folder": "note"}, []),
        ({"tag": "Guide"}, ["notes/a.md"]),
        ({"tag": "guide"}, ["notes/a.md"]),
        ({"tag": "GUIDE/first"}, ["notes/a.md"]),
        ({"tag": "STRASSE"}, ["c.md"]),
        ({"tag": "first"}, []),
        ({"tag": "guide", "folder": "notebook"}, []),
    ],
)
def test_a_feed_is_narrowed_as_its_page_is(pages: Pages, query: dict[str, str], paths: list[str]) -> None:
    assert entries(pages, **query) == paths


@pytest.mark.parametrize("when", [-1, 0, 99_999_999_999])
def test_a_time_of_any_commit_is_one_of_the_feed(git_repo: MakeRepo, tmp_path: Path, when: int) -> None:
    made = git_repo(files={"a.md": "# A\n"})
    tree, parent = made.git("rev-parse", "HEAD^{tree}"), made.git("rev-parse", "HEAD")
    lines = (f"tree {tree}", f"parent {parent}", f"author A <a@x> {when} +0000", f"committer A <a@x> {when} +0000")
    (tmp_path / "raw").write_text("\n".join([*lines, "", "Odd time", ""]))
    made.git(
        "reset",
        "--quiet",
        "--soft",
        made.git("hash-object", "-t", "commit", "-w", "--literally", str(tmp_path / "raw")),
    )

    with Pages(tmp_path / "place", made.path) as served:
        feed = ET.fromstring(served.view(atom))  # noqa: S314 - our own
    for element in feed.iter(f"{ATOM}updated"):
        assert len(str(element.text)) == len("1970-01-01T00:00:00Z")


def test_browsers_get_a_short_name_and_robots_nothing(pages: Pages) -> None:
    element = ET.fromstring(pages.view(opensearch))  # noqa: S314 - our own
    name = next(other_element.text for other_element in element.iter() if other_element.tag.endswith("ShortName"))
    assert len(str(name)) <= 16
    assert pages.view(robots) == "User-agent: *\nDisallow: /\n"


def test_search_engines_may_index_a_base_that_declares_its_address_and_is_read_without_a_key(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"a.md": "# A\n", "commonplace.yaml": "url: https://tea.example.org\n"})
    with Pages(tmp_path / "place", repo.path) as served:
        lines = served.view(robots).splitlines()
        assert lines[0] == "User-agent: *"
        assert "Disallow: /history/" in lines
        assert "Disallow: /" not in lines
        nobody = served.request_of(Caller("", "read", frozenset()))
        assert robots(nobody).body == b"User-agent: *\nDisallow: /\n"
    other = new_repo(tmp_path / "other", {"a.md": "# A\n"})
    with Pages(tmp_path / "two", repo.path, other.path) as served:
        assert served.view(robots) == "User-agent: *\nDisallow: /\n", "the other base declares no address"
