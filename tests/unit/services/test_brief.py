"""The brief at the start of a session: rules, sections, and the last session of the same client."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from commonplace.domain.activity import Access, Actor
from commonplace.services.brief import brief, last_session
from commonplace.services.services import Services
from commonplace.store.activity_log import FileAccessLog
from indexed import Indexed

FILES = {
    "AGENTS.md": "---\na: 1\n---\n# Rules\n\nPlain words.\n",
    "tea.md": "# Tea\n\n## Brewing\n\nHot walrus water.\n",
}
NOW_HERE = Actor(face="mcp", session="b" * 16, client="claude-code")


def test_rules_are_read_from_their_files_and_sections_for_the_task_are_found(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        services = Services(collections=base.collections)
        found_brief = brief(services, "walrus", None, mode="keyword")
        assert [(page.address.path, page.text) for page in found_brief.rules] == [
            ("AGENTS.md", "# Rules\n\nPlain words.")
        ]
        assert [(section.record.address.path, section.anchor) for section in found_brief.sections] == [
            ("tea.md", "brewing")
        ]
        assert (found_brief.since, list(found_brief.unknown)) == (0.0, [])
        assert brief(services, " ", None).sections == []
        (said,) = brief(services, "", None, since=time.time() - 9).unknown
        assert said.endswith("has no Git history; what changed is not known.")


def test_the_last_session_is_another_one_of_the_same_client_and_person(tmp_path: Path) -> None:
    with Indexed(tmp_path, FILES) as base:
        log = FileAccessLog(tmp_path / "activity")
        services = Services(collections=base.collections, activity=log)
        assert last_session(services, NOW_HERE) == 0.0
        day, now = 86_400.0, time.time()
        earlier = replace(NOW_HERE, session="a" * 16)
        for when, actor in (
            (now - 100 * day, earlier),
            (now - 40 * day, earlier),
            (now - 3, replace(earlier, client="other")),
            (now - 2, replace(earlier, caller="key:1")),
            (now - 1, NOW_HERE),
        ):
            log.add(Access(when=when, actor=actor, base=base.store.identity, read=("tea.md",)))
        assert round(now - last_session(services, NOW_HERE)) == 40 * day
