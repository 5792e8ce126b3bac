"""Pages that a kind of base adds: layers, typed bases, projects, synced spaces."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser.bases import LAYERS, PROJECT_CALLS
from layers import write_cascade
from serving import Answer, Server, create_key, served
from support import ROOT, new_repo

HTML = {"Accept": "text/html"}


def get(server: Server, path: str, **headers: str) -> Answer:
    answer = server.ask("GET", path, headers={**HTML, **headers})
    while answer.status == 503 and answer.headers.get("refresh"):
        answer = server.ask("GET", path, headers={**HTML, **headers})
    return answer


def text(server: Server, path: str, status: int = 200) -> str:
    answer = get(server, path)
    assert answer.status == status, answer.body.decode()
    return answer.body.decode()


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    manifest = write_cascade(tmp_path_factory.mktemp("layers"), LAYERS)
    with served("--manifest", manifest) as running:
        yield running


def section(page: str, key: str) -> str:
    match = re.search(rf'<section class="from-layer" id="section-{key}".*?</section>', page, re.DOTALL)
    assert match, page
    return match[0]


def test_a_concept_shows_where_each_section_comes_from_and_every_dissent(layers: Server) -> None:
    page = text(layers, "/concepts/systems/booking")

    owner = section(page, "owner")
    assert "Anna" in owner
    assert '<span class="layer">mine</span></a>, 2026-05-02' in owner
    assert "1 layer says otherwise: theirs" in owner
    assert '<b class="newer">newer</b>' in owner
    assert "<p>Bert and his crew</p>" in owner
    assert '<span class="layer">theirs</span>' in section(page, "rules")
    assert "removed by" in section(page, "phones")
    assert "112" not in section(page, "phones"), "what is removed is no dissent"
    assert "<script>alert" not in page


def test_links_lead_to_concepts_and_files_of_the_layer_are_shown(layers: Server) -> None:
    booking, desk = text(layers, "/concepts/systems/booking"), text(layers, "/concepts/desk")

    assert 'class="page-link" href="/concepts/desk"' in booking
    assert re.search(r'<img src="/files/[^"]*systems/plan.png"', booking)
    assert "A note of mine." in booking
    assert 'class="page-link" href="/concepts/systems/booking#section-owner"' in desk
    assert 'class="wanted" href="/concepts/nowhere"' in desk
    assert "Linked from 1 concept" in booking
    assert ">desk</a>" in booking


def test_one_layer_of_a_concept_and_what_an_agent_sees(layers: Server) -> None:
    alone = text(layers, "/concepts/systems/booking?layer=theirs")
    together = text(layers, "/concepts/systems/booking")

    assert "Bert and his crew" in alone
    assert "Anna" not in alone
    rpc = layers.rpc("cascade", "tools/call", {"name": "read_file", "arguments": {"concept_id": "systems/booking"}})
    markdown = json.loads(rpc["content"][0]["text"])["markdown"]
    from html import unescape  # noqa: PLC0415

    assert markdown in unescape(together)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", "2 concepts from 2 layers"),
        ("/concepts", "systems/booking"),
        ("/concepts?layer=theirs", "1 concept,"),
        ("/concepts?type=System", "1 concept,"),
        ("/concepts?q=crew", "Booking"),
        ("/conflicts", "section owner"),
        ("/conflicts", "frontmatter title"),
        ("/conflicts", "<mark>Bert"),
        ("/conflicts?layer=theirs", "/concepts/systems/booking#section-owner"),
        ("/p/systems/booking", "The whole concept"),
    ],
)
def test_lists_over_layers(layers: Server, path: str, expected: str) -> None:
    assert expected in text(layers, path)


def test_a_concept_that_no_layer_has_names_near_ones(layers: Server) -> None:
    page = text(layers, "/concepts/systems/bookin", 404)

    assert 'href="/concepts/systems/booking"' in page


def test_a_key_for_some_layers_sees_nothing_of_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    manifest = write_cascade(tmp_path / "layers", LAYERS)
    key = create_key("one", "--collection", "mine")
    with served("--manifest", manifest) as server:
        seen = [
            get(server, path, Authorization=f"Bearer {key}")
            for path in ("/", "/concepts", "/conflicts", "/concepts/systems/booking", "/p/systems/booking")
        ]
    assert [answer.status for answer in seen] == [200, 404, 404, 404, 200]
    for answer in seen:
        assert b"Bert" not in answer.body
        assert b"theirs" not in answer.body
        assert b"Concepts" not in answer.body


SCHEMA = """name: harbour
description: How the harbour works
types:
  berth:
    description: A place for a boat
    required: [title, depth]
    subdirectory: berths
    fields:
      depth: {type: number, min: 1, max: 30}
      side: {type: select, options: [port, starboard]}
goals: {primary_goal: Find a berth}
guidelines:
  - Say who decides <b>it</b>
evaluation_rubric:
  - Has at least 5 words
