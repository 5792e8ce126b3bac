"""Findings in the pages of a collection together, and in one page alone."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from commonplace.services.collections import Collections
from commonplace.services.findings import collection_issues
from commonplace.services.health.page_rules import collection_findings, page_findings
from commonplace.services.listing import every_document
from findings_together import findings_together
from indexed import PERMISSIONS, Indexed, permissions_hold

LONG = "The quick brown fox jumps over the lazy dog, and then over the next one, and over all the others.\n"


def test_pages_are_judged_together(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.md": (
            f"---\nreview_by: 2026-01-01\n---\n# A\n\n{LONG}\n"
            "[x](b.md#gone) [y](b.md#here) [[b#^blk]] [[b#^no]] ![](p.png)\n"
        ),
        "b.md": f"---\nreview_by: 2026-03-01\n---\n# B\n\n## Here\n\nText. ^blk\n\n{LONG}\n",
        "c.md": f"# C\n\n{LONG}\n",
        "copies/c.md": f"---\ntitle: Other\n---\n# C\n\n  {LONG}",
        "p.png": b"\x89PNG",
        "files/q.png": b"\x89PNG",
        "tool.py": "print()",
    }
    with Indexed(tmp_path, files) as base:
        findings = findings_together(base.collection, date(2026, 2, 1))
        shown = sorted((address.path, finding.line, finding.rule) for address, finding in findings)
    assert shown == [
        ("a.md", 0, "stale"),
        ("a.md", 8, "dead_anchor"),
        ("a.md", 8, "dead_anchor"),
        ("copies/c.md", 0, "same_text"),
        ("files/q.png", 0, "unused_attachment"),
    ]


def test_a_page_is_stale_from_the_day_after_the_one_until_which_it_holds(tmp_path: Path) -> None:
    days = ["2026-01-31", "2026-01-31T23:00:00+01:00", "2026-02-01", "soon", "2026", "[2020-01-01]", ""]
    files = {f"{number}.md": f"---\nexpires: {value}\n---\n# {number}\n" for number, value in enumerate(days)}
    with Indexed(tmp_path, files) as base:
        findings = list(findings_together(base.collection, date(2026, 2, 1)))
    past = [address.path for address, finding in findings if "was to be reviewed" in finding.message]
    unread = [address.path for address, finding in findings if "counts as no day" in finding.message]
    assert (past, unread) == (["0.md", "1.md"], ["3.md", "4.md", "5.md"])
    assert {finding.rule for _, finding in findings} == {"stale"}


def test_a_link_to_one_of_several_equal_headings_or_to_a_text_that_is_no_heading(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.md": "# A\n\n[[b#Twice]] [[b#Über uns]] [[b#uber]] [x](b.md#über-uns) [y](#nowhere) [z](p.png#part)\n",
        "b.md": "# B\n\n## Twice\n\n## Twice\n\n## Über uns\n",
        "p.png": b"\x89PNG",
    }
    with Indexed(tmp_path, files) as base:
        (record,) = [element for element in every_document(base.collection) if element.address.path == "a.md"]
        document = base.index.document(record.address)
        links = base.index.resolve(document)
        messages = [finding.message for finding in page_findings(base.collection, record, document, links)]
    assert messages == [
        "b.md has no heading or block 'uber'. Name one that it has.",
        "a.md has no heading or block 'nowhere'. Name one that it has.",
    ]


def test_findings_name_links_as_they_stand_in_the_file_or_mark_where_they_are_cut(tmp_path: Path) -> None:
    name, heading = "A long name of a page " * 8, "A long heading of a page " * 8
    texts = {
        f"[[{name.strip()}]]": name.strip(),
        f"[[b#{heading.strip()}]]": heading.strip(),
        f"[[{'x' * 400}]]": "x" * 300 + "…",
    }
    files: dict[str, str | bytes] = {"a.md": "# A\n\n" + "\n".join(texts), "b.md": "# B\n"}
    with Indexed(tmp_path, files) as base:
        collections = Collections(lambda: [base.collection])
        messages = [issue.message for issue in collection_issues(collections, base.collection) if issue.path == "a.md"]
    for shown in texts.values():
        assert any(repr(shown) in message for message in messages)


def test_equal_short_texts_and_program_files_are_no_findings(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.md": "# Same\n\nText.\n",
        "b.md": "# Same\n\nText.\n",
        "x.py": "1",
        "y.zip": "1",
    }
    with Indexed(tmp_path, files) as base:
        pairs = [(address.path, finding.rule) for address, finding in collection_findings(base.collection, [], [])]
    assert pairs == [("y.zip", "unused_attachment")]


@PERMISSIONS
def test_a_page_that_cannot_be_read_hides_no_finding_of_another(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"a.md": "# A\n\na\u200bb\n", "shut.md": "# B\n\na\u200bb\n"}
    with Indexed(tmp_path, files) as base:
        records = list(every_document(base.collection))
        (base.folder / "shut.md").chmod(0)
        with permissions_hold():
            pairs = [
                (address.path, finding.rule) for address, finding in collection_findings(base.collection, records, [])
            ]
    assert pairs == [("a.md", "invisible_character")]
