"""The API of a server of layers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from layers import write_cascade
from serving import Server, served

OWN = {"systems/auth.md": "---\ntype: System\n---\n# Auth\n\nMine. See [[owner]].\n"}
TEAM = {"systems/auth.md": "# Auth\n\n## Logs\n\nOn disk.\n", "owner.md": "---\ntype: person\n---\n# Owner\n"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("layers")
    manifest = write_cascade(folder, {"own": (2, OWN), "team": (1, TEAM)})
    with served("--manifest", manifest) as serving:
        yield serving


def test_concepts_are_listed_by_prefix_and_category_whatever_their_case(server: Server) -> None:
    every = server.ask("GET", "/api/v1/pages").json
    assert (every["total"], [page["path"] for page in every["pages"]], every["layers"]) == (
        2,
        ["owner", "systems/auth"],
        [],
    )
    only = server.ask("GET", "/api/v1/pages?category=system&prefix=SYSTEMS/").json
    assert [(page["path"], page["name"], page["held_by"]) for page in only["pages"]] == [
        ("systems/auth", "auth", ["own", "team"])
    ]
    cut = server.ask("GET", "/api/v1/pages?limit=1&offset=1").json
    assert (cut["total"], [page["path"] for page in cut["pages"]]) == (2, ["systems/auth"])


def test_a_concept_is_effective_or_of_one_layer(server: Server) -> None:
    whole = server.page("GET", "systems/auth").json
    assert "On disk." in whole["content"]
    assert (whole["links_to"], whole["revision"] != "") == (["owner"], True)
    own = server.ask("GET", "/api/v1/pages/systems%2Fauth?layer=own").json
    assert (own["content"], own["links_to"]) == ("", [])
    assert "On disk." not in str(own["concept"])
    for status, path in ((404, "systems%2Fauht"), (404, "systems%2Fauth?layer=nobody"), (404, "..%2Fowner")):
        assert server.ask("GET", f"/api/v1/pages/{path}").status in {status, 422}


def test_the_best_hit_has_the_score_one(server: Server) -> None:
    json = server.ask("GET", "/api/v1/search?q=disk").json
    assert [(result["path"], result["score"], result["suppressed"]) for result in json["results"]] == [
        ("systems/auth", 1.0, False)
    ]
    none = server.ask("GET", "/api/v1/search?q=zzqq").json
    assert (none["results"], none["total"]) == ([], 0)


def test_links_lead_both_ways(server: Server) -> None:
    assert server.ask("GET", "/api/v1/links/owner").json["linked_from"] == ["systems/auth"]
    assert server.ask("GET", "/api/v1/links/nobody").status == 404


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH"])
def test_nothing_can_be_written(server: Server, method: str) -> None:
    assert server.ask(method, "/api/v1/pages/owner", b"x").status in {403, 404, 405}
