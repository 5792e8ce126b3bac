"""The brief at the start of a session: rules, sections, and the last session of the same client."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import pytest

from commonplace.domain.activity import Access, Actor
from commonplace.faces.brief_output import brief_lines
from commonplace.index import open_past
from commonplace.services.brief import brief, last_session
from commonplace.services.collections import Collections
from commonplace.services.past import since_of, since_time
from commonplace.services.services import Services
from commonplace.store.activity_log import FileAccessLog
from indexed import Indexed
from support import new_repo

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
        (said,) = brief(services, "zeppelin", None, mode="keyword").unknown
        assert said.endswith(": no section was found for the task.")
        (said,) = brief(services, "", None, since=since_time(services.collections, time.time() - 9)).unknown
        assert said.endswith("it is not in a Git repository; what changed is not known.")


def test_sections_are_found_in_the_files_while_the_index_is_being_built(tmp_path: Path) -> None:
    old = "# Old\n\n## Walrus water {#old status=superseded by=tea.md}\n\nCold walrus water.\n"
    with Indexed(tmp_path, {**FILES, "old.md": old, "CHANGELOG.md": "# 1.0\n\nMore walrus water.\n"}) as base:
        base.index.__dict__["_ready"] = Event()
        for task, paths, sentence in (
            ("Give the walrus its water", ["tea.md", "old.md"], "4 of 4 files were searched by words."),
            (
                "unheard things, word by another",
                [],
                "4 of 4 files were searched by words, without a section for the task so far.",
            ),
            ("", [], ""),
        ):
            answer = brief(Services(collections=base.collections), task, None)
            assert [section.record.address.path for section in answer.sections] == paths
            assert answer.reviews == []
            state, *more = answer.unknown
            assert re.fullmatch(
                r"base: The index is still being built(: .* done)?\. What is to be reviewed is not known yet\.", state
            )
            assert more == ([sentence] if sentence else [])
            if paths:
                assert [section.is_lapsed for section in answer.sections] == [False, True]


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


def test_release_notes_are_no_hits_unless_they_are_asked_for(tmp_path: Path) -> None:
    notes = ["CHANGELOG.md", "docs/releases/v2.md", "Release Notes 3.md", "docs/news.md", "what-s-new.md"]
    guides = ["release.md", "docs/releases/process.md", "docs/changes.d/how.md"]
    text = "# {}\n\nThe walrus of {} eats clams.\n"
    with Indexed(tmp_path / "a", {path: text.format("Walrus", path) for path in [*notes, *guides]}) as base:
        for task, paths in (
            ("feed the walrus", guides),
            ("walrus release notes", [*notes, *guides]),
            ("walrus in 2.1", [*notes, *guides]),
        ):
            sections = brief(Services(collections=base.collections), task, None, mode="keyword").sections
            assert sorted({section.record.address.path for section in sections}) == sorted(paths), task
    with Indexed(tmp_path / "b", {"log.md": text.format("Changelog", "it")}) as base:
        sections = brief(Services(collections=base.collections), "walrus", None, mode="keyword").sections
        assert [section.record.address.path for section in sections] == ["log.md"]


def test_the_same_text_is_told_once_and_no_template_is_listed(tmp_path: Path) -> None:
    rule, limit = "Every walrus note has a date.", "The walrus queue holds 500 messages."
    templates = ["templates/walrus.md", "docs/_templates/a.md", "walrus-template.md"]
    pages = {
        "AGENTS.md": f"# Rules\n\n## Walrus\n\n{rule}\n",
        "README.md": f"# Base\n\n{rule}\n",
        "old.md": f"# Old {{#old status=superseded by=a.md}}\n\n{limit}\n",
        "other.md": "# Other\n\nMessages of the walrus queue in winter.\n",
        "template-engine.md": "# Engine\n\nThe walrus renders queue messages.\n",
        **{f"{name}.md": f"# {name}\n\n{limit}\n\n{name * 9} {name * 7}.\n" for name in "abcd"},
        **dict.fromkeys(templates, f"# T\n\n{limit}\n"),
    }
    with Indexed(tmp_path, pages) as base:
        services = Services(collections=base.collections)
        listed = brief(services, "fill the walrus template", None, mode="keyword")
        assert any(section.record.address.path in templates for section in listed.sections)
        for is_ready in (True, False):
            if not is_ready:
                base.index.__dict__["_ready"] = Event()
            answer = brief(services, "how many messages the walrus queue holds", None, mode="keyword")
            text = "\n".join(brief_lines(answer, [], 4_000, lambda _, path: path, "Rest."))
            assert (text.count(limit), text.count(rule)) == (2, 1), text  # the second is superseded
            assert re.search(r"\[([a-d])\.md#\1\] \1; also in (?:[a-d]\.md#[a-d](?:, )?){3}\n", text) or not is_ready
            assert "in winter" in text or not is_ready
            assert not any(path in text for path in templates)


def make_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository whose pages changed in each way since 2025."""
    repo = new_repo(tmp_path / "base")

    def commit(day: str, **files: str) -> None:
        for role in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{role}_DATE", f"{day}T12:00:00Z")
        repo.commit(day, **files)

    old = {
        f"{name}.md": f"# {name}\n\n{name * 40}\n" for name in ("back", "edit", "gone", "hand", "move", "rm", "same")
    }
    commit("2024-01-01", **old)
    repo.write("same.md", "# Other\n")
    repo.write("late.md", "# Late\n")
    for source, target in (("move", "there"), ("back", "away")):
        repo.git("mv", f"{source}.md", f"{target}.md")
    repo.git("rm", "--quiet", "gone.md")
    commit("2026-03-01", **{"edit.md": "# New\n", "short.md": "# Short\n"})
    repo.git("mv", "away.md", "back.md")
    repo.git("rm", "--quiet", "short.md")
    commit("2020-01-01", **{"same.md": old["same.md"]})
    commit("2026-03-02", **{"last.md": "# Last\n"})
    repo.write("hand.md", "# Hand\n")
    repo.write("fresh.md", "# Fresh\n")
    (repo.path / "rm.md").unlink()


