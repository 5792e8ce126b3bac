"""The check tells what became of cited sources."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.citations import Citation
from commonplace.domain.document_reader import read_document
from commonplace.domain.query import Record
from commonplace.domain.records import build_record
from commonplace.index import open_past
from commonplace.services.findings import new_findings
from commonplace.services.health.citations import (
    CitationRules,
    collection_citation_findings,
    newly_lost_quotations,
    page_citation_findings,
    placed_citation,
)
from indexed import Indexed
from support import new_repo

PAGES = {
    "guide.md": "# Guide\n\n## Port\n\nThe port of the server is 8080.\n\n## Host\n\nThe host is called alpha.\n",
    "gone.md": "# Gone\n\nIt was here.\n",
    "old.md": "---\nsuperseded_by: guide.md\n---\n# Old\n\nThe port of the server was 80.\n",
    "app.py": "import sys\n\n\ndef main():\n    return sys.argv[1:]\n\n\ndef other():\n"
    "    return 'a value of the app'\n",
}
CITING = """# Citing

Port.[^1] Host.[^2] Gone.[^3] Old.[^4] Main.[^5] Other.[^6] Self.[^7] Short.[^8] Part.[^9]

[^1]: [Guide](guide.md#port): "The port of the server is 8080."
[^2]: [Guide](guide.md#host)
[^3]: gone.md
[^4]: old.md: "The port of the server was 80."
[^5]: `app.py#L4-L5@COMMIT`
[^6]: `app.py#L8-L9@COMMIT`
[^7]: citing.md
[^8]: [Guide](guide.md): "a"
[^9]: [Guide](guide.md#nothing)
"""


def test_the_check_tells_what_became_of_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def at(day: str) -> None:
        for who in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{who}_DATE", f"{day}T00:00:00Z")

    at("2026-01-01")
    repo = new_repo(tmp_path / "base", PAGES)
    repo.write("citing.md", CITING.replace("COMMIT", repo.git("rev-parse", "HEAD")[:10]))
    at("2026-01-02")
    repo.commit("Cite")
    repo.write("guide.md", PAGES["guide.md"].replace("8080", "9090").replace("alpha", "beta"))
    repo.write("app.py", "# A new line.\n" + PAGES["app.py"].replace("a value of", "another value of"))
    (repo.path / "gone.md").unlink()
    at("2026-02-02")
    repo.commit("Change")
    with Indexed(tmp_path) as base:
        assert base.index.wait_dated(60)
        findings = list(collection_citation_findings(base.collection, base.index.records()))
    reported_values = {finding.line: (finding.rule, finding.message) for _, finding in findings}
    assert {line: rule for line, (rule, _) in reported_values.items()} == {
        5: "quotation_missing",
        6: "source_changed",
        7: "source_missing",
        8: "source_superseded",
        9: "source_moved",
        10: "source_changed",
        11: "source_missing",
        12: "source_changed",
        13: "source_missing",
    }
    change = repo.git("rev-parse", "HEAD")[:10]
    assert f"since {change} by" in reported_values[5][1]
    assert f"since {change} by" in reported_values[7][1]
    assert "superseded by guide.md" in reported_values[8][1]
    assert "at L5-L6 now" in reported_values[9][1]
    text = (repo.path / "citing.md").read_text()
    for day, is_settled in (("2026-02-01", False), ("2026-02-02", True), ("2026-02-03", True)):
        repo.write("citing.md", f"---\nlast_reviewed_on: {day}\n---\n{text}")
        at("2026-02-03")
        repo.commit("Review")
        with Indexed(tmp_path) as base:
            assert base.index.wait_dated(60)
            rules = {finding.rule for _, finding in collection_citation_findings(base.collection, base.index.records())}
        assert ("source_changed" not in rules) is is_settled
        assert "quotation_missing" in rules


def test_a_source_changed_after_its_citation_by_the_order_of_the_branch_and_not_by_dates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def commit(day: str, **files: str) -> None:
        for who in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{who}_DATE", f"{day}T00:00:00Z")
        repo.commit(day, **files)

    names = ("merged", "second", "before", "front", "same")
    repo = new_repo(tmp_path / "base")
    commit("2026-01-01", **{f"{name}.md": f"# {name}\n\nOld.\n" for name in names})
    repo.git("checkout", "--quiet", "-b", "side")
    commit("2026-01-02", **{f"{name}.md": f"# {name}\n\nOf the side.\n" for name in ("merged", "front", "same")})
    commit("2026-01-09", **{"side.md": "# Side\n\nBefore.[^1] Same.[^2]\n\n[^1]: before.md\n[^2]: same.md\n"})
    repo.git("checkout", "--quiet", "-")
    sources = "last_reviewed_on: 2026-01-06\nsources:\n- front.md\n"
    commit(
        "2026-01-05",
        **{
            "cite.md": "# Cite\n\nMerged.[^1] Second.[^2]\n\n[^1]: merged.md\n[^2]: second.md\n",
            "late.md": f"---\n{sources}---\n# Late\n\nIt says so.\n",
        },
    )
    commit("2026-01-05", **{"second.md": "# second\n\nNew.\n"})
    commit("2026-01-10", **{"before.md": "# before\n\nNew.\n"})
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-02-01T00:00:00Z")
    repo.git("merge", "--quiet", "--no-ff", "-m", "Merge", "side")
    with Indexed(tmp_path) as base:
        assert base.index.wait_dated(60)
        past = open_past(base.store, base.cache)
        assert past is not None
        with closing(past):
            collection = replace(base.collection, past=past)
            rows = list(collection_citation_findings(collection, base.index.records()))
            head, side = (repo.git("rev-parse", name) for name in ("HEAD", "HEAD^2"))
            assert past.commits.came(side) == past.commits.came(head)
            assert not past.commits.is_later(head, head)
            commit("2026-02-02", **{"more.md": "# More\n"})
            assert past.commits.is_later(repo.git("rev-parse", "HEAD"), side)
    assert {(address.path, finding.line, finding.rule) for address, finding in rows} == {
        ("cite.md", 5, "source_changed"),
        ("cite.md", 6, "source_changed"),
        ("late.md", 0, "source_changed"),
    }


def test_a_quotation_that_moved_within_its_source_is_found_there(tmp_path: Path) -> None:
    guide = "# Guide\n\n## Port\n\nIts port.\n\n## Net\n\nThe port of the server\nis 8080.\n\n## Last\n\nEnd of it.\n"
    notes = ["guide.md#port", "guide.md#renamed", "[[guide#port]]", "guide.md#net", "guide.md"]
    quoted = [f'[^{n}]: {place}: "The port of the server is 8080."' for n, place in enumerate(notes, 1)]
    quoted += ['[^6]: guide.md#port: "is 8080. Last"', '[^7]: `app.py#L1@1234567`: "sys.argv[1:] def other"']
    repo = new_repo(tmp_path / "base", {"app.py": PAGES["app.py"], "guide.md": guide, "citing.md": "\n".join(quoted)})
    repo.commit("Cite")
    with Indexed(tmp_path) as base:
        findings = list(collection_citation_findings(base.collection, base.index.records()))
        old = guide.replace("Its port.", "The port of the server is 8080.").replace("## Net", "## Port 2").encode()
        written = list(newly_lost_quotations(base.collection, read_document(Address("guide.md"), old)))
    findings_by_line = {finding.line: (finding.rule, finding.message) for _, finding in findings}
    assert findings_by_line == {
        1: ("source_moved", "The quotation of guide.md#port is in guide.md#net now. Correct the citation."),
        2: ("source_moved", "The quotation of guide.md#renamed is in guide.md#net now. Correct the citation."),
        3: ("source_moved", "The quotation of guide.md#port is in guide.md#net now. Correct the citation."),
        6: ("quotation_missing", _elsewhere("is 8080. Last", "guide.md#port")),
        7: ("quotation_missing", _elsewhere("sys.argv[1:] def other", "app.py#L1@1234567")),
    }
    assert {(finding.line, finding.rule) for _, finding in written} == {(1, "source_moved"), (3, "source_moved")}


def _elsewhere(quotation: str, place: str) -> str:
    what = f'The quotation "{quotation}" is not in {place}, but elsewhere in its file.'
    return f"{what} Read both, then correct the page or its citation."


def test_a_footnote_does_not_prove_what_it_quotes(tmp_path: Path) -> None:
    note = '# {0}\n\n## Two\n\nSo it is.[^1]\n\n## Three\n\n{1}\n\n[^1]: [{0}]({0}.md#three): "So it is in truth."\n'
    with Indexed(
        tmp_path, {"a.md": note.format("a", "Nothing."), "b.md": note.format("b", "So it is in truth.")}
    ) as base:
        rows = list(collection_citation_findings(base.collection, base.index.records()))
    assert [(address.path, finding.rule) for address, finding in rows] == [("a.md", "quotation_missing")]
    assert "but for the footnote itself" in rows[0][1].message


def test_a_path_of_a_call_counts_from_the_base_first_and_messages_name_the_page_that_is_meant(tmp_path: Path) -> None:
    pages = {"a.md": "# A\n\nThe top one.\n", "docs/a.md": "# A\n\nThe inner one.\n", "docs/b.md": "# B\n"}
    citing = '---\nsources: [{path: a.md, quote: "The top one."}, b.md]\n---\n# C\n'
    with Indexed(tmp_path, {**pages, "docs/c.md": citing}) as base:
        address = Address("docs/c.md")
        for given, meant in (("a.md", "a.md"), ("b.md", "docs/b.md"), ("../a.md", "a.md"), ("none.md", "none.md")):
            assert placed_citation(base.collection, address, Citation("", given)).target == meant
        document = base.index.document(address)
        for record in (base.index.record(address), build_record(document, "")):
            assert record is not None
            (finding,) = page_citation_findings(base.collection, record, document)
            assert 'The quotation "The top one." is not in docs/a.md' in finding.message


def test_a_page_that_is_being_written_is_no_older_than_its_sources(tmp_path: Path) -> None:
    new_repo(tmp_path / "base", {"a.md": "# A\n", "b.md": "---\nsources: [a.md]\n---\n# B\n"})
    with Indexed(tmp_path) as base:
        assert base.index.wait_dated(20)
        document = base.index.document(Address("b.md"))
        assert not list(page_citation_findings(base.collection, build_record(document, ""), document))


def test_a_commit_that_does_not_have_the_source_is_told_and_lines_are_pinned_to_one_that_has(tmp_path: Path) -> None:
    repo = new_repo(tmp_path / "base", {"guide.md": PAGES["guide.md"]})
    first = repo.git("rev-parse", "HEAD")[:10]
    head = repo.commit("Program", **{"app.py": PAGES["app.py"]})[:10]
    cited = (
        f"app.py#L1@{first}",
        f"app.py#L4@{head}",
        "app.py#L4-L5@deadbeef",
        "guide.md#port@deadbeef",
        "app.py#L999",
    )
    notes = "".join(f"[^{number}]: `{text}`\n" for number, text in enumerate(cited, 1))
    page = f"# A\n\nAll.{''.join(f'[^{number}]' for number in range(1, 6))}\n\n{notes}"
    with Indexed(tmp_path, {"a.md": page}) as base:
        past = open_past(base.store, base.cache)
        assert past is not None
        collection = replace(base.collection, past=past)
        records = [base.index.record(Address("a.md"))]
        findings = [finding for _, finding in collection_citation_findings(collection, list(filter(None, records)))]
        assert [(finding.line, finding.rule) for finding in findings] == [
            (5, "source_missing"),
            (7, "source_missing"),
            (8, "source_missing"),
            (9, "source_changed"),
        ]
        assert "no commit 'deadbeef'" in findings[1].message
        findings = new_findings(base.collections, collection, Address("a.md"), (b"# A\n", page.encode()))
        assert {finding.rule for finding in findings} == {"source_missing", "source_changed"}, (
            "also those of severity INFO"
        )
        for target, first_line, commit in (("app.py", 4, head), ("app.py", 999, ""), ("none.py", 1, "")):
            citation = Citation("", target, first=first_line, last=first_line)
            assert placed_citation(collection, Address("a.md"), citation).commit == commit, target
        repo.write("app.py", "changed()\n" * 9)
        assert not placed_citation(collection, Address("a.md"), Citation("", "app.py", first=4, last=4)).commit
        past.close()
        (repo.path / ".git/shallow").write_text(repo.git("rev-parse", "HEAD") + "\n")
    with Indexed(tmp_path) as base:
        assert base.store.history.is_shallow


def test_ten_thousand_citations_take_less_than_a_second(tmp_path: Path) -> None:
    pages = {
        f"p{n}.md": f"# P{n}\n\n" + "".join(f"Fact {n}-{k} is {n * k}.\n\n" for k in range(25)) for n in range(100)
    }
    with Indexed(tmp_path, pages) as base:
        quoted = [f"Fact {n}-{k} is {n * k}." for n in range(100) for k in range(25)]
        citations = [
            Citation(str(at), f"p{at // 25}.md", quotation=quoted[at] if at % 5 else "A fact that is not here.", line=1)
            for at in range(2_500)
        ]
        record = Record(address=Address("x.md"), id="x", title="X", type="")
        before = time.thread_time()
        rules = CitationRules(base.collection)
        findings = [finding for _ in range(4) for finding in rules.findings(record, citations)]
        assert time.thread_time() - before < 1.0
    assert len(findings) == 2_000
