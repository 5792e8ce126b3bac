"""Cases that assistants on such a wiki rely on, one line each: a tool call over the real process, and its text.

The cases run on a folder and on a server of the REST API. Cases that differ by choice are in docs/differences.md.
"""

# ruff: noqa: E501 - one line a case

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from agent import Agent
from support import GitRepo, new_repo
from wiki_base import NOTES, PLACES, Site, Where, assistant

MORE = {
    "Events/Strike.md": "---\ntitle: The strike\ncategory: event\ntags: military\nconfidence: low\n---\nHit [[Actors/Nobody]]. Hit again.\n\n## Losses\n\nMany.\n\n### Ships\n\nTwo.\n",
    "Odd.md": "---\ncategory: [a, 5]\ntags: {x: 1}\nlast_updated: 7\nconfidence: null\n---\nOdd values.\n",
    "Long.md": "---\nlast_updated: 2026-01-01\n---\n" + "word " * 200 + "\n",
    "Empty.md": "",
}


@pytest.fixture(scope="module", params=PLACES)
def used(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    where: Where = request.param
    folder = tmp_path_factory.mktemp("cases")
    repo = new_repo(folder / "wiki", {**NOTES, **MORE})
    with assistant(where, repo.path) as client:
        yield client, repo


REV = "(?P<rev>[0-9a-f]{40})"
DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d"
Case = tuple[str, str, dict[str, Any], str]
READ: list[Case] = [
    # read_note
    ("the title", "read_note", {"path": "Events/Strike"}, r"# The strike\nPath: Events/Strike\n"),
    ("the path's end without a title", "read_note", {"path": "Actors/Iran"}, r"# Iran\nPath: Actors/Iran\n"),
    ("the revision", "read_note", {"path": "Actors/Iran"}, rf".*\nRevision: {REV}\n"),
    ("category and tags", "read_note", {"path": "Actors/Iran"}, r".*\nCategory: actor \| Tags: military\n"),
    ("confidence alone", "read_note", {"path": "Events/Strike"}, r".*\nConfidence: low\n"),
    ("wanted links as written", "read_note", {"path": "Events/Strike"}, r".*\nLinks to: Actors/Nobody\n"),
    ("who links here", "read_note", {"path": "Actors/Iran"}, r".*\nLinked from: Hub, Trends/Iran Attrition Strategy\n"),
    ("lines without values are left out", "read_note", {"path": "Empty"}, rf"# Empty\nPath: Empty\nRevision: {REV}\n\n---\n\Z"),
    ("the whole Markdown", "read_note", {"path": "Hub"}, r".*\n---\n---\ncategory: Index\ntitle: The hub\n"),
    ("odd values", "read_note", {"path": "Odd"}, r".*Category: a, 5 \| Tags: .*Last updated: 7\n"),
    ("a section", "read_note", {"path": "Events/Strike", "section": "Losses"}, r".*\nSection: Losses\n.*---\n## Losses\n\nMany\.\n\n### Ships\n\nTwo\.\n\Z"),
    ("a section of a section", "read_note", {"path": "Events/Strike", "section": "Losses > Ships"}, r".*\nSection: Losses > Ships\n.*---\n### Ships\n\nTwo\.\n\Z"),
    ("another case of a path", "read_note", {"path": "ACTORS/iran"}, r"# Iran\nPath: Actors/Iran\n"),
    # list_notes
    ("all notes", "list_notes", {}, r"Found 10 notes:\n\n- "),
    ("by category", "list_notes", {"category": "proposition"}, r"Found 2 notes matching category=proposition:\n\n- Propositions/Iran Rationing Ballistic Missiles \(proposition, 487 words, updated 2026-03-08\)\n- Propositions/Fertilizer"),
    ("category in another case", "list_notes", {"category": "EVENT"}, r"Found 1 notes matching category=EVENT:\n\n- Events/Strike \(event, "),
    ("by a tag that is one text", "list_notes", {"tag": "military", "category": "event"}, r"Found 1 notes matching category=event, tag=military:"),
    ("by part of a tag", "list_notes", {"tag": "milit"}, r"Found 0 notes matching tag=milit:\Z"),
    ("by prefix", "list_notes", {"prefix": "Prop"}, r"Found 2 notes matching prefix=Prop:"),
    ("by prefix in another case", "list_notes", {"prefix": "propositions/i"}, r"Found 1 notes matching prefix=propositions/i:\n\n- Propositions/Iran"),
    ("since a day", "list_notes", {"prefix": "Actors/", "updated_since": "2026-03-07"}, r"Found 1 notes matching prefix=Actors/ updated since 2026-03-07:"),
    ("a page of a list", "list_notes", {"limit": 3}, r"Found 10 notes:\n\n(- [^\n]*\n){3}\nShowing 3 of 10; pass offset=3 for more\.\Z"),
    ("the last page", "list_notes", {"limit": 3, "offset": 9}, r"Found 10 notes:\n\n- [^\n]*\Z"),
    ("without a category the word is left out", "list_notes", {"prefix": "Long"}, r".*\n- Long \(200 words, updated 2026-01-01\)\Z"),
    # search
    ("a search", "search_notes", {"query": "interceptor inventories"}, r'\d results for "interceptor inventories":\n\n1\. Variables/Interceptor Stockpiles \(score: 0\.\d\d\)\n   Tracking'),
    ("one blank line between hits", "search_notes", {"query": "iran"}, r"\d results.*\n\n1\. [^\n]*\n   [^\n]*\n\n2\. "),
    ("an excerpt is cut", "search_notes", {"query": "word", "limit": 1}, r".*\n   (?=[^\n]{100,153}(?:\n|\Z))[^\n]*\.\.\."),
    ("nothing found", "search_notes", {"query": "zzzzqqq"}, r'0 results for "zzzzqqq":\Z'),
    ("a phrase that no note has", "search_notes", {"query": '"inventories of interceptors"'}, r'\d+ results for "[^\n]*":\n\nNo page contains the quoted phrase in its names, tags, description or text\. These pages were found by its words\.\n\n1\. '),
    ("a cut search", "search_notes", {"query": "iran", "limit": 1}, r".*\nShowing 1 of \d+; pass a higher limit or ask more narrowly\.\Z"),
    # links
    ("links", "get_links", {"path": "Events/Strike"}, r"Links for Events/Strike:\n\nLinks to \(1\):\n  - Actors/Nobody\nLinked from \(0\):\n  \(none\)\Z"),
    ("links of a wanted note", "get_links", {"path": "Actors/Nobody"}, r"Links for Actors/Nobody:\n\nLinks to \(0\):\n  \(none\)\nLinked from \(1\):\n  - Events/Strike\Z"),
    ("a hub is no orphan, nor what it links to", "find_orphaned_notes", {}, r"Found 8 orphaned notes:\n\n(?!.*- (?:Hub|Actors/Iran) ).*- Events/Strike \("),
    # time
    ("recent changes", "get_recent_changes", {"limit": 1}, rf"1 recent changes:\n\n- {DATE} \| Test Writer \| .*Actors/Iran, .*\n  Begin\Z"),
    ("history", "get_history", {"path": "Actors/Iran"}, rf"History for Actors/Iran \(1 revisions\):\n\n- [0-9a-f]{{8}} \| {DATE} \| Test Writer\n  Begin\Z"),
    ("no attachments", "list_attachments", {"path": "Hub"}, r"0 attachments of Hub:"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "shown"), [case[1:] for case in READ], ids=[case[0] for case in READ])
def test_a_call_answers_as_assistants_know_it(used: Site, tool: str, arguments: dict[str, Any], shown: str) -> None:
    text = used[0].text(tool, **arguments)
    assert re.match(shown, text, re.DOTALL), text


CONFLICT = (
    r"Conflict: the page was modified since last read\. Read the page again to get the current version, then retry\."
)
MISSING = r"Page not found: Actors/Iraan\. Use write_note to create it, or list_notes to see available pages\.\nDid you mean: Actors/Iran"
REFUSED: list[Case] = [
    ("read an unknown note", "read_note", {"path": "Actors/Iraan"}, MISSING),
    ("links of an unknown note", "get_links", {"path": "Actors/Iraan"}, MISSING),
    ("history of an unknown note", "get_history", {"path": "Actors/Iraan"}, MISSING),
    ("rename an unknown note", "rename_note", {"path": "Actors/Iraan", "new_path": "x"}, MISSING),
    ("delete an unknown note", "delete_note", {"path": "Actors/Iraan"}, MISSING),
    ("edit an unknown note", "edit_note", {"path": "Actors/Iraan", "revision": "0000000", "old_string": "a", "new_string": "b"}, MISSING),
    ("files of an unknown note", "list_attachments", {"path": "Actors/Iraan"}, MISSING),
    ("an unknown revision", "read_note", {"path": "Hub", "revision": "1234567"}, r"Revision not found: 1234567 of Hub"),
    ("no revision", "read_note", {"path": "Hub", "revision": "zz"}, r"Invalid request: "),
    ("write unseen", "write_note", {"path": "Variables/Interceptor Stockpiles", "content": "x"}, rf"{CONFLICT}\nCurrent revision: {REV}"),
    ("write at a stale revision", "write_note", {"path": "Hub", "content": "x", "revision": "0000000"}, CONFLICT),
    ("edit at a stale revision", "edit_note", {"path": "Hub", "revision": "0000000", "old_string": "x", "new_string": "y"}, rf"{CONFLICT}\nCurrent revision: {REV}"),
    ("edit at no revision", "edit_note", {"path": "Hub", "revision": "", "old_string": "x", "new_string": "y"}, r"Invalid request: .*7 to 40"),
    ("edit of an absent text", "edit_note", {"path": "Events/Strike", "revision": "{rev}", "old_string": "absent", "new_string": "y"}, r"Invalid request: The text does not occur"),
    ("edit of an ambiguous text", "edit_note", {"path": "Events/Strike", "revision": "{rev}", "old_string": "Hit", "new_string": "y"}, r"Invalid request: The text is ambiguous: it occurs 2 times"),
    ("edit to the same", "edit_note", {"path": "Events/Strike", "revision": "{rev}", "old_string": "Many", "new_string": "Many"}, r"Invalid request: .*the same"),
    ("since no date", "list_notes", {"updated_since": "soon"}, r"Invalid request: Invalid updated_since"),
    ("an empty query", "search_notes", {"query": " "}, r"Invalid request: Invalid query"),
    ("a path that leads out", "read_note", {"path": "../x"}, r"Invalid request: Invalid path"),
    ("an unknown section", "read_note", {"path": "Events/Strike", "section": "Gains"}, r".*no section 'Gains'"),
    ("rename to a note", "rename_note", {"path": "Hub", "new_path": "Long"}, r".*Long"),
    ("attach no base64", "upload_attachment", {"path": "Hub", "filename": "a.png", "content": "%%"}, r"Invalid request: Invalid content: it is no base64"),
    ("attach outside", "upload_attachment", {"path": "Hub", "filename": "../a.png", "content": "eA=="}, r"Invalid request: "),
    ("download an unknown file", "download_attachment", {"path": "Hub", "filename": "no.png"}, r"Attachment not found: no\.png of Hub"),
    ("detach an unknown file", "delete_attachment", {"path": "Hub", "filename": "no.png"}, r"Attachment not found: no\.png of Hub"),
    ("meaning that is not set up", "semantic_search", {"query": "war"}, r"Semantic search is not set up on this server\. Use search_notes instead"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "arguments", "said"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_a_refusal_says_what_assistants_know(used: Site, tool: str, arguments: dict[str, Any], said: str) -> None:
    wiki, _ = used
    if arguments.get("revision") == "{rev}":
        arguments = {**arguments, "revision": revision(wiki, arguments["path"])}
    result = wiki.raw(tool, **arguments)
    text = "\n".join(getattr(block, "text", "") for block in result.content)
    assert result.is_error, text
    assert re.match(said, text, re.DOTALL), text
    assert "Traceback" not in text


def revision(wiki: Agent, path: str) -> str:
    match = re.search(rf"Revision: {REV}", wiki.text("read_note", path=path))
    assert match
    return match["rev"]


WRITES: list[Case] = [
    ("create", "write_note", {"path": "New/One", "content": "Says [[Hub]].\n"}, r"Created New/One \(revision: [0-9a-f]{8}\)\Z"),
    ("update what was just written", "write_note", {"path": "New/One", "content": "Says [[Long]].\n"}, r"Updated New/One \(revision: [0-9a-f]{8}\)\Z"),
    ("write the same again", "write_note", {"path": "New/One", "content": "Says [[Long]].\n"}, r".*Nothing changed"),
    ("edit", "edit_note", {"path": "New/One", "revision": "{rev}", "old_string": "Says", "new_string": "Tells"}, r"Edited New/One \(revision: [0-9a-f]{8}\)\Z"),
    ("rename", "rename_note", {"path": "Long", "new_path": "Short"}, r"Renamed Long -> Short \(revision: [0-9a-f]{8}\)\nUpdated 1 backreferences:\n- New/One\Z"),
    ("rename without links", "rename_note", {"path": "Empty", "new_path": "Void"}, r"Renamed Empty -> Void \(revision: [0-9a-f]{8}\)\nNo backreferences needed updating\.\Z"),
    ("attach", "upload_attachment", {"path": "Hub", "filename": "a.png", "content": "eA=="}, r"Uploaded a\.png to Hub\Z"),
    ("list files", "list_attachments", {"path": "Hub"}, r"1 attachments of Hub:\n\n- a\.png \(image/png, 1 bytes\)\Z"),
    ("detach", "delete_attachment", {"path": "Hub", "filename": "a.png"}, r"Deleted a\.png from Hub\Z"),
    ("delete", "delete_note", {"path": "New/One", "commit_message": "Gone"}, r"Deleted New/One\Z"),
]  # fmt: skip


def test_writes_answer_as_assistants_know_them(used: Site) -> None:
    """The writes run in this order; each builds on the previous ones."""
    wiki, repo = used
    wrong: list[str] = []
    for name, tool, arguments, shown in WRITES:
        given_arguments = (
            {**arguments, "revision": revision(wiki, arguments["path"])} if "revision" in arguments else arguments
        )
        result = wiki.raw(tool, **given_arguments)
        text = "\n".join(getattr(block, "text", "") for block in result.content)
        if result.is_error or not re.match(shown, text, re.DOTALL):
            wrong.append(f"{name}: {text}")
    assert wrong == []
    assert _subjects(repo)[:9] == [
        "[mcp] Gone", "[mcp] Detach: Hub/a.png", "[mcp] Attach: Hub/a.png", "[mcp] Rename: Empty -> Void",
        "[mcp] Rename: Long -> Short", "[mcp] Edit: New/One", "[mcp] Update: New/One", "[mcp] Create: New/One", "Begin",
    ]  # fmt: skip
    assert repo.git("status", "--porcelain") == ""


def _subjects(repo: GitRepo) -> list[str]:
    return repo.git("log", "--format=%s").splitlines()
