"""The merge and the resolved shape, rule by rule, over the real process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent import Agent, RefusedError, agent
from layers import write_cascade

PERSONAL = {
    "rules/order.md": "---\nupdated: 2026-01-01\n---\n# One\nlow in time\n",
    "rules/full.md": "---\ntype: Top\n---\n# Top\ntop\n",
    "rules/keys.md": "---\ntitle: ''\noverride: none of these\ntags: []\n---\n",
    "rules/sections.md": (
        "---\nupdated: 2026-05-01\n---\nTop preamble.\n\n"
        "## Owner {#owner updated=2026-05-02}\nMe\n\n## Mine\nonly mine\n"
    ),
    "rules/tomb.md": "## Phones {#phones override=none}\nwhat stands here is not shown\n\n## Kept\nsame\n",
    "rules/dates.md": "---\ndue: 2026-01-02\nat: 2026-01-02 10:00:00\n---\n",
    "rules/same.md": "## A\n\n  text  \n\n",
    "rules/broken.md": "---\ntype: [a\n---\n## A\nmine\n",
}
TEAM = {
    "rules/order.md": "---\nupdated: 2026-03-01\n---\n# One\nlater\n",
    "rules/full.md": "---\ntype: Middle\noverride: full\n---\n# Middle\nmiddle\n",
    "rules/keys.md": "---\ntitle: Team\ntype: T\nonly: 1\n---\n",
    "rules/sections.md": "---\nupdated: 2026-06-01\n---\n## Owner\nTeam\n\n## Contacts\nteam@example.org\n",
    "rules/tomb.md": "## Phones {#phones}\n12345\n\n## Kept {override=none}\n\n## More\nmore\n",
    "rules/same.md": "## A\ntext\n",
    "rules/broken.md": "---\ntype: T\n---\n## A\nteam's\n",
}
COMPANY = {
    "rules/order.md": "# One\nwithout a date\n",
    "rules/full.md": "---\ntype: Low\ncost: 1\n---\n# Low\nlow\n",
    "rules/sections.md": "Company preamble.\n\n## OWNER\nCompany\nin two lines\n\n## Policy\nRotate.\n",
}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    folder = tmp_path_factory.mktemp("layers")
    layers = {
        "company": (0, COMPANY),
        "personal": (3, PERSONAL),
        "team": (2, TEAM),
        "peers": (2, {"rules/order.md": ""}),
    }
    with agent("mcp", "--manifest", write_cascade(folder, layers)) as connected:
        yield connected


def read(reader: Agent, name: str, **more: str) -> dict[str, Any]:
    return reader.call("read_file", concept_id=f"rules/{name}", **more)


def sections(shown: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {section["key"]: section for section in shown["sections"]}


def test_contributors_stand_by_level_then_date_then_manifest(reader: Agent) -> None:
    shown = read(reader, "order")
    assert shown["contributors"] == [
        {"layer": "personal", "level": 3, "updated": "2026-01-01"},
        {"layer": "team", "level": 2, "updated": "2026-03-01"},
        {"layer": "peers", "level": 2, "updated": None},
        {"layer": "company", "level": 0, "updated": None},
    ]


def test_full_cuts_off_all_below_and_lists_them_all(reader: Agent) -> None:
    shown = read(reader, "full")
    assert [contributor["layer"] for contributor in shown["contributors"]] == ["personal", "team", "company"]
    assert shown["frontmatter"] == {"type": "Top", "override": "full"}
    assert list(sections(shown)) == ["top", "middle"]
    assert "Low" not in shown["markdown"]


def test_each_key_comes_from_the_highest_layer_that_sets_it_empty_or_not(reader: Agent) -> None:
    shown = read(reader, "keys")
    assert shown["frontmatter"] == {"title": "", "override": "none of these", "tags": [], "type": "T", "only": 1}
    assert shown["frontmatterProvenance"] == {
        "title": "personal", "override": "personal", "tags": "personal", "type": "team", "only": "team",
    }  # fmt: skip
    own = {"layer": "personal", "level": 3, "updated": None, "value": ""}
    team = {"layer": "team", "level": 2, "updated": None, "value": "Team"}
    assert shown["frontmatterConflicts"] == [{"key": "title", "winner": own, "contributions": [own, team]}]


def test_sections_stand_in_order_of_appearance_with_what_others_say(reader: Agent) -> None:
    shown = read(reader, "sections")
    assert list(shown) == [
        "id", "contributors", "frontmatter", "frontmatterProvenance", "sections", "markdown",
    ]  # fmt: skip
    assert shown["id"] == "rules/sections"
    assert list(sections(shown)) == ["", "owner", "mine", "contacts", "policy"]
    assert shown["sections"][0] == {
        "key": "",
        "heading": None,
        "content": "Top preamble.",
        "sourceLayer": "personal",
        "sourceUpdated": "2026-05-01",
        "conflicts": [{"layer": "company", "updated": None, "content": "Company preamble."}],
    }
    owner = shown["sections"][1]
    assert list(owner) == [
        "key", "heading", "content", "sourceLayer", "sourceUpdated", "conflicts", "fresherDissent",
    ]  # fmt: skip
    assert owner["heading"] == "## Owner {#owner updated=2026-05-02}"
    assert (owner["content"], owner["sourceLayer"], owner["sourceUpdated"]) == ("Me", "personal", "2026-05-02")
    assert owner["conflicts"] == [
        {"layer": "team", "updated": "2026-06-01", "content": "Team"},
        {"layer": "company", "updated": None, "content": "Company\nin two lines"},
    ]
    assert owner["fresherDissent"] is True
    assert "conflicts" not in sections(shown)["contacts"]


def test_the_markdown_is_the_effective_concept_with_a_line_for_each_dissent(reader: Agent) -> None:
    assert read(reader, "sections")["markdown"] == (
        '---\nupdated: "2026-05-01"\n---\n\n'
        "Top preamble.\n\n> ⚠ company disagrees (updated ?): Company preamble.\n\n"
        "## Owner {#owner updated=2026-05-02}\n\nMe\n\n"
        "> ⚠ team disagrees (updated 2026-06-01): Team\n"
        "> ⚠ company disagrees (updated ?): Company in two lines\n\n"
        "## Mine\n\nonly mine\n\n## Contacts\n\nteam@example.org\n\n## Policy\n\nRotate.\n"
    )


def test_a_tombstone_takes_a_section_out_and_a_losing_one_is_a_conflict(reader: Agent) -> None:
    shown = read(reader, "tomb")
    assert sections(shown)["phones"] == {
        "key": "phones",
        "heading": "## Phones {#phones override=none}",
        "content": "",
        "sourceLayer": "personal",
        "sourceUpdated": None,
        "suppressed": True,
    }
    assert sections(shown)["kept"]["conflicts"] == [{"layer": "team", "updated": None, "content": ""}]
    assert "Phones" not in shown["markdown"]
    assert "12345" not in shown["markdown"]
    assert "> ⚠ team disagrees (updated ?): \n" in shown["markdown"]


def test_equal_text_is_no_conflict_whatever_stands_round_it(reader: Agent) -> None:
    assert read(reader, "same")["sections"] == [
        {"key": "a", "heading": "## A", "content": "text", "sourceLayer": "personal", "sourceUpdated": None}
    ]


def test_dates_stay_as_they_are_written(reader: Agent) -> None:
    shown = read(reader, "dates")
    assert shown["frontmatter"] == {"due": "2026-01-02", "at": "2026-01-02 10:00:00"}
    assert shown["markdown"] == '---\ndue: "2026-01-02"\nat: "2026-01-02 10:00:00"\n---\n'


def test_broken_yaml_in_one_layer_leaves_the_others_and_is_told(reader: Agent) -> None:
    shown = read(reader, "broken")
    personal, team = shown["contributors"]
    assert [finding["rule"] for finding in personal["findings"]] == ["bad_yaml"]
    assert "findings" not in team
    assert shown["frontmatter"]["type"] == "T"
    assert sections(shown)["a"]["conflicts"] == [{"layer": "team", "updated": None, "content": "team's"}]
    assert read(reader, "broken", layer="personal")["findings"][0]["rule"] == "bad_yaml"


def test_a_layer_alone_is_read_raw(reader: Agent) -> None:
    assert read(reader, "sections", layer="personal") == {
        "id": "rules/sections",
        "layer": "personal",
        "raw": True,
        "frontmatter": {"updated": "2026-05-01"},
        "sections": [
            {"key": "", "heading": None, "content": "Top preamble.", "updated": "2026-05-01", "override": None},
            {
                "key": "owner",
                "heading": "## Owner {#owner updated=2026-05-02}",
                "content": "Me",
                "updated": "2026-05-02",
                "override": None,
            },
            {"key": "mine", "heading": "## Mine", "content": "only mine", "updated": "2026-05-01", "override": None},
        ],
    }
    assert list(read(reader, "tomb", layer="personal")) == ["id", "layer", "raw", "frontmatter", "sections"]
    assert read(reader, "tomb", layer="personal")["sections"][0]["override"] == "none"


@pytest.mark.parametrize(
    "written",
    ["rules/same.md", "./rules/same", "rules/x/../same", "rules\\same.md", "rules/same#a", "rules//same?x=1#y"],
)
def test_an_id_can_be_written_in_many_ways(reader: Agent, written: str) -> None:
    assert reader.call("read_file", concept_id=written)["id"] == "rules/same"


@pytest.mark.parametrize(
    "written",
    ["../secret", "/etc/passwd", "rules/../../x", "C:\\x", "\\\\host\\x", "", "#a", ".", "a\0b", ".git/config", "a\nb"],
)
def test_an_id_that_escapes_or_is_none_is_refused(reader: Agent, written: str) -> None:
    for tool in ("read_file", "get_links"):
        with pytest.raises(RefusedError, match="Invalid concept id"):
            reader.call(tool, concept_id=written)


def test_what_is_not_there_is_told_with_what_is_near(reader: Agent) -> None:
    with pytest.raises(RefusedError, match=r"There is no concept 'rules/ordre'\. Nearest: rules/order"):
        reader.call("read_file", concept_id="rules/ordre")
    with pytest.raises(RefusedError, match=r"no layer 'nix'\. Layers: company, personal, team, peers\."):
        read(reader, "order", layer="nix")
    with pytest.raises(RefusedError, match=r"'company' does not hold 'rules/keys'; these do: personal, team"):
        read(reader, "keys", layer="company")
    for concept in ("RULES/order", "rules/order/x"):
        with pytest.raises(RefusedError, match="There is no concept"):
            reader.call("read_file", concept_id=concept)


def test_the_tools_say_what_they_are(reader: Agent) -> None:
    tools = reader.tools()
    assert list(tools) == ["search", "read_file", "list_concepts", "get_links"]
    for tool in tools.values():
        assert tool.title
        assert tool.annotations is not None
        assert (tool.annotations.read_only_hint, tool.annotations.destructive_hint) == (True, False)
        assert tool.output_schema is not None
        assert not {"oneOf", "anyOf", "allOf"} & set(tool.input_schema)
    assert tools["search"].input_schema["required"] == ["query"]
    assert tools["search"].input_schema["properties"]["limit"]["type"] == "number"


def test_wrong_arguments_are_named(reader: Agent) -> None:
    for tool, arguments in (
        ("search", {}),
        ("search", {"query": "a", "limit": 0}),
        ("search", {"query": "a", "limit": "5"}),
        ("read_file", {"concept_id": 5}),
        ("list_concepts", {"type": ["a"]}),
        ("get_links", {"id": "a"}),
    ):
        with pytest.raises(RefusedError, match=r"argument"):
            reader.call(tool, **arguments)


@pytest.mark.soak
def test_a_section_of_five_megabytes_is_whole(tmp_path: Path) -> None:
    big = "word " * 1_000_000
    manifest = write_cascade(tmp_path, {"a": (1, {"big.md": f"# Big\n{big}"}), "b": (0, {"big.md": "# Big\nsmall"})})
    with agent("mcp", "--manifest", manifest) as connected:
        shown = connected.call("read_file", concept_id="big")
        assert shown["sections"][0]["content"] == big.strip()
        assert shown["sections"][0]["conflicts"][0]["content"] == "small"
        assert [row["id"] for row in connected.call("search", query="word")["result"]] == ["big"]
