"""Pages of layers: text that a higher layer suppresses stands on its own layer's pages alone, and is marked there."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from layers import write_cascade
from serving import Answer, Server, served
from support import new_repo

HTML = {"Accept": "text/html"}
HIDDEN, CUT_OFF = "kookaburra", "wombat"
LAYERS = {
    "mine": (
        3,
        {
            "c.md": "# Contacts\n\nWhom to call.\n\n## Phones {#phones override=none}\n",
            "full.md": "---\noverride: full\n---\nshort\n",
        },
    ),
    "team": (
        2,
        {
            "c.md": f"# Contacts\n\n## Phones\n\nteam {HIDDEN}, the Atlas and [[desk]]\n\n## Rules\n\nour rules [^1]\n",
            "full.md": f"---\ndescription: {CUT_OFF}\n---\n## Old\n{CUT_OFF}, see [[desk]] and [[index]]\n",
            "desk.md": "# Desk\n\nteam desk\n\n![[c#Phones]]\n",
            "atlas.md": "# Atlas\n",
            "index.md": "# Index\n",
        },
    ),
    "company": (
        1,
        {
            "c.md": f"# Contacts\n\n## Phones\n\n{HIDDEN}\n\n[^1]: of {HIDDEN}\n\n## Rules\n\nrules [^1]\n",
            "sub/README.md": f"# Read\n\n## Phones\n\n{HIDDEN}\n\n## Rest\n\nthe rest\n",
        },
    ),
    "top": (9, {"sub/README.md": "## Phones {#phones override=none}\n"}),
}


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    repo = new_repo(tmp_path_factory.mktemp("suppressed") / "kb")
    manifest = write_cascade(repo.path, LAYERS)
    repo.commit("All layers")
    with served("--manifest", manifest) as running:
        get(running, "/")  # suggestions do not wait for the first index
        yield running


def get(server: Server, path: str) -> Answer:
    answer = server.ask("GET", path, headers=HTML)
    while answer.status == 503 and answer.headers.get("refresh"):
        answer = server.ask("GET", path, headers=HTML)
    return answer


def followed(server: Server, path: str) -> str:
    """The text of a page, behind redirects."""
    answer = get(server, path)
    while answer.status == 302:
        answer = get(server, answer.headers["location"])
    assert answer.status == 200, (path, answer.body.decode())
    return answer.body.decode()


SHOWN = [  # pages, and what stands on them beside the text that does not
    ("/", "concepts from 4 layers"),
    ("/search?q=call", "Whom to"),
    ("/search?q=contacts", "/p/@team/c"),
    ("/search?q=atlas", "/p/@team/c"),
    ("/search", "Recently changed"),
    ("/suggest?q=contacts", "/p/@team/c"),
    ("/suggest?q=atlas", "/p/@team/c"),
    ("/suggest", "full"),
    ("/search?q=contacts&at=today", "/p/@team/c?at=today"),
    ("/search?q=base:team&at=today", "/p/@team/full?at=today"),
    ("/search?at=today", "Recently changed"),
    ("/suggest?q=atlas&at=today", "/p/@team/c?at=today"),
    ("/suggest?at=today", "full"),
    ("/timeline", "full"),
    ("/concepts", "full"),
    ("/concepts?q=atlas", "Whom to call."),
    ("/concepts/c", "our rules"),
    ("/concepts/full", "short"),
    ("/concepts/desk", "team desk"),
    ("/conflicts", "rules"),
    ("/tree/@team/", "full"),
    ("/tree/@company/sub/", "the rest"),
    ("/wanted", "Wanted pages"),
    ("/orphans", "Orphans"),
    ("/findings?more=1", "Findings"),
    ("/feed.atom", "All layers"),
    ("/recent", "All layers"),
    ("/graph.json", "nodes"),
    ("/p/@team/desk", "team desk"),
    ("/p/@team/index", "Index"),
    ("/preview/@team/c", "our rules"),
    ("/preview/@team/c?fragment=phones", "Suppressed:"),
    ("/preview/@company/c?fragment=rules", "rules"),
    ("/preview/@team/full", "Suppressed:"),
    ("/preview/@team/desk", "team desk"),
    ("/mentions/@team/atlas", "/p/@team/c"),
    ("/backlinks/@team/desk", "Links to"),
    ("/sections/@team/c", "Rules"),
    ("/agent/@team/c", "our rules"),
    ("/agent/@team/c?question=kookaburra", "our rules"),
    ("/agent/@team/full", "short"),
    ("/agent/@team/desk", "team desk"),
    ("/agent/@team/index", "Index"),
]


@pytest.mark.parametrize(("path", "expected"), SHOWN)
def test_suppressed_text_stands_on_no_page_unasked(layers: Server, path: str, expected: str) -> None:
    page = followed(layers, path)

    assert expected in page
    assert HIDDEN not in page.replace(f"question={HIDDEN}", "").replace(f'value="{HIDDEN}"', "")
    assert CUT_OFF not in page


@pytest.mark.parametrize("view", ["search", "suggest"])
@pytest.mark.parametrize("word", [HIDDEN, CUT_OFF])
@pytest.mark.parametrize("at", ["", "&at=today"])
def test_a_search_for_suppressed_words_shows_none_of_their_sentences(
    layers: Server, view: str, word: str, at: str
) -> None:
    page = followed(layers, f"/{view}?q={word}{at}")

    hits = re.findall(r'<ol class="hits">.*?</ol>|<ul role="listbox".*?</ul>', page, re.DOTALL)
    assert hits
    assert "/p/@team/" in hits[0]
    assert word not in hits[0].replace(f"<mark>{word}</mark></a></h2>", "")


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("/p/@team/c", HIDDEN),
        ("/p/@team/full", CUT_OFF),
        ("/p/@team/c?at=HEAD", HIDDEN),
        ("/compare/@team/c", HIDDEN),
        ("/commit/@team/HEAD", HIDDEN),
        ("/concepts/c?layer=team", HIDDEN),
        ("/concepts/full?layer=team", CUT_OFF),
    ],
)
def test_the_pages_of_one_layer_show_what_it_holds_and_mark_it(layers: Server, path: str, word: str) -> None:
    head = re.search(r"/commit/@team/([0-9a-f]{40})", followed(layers, "/recent"))
    assert head
    page = followed(layers, path.replace("HEAD", head[1]))

    assert word in page
    assert "Suppressed:" in page


def test_the_file_of_a_layer_is_given_to_who_asks_for_the_layer(layers: Server) -> None:
    marked = followed(layers, "/p/@team/c")
    source = re.search(r'href="(/raw/@team/c[^"]*)"', marked)
    assert source

    assert get(layers, "/raw/@team/c").headers["location"] == "/p/@team/c"
    assert get(layers, source[1]).body.decode() == LAYERS["team"][1]["c.md"]
    assert get(layers, "/raw/@team/atlas").body == b"# Atlas\n", "nothing of it is suppressed"
    assert "Suppressed" not in followed(layers, "/p/@team/atlas")


@pytest.mark.parametrize("word", [HIDDEN, CUT_OFF])
def test_rest_shows_suppressed_text_only_of_a_layer_that_is_named(layers: Server, word: str) -> None:
    for path in ("/pages", "/pages/c", "/pages/full", "/pages/desk", "/links/c", "/links/desk"):
        assert word.encode() not in layers.ask("GET", f"/api/v1{path}").body
    found_results = layers.ask("GET", f"/api/v1/search?q={word}").json["results"]
    assert found_results
    assert not any(word in str(found_result) for found_result in found_results)
    (hit,) = layers.ask("GET", f"/api/v1/search?q={word}&layer=team").json["results"]
    assert (word in hit["snippet"], hit["suppressed"]) == (True, True)
    page = layers.ask("GET", f"/api/v1/pages/{hit['path']}?layer=team").json
    assert [section.get("suppressed") for section in page["concept"]["sections"] if word in section["content"]] == [
        True
    ]
