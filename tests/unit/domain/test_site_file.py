"""The file of a site: right values, wrong ones with a finding each, and text that is no mapping."""

from __future__ import annotations

import pytest

from commonplace.domain.site_file import HIDDEN_KEYS, PublishRules, entry_targets, read_site

WRONG = {
    "titel: Handbook": "Is `title` meant?",
    "owner: me": "Valid: title,",
    "title: [a]": "`title` must be a text.",
    f"footer: {'x' * 2_001}": "`footer` may have at most 2,000 characters.",
    "logo: ../logo.svg": "`logo` must be the path of a file in this folder",
    "logo: logo.exe": "`logo` must end in .svg,",
    "style: site.js": "`style` must end in .css.",
    "accent: red": "`accent` must be a color",
    "url: //example.org": "`url` must begin with https://",
    "edit_url: https://example.org/edit": "`edit_url` must contain {path}",
    "absolute_urls: example.org": "`absolute_urls` must be an address, or a mapping of paths",
    "absolute_urls: {api: https://example.org}": "`absolute_urls` must be an address, or a mapping of paths",
    "absolute_urls: {/api: //example.org}": "`absolute_urls` must be an address, or a mapping of paths",
    "absolute_urls: []": "`absolute_urls` must be an address, or a mapping of paths",
    "hidden_keys: draft": "`hidden_keys` must be a list of texts.",
    "navigation: guide.md": "`navigation` must be a list",
    "navigation: [{A: a.md, B: b.md}]": "`navigation` may only have pages",
    "navigation: [{A: 3}]": "`navigation` may only have pages",
    "publish: {only: true}": "`publish` may only have the keys exclude, only_marked.",
    "publish: {only_marked: perhaps}": "`publish` has an `only_marked` that is neither true nor false.",
    "publish: {exclude: drafts}": "`publish` has an `exclude` that must be a list of texts.",
}


def test_right_values_are_taken_in_one_form() -> None:
    site = read_site(
        b"title: Handbook\naccent: '#Ab1'\nurl: https://example.org/docs\nhidden_keys: [secret]\n"
        b"publish: {exclude: [drafts/, ./docs/plan.md], only_marked: true}\n"
    )
    assert site.findings == ()
    assert (site.title, site.accent, site.url) == ("Handbook", "#aabb11", "https://example.org/docs/")
    assert site.hidden_keys == {"secret"}
    assert site.publish == PublishRules(exclude=("drafts", "docs/plan.md"), only_marked=True)


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_value_is_a_finding_and_counts_as_missing(text: str) -> None:
    site = read_site(f"description: kept\n{text}\n".encode())
    assert [finding.message for finding in site.findings if WRONG[text] in finding.message], site.findings
    assert len(site.findings) == 1
    assert (site.title, site.logo, site.style, site.accent, site.url) == ("", "", "", "", "")
    assert (site.description, site.hidden_keys, site.publish) == ("kept", HIDDEN_KEYS, PublishRules())


@pytest.mark.parametrize(("raw", "count"), [(b"", 0), (b"- a\n", 1), (b"text", 1), (b"a: [\n", 1), (b"\xff\xfe", 1)])
def test_text_that_is_no_mapping_has_no_declarations(raw: bytes, count: int) -> None:
    site = read_site(raw)
    assert len(site.findings) == count
    assert site.title == ""


def test_pages_of_a_navigation_are_named_in_order() -> None:
    entries = ["a.md", {"Part": ["b.md", {"Deep": [{"C": "c.md"}]}]}, {"Web": "https://example.org"}]
    assert list(entry_targets(entries)) == ["a.md", "b.md", "c.md"]
