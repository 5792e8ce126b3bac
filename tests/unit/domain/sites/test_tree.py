"""Files to which the URLs of a docs tree lead."""

from __future__ import annotations

import json

from cases import each_case
from commonplace.domain.addresses import Address
from commonplace.domain.sites import (
    Mount,
    SiteTree,
    as_json,
    from_json,
    mounted,
    moved_url,
    name_without_number,
    places,
    published_form,
    site_of,
    under,
    without_numbers,
)

SITE = SiteTree(
    "Docusaurus",
    "web/docusaurus.config.js",
    "web",
    (Mount("docs/", "web/docs"), Mount("docs/api/", "web/api"), Mount("", "web/pages")),
    base="site/",
    numbered=True,
    translated=(("web/i18n/de", "web/docs"),),
)


@each_case(
    ("path", "bare"),
    [
        ("01-guides/2-install", "guides/install"),
        ("1. Start/02_next", "Start/next"),
        ("01 - Größe", "Größe"),
        ("2024-01-02-post", "2024/01/02/post"),
        ("blog/2024-01-02/index", "blog/2024/01/02/index"),
        ("guides/python3-install", "guides/python3-install"),
        ("v2-migration", "v2-migration"),
        ("release-7.0-notes", "release-7.0-notes"),
        ("7.0-notes", "7.0-notes"),
        ("3d", "3d"),
        ("01", "01"),
        ("1-", "1-"),
        ("", ""),
    ],
)
def test_numbers_in_front_of_names_are_left_out_and_no_others(path: str, bare: str) -> None:
    assert without_numbers(path) == bare


@each_case(
    ("name", "bare"),
    [
        ("01-install", "install"),
        ("2024-01-02-post", "post"),
        ("python3-install", "python3-install"),
        ("notes-2024-01-02-post", "notes-2024-01-02-post"),
        ("2024-01-02", "2024-01-02"),
    ],
)
def test_a_name_loses_the_number_or_date_in_front_of_it(name: str, bare: str) -> None:
    assert name_without_number(name) == bare


@each_case(
    ("path", "folder", "inside"),
    [("a/b", "a", True), ("a", "a", True), ("a/b", "", True), ("ab", "a", False), ("a", "a/b", False)],
)
def test_a_path_is_under_a_folder_by_whole_names(path: str, folder: str, inside: bool) -> None:
    assert under(path, folder) is inside


def test_a_document_belongs_to_the_innermost_site() -> None:
    outer = SiteTree("MkDocs", "mkdocs.yml", "", (Mount("", "docs"),))
    inner = SiteTree("MkDocs", "docs/sub/mkdocs.yml", "docs/sub", (Mount("", "docs/sub/docs"),))
    assert site_of([outer, inner], Address("docs/sub/docs/a.md")) is inner
    assert site_of([inner, outer], Address("docs/a.md")) is outer
    assert site_of([inner], Address("docs/a.md")) is None
    assert site_of([], Address("a.md")) is None


@each_case(
    ("path", "first"),
    [
        ("/docs/a", "web/docs/a"),
        ("/docs/api/b", "web/api/b"),
        ("/docs/api", "web/api"),
        ("/docs", "web/docs"),
        ("/about", "web/pages/about"),
        ("/docsy", "web/pages/docsy"),
        ("@site/static/x.png", "web/static/x.png"),
    ],
)
def test_an_absolute_url_leads_first_to_its_longest_mount(path: str, first: str) -> None:
    assert next(places(SITE, path, Address("web/docs/x.md"))) == first


def test_the_base_of_the_site_may_be_written_or_not() -> None:
    assert "web/docs/a" in places(SITE, "/site/docs/a", Address("web/docs/x.md"))


def test_a_translated_page_links_to_translated_pages_and_then_to_the_originals() -> None:
    source = Address("web/i18n/de/a.md")
    assert list(places(SITE, "/docs/b", source))[:2] == ["web/i18n/de/b", "web/docs/b"]
    assert list(places(SITE, "b.md", source)) == ["web/i18n/de/b.md", "web/docs/b.md"]
    assert list(places(SITE, "b.md", Address("web/docs/a.md"))) == []


