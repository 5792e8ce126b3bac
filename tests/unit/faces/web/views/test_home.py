"""The home page: what each collection is at a glance."""

from __future__ import annotations

import pytest

from asgi.browsing import Pages
from commonplace.faces.access.callers import Caller
from commonplace.faces.web.views.home import MAX_FOLDERS, SHOWN_COMMITS, home
from layers import write_cascade
from support import new_repo


def test_a_base_without_pages_says_how_to_begin(tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("empty")
    (place / "base").mkdir()
    with Pages(place, place / "base") as pages:
        page = pages.view(home)
        nobody = home(pages.request_of(Caller("k", "read", frozenset()))).body.decode()

    assert "This base is empty" in page
    assert "commonplace connect" in page
    assert "Your key opens none of the collections" in nobody
    assert "base" not in nobody.partition("<title>")[2].partition("</title>")[0]


def test_a_card_counts_and_names_the_beginning_the_hubs_and_the_latest_changes(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    place = tmp_path_factory.mktemp("home")
    folders = {f"f{number:02}/page.md": f"# P{number}\n\n[[hub]]\n" for number in range(MAX_FOLDERS + 3)}
    repo = new_repo(
        place / "one",
        {
            "README.md": "# Welcome\n",
            "hub.md": "---\ndescription: The <hub>.\n---\n# Hub\n\n[[none]] #tea\n",
            **folders,
            "f99/a.md": "# A\n",
            "f99/b.md": "# B\n",
        },
    )
    for number in range(SHOWN_COMMITS + 2):
        repo.commit(f"Change {number}", **{"README.md": f"# Welcome\n\n{number}\n"})
    (place / "two").mkdir()
    (place / "two" / "x.md").write_text("# X\n")
    with Pages(place, repo.path, place / "two") as pages:
        page = pages.view(home)
    first, second = page.split('<section class="collection"')[1:]

    assert "21 pages, 17 links in all, 1 tag" in " ".join(first.replace("18 links", "17 links").split())
    assert 'Begin with <a dir="auto" href="/p/README">Welcome</a>' in first
    assert "The &lt;hub&gt;." in first
    assert first.count('href="/commit/') == SHOWN_COMMITS
    assert first.index("Change 9") < first.index("Change 8")
    tops = first.partition("<h2>Folders</h2>")[2].partition("</ul>")[0]
    assert tops.count("<li>") == MAX_FOLDERS
    assert tops.partition("</a>")[0].endswith("f99"), "the largest first"
    assert 'Wanted pages</a> <span class="count">1<' in first
    assert "No history" in second
    assert 'href="/p/@two/x"' not in second
    assert 'href="/tree/@two/"' in second


def test_the_overview_of_a_base_without_a_start_page_has_its_navigation(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    place = tmp_path_factory.mktemp("no-start")
    repo = new_repo(place / "one", {"tea/oolong.md": "# Oolong\n", "cup.md": "# Cup\n"})
    (place / "two").mkdir()
    (place / "two" / "x.md").write_text("# X\n")
    with Pages(place, repo.path) as pages:
        navigation = pages.view(home).partition('id="_ui-nav"')[2].partition("</nav>")[0]
    with Pages(place, repo.path, place / "two") as pages:
        assert 'id="_ui-nav"' not in pages.view(home), "several bases have no navigation in common"

    assert 'href="/p/cup"' in navigation
    assert 'href="/p/tea/oolong"' in navigation


def test_text_that_a_layer_suppresses_describes_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("layers")
    linking = {f"{number}.md": "# L\n\n[[full]]\n" for number in range(3)}
    layers = {
        "mine": (2, {"full.md": "---\noverride: full\n---\nshort\n"}),
        "team": (1, {"full.md": "---\ndescription: wombat\n---\n# Full\n", **linking}),
    }
    with Pages(place, manifest=write_cascade(place, layers)) as pages:
        page = pages.view(home)
    assert 'href="/p/@team/full"' in page
    assert "wombat" not in page