policies: {stale_after_days: 90}
"""


def test_a_typed_base_shows_its_types_its_rubric_and_where_a_page_differs(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"kb.yaml": SCHEMA, "berths/one.md": "---\ntype: berth\ndepth: 99\n---\n# One\n"}
    new_repo(tmp_path / "harbour", files)
    with served(tmp_path / "harbour", env={"XDG_STATE_HOME": str(tmp_path / "state")}) as server:
        home, schema, page = text(server, "/"), text(server, "/schema/"), text(server, "/p/berths/one")

    assert "Its types and its rubric" in home
    assert "number, from 1, to 30" in schema
    assert "one of port, starboard" in schema
    assert "Has at least 5 words" in schema
    assert "Say who decides &lt;b&gt;it" in schema
    assert "primary_goal: Find a berth" in schema
    assert "stale_after_days" in schema
    assert "/types/relationship" not in schema, "no page has this type"
    assert "2 things differ from what" in page
    assert "The rubric asks: Has at least 5 words" in page


def test_a_base_of_notes_has_no_schema(tmp_path: Path) -> None:
    new_repo(tmp_path / "notes", {"a.md": "# A\n"})
    with served(tmp_path / "notes", env={"XDG_STATE_HOME": str(tmp_path / "state")}) as server:
        assert "declares no types" in text(server, "/schema/", 404)
        assert "Its types" not in text(server, "/")


def test_a_synced_space_leads_back_to_the_original(tmp_path: Path) -> None:
    front = "page_id: '77'\nurl: {}\nauthor_name: Ida\nupdated_at: 2026-05-02T10:00:00Z"
    files: dict[str, str | bytes] = {
        ".confluence.json": json.dumps({"spaceKey": "ENG", "spaceName": "Engineering"}),
        "deploy.md": f"---\n{front.format('https://wiki.example/77')}\n---\n# Deploy\n",
        "evil.md": f"---\n{front.format('javascript:alert(1)')}\n---\n# Evil\n",
        "own.md": "# Own\n",
    }
    new_repo(tmp_path / "eng", files)
    with served(tmp_path / "eng", env={"XDG_STATE_HOME": str(tmp_path / "state")}) as server:
        home, page, evil, own = (text(server, path) for path in ("/", "/p/deploy", "/p/evil", "/p/own"))

    assert "Synced from the space ENG, Engineering" in home
    assert (
        '<a dir="auto" href="https://wiki.example/77" class="external" rel="noopener noreferrer">The original page'
        in page
    )
    assert "by Ida" in page
    assert 'href="javascript' not in evil
    assert "of the space" not in own


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("projects")
    with served(home / "store", "--toolset", "projects", env={"XDG_STATE_HOME": str(home / "state")}) as server:
        for name, arguments in PROJECT_CALLS:
            answer = server.rpc("projects", "tools/call", {"name": name, "arguments": arguments})
            assert not answer.get("isError"), answer
        yield server


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", "1 with their instructions"),
        ("/projects", ">my app</a>"),
        ("/projects/my%20app", "<h1>Rules"),
        ("/projects/my%20app", 'href="/projects/my%20app?document=guide.md">the guide</a>'),
        ("/projects/my%20app", 'id="footnote-1"'),
        ("/projects/my%20app", "1 of 2 done"),
        ("/projects/my%20app?document=guide.md", "How it works."),
        ("/projects/my%20app?document=guide.md", "Install <code>it</code>."),
        ("/projects/my%20app?document=guide.md", 'href="#chapter-setup'),
        ("/projects/my%20app?todo=1", "<em>text</em>"),
        ("/projects/my%20app?todo=1", 'aria-label="done" checked'),
    ],
)
def test_projects_show_instructions_documents_and_lists(projects: Server, path: str, expected: str) -> None:
    page = text(projects, path)

    assert expected in page
    assert "onerror" not in page


def test_a_server_of_projects_alone_leads_to_no_pages_that_it_has_not(projects: Server) -> None:
    page = text(projects, "/projects")
    assert not [element for element in ("/tree/", "/tags", "/recent", "/graph", "/search") if f'"{element}"' in page]


@pytest.mark.parametrize(
    "path",
    ["/projects/none", "/projects/..%2Fx", "/projects/my%20app?document=../main.md", "/projects/my%20app?todo=9",
     "/projects/my%20app?todo=x"],
)  # fmt: skip
def test_what_a_project_does_not_have_is_not_found(projects: Server, path: str) -> None:
    text(projects, path, 404)


def test_a_server_of_notes_shows_no_projects_and_makes_no_store(tmp_path: Path) -> None:
    new_repo(tmp_path / "notes", {"a.md": "# A\n"})
    with served(tmp_path / "notes", env={"KNOWLEDGE_MCP_HOME": str(tmp_path / "store")}) as server:
        assert "/projects" not in text(server, "/")
        text(server, "/projects", 404)

    assert not (tmp_path / "store").exists()


def test_the_example_of_layers_is_served() -> None:
    with served("--manifest", ROOT / "examples" / "cascade" / "layers.json") as server:
        assert "harbour" in text(server, "/concepts/systems/booking")
