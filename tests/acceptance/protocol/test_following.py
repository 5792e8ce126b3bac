"""Clients that follow resources are told of each change once, whoever made it: in the older era and in the newer."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.subscriptions import Subscription
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types import ResourceListChangedNotification, ResourceUpdatedNotification

from agent import Agent
from serving import commonplace, served
from support import eventually
from ways import Site, Way

pytestmark = pytest.mark.filterwarnings("ignore:resources/:mcp.shared.exceptions.MCPDeprecationWarning")

LIST = "list"
"""Represents a change of the list of resources."""
MARK = "commonplace://entries/mark"
"""Changed behind the change that is looked at, so that what came until then is all that comes."""
PREPARED = itertools.count()
"""Names documents that say once, each, that what was prepared has been told of."""


def uri(name: str) -> str:
    return f"pyrite://kbs/notes/entries/followed%2F{name}"


@contextmanager
def followed(way: Way, client: Agent, uris: Sequence[str]) -> Iterator[Callable[[], list[str]]]:
    """Notifications received since the block began by a client with subscriptions: URIs, and `list`."""
    if way.era == "legacy":
        begun = len(way.heard)
        for element in uris:
            client.run(client.client.subscribe_resource, element)
        yield lambda: [_named(message) for message in way.heard[begun:]]
        for element in uris:
            client.run(client.client.unsubscribe_resource, element)
        return
    heard: list[str] = []
    append = heard.append

    async def collect(stream: Subscription) -> None:
        async for event in stream:
            append(event.uri if isinstance(event, ResourceUpdated) else LIST)

    manager = client.client.listen(resources_list_changed=True, resource_subscriptions=uris)
    with client.portal.wrap_async_context_manager(manager) as stream:
        reading = client.portal.start_task_soon(collect, stream)
        yield lambda: list(heard)
        reading.cancel()


def _named(message: Any) -> str:
    if isinstance(message, ResourceUpdatedNotification):
        return message.params.uri
    return LIST if isinstance(message, ResourceListChangedNotification) else repr(message)


def by_the_server(site: Site) -> None:
    writer = site.agents["stdio", "auto"]
    writer.call("kb_get", kb_name="notes", entry_id="followed/edited")
    writer.call("kb_update", kb_name="notes", entry_id="followed/edited", body="By a client.\n")


def by_an_editor(site: Site) -> None:
    beside = site.repo.write("followed/.edited.md.swp", "# Edited\n\nBy an editor.\n")
    beside.rename(site.repo.path / "followed" / "edited.md")


def by_deletion(site: Site) -> None:
    (site.repo.path / "followed" / "edited.md").unlink()


def by_creation(site: Site) -> None:
    beside = site.repo.write("followed/.new.md.swp", "# New\n")
    beside.rename(site.repo.path / "followed" / "new.md")


def by_rename(site: Site) -> None:
    (site.repo.path / "followed" / "edited.md").rename(site.repo.path / "followed" / "new.md")


def by_a_branch_switch(site: Site) -> None:
    site.repo.git("switch", "--quiet", "side")


CHANGES: Mapping[Callable[[Site], None], set[str]] = {
    by_the_server: {uri("edited")},
    by_an_editor: {uri("edited")},
    by_deletion: {uri("edited"), LIST},
    by_creation: {uri("new"), LIST},
    by_rename: {uri("edited"), uri("new"), LIST},
    by_a_branch_switch: {uri("edited"), uri("new"), uri("switched"), LIST},
}
"""Expected notifications of every client by event, each once."""


@pytest.fixture
def notes(site: Site) -> Iterator[Site]:
    """The base with a branch `side` on which documents differ, are gone, and are new."""
    repo = site.repo
    repo.commit(
        "Notes", **{f"followed/{name}.md": f"# {name}\n" for name in ("edited", "switched")}, **{"mark.md": "0"}
    )
    repo.git("switch", "--quiet", "--create", "side")
    repo.git("rm", "--quiet", "followed/edited.md")
    repo.commit("Side", **{"followed/switched.md": "# Other\n", "followed/new.md": "# New\n"})
    repo.git("switch", "--quiet", "main")
    for client in site.agents.values():
        eventually(lambda client=client: _has(client, "followed/edited", "switched"))
    yield site
    repo.git("reset", "--quiet", "--hard")
    repo.git("clean", "--quiet", "--force", "-d")
    repo.git("switch", "--quiet", "main")
    repo.git("branch", "--quiet", "-D", "side")


def _has(client: Agent, identifier: str, title: str) -> bool:
    found_value = client.call("kb_batch_read", entries=[{"entry_id": identifier}, {"entry_id": "followed/switched"}])
    return [entry["title"] for entry in found_value["entries"]] == ["edited", title]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.sampled(4)
def test_each_change_is_told_once_to_every_client(change: Callable[[Site], None], notes: Site) -> None:
    ready = f"ready-{next(PREPARED)}"
    uris = [uri("edited"), uri("new"), uri("switched"), MARK, f"commonplace://entries/{ready}"]
    with ExitStack() as stack:
        heard = {key: stack.enter_context(followed(way, notes.agents[key], uris)) for key, way in notes.ways.items()}
        at_once(notes, f"{ready}.md", "")
        for report in heard.values():
            eventually(lambda reported_function=report: uris[-1] in reported_function())
        mark(notes, heard.values())
        begun = {key: len(candidate()) for key, candidate in heard.items()}
        change(notes)
        for key, report in heard.items():
            eventually(lambda key=key, candidate=report: CHANGES[change] <= set(candidate()[begun[key] :]))
        mark(notes, heard.values())
        # The marks only say that nothing more comes.
        seen = {key: sorted(text for text in report()[begun[key] :] if text != MARK) for key, report in heard.items()}
        if change is by_a_branch_switch:
            # Git changes one file after the other, so that they may be told of apart.
            seen = {key: sorted(set(reported_texts)) for key, reported_texts in seen.items()}
        assert seen == dict.fromkeys(heard, sorted(CHANGES[change]))


def mark(notes: Site, clients: Collection[Callable[[], list[str]]]) -> None:
    """Change one more document, and return when all clients have been told of it."""
    before = [client().count(MARK) for client in clients]
    at_once(notes, "mark.md", f"mark {next(PREPARED)}")
    for client, count in zip(clients, before, strict=True):
        eventually(lambda reported_function=client, count=count: reported_function().count(MARK) == count + 1)


def at_once(notes: Site, path: str, text: str) -> None:
    """Write a file in one step: one that is emptied first and filled a moment later has changed twice."""
    notes.repo.write(".at-once.swp", text).rename(notes.repo.path / path)


def test_who_follows_the_entries_of_a_base_is_told_of_any_of_them(way: Way, client: Agent, notes: Site) -> None:
    whole = ["pyrite://kbs", "pyrite://kbs/notes/entries"]
    ready = f"ready-{next(PREPARED)}"
    with followed(way, client, [*whole, MARK, f"commonplace://entries/{ready}"]) as report:
        at_once(notes, f"{ready}.md", "")
        eventually(lambda: f"commonplace://entries/{ready}" in report())
        mark(notes, [report])
        begun = len(report())
        by_an_editor(notes)
        eventually(lambda: sorted(report()[begun:]) == whole)


def test_who_may_not_see_a_base_is_told_nothing_of_it(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    for name in ("open", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "note.md").write_text(f"# {name}\n")
    key = commonplace("keys", "create", "reader", "--collection", "open").stdout.strip()
    uris = [f"pyrite://kbs/{name}/entries/note" for name in ("open", "closed")]
    with served(tmp_path / "open", tmp_path / "closed") as server, server.follow("kb", uris, key=key) as stream:
        assert stream.next()["method"] == "notifications/subscriptions/acknowledged"
        (tmp_path / "closed" / "note.md").write_text("# changed\n")
        (tmp_path / "closed" / "new.md").write_text("# new\n")
        (tmp_path / "open" / "note.md").write_text("# changed\n")
        report = stream.next()
        assert (report["method"], report["params"]["uri"]) == ("notifications/resources/updated", uris[0])
        (tmp_path / "open" / "new.md").write_text("# new\n")
        assert stream.next()["method"] == "notifications/resources/list_changed"
