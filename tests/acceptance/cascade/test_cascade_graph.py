"""Searching, listing and following links over layers, and seeing what changes, over the real process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, RefusedError, agent, ids
from layers import write_cascade
from support import eventually

PERSONAL = {
    "runbooks/auth-outage.md": (
        "---\ntype: Runbook\ntitle: Auth outage\n---\n"
        "[[systems/auth-service]], [the same](../systems/auth-service.md#owner 'title'), [root](/systems/ledger.md),\n"
        "[[Ledger of payments|the ledger]], [[the ledger]], [[company:systems/ledger]], [[systems/none]],\n"
        "[out](https://example.org), ![image](a.png), <https://example.org>, [[company:systems/auth-service]]\n"
        "\n```\n[[systems/mail]]\n```\n"
    ),
    "systems/auth-service.md": "---\ntitle: Login\ntype: Service\n---\n## Owner\nMe. See [[runbooks/auth-outage]].\n",
    "index.md": "# All\n* [auth](systems/auth-service.md)\n",
    "systems/log.md": "## 2026-01-01\nZanzibar changed.\n",
    "node_modules/x.md": "zanzibar",
    ".hidden/y.md": "zanzibar",
}
TEAM = {
    "systems/auth-service.md": (
        "---\ntitle: Authentication\ntype: System\n---\n## Owner\nTeam walrus\n\n## Gone {#gone}\nKookaburra\n"
    ),
    "systems/mail.md": "---\ntitle: ''\n---\nSends post. [auth](auth-service.md) [[mail]] [auth again](auth-service)\n",
    "café/Überblick.md": "---\ntitle: Überblick\n---\nالمناوبة تبدأ صباحا\n",  # noqa: RUF001 - Arabic
    "howto.md": "---\ntitle: Notes\n---\nHow we deploy, deploy and deploy again, every deploy.\n",
    "deployment.md": "---\ntitle: Deploy\n---\nSteps.\n",
}
COMPANY = {
    "systems/auth-service.md": "---\ntype: Thing\n---\n## Gone {override=none}\n",
    "systems/ledger.md": (
        "---\ntitle: Ledger of payments\naliases: [the ledger]\ntags: [money]\n---\n認証サービスの設定を変更する。\n"
    ),
    "only-type.md": "---\ntype: Fact\n---\n",
    "bare.md": "No frontmatter at all.\n",
}


def stack(folder: Path) -> Path:
    return write_cascade(folder, {"personal": (3, PERSONAL), "team": (2, TEAM), "company": (0, COMPANY)})


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with agent("mcp", "--manifest", stack(tmp_path_factory.mktemp("graph"))) as connected:
        yield connected


def search(reader: Agent, query: str, **more: Any) -> list[dict[str, Any]]:
    return reader.call("search", query=query, **more)["result"]


def test_every_concept_is_listed_once_by_id_with_what_counts(reader: Agent) -> None:
    rows = reader.call("list_concepts")["result"]
    assert ids(rows) == sorted(ids(rows)) == [
        "bare", "café/Überblick", "deployment", "howto", "only-type", "runbooks/auth-outage", "systems/auth-service",
        "systems/ledger", "systems/mail",
    ]  # fmt: skip
    by_id = {row["id"]: row for row in rows}
    assert list(by_id["bare"].items()) == [("id", "bare"), ("type", None), ("title", None), ("layers", ["company"])]
    assert by_id["systems/auth-service"] == {
        "id": "systems/auth-service", "type": "Service", "title": "Login", "layers": ["personal", "team", "company"],
    }  # fmt: skip
    assert by_id["systems/mail"]["title"] is None


def test_a_list_by_type_goes_by_the_effective_type(reader: Agent) -> None:
    assert ids(reader.call("list_concepts", type="Service")["result"]) == ["systems/auth-service"]
    assert reader.call("list_concepts", type="System")["result"] == []
    assert ids(reader.call("list_concepts", type="Fact")["result"]) == ["only-type"]


def test_a_hit_has_its_keys_and_one_entry(reader: Agent) -> None:
    matches = search(reader, "who is the owner of the auth service?")
    assert list(matches[0])[:5] == ["id", "title", "score", "layers", "snippet"]
    assert set(matches[0]) <= {"id", "title", "score", "layers", "snippet", "section", "inbound", "contested"}
    assert matches[0]["id"] == "systems/auth-service"
    assert matches[0]["title"] == "Login"
    assert matches[0]["layers"] == ["personal", "team", "company"]
    assert len(ids(matches)) == len(set(ids(matches)))
    assert [(-row["score"], row["id"]) for row in matches] == sorted((-row["score"], row["id"]) for row in matches)


@pytest.mark.parametrize(
    ("query", "concept"),
    [
        ("walrus", "systems/auth-service"),
        ("kookaburra", "systems/auth-service"),
        ("認証", "systems/ledger"),
        ("設定を変更", "systems/ledger"),
        ("المناوبة", "café/Überblick"),
        ("UBERBLICK", "café/Überblick"),
        ("cafe", "café/Überblick"),
        ("the ledger", "systems/ledger"),
        ("money", "systems/ledger"),
        ("ledger-of-payments", "systems/ledger"),
        ("what do I do when auth has an outage?", "runbooks/auth-outage"),
        ("deploy", "deployment"),
        ("authentication", "systems/auth-service"),
    ],
)
def test_what_is_asked_finds_its_concept(reader: Agent, query: str, concept: str) -> None:
    assert search(reader, query)[0]["id"] == concept


def test_the_snippet_is_effective_text_when_that_matches_else_the_text_that_does(reader: Agent) -> None:
    assert search(reader, "owner of the login service")[0]["snippet"].startswith("Me. See")
    assert "walrus" in search(reader, "walrus")[0]["snippet"]
    assert "Kookaburra" in search(reader, "kookaburra")[0]["snippet"]


def test_the_snippet_shows_the_label_of_a_link_on_whichever_side_it_is(tmp_path: Path) -> None:
    low = {"mail.md": "Post.\n", "from.md": "Dial [[the duty|mail]] or [[mail|the desk]].\n"}
    high = {"from.md": "## Other {#other}\nZeppelin [[our own|mail]].\n\n## Hidden {#hidden}\n"}
    with agent("mcp", "--manifest", write_cascade(tmp_path, {"high": (1, high), "low": (0, low)})) as connected:
        assert search(connected, "dial")[0]["snippet"] == "Dial the duty or the desk."
        assert search(connected, "zeppelin", layer="high")[0]["snippet"] == "Zeppelin our own."


@pytest.mark.parametrize("limit", [1e30, 1e9])
def test_a_limit_beyond_everything_finds_everything(reader: Agent, limit: float) -> None:
    assert search(reader, "auth", limit=limit) == search(reader, "auth", limit=100)


def test_the_limit_holds_and_lists_and_logs_are_no_concepts(reader: Agent) -> None:
    assert len(search(reader, "auth", limit=1)) == 1
    assert len(search(reader, "auth", limit=2.0)) == 2
    assert search(reader, "zanzibar") == []
    assert search(reader, "?!") == []
    for name in ("index", "systems/log"):
        with pytest.raises(RefusedError, match="There is no concept"):
            reader.call("read_file", concept_id=name)


@pytest.mark.parametrize("query", ["", "  ", "\n\t"])
def test_a_blank_query_is_refused_with_what_to_do(reader: Agent, query: str) -> None:
    with pytest.raises(RefusedError, match=r"query is blank\. Give at least one word"):
        search(reader, query)


def test_outgoing_links_are_those_of_the_effective_text(reader: Agent) -> None:
    shown = reader.call("get_links", concept_id="runbooks/auth-outage")
    assert list(shown) == ["source", "outgoing", "incoming"]
    assert shown["source"] == {
        "id": "runbooks/auth-outage",
        "contributors": [{"layer": "personal", "level": 3, "updated": None}],
    }
    everywhere = ["personal", "team", "company"]
    assert [list(row.values()) for row in shown["outgoing"]] == [
        ["[the same](../systems/auth-service.md#owner 'title')", "../systems/auth-service.md#owner",
         "systems/auth-service", everywhere],
        ["[root](/systems/ledger.md)", "/systems/ledger.md", "systems/ledger", ["company"]],
        ["[[systems/auth-service]]", "systems/auth-service", "systems/auth-service", everywhere],
        ["[[Ledger of payments|the ledger]]", "Ledger of payments", "systems/ledger", ["company"]],
        ["[[the ledger]]", "the ledger", "systems/ledger", ["company"]],
        ["[[company:systems/ledger]]", "company:systems/ledger", "systems/ledger", ["company"]],
        ["[[systems/none]]", "systems/none", None, []],
        ["[[company:systems/auth-service]]", "company:systems/auth-service", "systems/auth-service", ["company"]],
    ]  # fmt: skip
    assert list(shown["outgoing"][0]) == ["raw", "target", "id", "layers"]


def test_incoming_links_are_those_of_every_layer_once_a_concept(reader: Agent) -> None:
    shown = reader.call("get_links", concept_id="systems/auth-service")
    assert shown["incoming"] == [
        {"id": "runbooks/auth-outage", "layer": "personal", "raw": "[[systems/auth-service]]"},
        {"id": "systems/mail", "layer": "team", "raw": "[auth](auth-service.md)"},
    ]
    ledger = reader.call("get_links", concept_id="systems/ledger")
    assert ids(ledger["incoming"]) == ["runbooks/auth-outage"]
    mail = reader.call("get_links", concept_id="systems/mail")
    assert mail["incoming"] == []
    assert [row["id"] for row in mail["outgoing"]] == ["systems/auth-service", "systems/auth-service", "systems/mail"]


def test_a_change_in_any_layer_is_seen(tmp_path: Path) -> None:
    with agent("mcp", "--manifest", stack(tmp_path)) as connected:
        assert search(connected, "quokka") == []
        (tmp_path / "company" / "bare.md").write_text("A quokka and [[systems/mail]].\n")
        assert "quokka" in connected.call("read_file", concept_id="bare")["markdown"]
        eventually(lambda: ids(search(connected, "quokka")) == ["bare"])
        assert ids(connected.call("get_links", concept_id="systems/mail")["incoming"]) == ["bare"]
        (tmp_path / "team" / "new").mkdir()
        (tmp_path / "team" / "new" / "one.md").write_text("---\ntype: New\n---\nnumbat\n")
        eventually(lambda: ids(connected.call("list_concepts", type="New")["result"]) == ["new/one"])
        (tmp_path / "team" / "new" / "one.md").unlink()
        with pytest.raises(RefusedError, match="There is no concept"):
            connected.call("read_file", concept_id="new/one")
        eventually(lambda: connected.call("list_concepts", type="New")["result"] == [])


def test_a_folder_that_disappears_leaves_the_others_serving(tmp_path: Path) -> None:
    with agent("mcp", "--manifest", stack(tmp_path)) as connected:
        assert ids(search(connected, "walrus")) == ["systems/auth-service"]
        shutil.rmtree(tmp_path / "team")
        shown = connected.call("read_file", concept_id="systems/auth-service")
        assert [contributor["layer"] for contributor in shown["contributors"]] == ["personal", "company"]
        assert ids(search(connected, "login"))[0] == "systems/auth-service"
        with pytest.raises(RefusedError, match="There is no concept"):
            connected.call("read_file", concept_id="systems/mail")
        assert "systems/mail" not in ids(search(connected, "post"))


def test_the_same_folder_can_be_two_layers(tmp_path: Path) -> None:
    further = {"name": "again", "level": 9, "path": "./one/../one"}
    manifest = write_cascade(
        tmp_path, {"one": (1, {"a.md": "---\ntitle: A\n---\n# H\nword [[b]]\n", "b.md": "b"})}, further
    )
    with agent("mcp", "--manifest", manifest) as connected:
        shown = connected.call("read_file", concept_id="a")
        assert [contributor["layer"] for contributor in shown["contributors"]] == ["again", "one"]
        assert "conflicts" not in shown["sections"][0]
        assert search(connected, "word")[0]["layers"] == ["again", "one"]
        assert [row["layer"] for row in connected.call("get_links", concept_id="b")["incoming"]] == ["again", "one"]


def test_a_folder_that_is_missing_at_the_start_or_comes_back_is_served_without_a_restart(tmp_path: Path) -> None:
    manifest = stack(tmp_path)
    shutil.move(tmp_path / "company", tmp_path / "away")
    with agent("mcp", "--manifest", manifest, log=tmp_path / "log") as connected:
        assert ids(search(connected, "ledger")) == ["runbooks/auth-outage"]
        with pytest.raises(RefusedError, match="There is no concept"):
            connected.call("read_file", concept_id="systems/ledger")
        shutil.move(tmp_path / "away", tmp_path / "company")
        assert connected.call("read_file", concept_id="systems/ledger")["contributors"][0]["layer"] == "company"
        eventually(lambda: "systems/ledger" in ids(search(connected, "ledger")))
        (tmp_path / "company" / "later.md").write_text("A quokka.\n")
        eventually(lambda: ids(search(connected, "quokka")) == ["later"])

        shutil.rmtree(tmp_path / "team")
        eventually(lambda: search(connected, "walrus") == [])
        (tmp_path / "team").mkdir()
        (tmp_path / "team" / "back.md").write_text("A walrus again.\n")
        eventually(lambda: ids(search(connected, "walrus")) == ["back"])
        (tmp_path / "team" / "more.md").write_text("A numbat.\n")
        eventually(lambda: ids(search(connected, "numbat")) == ["more"])