def test_a_brief_tells_what_became_of_each_page_since(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_changes(tmp_path, monkeypatch)
    since = datetime(2025, 1, 1, tzinfo=UTC).timestamp()
    with Indexed(tmp_path) as base:
        past = open_past(base.store, base.cache)
        assert past is not None
        collections = Collections(lambda: [replace(base.collection, past=past)])
        answer = brief(Services(collections=collections), "", None, since=since_time(collections, since))
        assert {page.address.path: page.state for page in answer.changed} == {
            "edit.md": "",
            "fresh.md": "not committed",
            "gone.md": "deleted",
            "hand.md": "not committed",
            "last.md": "",
            "late.md": "",
            "move.md": "moved to there.md",
            "rm.md": "removed, not committed",
        }
        head = base.store.history.head()
        for text, name in (("head~1", "(head~1)"), (head[:8].upper(), head[:10]), (f"before {head[:7]}", "(before ")):
            named = brief(Services(collections=collections), "", None, since=since_of(collections, text))
            (line,) = brief_lines(named, [], 4_000, lambda _, path: path, "Rest.")
            assert re.match("Since [0-9a-f]{10}[ :]", line), text
            assert name in line.partition(":")[0], "a commit has no date that changes are counted by"
        ever = brief(Services(collections=collections), "", None, since=since_time(collections, 1.0)).changed
        states = {page.address.path: page.state for page in ever}
        assert (states["move.md"], states["gone.md"]) == ("moved to there.md", "deleted"), "before the first commit"
        assert answer.is_complete
        whole = "\n".join(brief_lines(answer, [], 4_000, lambda _, path: path, "Rest."))
        assert "move.md (Test Writer; moved to there.md)" in whole
        assert "rm.md (removed, not committed)" in whole
        for room in (120, 200, 300):
            (line,) = brief_lines(answer, [], room, lambda _, path: path, "Rest.")
            assert re.fullmatch(r"Since 2025-01-01 00:00: 8 pages changed(: .* and \d more)?\. Rest\.", line), room
        soon = since_time(collections, time.time() + 60)
        later = brief(Services(collections=collections), "", None, since=soon)
        assert [page.address.path for page in later.changed] == ["rm.md"], "nobody knows when"
        base.index.__dict__["_ready"] = Event()
        first = brief(Services(collections=collections), "", None, since=soon)
        past.close()
        assert not first.is_complete
        assert brief_lines(first, [], 4_000, lambda _, path: path, "Rest.")[-1].endswith(
            "no changed page is known. Rest."
        )
