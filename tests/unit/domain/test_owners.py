"""Owners of pages, as front matters and CODEOWNERS files name them."""

from __future__ import annotations

from commonplace.domain.owners import CodeOwners, declared_owners


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
