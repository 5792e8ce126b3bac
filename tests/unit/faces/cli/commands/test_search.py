"""`commonplace search`: hits, sections within a budget, facets, and what is said beside them."""

from __future__ import annotations

import json

import pytest

from shell import Shell
from support import GitRepo


def test_the_question_is_all_words_or_standard_input(shell: Shell) -> None:
    words = shell.ok("search", "boil", "water", "--json").json
    assert (words["query"], words["hits"][0]["path"]) == ("boil water", "drinks/tea.md")
    assert words["hits"][0]["sections"][0]["heading"] == ["Tea", "Steps"]
    assert shell.ok("search", "-", "--json", stdin=" boil water\n").json == words
    assert shell("search", "-", stdin=" \n").code == 4


def test_facets_count_all_pages_found_whatever_part_is_shown(shell: Shell) -> None:
    found_json = shell.ok("search", "tea", "--facets", "tags,tags,nothing", "--limit", "1", "--json").json
    assert (found_json["total"], len(found_json["hits"])) == (3, 1)
    tags, nothing = found_json["facets"]
    assert {element["value"]: element["count"] for element in tags["values"]} == {"tea": 2, "plan/next": 1, "": 1}
    assert nothing == {"name": "nothing", "values": [{"value": "", "count": 3}]}
    assert "facets" not in shell.ok("search", "tea", "--json").json
    assert shell.ok("search", "zzqq", "--facets", "tags", "--json").json["facets"] == []


def test_sections_stay_within_their_budget(shell: Shell, repo: GitRepo) -> None:
    repo.write("long.md", "# Kettle\n\n" + "\n\n".join(f"Kettle sentence {number}." for number in range(400)))
    for tokens in (200, 500):
        done = shell.ok("search", "kettle sentence", "--max-tokens", str(tokens), "--json")
        assert done.json["sections"][0]["path"] == "long.md"
        assert len(done.text) <= 4 * tokens
        assert len(shell.ok("search", "kettle sentence", "--max-tokens", str(tokens)).text) <= 4 * tokens
    assert shell("search", "kettle", "--max-tokens", "100").code == 2


def test_nothing_found_says_why(shell: Shell) -> None:
    done = shell.ok("search", "boil", "--tag", "te")
    assert done.text == ""
    assert done.stderr.startswith("Nothing found.")
    assert "No page has the tag 'te'. Did you mean 'tea'?" in done.stderr


def test_going_on_reaches_every_hit_once(shell: Shell) -> None:
    every = [hit["path"] for hit in shell.ok("search", "tea", "--json").json["hits"]]
    parts = [shell.ok("search", "tea", "--limit", "1", "--offset", str(at), "--json").json for at in range(3)]
    assert [part["hits"][0]["path"] for part in parts] == every
    assert shell.ok("search", "tea", "--limit", "1").stderr.endswith("Showing 1 of 3; pass --offset 1 for more.\n")


def test_another_order_turns_round(shell: Shell) -> None:
    hits = shell.ok("search", "tea", "--sort", "path", "--json").json["hits"]
    assert [hit["path"] for hit in hits] == ["drinks/tea.md", "idea.md", "index.md"]
    turned = shell.ok("search", "tea", "--sort", "path", "--reverse", "--json").json["hits"]
    assert [element["path"] for element in turned] == ["index.md", "idea.md", "drinks/tea.md"]


def test_a_search_of_the_past_does_not_know_the_present(shell: Shell, repo: GitRepo) -> None:
    then = repo.git("rev-parse", "HEAD")
    repo.commit("New", **{"new.md": "# Samovar\n"})
    assert shell.ok("search", "samovar", "--json").json["total"] == 1
    past = shell.ok("search", "samovar", "--at", then, "--json").json
    assert (past["total"], past["at"]) == (0, {"notes": then})
    within = json.loads(shell.ok("search", "boil", "--at", then, "--max-tokens", "300", "--json").text)
    assert within["at"] == {"notes": then}


@pytest.mark.parametrize(
    "arguments", [["tea", "--mode", "magic"], ["tea", "--sort", "size"], ["tea", "--from", "May"], []]
)
def test_what_cannot_be_is_refused(shell: Shell, arguments: list[str]) -> None:
    done = shell("search", *arguments)
    assert (done.code, done.text) == (2, "")


def test_search_by_meaning_alone_needs_a_model(shell: Shell) -> None:
    done = shell("search", "tea", "--mode", "semantic", "--json")
    assert done.code != 0
    assert "model install" in done.error["hint"] + done.error["message"]
