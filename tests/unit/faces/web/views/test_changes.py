"""The latest commits, one of them, a document's history, and two of its versions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from asgi.browsing import Pages
from commonplace.domain.errors import InvalidInputError, NotFoundError
from commonplace.faces.web.exchange import View
from commonplace.faces.web.views import changes
from commonplace.faces.web.views.changes import commit, compare, history, recent
from commonplace.faces.web.views.document import document, source
from commonplace.faces.web.views.lists import tree
from support import GitRepo, new_repo


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    made = new_repo(tmp_path_factory.mktemp("changes") / "base", {"a.md": "one\n", "b.markdown": "b\n", "c.md": "c\n"})
    made.commit("Second <b>\n\nWhy & how.\n\nCo-authored-by: Claude <c@x.example>", **{"a.md": "one\ntwo\n"})
    for path in ("b.markdown", "c.md"):
        made.git("rm", "--quiet", path)
    made.commit("Remove", **{"new.md": "x\n"})
    return made


@pytest.fixture(scope="module")
def pages(repo: GitRepo) -> Iterator[Pages]:
    plain = repo.path.parent / "plain"
    plain.mkdir()
    (plain / "p.md").write_text("# P\n")
    with Pages(repo.path.parent, repo.path, plain) as served:
        yield served


def test_recent_changes_are_newest_first_and_name_what_has_no_history(pages: Pages) -> None:
    page = pages.view(recent)

    assert page.index("Remove") < page.index("Second &lt;b&gt;") < page.index("Begin")
    assert "plain has no history" in page
    assert "Nothing was changed before this." in pages.view(recent, page="99999999999")


def test_a_move_is_one_page_of_its_commit_and_leads_to_what_it_is_now(tmp_path_factory: pytest.TempPathFactory) -> None:
    text = "A text that moves as it is, with its words.\n"
    repo = new_repo(
        tmp_path_factory.mktemp("moved") / "base", {"old/sub/one.md": f"one {text}", "old/two.md": f"two {text}"}
    )
    first = repo.git("rev-parse", "HEAD")
    for place, target in (("old", "newer"), ("newer", "newest")):
        repo.git("mv", place, target)
        repo.commit(f"Move to {target}")
    repo.git("rm", "--quiet", "newest/two.md")
    repo.commit("Delete two")
    with Pages(repo.path.parent, repo.path) as pages:
        listed = pages.view(recent).partition("Move to newest")[2].partition("<li>")[0]
        assert "newest/sub/one" in listed
        assert "newer/" not in listed
        assert pages.location(tree, "old") == "/tree/newest/"
        assert pages.location(tree, "newer/sub") == "/tree/newest/sub/"
        assert pages.location(document, "old/sub/one") == "/p/newest/sub/one"
        for path in ("old/sub/one", "newer/sub/one", "newest/sub/one"):
            then = pages.view(document, path, at=first)
            assert "no longer exists" not in then
            assert 'It was renamed to <a dir="auto" href="/p/newest/sub/one">' in then
            crumbs = then.partition('aria-label="Breadcrumb"')[2].partition("</nav>")[0]
            assert "old" in crumbs
            assert "newest" not in crumbs
        assert "It no longer exists." in pages.view(document, "old/two", at=first)
        second = repo.git("rev-parse", "HEAD~2")
        then = pages.view(history, "newest/sub/one", at=second)
        assert [row in then for row in ("Move to newer", "Begin", "Move to newest")] == [True, True, False]
        assert "As of" in then
        for path, at, text in (("newest/sub/one", first, "one A text"), ("newest/two", second, "two A text")):
            assert text in pages.view(source, path, at=at)
        with pytest.raises(NotFoundError):
            pages.view(history, "newest/two", at="2001-01-01")
        versions = pages.view(history, "newest/two")
        assert versions.count("deleted here") == 1
        for match in re.findall(r'href="/p/newest/two\?at=([0-9a-f]+)"', versions):
            assert "two A text" in pages.view(document, "newest/two", at=match)


def test_a_commit_shows_what_it_changed_and_who_helped(pages: Pages, repo: GitRepo) -> None:
    second = repo.git("rev-parse", "HEAD~1")
    for given_second in (second, second[:7], second.upper()):
        page = pages.view(commit, given_second)
        assert "Why &amp; how." in page
        assert "with Claude" in page
        assert "two" in page.partition('<tr class="added">')[2]
    assert 'class="diff diff-inline"' in pages.view(commit, second, view="inline")


@pytest.mark.parametrize("given", ["", "HEAD", "abc", "0" * 40, "--all", "@plain/" + "0" * 40, "@none/1234567"])
def test_a_commit_that_is_not_here_is_not_found(pages: Pages, given: str) -> None:
    with pytest.raises(NotFoundError):
        commit(pages.request(given))


def test_a_commit_of_many_rows_shows_the_first_and_counts_the_pages(pages: Pages, repo: GitRepo) -> None:
    many = {f"many/{number:03}.md": "line\n" * 100 for number in range(changes.MAX_FILES + 5)}
    repo.commit("Many", **many)

    page = pages.view(commit, repo.git("rev-parse", "HEAD"))

    assert page.count('<section class="file">') == changes.MAX_FILES
    assert page.count('class="added"') <= changes.MAX_DIFF_ROWS
    assert ">5 more<" in page


@pytest.mark.parametrize(
    ("path", "address"), [("a", "a"), ("a.md", "a"), ("c", "c"), ("c.md", "c"), ("b.markdown", "b.markdown")]
)
def test_a_history_is_kept_of_pages_that_are_gone(pages: Pages, path: str, address: str) -> None:
    page = pages.view(history, path)

    assert "Begin" in page
    assert f'action="/compare/{address}"' in page


@pytest.mark.parametrize("view", [history, compare])
@pytest.mark.parametrize("path", ["never", "", "..", "\0", "a/b", "@none/a", "pic.png"])
def test_a_page_that_never_was_has_no_history(pages: Pages, view: View, path: str) -> None:
    with pytest.raises(NotFoundError):
        view(pages.request(path))


def test_a_history_and_a_comparison_are_named_by_the_title_of_their_page(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"a.md": "---\ntitle: The <pilot>\n---\none\n"})
    with Pages(tmp_path, repo.path) as served:
        for view in (history, compare):
            shown = served.view(view, "a")
            assert "The &lt;pilot&gt;</a>" in shown.partition("<h1>")[2].partition("</h1>")[0]
            assert "The &lt;pilot&gt;" in shown.partition("<title>")[2].partition("</title>")[0]


def test_a_page_that_no_commit_has_yet_has_an_empty_history(pages: Pages) -> None:
    assert "No commit has this page." in pages.view(history, "@plain/p")


def test_two_versions_are_compared_with_now_and_with_nothing(pages: Pages, repo: GitRepo) -> None:
    first, last = repo.git("rev-list", "--max-parents=0", "HEAD"), repo.git("rev-parse", "HEAD")

    assert "two" in pages.view(compare, "a", from_=first, to=last).partition('<tr class="added">')[2]
    assert "two" in pages.view(compare, "a", from_=first).partition('<tr class="added">')[2]
    assert "No difference in the text." in pages.view(compare, "a", from_=last)
    assert "one" in pages.view(compare, "a", from_="").partition('<tr class="added">')[2]
    assert pages.view(compare, "a") == pages.view(compare, "a", from_=first), "without a choice: before the last commit"
    assert '<tr class="removed">' in pages.view(compare, "c", from_=first)


def test_words_are_marked_in_lines_that_changed_and_not_in_those_that_are_new(pages: Pages, repo: GitRepo) -> None:
    repo.commit("Long", **{"words.md": "one two three\n"})
    repo.commit("Longer", **{"words.md": "one four three\n\nnew line\n"})

    page = pages.view(compare, "words", view="inline")

    assert page.count("<mark>") == 2
    assert "<mark>four</mark>" in page
    assert '<span class="sign">+</span>new line</td>' in page


@pytest.mark.parametrize("given", ["nope", "--all", "HEAD", "0" * 40])
def test_versions_that_are_no_commits_are_not_found(pages: Pages, given: str) -> None:
    for query in ({"from_": given}, {"to": given}):
        with pytest.raises((NotFoundError, InvalidInputError)):
            compare(pages.request("never", **query))
