"""The tool `proposals`: what each tier may do with it."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.errors import ConfigError, ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from commonplace.domain.proposals import Proposer
from commonplace.faces.mcp import proposals
from commonplace.faces.mcp.proposals import PROPOSALS, resources_with_proposals, tools_with_proposals
from commonplace.faces.mcp.toolset import (
    PROPOSE,
    Call,
    Resource,
    ResourceContents,
    Resources,
    Tool,
    Toolset,
    allowed_tools,
)
from commonplace.services import writes
from commonplace.services.collections import Collections
from commonplace.services.proposals.views import proposer_of
from commonplace.services.services import Services
from commonplace.settings import Tier
from commonplace.toolsets.notes.mcp.changes import changes
from commonplace.toolsets.notes.mcp.parameters import NotesChanges
from proposing import AGENT, ProposedBase

MAX_SCHEMA_TOKENS = 120


@pytest.fixture
def base(tmp_path: Path) -> Generator[ProposedBase]:
    with ProposedBase(tmp_path, {"a.md": "# A\n\none\n\n## Plan\n\ntwo\n"}) as base:
        with base.view() as view:
            writes.replace_once(view, Address("a.md"), "two", "TWO")
        yield base


def run(base: ProposedBase, tier: Tier, proposer: Proposer = AGENT, **arguments: str | int) -> str:
    call = Call(services=base.services, tier=tier, progress=lambda _done, _total: None, proposer=proposer)
    return str(PROPOSALS.handler.run(call, dict(arguments)))


def test_the_schema_is_short() -> None:
    text = json.dumps(PROPOSALS.handler.input_schema(), separators=(",", ":"))
    assert len(text) / 4 <= MAX_SCHEMA_TOKENS


def test_the_resource_has_only_what_waits(base: ProposedBase) -> None:
    identifier = base.open_ids()[0]
    call = Call(services=base.services, tier="propose", progress=lambda _done, _total: None, proposer=AGENT)
    assert str(proposals.RESOURCES.read(call, proposals.OPEN_URI).content).startswith(identifier)
    base.accept()
    assert proposals.RESOURCES.read(call, proposals.OPEN_URI).content == "There are no proposals."
    assert run(base, "propose", action="list").startswith(identifier)


def test_a_proposer_follows_the_own_proposals_and_decides_nothing(base: ProposedBase) -> None:
    identifier = base.open_ids()[0]
    other = proposer_of("key:other", "session 1")
    assert run(base, "propose", action="list").startswith(identifier)
    assert run(base, "propose", other, action="list") == "There are no proposals."
    assert "+TWO" in run(base, "propose", action="show", id=identifier)
    for action in ("show", "withdraw", "amend"):
        with pytest.raises(NotFoundError, match="There is no proposal"):
            run(base, "propose", other, action=action, id=identifier)
    for action in ("accept", "decline"):
        with pytest.raises(ForbiddenError, match="tier write"):
            run(base, "propose", action=action, id=identifier)
    assert run(base, "propose", action="amend", id=identifier) == f"Your next writes go to {identifier}."
    assert run(base, "propose", action="withdraw", id=identifier) == f"Withdrawn {identifier}."
    assert "(withdrawn)" in run(base, "propose", action="list")
    assert run(base, "write", action="list") == "There are no proposals."


def test_a_writer_decides_on_all(base: ProposedBase) -> None:
    identifier = base.open_ids()[0]
    writer = proposer_of("key:person", "session 9")
    with pytest.raises(ForbiddenError, match="by its proposer"):
        run(base, "write", writer, action="withdraw", id=identifier)
    with pytest.raises(InvalidInputError, match="Which proposal"):
        run(base, "write", writer, action="show")
    with pytest.raises(InvalidInputError, match="Of which page"):
        run(base, "write", writer, action="accept", id=identifier, text="x")
    assert "Accepted" in run(base, "write", writer, action="accept", id=identifier, page="a.md#Plan", word="Thanks")
    assert base.texts()["a.md"] == b"# A\n\none\n\n## Plan\n\nTWO\n"
    assert "Accepted: Thanks" in run(base, "propose", action="show", id=identifier)
    with base.view() as view:
        writes.append(view, Address("a.md"), "more\n")
    second = base.open_ids()[0]
    assert run(base, "admin", writer, action="decline", id=second, word="No\nmore") == f"Declined {second}."
    assert "Declined: No more" in run(base, "propose", action="show", id=second)


def test_a_missing_action_is_answered_with_the_valid_ones(base: ProposedBase) -> None:
    with pytest.raises(InvalidInputError, match="Missing argument: action") as caught:
        run(base, "propose")
    assert caught.value.hint == "Give action (list, show, accept, decline, amend, withdraw, undo)."


def test_changes_tell_proposed_pages_from_those_that_are_not_committed(base: ProposedBase) -> None:
    with base.view() as view:
        writes.create(view, Address("sub/new.md"), b"# New\n")
    base.repo.write("b.md", "# B\n")
    base.index.sync()
    with base.view(writes=False) as view:
        services = Services(collections=Collections(lambda: [view]))
        call = Call(services=services, tier="propose", progress=lambda _done, _total: None, proposer=AGENT)
        lines = str(changes(call, NotesChanges())).splitlines()
        assert lines[:2] == ["Proposed, not yet in the base: a.md, sub/new.md", "Not committed: b.md"]
        assert str(changes(call, NotesChanges(folder="sub"))).splitlines()[0].endswith("base: sub/new.md")
        assert str(changes(call, NotesChanges(page="a"))).splitlines()[0].endswith("base: a.md")


def test_a_conflict_names_the_call_that_ends_it(base: ProposedBase) -> None:
    identifier = base.open_ids()[0]
    writes.replace_once(base.collection, Address("a.md"), "two", "zwei")
    with pytest.raises(ConflictError, match="Nothing was written") as caught:
        run(base, "write", action="accept", id=identifier)
    call = {"action": "accept", "id": identifier, "page": "a.md", "text": "..."}
    assert caught.value.hint.endswith(f"The call: proposals {json.dumps(call)}")
    assert "Accepted" in run(base, "write", **call)


def test_a_long_list_is_told_in_parts(base: ProposedBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposals, "MAX_LISTED", 2)
    for number in range(4):
        with base.view(proposer_of("key:agent", f"session {number + 2}")) as view:
            writes.create(view, Address(f"n{number}.md"), b"# N\n")
    for tier in ("propose", "write"):
        first = run(base, tier, action="list").splitlines()
        assert first[2:] == ["and 3 more: list with offset 2, or narrow it: page (or folder), text (words)"]
        second = run(base, tier, action="list", offset=2).splitlines()
        assert second[2:] == ["and 1 more: list with offset 4, or narrow it: page (or folder), text (words)"]
        (last,) = run(base, tier, action="list", offset=4).splitlines()
        assert len({line[:15] for line in [*first[:2], *second[:2], last]}) == 5
        assert run(base, tier, action="list", offset=5) == "There are 5 proposals, none after the first 5."


def test_the_text_that_is_given_is_what_the_page_says(base: ProposedBase) -> None:
    identifier = base.open_ids()[0]
    writer = proposer_of("key:person", "session 9")
    writes.replace_once(base.collection, Address("a.md"), "two", "zwei")
    with pytest.raises(InvalidInputError, match="whole page"):
        run(base, "write", writer, action="accept", id=identifier, page="a#Plan", text="x")
    assert "Accepted" in run(base, "write", writer, action="accept", id=identifier, page="a", text="# A\n\nfinal\n")
    assert base.texts()["a.md"] == b"# A\n\nfinal\n"


def test_a_toolset_at_propose_has_the_writing_tools_and_this_one() -> None:
    rows = tuple(
        Tool(name=tier, title="", description="", handler=PROPOSALS.handler, tier=tier, proposes=proposes)
        for tier, proposes in (("read", True), ("write", True), ("admin", True))
    )
    plugin = Tool(name="plugin", title="", description="", handler=PROPOSALS.handler, tier="write", proposes=False)
    toolset = Toolset(name="x", server_name="x", instructions="", tools=(*rows, plugin), show_error=str, proposes=True)
    served = allowed_tools(tools_with_proposals(toolset, "propose"), "propose")
    assert [row.name for row in served] == ["read", "write", "proposals"]
    assert tools_with_proposals(toolset, "write") == toolset.tools
    closed = Toolset(name="x", server_name="x", instructions="", tools=rows, show_error=str)
    with pytest.raises(ConfigError, match="takes no proposals"):
        tools_with_proposals(closed, "propose")


def test_proposals_are_resources(base: ProposedBase) -> None:
    identifier = base.open_ids()[0]
    own = Resources(
        templates=(),
        list=lambda _call, offset, limit: (
            [Resource(uri=f"x://{element}", name="") for element in range(3)][offset:][:limit],
            False,
        ),
        read=lambda _call, uri: ResourceContents(uri),
    )
    both = resources_with_proposals(own)
    calls = {
        who: Call(services=base.services, tier=tier, progress=lambda _done, _total: None, proposer=proposer)
        for who, tier, proposer in (
            ("own", PROPOSE, AGENT),
            ("other", PROPOSE, proposer_of("key:other", "session 1")),
            ("person", "write", proposer_of("key:person", "session 9")),
        )
    }
    pages = [[resource.uri for resource in both.list(calls["own"], offset, 2)[0]] for offset in (0, 2, 4)]
    assert pages == [["proposals://open", "x://0"], ["x://1", "x://2"], []]
    assert both.read(calls["own"], "x://1").content == "x://1"
    for who in ("own", "person"):
        assert str(both.read(calls[who], "proposals://open").content).startswith(identifier)
        assert "+TWO" in str(both.read(calls[who], f"proposals://{identifier}").content)
    assert both.read(calls["other"], "proposals://open").content == "There are no proposals."
    for who, uri in (("other", f"proposals://{identifier}"), ("own", "proposals://"), ("own", "proposals://%00")):
        with pytest.raises(NotFoundError):
            both.read(calls[who], uri)


def test_the_tip_that_was_shown_is_checked(base: ProposedBase) -> None:
    identifier = base.open_ids()[0]
    writer = proposer_of("key:person", "session 9")
    tip = run(base, "write", writer, action="show", id=identifier).splitlines()[0].rpartition("tip ")[2]
    with base.view() as view:
        writes.append(view, Address("a.md"), "more\n")
    for action in ("accept", "decline"):
        with pytest.raises(ConflictError, match="was amended since"):
            run(base, "write", writer, action=action, id=identifier, tip=tip)
    tip = run(base, "write", writer, action="show", id=identifier).splitlines()[0].rpartition("tip ")[2]
    assert "Accepted" in run(base, "write", writer, action="accept", id=identifier, tip=tip)
