"""`cn` on the command line: forms of an answer, options on either side, exit codes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from commonplace import __version__
from shell import Done
from spaces.engines import KINDS
from spaces.places import cn, started
from spaces.server import KEY
from spaces.tree import SpaceFolder, moments, write_space

HIT = ["rank", "title", "path", "page_id", "labels", "snippet", "url", "created_at", "updated_at"]


@pytest.fixture(scope="module", params=KINDS)
def environment(request: pytest.FixtureRequest) -> Mapping[str, str]:
    """The variables that choose the engine."""
    if request.param == "embedded":
        return {}
    return request.getfixturevalue("search_server").environment


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory, environment: Mapping[str, str]) -> SpaceFolder:
    space = write_space(tmp_path_factory.mktemp("cn") / "eng", search={"indexName": "cn"})
    done = cn(space.root, "search", "index", env=environment)
    assert (done.code, done.text, done.stderr) == (0, f"Indexed {len(space.pages)} pages\n", "")
    return space


@pytest.mark.soak
def test_an_answer_in_json(space: SpaceFolder, environment: Mapping[str, str]) -> None:
    done = cn(space.root, "search", "--labels", "runbook", "gateway", "--labels", "FAQ", "--json", env=environment)
    assert (done.code, done.stderr) == (0, "")
    shown = done.json
    assert list(shown) == ["query", "totalHits", "processingTimeMs", "filters", "results"]
    assert (shown["query"], shown["filters"]) == ("gateway", {"labels": ["runbook", "FAQ"]})
    assert shown["totalHits"] >= len(shown["results"]) > 0
    for rank, row in enumerate(shown["results"], 1):
        page = space.pages[row["page_id"]]
        assert list(row) == HIT
        assert (row["rank"], row["path"], row["title"]) == (rank, page.path, page.title)
        assert {"runbook", "faq"} & set(row["labels"])
        assert (row["created_at"], row["updated_at"]) == moments(page)
    assert KEY not in done.text


def parsed(done: Done) -> ET.Element:
    return ET.fromstring(done.text)  # noqa: S314 - this program wrote it just now


def test_an_answer_in_xml(space: SpaceFolder, environment: Mapping[str, str]) -> None:
    done = cn(space.root, "search", "gateway", "--xml", "--limit", "2", "--author", "Ann Archer", env=environment)
    root = parsed(done)
    assert (root.tag, root.get("query")) == ("search-results", "gateway")
    assert int(root.get("count", "")) >= 2
    assert root.findtext("filters/author") == "Ann Archer"
    assert [element.get("rank") for element in root.findall("result")] == ["1", "2"]
    for result in root.findall("result"):
        page = space.pages[result.findtext("page_id", "")]
        assert result.findtext("path") == page.path
        assert tuple(label.text for label in result.findall("labels/label")) == page.labels
    hostile = cn(space.root, "search", 'a"<&\x01\x1b', "--xml", env=environment)
    assert parsed(hostile).get("query") == 'a"<&\ufffd\ufffd'


def test_an_answer_for_people(space: SpaceFolder, environment: Mapping[str, str]) -> None:
    done = cn(space.root, "search", "会议纪要", "--limit", "1", env=environment)
    assert done.lines[0].startswith("Found ")
    assert done.lines[0].endswith(' result(s) for "会议纪要"')
    assert "i18n/会议纪要.md" in done.text
    assert cn(space.root, "search", "会议纪要", "--json", env=environment).json["filters"] is None
    none = cn(space.root, "search", "zzzyxw", env=environment)
    assert (none.code, none.text) == (0, 'No results found for "zzzyxw"\n')


def test_the_status_tells_how_the_search_stands(space: SpaceFolder, environment: Mapping[str, str]) -> None:
    done = cn(space.root, "search", "status", "--json", env=environment)
    assert done.code == 0
    assert done.json == {
        "connected": True,
        "meilisearchUrl": environment.get("MEILI_URL"),
        "indexName": "cn",
        "documentCount": len(space.pages),
        "space": {"key": "ENG", "name": "Engineering"},
        "error": None,
    }
    xml = parsed(cn(space.root, "search", "status", "--xml", env=environment))
    assert xml.get("connected") == "true"
    shown = {child.tag: dict(child.attrib) for child in xml}
    assert shown["space"] == {"key": "ENG", "name": "Engineering"}
    assert shown["index"] == {"name": "cn", "documents": str(len(space.pages))}
    assert shown.get("meilisearch", {}).get("url") == environment.get("MEILI_URL")
    assert f"Documents: {len(space.pages)}" in cn(space.root, "search", "status", env=environment).text


def test_an_index_is_tried_out_and_made_anew_and_names_what_it_leaves_out(
    tmp_path: Path, environment: Mapping[str, str]
) -> None:
    space = write_space(tmp_path / "eng", search={"indexName": "tried"})
    count = len(space.pages)
    assert cn(space.root, "search", "index", "--dry-run", env=environment).text == f"Would index {count} pages\n"
    (space.root / "bad.md").write_text("---\npage_id: a/b\n---\n# Bad\n")
    done = cn(space.root, "search", "index", "--force", env=environment)
    assert (done.code, done.text) == (1, f"Indexed {count} pages\n")
    assert done.stderr.startswith("Error: bad.md was left out: its page_id 'a/b' is not ")
    assert done.stderr.count("\n") == 1


def test_the_status_of_a_server_that_is_not_there_says_so(tmp_path: Path) -> None:
    space = write_space(tmp_path / "eng")
    environment = {"MEILI_URL": "http://127.0.0.1:9", "MEILI_API_KEY": KEY}
    done = cn(space.root, "search", "status", "--json", env=environment)
    assert (done.code, done.json["connected"], done.json["documentCount"]) == (9, False, None)
    assert done.json["error"].startswith("Meilisearch not available at http://127.0.0.1:9.")
    for command in (("search", "x"), ("search", "index")):
        refused = cn(space.root, *command, env=environment)
        assert (refused.code, refused.text) == (9, "")
        assert KEY not in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("search", "x", "--limit", "0"), 6, "limit"),
        (("search", "x", "--sort", "title"), 6, "sort"),
        (("search", "x", "--created-after", "2024-13-01"), 6, "created_after"),
        (("search", "x", "--updated-within", "1d", "--stale", "1d"), 6, "exclude"),
        (("search", "x", "--nonsense"), 6, "nonsense"),
        (("search", ""), 6, "query"),
        (("search",), 6, "QUERY"),
        (("nonsense",), 6, "nonsense"),
        (("mcp", "--print-config", "emacs"), 6, "emacs"),
        (("search", "x", "--engine", "other"), 2, "embedded, meilisearch"),
        (("search", "x", "--meilisearch", "ftp://x"), 2, "http"),
        (("clone", "ENG", "--site", "https://acme.example"), 3, "cn login"),
        (("pull",), 2, "cn clone"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_an_exit_code(
    tmp_path: Path, arguments: tuple[str, ...], code: int, says: str
) -> None:
    (tmp_path / ".confluence.json").write_text('{"spaceKey": "ENG"}')
    done = cn(tmp_path, *arguments)
    assert (done.code, done.text) == (code, "")
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr


def test_a_command_outside_of_a_space_says_so(tmp_path: Path) -> None:
    for command in ("x", "index", "status"):
        done = cn(tmp_path, "search", command)
        message = "Error: Not a cn space. Run 'cn clone' first or specify a path.\n"
        assert (done.code, done.text, done.stderr) == (1, "", message)


@pytest.mark.parametrize(
    ("client", "key", "file"),
    [
        ("claude-code", "mcpServers", ".mcp.json"),
        ("claude-desktop", "mcpServers", "claude_desktop_config.json"),
        ("vscode", "servers", ".vscode/mcp.json"),
        ("cursor", "mcpServers", ".cursor/mcp.json"),
    ],
)
def test_the_entry_for_a_client_is_printed(tmp_path: Path, client: str, key: str, file: str) -> None:
    (tmp_path / ".confluence.json").write_text('{"spaceKey": "ENG"}')
    environment = {"MEILI_URL": "http://127.0.0.1:9", "MEILI_API_KEY": KEY}
    done = cn(tmp_path, "mcp", ".", "--print-config", client, env=environment)
    assert done.code == 0
    shown = json.loads(done.text)[key]["confluence-eng"]
    assert shown["args"] == ["mcp", str(tmp_path.resolve())]
    assert Path(shown["command"]).is_absolute()
    assert Path(shown["command"]).name == "cn"
    assert done.stderr.strip().endswith(file)
    assert KEY not in done.text + done.stderr


def test_the_program_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    done = started(tmp_path, "--version")
    assert (done.code, done.stderr) == (0, "")
    assert done.text.split()[:2] == ["cn", __version__]  # the commit of a checkout follows