def test_relative_urls_begin_at_the_page_where_pages_are_folders() -> None:
    site = SiteTree("Hugo", "hugo.toml", "", (Mount("", "content"),), pages_are_folders=True)
    assert list(places(site, "../b", Address("content/a.md"))) == ["content/b"]
    assert list(places(site, "b/", Address("content/x/index.md"))) == ["content/x/b"]
    assert list(places(site, "../../../b", Address("content/a.md"))) == []


def test_each_mount_is_named_with_the_rest_of_the_url() -> None:
    assert [(mount.url, rest) for mount, rest in mounted(SITE, "/docs/api/b")] == [
        ("docs/api/", "b"),
        ("docs/", "api/b"),
        ("", "docs/api/b"),
    ]


@each_case(
    ("address", "names", "published"),
    [
        ("web/docs/01-guide/02-Install.md", (), ["guide/install"]),
        ("web/docs/guide/index.md", (), ["guide/index", "guide"]),
        ("web/docs/guide/guide.md", (), ["guide/guide", "guide/"]),
        ("web/docs/guide/a.md", ("b", "/c/d"), ["guide/a", "guide/b", "C/D.html"]),
        ("web/docs/a.md", ("b",), ["a", "b"]),
    ],
)
def test_a_document_is_published_under_its_path_and_its_names(
    address: str, names: tuple[str, ...], published: list[str]
) -> None:
    assert all(published_form(SITE.mounts[0], path, Address(address), names) for path in published)
    assert not published_form(SITE.mounts[0], "guide", Address("web/other/guide.md"), names)
    assert not published_form(SITE.mounts[0], "guide/x", Address(address), names)


@each_case(
    ("pattern", "path", "fits"),
    [
        (":year/:month/:day/:title", "2013/05/06/first/", True),
        (":year/:month/:day/:title", "2013/05/07/first/", False),
        (":year/:title:output_ext", "2013/first.html", True),
        (":categories/:year/:title", "2013/first", True),
        (":categories/:year/:title", "a/b/2013/first", True),
        (":categories/:categories/:title", "a/b/first", True),
        (":year/:nonsense/:title", "2013/x/first", True),  # an unknown token is any part
        (":year/:nonsense/:title", "2013/first", False),
        (":x-:y-:title", "anything", True),
        ("//:year//:title//", "2013/first", True),
        (":title/" * 100, "first", False),
    ],
)
def test_a_permalink_pattern_is_compared_part_by_part(pattern: str, path: str, fits: bool) -> None:
    mount = Mount("", "_posts", pattern)
    assert (published_form(mount, path, Address("_posts/2013-05-06-first.md"), ()) is not None) is fits


@each_case(
    ("path", "old", "new", "names", "now"),
    [
        ("/docs/guide/install", "web/docs/01-guide/02-install.md", "web/docs/3-x/4-setup.md", (), "/docs/x/setup"),
        ("/site/docs/a/", "web/docs/a.md", "web/docs/b.md", (), "/site/docs/b/"),
        ("/docs/g/moor.html", "web/docs/g/a.md", "web/docs/h/a.md", ("moor",), "/docs/h/moor.html"),
        ("/docs/api/a", "web/api/a.md", "web/docs/b.md", (), "/docs/b"),
        ("/docs/api/a", "web/api/a.md", "elsewhere/b.md", (), None),
        ("/docs/g/", "web/docs/g/index.md", "web/docs/h/a.md", (), "/docs/h/a/"),
        ("/docs/gone", "web/docs/g/index.md", "web/docs/h/a.md", (), None),
    ],
)
def test_a_moved_document_keeps_the_form_of_its_url(
    path: str, old: str, new: str, names: tuple[str, ...], now: str | None
) -> None:
    assert moved_url(SITE, path, Address(old), Address(new), names) == now


def test_a_moved_document_keeps_the_open_parts_of_its_permalink() -> None:
    site = SiteTree("Jekyll", "_config.yml", "", (Mount("news/", "_posts", ":categories/:year/:title"),))
    new = Address("_posts/2014-01-02-second.md")
    for old_url, new_url in [
        ("/news/a/b/2013/first/", "/news/a/b/2014/second/"),
        ("/news/2013/first", "/news/2014/second"),
    ]:
        assert moved_url(site, old_url, Address("_posts/2013-05-06-first.md"), new, ()) == new_url


def test_a_tree_survives_being_stored() -> None:
    assert from_json(json.loads(json.dumps(as_json(SITE)))) == SITE
