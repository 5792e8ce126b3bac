"""The place of bytes that a write removed, and the command that restores them."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.changes import RetainedCopy
from commonplace.domain.documents import Link, LinkKind, Severity
from commonplace.domain.findings import NewFinding, NewFindings
from commonplace.domain.query import ResolvedLink
from commonplace.faces.write_output import (
    MAX_NAMED,
    UNCHECKED,
    day,
    in_no_commit,
    kept_title_lines,
    moved_link_lines,
    new_finding_json,
    new_finding_lines,
    not_rewritten_lines,
    own_titles,
    redirect_lines,
    retained_json,
    retained_line,
    retained_lines,
    retained_list,
)
from commonplace.services.writes.links_after import RedirectedLink
from indexed import Indexed

REVISION, COMMIT = "ab" * 20, "cd" * 20
TRASHED = RetainedCopy(Address("notes/a.md"), REVISION, "trash", until=1_800_000_000)
COMMITTED = RetainedCopy(Address("notes/a.md"), REVISION, "commit", commit=COMMIT)
OBJECT = RetainedCopy(Address("notes/a.md"), REVISION, "object")


def test_each_place_is_told_with_the_command_that_brings_the_text_back() -> None:
    assert retained_json(TRASHED) == {
        "path": "notes/a.md",
        "revision": REVISION,
        "place": "trash",
        "until": "2027-01-15",
        "restore": "commonplace restore notes/a.md --at abababababab",
    }
    assert retained_json(COMMITTED) == {
        "path": "notes/a.md",
        "revision": REVISION,
        "place": "commit",
        "commit": COMMIT,
        "restore": "commonplace restore notes/a.md --at cdcdcdcdcdcd",
    }
    assert retained_json(replace(OBJECT, staged=True))["staged"] is True
    assert "until" not in retained_json(OBJECT)


def test_each_place_is_told_in_a_sentence() -> None:
    assert retained_line(COMMITTED).startswith("Commit cdcdcdcdcd has the last text of notes/a.md: commonplace restore")
    assert "old text of notes/a.md: it is kept until 2027-01-15" in retained_line(TRASHED)
    assert "staged text of notes/a.md: it is a Git object" in retained_line(replace(OBJECT, staged=True))


def test_what_a_commit_has_needs_no_warning() -> None:
    assert in_no_commit([COMMITTED, TRASHED, OBJECT]) == [TRASHED, OBJECT]


@each_case(
    "path",
    ["a b.md", "it's.md", "-rf.md", "$(rm x).md", "a;b.md", "茶/道.md", 'a"b.md', "a\\b.md", "!x.md", "*.md"],
)
def test_the_command_is_one_word_for_the_path_whatever_it_contains(path: str) -> None:
    command = str(retained_json(replace(TRASHED, address=Address(path)))["restore"])
    assert shlex.split(command) == ["commonplace", "restore", path, "--at", REVISION[:12]]


def test_a_plain_path_is_not_quoted() -> None:
    assert "'" not in str(retained_json(replace(TRASHED, address=Address("a_b/c-d.1.md")))["restore"])


@each_case(
    ("count", "last"),
    [
        (0, None),
        (1, "No commit had"),
        (MAX_NAMED, "No commit had"),
        (MAX_NAMED + 1, "1 more file was kept:"),
        (MAX_NAMED + 2_000, "2,000 more files were kept:"),
    ],
)
def test_a_long_list_is_cut_and_says_how_much_is_left(count: int, last: str | None) -> None:
    copies = [replace(TRASHED, address=Address(f"{number}.md")) for number in range(count)]
    lines = retained_lines(copies)
    assert len(retained_list(copies)) == min(count, MAX_NAMED)
    assert len(lines) == min(count, MAX_NAMED + 1)
    assert last is None or lines[-1].startswith(last)


def test_a_day_is_one_of_utc() -> None:
    assert (day(0), day(86_399.9), day(86_400)) == ("1970-01-01", "1970-01-01", "1970-01-02")


def redirect(source: str, before: str, now: str) -> RedirectedLink:
    link = Link(LinkKind.WIKI, "x", "x")
    resolved_link = ResolvedLink(source=Address(source), link=link, target=Address(before) if before else None)
    return RedirectedLink(resolved_link, Address(now) if now else None)


def test_each_pair_of_targets_is_one_line_with_its_pages_once() -> None:
    links = [
        redirect("c.md", "a.md", "b.md"),
        redirect("c.md", "a.md", "b.md"),
        redirect("d.md", "a.md", "b.md"),
        redirect("c.md", "", "b.md"),
        redirect("e.md", "a.md", ""),
        redirect("e.md", "b.md", "a.md"),
    ]
    assert redirect_lines(links, Address("b.md")) == [
        "Links to a.md now lead here in c.md, d.md",
        "Links that led nowhere now lead here in c.md",
        "Links to a.md now lead nowhere in e.md",
        "Links to b.md now lead to a.md in e.md",
    ]
    assert redirect_lines(links[:1], None, lambda address: f"kb:{address}") == [
        "Links to kb:a.md now lead to kb:b.md in kb:c.md"
    ]
    assert redirect_lines([]) == []


def test_many_pages_are_counted() -> None:
    names = [f"{number}.md" for number in range(7)]
    said = moved_link_lines(names, names[:1])
    assert said[0].endswith("in 0.md, 1.md, 2.md, 3.md, 4.md and 2 more")
    assert said[1] == "Links that led nowhere now lead here in 0.md"
    assert moved_link_lines([], []) == []


def test_pages_that_are_not_utf8_are_named_with_what_to_do() -> None:
    assert not_rewritten_lines([]) == []
    (said,) = not_rewritten_lines(["a.md", "b.md"])
    assert said.startswith("Links were not rewritten in a.md, b.md: not UTF-8, and never changed. Convert")
    assert not_rewritten_lines(["a.md"], would=True)[0].startswith("Links would not be rewritten in a.md: not UTF-8")


def test_titles_by_which_links_name_a_page_are_told_as_kept(tmp_path: Path) -> None:
    graph = {"logseq/config.edn": "{}", "pages/a.md": "title:: Alpha\n\n- x\n", "pages/b.md": "- [[Alpha]]\n"}
    with Indexed(tmp_path / "graph", graph) as base:
        titles = own_titles(base.collection, map(Address, ("pages/a.md", "pages/b.md", "pages/none.md")))
        assert kept_title_lines(titles) == [
            "Links name the page's own title, which a move does not change: 'Alpha' (pages/a.md)"
        ]
    wiki = {"tiddlywiki.info": "{}", "tiddlers/A.tid": "title: Alpha\n\nx\n"}
    with Indexed(tmp_path / "wiki", wiki) as base:
        assert own_titles(base.collection, [Address("tiddlers/A.tid")]) == {"tiddlers/A.tid": "Alpha"}
    with Indexed(tmp_path / "plain", {"a.md": "---\ntitle: Alpha\n---\n"}) as base:
        assert own_titles(base.collection, [Address("a.md")]) == {}
        assert kept_title_lines({}) == []


ISSUE = NewFinding(
    path="a.md",
    rule="broken_link",
    severity=Severity.WARNING,
    message="The link to 'b' leads nowhere.",
    line=3,
)


def test_an_issue_is_one_line_with_its_place_and_rule() -> None:
    assert new_finding_lines(NewFindings((ISSUE,))) == [
        "Warning in a.md:3: The link to 'b' leads nowhere. [broken_link]"
    ]
    assert new_finding_json(NewFindings((ISSUE,))) == {
        "findings": [
            {
                "path": "a.md",
                "line": 3,
                "severity": "warning",
                "rule": "broken_link",
                "message": "The link to 'b' leads nowhere.",
            }
        ]
    }


def test_others_are_counted() -> None:
    assert new_finding_lines(NewFindings((ISSUE,), 1_200))[1:] == ["1,200 more findings are new; see check."]
    assert new_finding_json(NewFindings((ISSUE,), 1_200))["more_findings"] == 1_200


def test_a_write_without_new_findings_says_nothing() -> None:
    assert new_finding_lines(NewFindings()) == []
    assert new_finding_json(NewFindings()) == {}


def test_findings_that_were_not_looked_for_are_not_denied() -> None:
    late = NewFindings(complete=False)
    assert new_finding_lines(late) == [new_finding_json(late)["findings_note"]] == [UNCHECKED]
