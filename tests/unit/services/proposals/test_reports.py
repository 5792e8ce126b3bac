"""What a person is shown of a proposal: true before and after, with the lines of Git, and a part at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.changes import escaped_controls
from commonplace.domain.errors import NotFoundError
from commonplace.faces.proposal_output import report_lines
from commonplace.services import writes
from commonplace.services.proposals.reports import FileRange, ProposalReport, findings_of_part, report
from commonplace.services.proposals.selection import AcceptRequest
from proposing import ProposedBase


def shown(base: ProposedBase, files: FileRange | None = None) -> ProposalReport:
    return report(base.services.collections, base.found(), files)


def findings(report: ProposalReport) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Path and rule of the findings that come, and of those that go."""
    new = [(finding.path, finding.rule) for file in report.files for finding in file.new_findings]
    mended = [(finding.path, finding.rule) for file in report.files for finding in file.mended]
    return new, mended


def test_a_finding_that_moves_to_another_page_is_not_mended(tmp_path: Path) -> None:
    pages: dict[str, str | bytes] = {"a.md": "# A\n\n[[gone]]\n\nrest\n", "b.md": "# B\n\ntext\n"}
    with ProposedBase(tmp_path, pages) as base:
        with base.view() as view:
            writes.replace_once(view, Address("a.md"), "[[gone]]\n\n", "")
            writes.append(view, Address("b.md"), "[[gone]]\n")
        assert findings(shown(base)) == ([("b.md", "broken_link")], [])
        assert findings(shown(base, FileRange(page="a", alone=False))) == ([], [])
        assert findings(shown(base, FileRange(page="a"))) == ([], [("a.md", "broken_link")]), "accepted alone"


def test_a_finding_that_moves_within_its_page_is_neither_new_nor_mended(tmp_path: Path) -> None:
    pages: dict[str, str | bytes] = {"a.md": "# A\n\n[[gone]]\n\none\n\ntwo\n"}
    with ProposedBase(tmp_path, pages) as base:
        with base.view() as view:
            writes.replace(view, Address("a.md"), b"# A\n\none\n\ntwo\n\nSee [[gone]] here\n")
        assert findings(shown(base)) == ([], [])


def test_a_link_that_a_new_page_mends_and_another_change_breaks_is_not_mended(tmp_path: Path) -> None:
    pages: dict[str, str | bytes] = {"a.md": "# A\n\n[[c]] and [[b]]\n", "b.md": "# B\n"}
    with ProposedBase(tmp_path, pages) as base:
        with base.view() as view:
            writes.create(view, Address("c.md"), b"# C\n")
            writes.delete(view, Address("b.md"))
        assert findings(shown(base)) == ([("a.md", "broken_link")], [("a.md", "broken_link")])
        messages = [finding.message for file in shown(base).files for finding in file.mended]
        assert messages == ["The link to 'c' leads nowhere."]


def test_a_link_of_another_page_that_was_broken_before_is_not_new(tmp_path: Path) -> None:
    pages: dict[str, str | bytes] = {"a.md": "# A\n\n[[b#Plan]]\n", "b.md": "# B\n\n## Log\n"}
    with ProposedBase(tmp_path, pages) as base:
        with base.view() as view:
            writes.replace_once(view, Address("b.md"), "## Log", "## Plan")
        assert findings(shown(base)) == ([], [("a.md", "dead_anchor")])
        with base.view() as view:
            writes.replace_once(view, Address("b.md"), "## Plan", "## Past")
        assert findings(shown(base)) == ([], [])


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x0b", "\x0c", "\x85", "\x1c"])
def test_a_line_of_a_diff_ends_only_where_git_ends_it(tmp_path: Path, separator: str) -> None:
    line = f"one{separator}two"
    with ProposedBase(tmp_path, {"a.md": f"# A\n\n{line}\n"}) as base:
        with base.view() as view:
            writes.replace_once(view, Address("a.md"), "two", "three")
        (file,) = shown(base).files
        assert file.diff.split("\n")[5:] == [f"-{line}", f"+{line.replace('two', 'three')}", ""]
        assert f"-{escaped_controls(line)}" in report_lines(base.found(), shown(base))


