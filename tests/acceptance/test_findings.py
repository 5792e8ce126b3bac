"""The findings of a base are the same in every face: `check`, overview, web pages, the editor, `kb` and `doctor`."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from agent import agent
from asgi.browsing import Pages
from commonplace.domain.findings import RULES
from commonplace.faces.lsp.diagnostics import diagnose
from commonplace.faces.web.views.quality import findings, review
from editor.desk import Desk
from indexed import Indexed
from shell import Shell
from support import new_repo

PLAIN = {
    "daily.md": "---\nid: daily\naliases: []\ntags: []\n---\nWords about the day.\n",
    "Plan.md": "# Plan\n\n[[nowhere]] [[daily#No such part]]\n\n```sh\necho\n\n## Behind\n",
    "one/Q3.md": "---\ntitle: Q3: Planning\nport: 1\n---\n# Same\n",
    "two/Q3.md": "# Same\n\n<<<<<<< ours\n1\n=======\n2\n>>>>>>> theirs\n",
    "odd: name?.md": '# Odd\n\npassword = "s3cr3t-and-l0ng-enough"\n',
    "unused.png": "x",
}
TYPED = {
    "kb.yaml": "name: base\nnonsense: 1\ntypes: {runbook: {required: [owner], fields: {size: {type: huge}}}}\n",
    "a.md": "---\ntype: runbook\nimportance: 11\n---\nText without a title.\n",
    "b.md": "---\ntype: event\ntitle: B\nid: x\n---\n[[gone]]\n",
    "c.md": "---\ntitle: b\nid: x\ncreated_at: someday\n---\n",
}
SPACE = {
    ".confluence-space.json": '{"spaceKey": "ENG", "pages": {}}\n',
    "README.md": "---\npage_id: 1\ntitle: Home\nlabels: []\n---\n[Runbook](runbooks/README.md) [x](lost.md)\n",
    "runbooks/README.md": "---\npage_id: 2\ntitle: Runbook\nversion: 3\n---\n# Runbook\n\n[a](../README.md#no)\n",
}
HUGO = {
    "hugo.toml": 'baseURL = "https://example.org/"\n',
    "content/_index.md": "---\ntitle: Home\ndate: today\n---\n[Docs](/docs/) [x](/lost/)\n",
    "content/docs/_index.md": '+++\ntitle = "Docs\n+++\nText.\n',
    "content/docs/use.md": "---\ntitle: Use\nreview_by: 2020-01-01\n---\nUse it.\n",
}
STORE = {
    "index.json": '{"github.com/a/b": "b"}\n',
    "projects/b/CLAUDE.md": "# B\n\n[[gone]]\n",
    "projects/b/main.md": "# Main\n\n## One\n\n~~~\ncode\n\n## Two\n",
}
BASES = {"plain": PLAIN, "typed": TYPED, "space": SPACE, "hugo": HUGO, "store": STORE}
COMPARING = {"orphan_entry", "duplicate_title", "same_text", "near_duplicate"}
"""Rules that compare a page with all others, which an editor does not while one types."""


@pytest.mark.parametrize("name", BASES)
def test_every_face_has_the_findings_of_check(name: str, tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    base = Indexed(tmp_path, dict(BASES[name]))
    checked = Shell(base.folder)("check", "--json").json["findings"]
    assert {(element["rule"], element["path"]) for element in checked} >= EXPECTED[name]
    assert {element["rule"] for element in checked} <= RULES.keys()
    counts = Counter(element["rule"] for element in checked)

    with agent("mcp", base.folder, "--toolset", "kb") as kb:
        issues = kb.call("kb_qa_validate", severity="info", limit=200)["issues"]
        by_rule = kb.call("kb_qa_status")["issues_by_rule"]
    with agent("mcp", base.folder, "--toolset", "notes") as notes:
        overview = notes.text("overview", max_tokens=4000)
    assert Counter(issue["rule"] for issue in issues) == Counter(by_rule) == counts
    if "kb.yaml" in BASES[name]:  # `kb` takes every folder for a typed base
        levels = Counter((element["rule"], element["severity"]) for element in checked)
        assert Counter((issue["rule"], issue["severity"]) for issue in issues) == levels
    matches = re.findall(r"(\w+) (\d+) \(", overview.partition("To mend: ")[2])
    assert Counter({rule: int(count) for rule, count in matches}) == counts
    with Pages(tmp_path, base.folder) as pages:
        page = pages.view(findings, more="1")
        rows = re.findall(r'severity-(\w+)">.*?<span class="muted">(\w+)</span>', page)
        assert Counter(rows) == Counter((element["severity"], element["rule"]) for element in checked)
    desk = Desk(base)
    for path in {element["path"] for element in checked if element["path"].endswith(".md")}:
        diagnosed = {(diagnostic.code, diagnostic.severity) for diagnostic in diagnose(desk.pages, desk.page(path))}
        rules = {
            (element["rule"], {"error": 1, "warning": 2, "info": 3}[element["severity"]])
            for element in checked
            if element["path"] == path and element["rule"] not in COMPARING
        }
        assert diagnosed == rules, path
    doctor = Shell(base.folder)("doctor", "--json").json["findings"]
    declared = {(element["check"], element["severity"]) for element in doctor if element["check"] in RULES}
    assert declared == {(element["rule"], element["severity"]) for element in checked if element["path"] == "kb.yaml"}
    base.index.close()


def test_every_face_with_findings_says_once_what_a_shallow_clone_cannot_tell(tmp_path: Path, cache_dir: Path) -> None:
    assert cache_dir.is_dir()
    whole = new_repo(tmp_path / "whole", {"a.md": "# A\n"})
    whole.commit("Second", **{"a.md": "# A\n\nText.\n"})
    clone = tmp_path / "clone"
    whole.git("clone", "--quiet", "--depth", "1", f"file://{whole.path}", str(clone))
    for folder, times in ((clone, 1), (whole.path, 0)):
        with agent("mcp", folder, "--toolset", "kb") as kb:
            told = [json.dumps(kb.call(tool)) for tool in ("kb_qa_validate", "kb_qa_status")]
        with agent("mcp", folder, "--toolset", "notes") as notes:
            told += [notes.text("overview"), notes.run(notes.client.read_resource, f"notes://{folder.name}/review")]
            told.append(notes.run(notes.client.get_prompt, "tidy_folder"))
        with Pages(tmp_path / f"web-{times}", folder) as pages:
            told += [pages.view(view) for view in (findings, review)]
        told += [Shell(folder)(command).stderr for command in ("check", "review")]
        assert [str(text).count("The clone is shallow") for text in told] == [times] * len(told), folder


EXPECTED = {
    "plain": {
        ("broken_link", "Plan.md"),
        ("dead_anchor", "Plan.md"),
        ("unclosed_block", "Plan.md"),
        ("bad_yaml", "one/Q3.md"),
        ("merge_conflict", "two/Q3.md"),
        ("unportable_name", "odd: name?.md"),
        ("secret", "odd: name?.md"),
        ("unused_attachment", "unused.png"),
        ("orphan_entry", "Plan.md"),
    },
    "typed": {
        ("bad_declaration", "kb.yaml"),
        ("unknown_declaration", "kb.yaml"),
        ("missing_title", "a.md"),
        ("importance_range", "a.md"),
        ("schema_violation", "a.md"),
        ("event_missing_date", "b.md"),
        ("broken_link", "b.md"),
        ("duplicate_id", "b.md"),
        ("duplicate_title", "c.md"),
        ("invalid_date", "c.md"),
        ("empty_body", "c.md"),
    },
    "space": {("broken_link", "README.md"), ("dead_anchor", "runbooks/README.md")},
    "hugo": {
        ("broken_link", "content/_index.md"),
        ("bad_toml", "content/docs/_index.md"),
        ("stale", "content/docs/use.md"),
    },
    "store": {("broken_link", "projects/b/CLAUDE.md"), ("unclosed_block", "projects/b/main.md")},
}
