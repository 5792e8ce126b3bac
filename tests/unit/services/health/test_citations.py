"""The check tells what became of cited sources."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.citations import Citation
from commonplace.domain.document_reader import read_document
from commonplace.domain.query import Record
from commonplace.services.health.citations import (
    CitationRules,
    collection_citation_findings,
    newly_lost_quotations,
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
        3: ("source_moved", "The quotation of guide#port is in guide#net now. Correct the citation."),
        6: ("quotation_missing", _elsewhere("is 8080. Last", "guide.md#port")),
        7: ("quotation_missing", _elsewhere("sys.argv[1:] def other", "app.py#L1@1234567")),
    }
    assert {(finding.line, finding.rule) for _, finding in written} == {(1, "source_moved"), (3, "source_moved")}


def _elsewhere(quotation: str, place: str) -> str:
    what = f'The quotation "{quotation}" is not in {place}, but elsewhere in its file.'
    return f"{what} Read both, then correct the page or its citation."


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
