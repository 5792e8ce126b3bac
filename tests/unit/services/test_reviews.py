"""The review queue lists what is to be looked at, the gravest first."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from commonplace.domain.addresses import Address
from commonplace.domain.documents import Severity
from commonplace.services.findings import at_least, collection_issues
from commonplace.services.reviews import CodeOwners, declared_owners, mark_reviewed, review_queue, shown_item
from indexed import Indexed

PAGES = {
    "due.md": "---\nreview_by: 2020-01-01\nowner: Ada\n---\n# Due\n",
    "replaced.md": "---\nsuperseded_by: nowhere.md\nreview_by: 2020-01-01\n---\n# Replaced\n",
    "one.md": "---\nsuperseded_by: two.md\n---\n# One\n",
    "two.md": "---\nsuperseded_by: one.md\n---\n# Two\n",
    "citing.md": '# Citing\n\nText.[^1]\n\n[^1]: [Due](due.md): "It is not written there."\n',
    "questions.yaml": "no list",
}


def test_the_queue_has_everything_once(tmp_path: Path) -> None:
    with Indexed(tmp_path, PAGES) as base:
        items = review_queue(base.collection)
        assert [(element.rule, element.path) for element in items] == [
            ("unanswered_question", "questions.yaml"),
            ("quotation_missing", "citing.md"),
            ("replacement_missing", "one.md"),
            ("replacement_missing", "replaced.md"),
            ("replacement_missing", "two.md"),
            ("stale", "due.md"),
        ]
        assert items[1].call == {"tool": "read", "page": "citing.md", "lines": "5"}
        assert items[-1].call["tool"] == "edit"
        assert shown_item(items[-1]).endswith("[stale] (Ada)")
        assert [element.path for element in review_queue(base.collection, "@ada")] == ["due.md"]
        mark_reviewed(base.collection, Address("due.md"), "Ada")
        today = datetime.now(UTC).date().isoformat()
        assert f"last_reviewed_on: {today}\nreviewed_by: Ada" in (base.folder / "due.md").read_text()
        assert "stale" not in {element.rule for element in review_queue(base.collection)}


def test_what_replaces_a_page_is_a_link(tmp_path: Path) -> None:
    texts = {"new.md": "# New\n", "old.md": "---\nsuperseded_by: new.md\n---\n# Old\n"}
    gone = {"lost.md": "---\nreplaced_by: gone.md\n---\n# Lost\n", "id.md": "---\nsuperseded_by: ADR 5\n---\n# Id\n"}
    gone["part.md"] = "# Part\n\n## Port {status=superseded by=gone/p.md#a}\n\nText.\n"
    gone["src.md"] = "---\nsources: [gone.md, {path: gone/q.md}, 'src/gone.py#L1']\n---\n# Src\n"
    with Indexed(tmp_path, {**texts, **gone}) as base:
        (link,) = base.index.links_to(Address("new.md"))
        assert (link.source.path, link.link.raw) == ("old.md", "new.md")
        issues = at_least(collection_issues(base.collections, base.collection), Severity.WARNING)
        assert [(issue.path, issue.rule) for issue in issues] == [
            ("id.md", "replacement_missing"),
            ("lost.md", "replacement_missing"),
            ("part.md", "replacement_missing"),
            ("src.md", "source_missing"),
            ("src.md", "source_missing"),
            ("src.md", "source_missing"),
        ]


def test_the_last_matching_line_counts() -> None:
    owners = CodeOwners(
        "# all\n*  @all\n/docs/ @docs @more # mine\ndocs/api/**  @api\n*.mdx @mdx\nsrc/*  @src\nempty/\n[bad] @x\n"
    )
    cases = {
        "a.md": ["@all"],
        "docs/x/a.md": ["@docs", "@more"],
        "docs/api/v1/a.md": ["@api"],
        "docs/a.mdx": ["@mdx"],
        "src/a.md": ["@src"],
        "src/deep/a.md": ["@all"],
        "empty/a.md": [],
    }
    assert {path: list(owners.of(path)) for path in cases} == cases
    assert list(CodeOwners("").of("a.md")) == []


def test_a_front_matter_names_owners() -> None:
    assert declared_owners({"owner": "@ada"}) == ("@ada",)
    assert declared_owners({"owners": ["ada", 7, "ben"]}) == ("ada", "ben")
    assert declared_owners({"title": "x"}) == ()