def test_many_files_are_shown_in_parts_and_what_is_left_out_is_said(tmp_path: Path) -> None:
    pages: dict[str, str | bytes] = {f"p{number:02}.md": f"# P\n\n{number}\n" for number in range(30)}
    with ProposedBase(tmp_path, pages) as base:
        with base.view() as view, view.store.transaction("All") as transaction:
            for path in pages:
                transaction.put(Address(path), f"# P\n\nnew {path} {'x' * 200}\n".encode())
        seen: list[str] = []
        offset = 0
        while True:
            report = shown(base, FileRange(offset=offset, limit=7))
            lines = report_lines(base.found(), report, 1_000)
            files = [line.removeprefix("change ") for line in lines if line.startswith("change ")]
            assert sum(map(len, lines)) < 1_500
            seen += files
            if not lines[-1].startswith("Files "):
                break
            offset = int(lines[-1].partition("offset ")[2].partition(",")[0])
            assert offset == len(seen)
        assert seen == sorted(pages)
        other_report_lines = report_lines(base.found(), shown(base, FileRange(page="p29")), 1_000)
        assert [line for line in other_report_lines if line.startswith("change ")] == ["change p29.md"]
        with pytest.raises(NotFoundError, match="does not change"):
            shown(base, FileRange(page="p99"))


def test_a_long_diff_is_cut_and_its_length_said(tmp_path: Path) -> None:
    with ProposedBase(tmp_path, {"a.md": "# A\n"}) as base:
        with base.view() as view:
            writes.append(view, Address("a.md"), "".join(f"line {number}\n" for number in range(500)))
        lines = report_lines(base.found(), shown(base), 1_000)
        assert sum(map(len, lines)) < 1_200
        left = int(lines[-1].split()[0])
        whole = report_lines(base.found(), shown(base))
        assert left == len(whole) - (len(lines) - 1)
        assert lines[-1].endswith("more lines of this diff are left out.")


def test_the_findings_of_a_part_are_those_of_accepting_that_part_alone(tmp_path: Path) -> None:
    pages: dict[str, str | bytes] = {"a.md": "# A\n\none\n\n## Plan\n\ntwo\n", "b.md": "# B\n\n[[lost]]\n"}
    with ProposedBase(tmp_path, pages) as base:
        with base.view() as view:
            writes.create(view, Address("new.md"), b"# New\n")
            writes.create(view, Address("lost.md"), b"# Lost\n\n[a](a.md)\n")
            writes.replace_once(view, Address("a.md"), "one", "one, see [[new]]")
            writes.replace_once(view, Address("a.md"), "two", "two, see [[new]]")
        before, proposal, all_of = base.served(), base.found(), base.services.collections
        whole = report(all_of, proposal).files
        assert [finding for file in whole for finding in file.new_findings] == []
        for shown, request in (
            (FileRange(page="a"), AcceptRequest(pages=("a",))),
            (FileRange(page="a", section="Plan"), AcceptRequest(pages=("a",), section="Plan")),
        ):
            (file,) = report(all_of, proposal, shown).files
            part = findings_of_part(all_of, proposal, request)
            for findings in (file.new_findings, part.new_findings):
                assert [(row.path, row.message) for row in findings] == [("a.md", "The link to 'new' leads nowhere.")]
        part = findings_of_part(all_of, proposal, AcceptRequest(pages=("a", "new", "lost")))
        assert (part.new_findings, [row.path for row in part.mended]) == ((), ["b.md"])
        with pytest.raises(NotFoundError):
            report(all_of, proposal, FileRange(page="a", section="Nowhere"))
        assert base.served() == before
        receipt = base.accept("", AcceptRequest(pages=("a",), word="Only this"))
        assert [row.path for row in receipt.new_findings] == ["a.md"]
        (accepted,) = base.found().proposal.accepted
        assert (accepted.pages, accepted.word) == ("a.md", "Only this")
