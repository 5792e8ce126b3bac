"""Docs trees are recognised by the configuration files of their generators."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import pytest

from cases import each_case
from commonplace.domain.site_recognition import (
    MAX_CONFIG_BYTES,
    MAX_MOUNTS,
    ConfigFile,
    config_names,
    declared_tree,
    recognise,
)
from commonplace.domain.sites import Mount, SiteTree


def tree(
    name: str,
    text: str,
    folder: str = "",
    folders: Mapping[str, Sequence[str]] | None = None,
    files: Mapping[str, str] | None = None,
) -> SiteTree | None:
    """The tree of a configuration file in a folder that has these folders and other files."""
    path = f"{folder}/{name}" if folder else name
    around = folders or {}
    return recognise(
        ConfigFile(path, folder, text, lambda at: around.get(at, ()), lambda at: (files or {}).get(at, "")), name
    )


def mounts(name: str, text: str, folder: str = "", **around: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    site_tree = tree(name, text, folder, **around)  # type: ignore[arg-type]
    assert site_tree is not None
    return [(mount.url, mount.folder) for mount in site_tree.mounts]


@each_case(
    ("line", "folder"),
    [
        ("site_name: x", "docs"),
        ("docs_dir: guide", "guide"),
        ("docs_dir: 'my guide'  # ours", "my guide"),
        ('docs_dir: "a#b"', "a#b"),
        ("docs_dir: a # comment", "a"),
        ("docs_dir: ./a/../größe/", "größe"),
        ("docs_dir:\r\nother: 1\r\n", "docs"),
        ("docs_dir: # comment\n", "docs"),
        ("nav:\n  - docs_dir: x\n", "docs"),
    ],
)
def test_mkdocs_publishes_the_folder_of_its_configuration(line: str, folder: str) -> None:
    assert mounts("mkdocs.yml", f"{line}\n") == [("", folder)]
    assert mounts("mkdocs.yaml", f"{line}\n", "x/y") == [("", f"x/y/{folder}")]


DOCUSAURUS = """
// docs: { path: 'commented-out' }
module.exports = {
  baseUrl: '/site/', /* routeBasePath: 'wrong' */
  presets: [['classic', {
    docs: { include: ['**/*.md'], path: 'guides', routeBasePath: 'help', exclude: ['**/_*/**'] },
    blog: false,
  }]],
  plugins: [['@docusaurus/plugin-content-docs', { id: 'api', path: 'api', routeBasePath: 'api' }]],
};
"""


def test_docusaurus_publishes_each_plugin_under_its_url() -> None:
    site_tree = tree("docusaurus.config.ts", DOCUSAURUS, "web")
    assert site_tree is not None
    assert (site_tree.generator, site_tree.base, site_tree.numbered) == ("Docusaurus", "site/", True)
    assert site_tree.mounts == (
        Mount("help/", "web/guides"),
        Mount("api/", "web/api"),
        Mount("", "web/src/pages"),
        Mount("", "web/static"),
    )


def test_versions_of_docusaurus_stand_beside_the_next_one() -> None:
    found_mounts = mounts("docusaurus.config.js", "", files={"versions.json": '["2.0", "1.0"]'})  # type: ignore[arg-type]
    assert found_mounts[:4] == [
        ("docs/next/", "docs"),
        ("docs/", "versioned_docs/version-2.0"),
        ("docs/2.0/", "versioned_docs/version-2.0"),
        ("docs/1.0/", "versioned_docs/version-1.0"),
    ]


@each_case("text", ["", "{}", "no json", '"2.0"', "[" * 200_000])
def test_a_list_of_versions_that_is_none_counts_as_none(text: str) -> None:
    assert mounts("docusaurus.config.js", "", files={"versions.json": text})[0] == ("docs/", "docs")  # type: ignore[arg-type]


def test_translations_of_docusaurus_are_paired_with_the_originals() -> None:
    site_tree = tree("docusaurus.config.js", "blog: false", folders={"i18n": ["de"]})
    assert site_tree is not None
    assert site_tree.translated == (("i18n/de/docusaurus-plugin-content-docs/current", "docs"),)


@each_case(
    ("text", "found"),
    [
        ("export default { base: '/docs/' }", [("", ".vitepress"), ("", ".vitepress/public")]),
        ("export default { srcDir: '..' }", [("", ""), ("", "public")]),
        ("srcDir: '../src', // srcDir: 'x'", [("", "src"), ("", "src/public")]),
        ("glob: ['docs/*.md'], srcDir: '../src'", [("", "src"), ("", "src/public")]),
        ("a: 'http://x/*', srcDir: '../src', b: '*/'", [("", "src"), ("", "src/public")]),
        ("/* it's\n srcDir: 'x' */ srcDir: '../src'", [("", "src"), ("", "src/public")]),
        (r"a: 'it\'s // not', srcDir: '../src'", [("", "src"), ("", "src/public")]),
    ],
)
def test_comments_of_a_script_do_not_count_and_its_texts_hold_none(text: str, found: list[tuple[str, str]]) -> None:
    tree_ = tree(".vitepress/config.mts", text, ".vitepress")
    assert tree_ is not None
    assert [(mount.url, mount.folder) for mount in tree_.mounts] == found


def test_astro_publishes_its_collections_and_the_languages_of_its_docs() -> None:
    around = {"src/content": ["blog", "docs"], "src/content/docs": ["de", "guides"]}
    site_tree = tree("astro.config.mjs", "base: 'https://example.org/help'", folders=around)
    assert site_tree is not None
    assert site_tree.base == "help/"
    assert site_tree.mounts[:2] == (Mount("", "src/content/docs"), Mount("blog/", "src/content/blog"))
    assert site_tree.translated == (("src/content/docs/de", "src/content/docs"),)


@pytest.mark.parametrize(
    ("name", "folder", "text", "content"),
    [
        ("hugo.toml", "", 'baseURL = "https://x"\ncontentDir = "texts"', "texts"),
        ("config/_default/hugo.yaml", "", "contentDir: texts # ours", "texts"),
        ("config.json", "x", '{"contentDir": "texts"}', "x/texts"),
        ("config.toml", "", "baseURL = 'x'", "content"),
    ],
)
def test_hugo_publishes_its_content(name: str, folder: str, text: str, content: str) -> None:
    site_tree = tree(name, text, folder)
    assert site_tree is not None
    assert site_tree.mounts[0] == Mount("", content)


@pytest.mark.parametrize(
    ("name", "text"), [("config.toml", "title = 'x'"), ("config.json", "{}"), ("conf.py", "x = 1")]
)
def test_a_file_of_another_program_is_no_tree(name: str, text: str) -> None:
    assert tree(name, text) is None


def test_sphinx_counts_where_it_reads_markdown() -> None:
    assert mounts("conf.py", "extensions = ['myst_parser']", "docs") == [("", "docs")]


@each_case("name", sorted(config_names()))
@each_case("text", ["", "\x00", "'", "{" * 50, "docs: {", "base: '../../..'", "docs_dir: ../../x", "\ufffd"])
def test_an_odd_configuration_is_no_error_and_no_folder_leads_out(name: str, text: str) -> None:
    site_tree = tree(name, text, "x")
    assert site_tree is None or not [mount for mount in site_tree.mounts if ".." in mount.folder]


@pytest.mark.parametrize("name", ["mkdocs.yml", "docusaurus.config.js", "hugo.toml"])
@pytest.mark.parametrize(
    "piece",
    ["docs:{", "/* ", "docs_dir: ", "\\'", " ", "contentDir = ", "plugin-content-docs',{", "base:'", "'\"`", "//"],
)
def test_a_large_configuration_is_read_in_linear_time(name: str, piece: str) -> None:
    def spent(size: int) -> float:
        start = time.thread_time()
        tree(name, "docs_dir: a" + piece * (size // len(piece)) + "'")
        return time.thread_time() - start

    assert spent(MAX_CONFIG_BYTES // 8) < 2  # CPU seconds; what is quadratic takes minutes


@pytest.mark.parametrize(
    ("roots", "found"),
    [
        (["/=docs"], [Mount("", "docs")]),
        (["/guide/=a/b/", "/=/x"], [Mount("guide/", "a/b"), Mount("", "x")]),
        (["/größe=漢字"], [Mount("größe/", "漢字")]),
    ],
)
def test_a_tree_may_be_declared(roots: list[str], found: list[Mount]) -> None:
    declared = declared_tree(roots)
    assert declared is not None
    assert list(declared.mounts) == found


@each_case("root", ["", "docs", "docs=/x", "/a", "/a=../x", "=docs"])
def test_a_declaration_that_is_none_or_leads_out_is_refused(root: str) -> None:
    with pytest.raises(ValueError, match="^" + root.replace(".", r"\.") + "$"):
        declared_tree([root])
    assert declared_tree([]) is None


@each_case(
    ("name", "text", "files"),
    [
        ("hugo.toml", "[module]\n[[module.mounts]]\nsource='content/en'\ntarget='content'\n", {}),
        ("hugo.yaml", "module:\n  mounts:\n    - source: content/en\n      target: content\n", {}),
        ("hugo.json", '{"module": {"mounts": [{"source": "content/en", "target": "content"}]}}', {}),
        (
            "hugo.toml",
            "title='x'",
            {"config/_default/module.toml": "[[mounts]]\nsource='content/en'\ntarget='content'"},
        ),
        (
            "config/_default/hugo.toml",
            "",
            {"config/_default/module.yml": "mounts: [{source: content/en, target: content}]"},
        ),
    ],
)
def test_mounts_of_hugo_replace_its_content_folder(name: str, text: str, files: Mapping[str, str]) -> None:
    assert mounts(name, text, files=files)[:2] == [("", "content/en"), ("", "static")]  # type: ignore[arg-type]


def test_mounts_of_hugo_have_urls_and_languages() -> None:
    text = """
    [[module.mounts]]
    source = "content/fr"
    target = "content"
    lang = "fr"
    [[module.mounts]]
    source = "content/en"
    target = "content"
    [module.mounts.sites.matrix]
    languages = ["en"]
    [[module.mounts]]
    source = "manual"
    target = "content/docs"
    [[module.mounts]]
    source = "pictures"
    target = "static/img"
    """
    site_tree = tree("hugo.toml", text, "x")
    assert site_tree is not None
    assert [(mount.url, mount.folder) for mount in site_tree.mounts] == [
        ("", "x/content/en"),
        ("docs/", "x/manual"),
        ("fr/", "x/content/fr"),
        ("", "x/content/fr"),
        ("img/", "x/pictures"),
        ("", "x/assets"),
    ]
    assert site_tree.translated == (("x/content/fr", "x/content/en"),)
    assert not site_tree.wikilinks


@pytest.mark.parametrize(
    "pairs",
    [
        [("../../outside", "content"), ("/etc", "content"), ("ok", "content")],
        [("a", "content/a"), ("a/b", "content/a"), ("ok", "content")],
        [("content", "content/content"), ("content/content", "content"), ("ok", "content")],
        [("", "content"), ("ok", "content"), ("ok", "content")],
        [("ok", "content")] * 10_000,
    ],
)
def test_mounts_outside_the_folder_overlapping_or_in_circles_are_folders_like_any(pairs: list[tuple[str, str]]) -> None:
    text = "".join(f"[[module.mounts]]\nsource='{source}'\ntarget='{target}'\n" for source, target in pairs)
    found_mounts = mounts("hugo.toml", text, "x")
    assert ("", "x/ok") in found_mounts
    assert len(found_mounts) <= MAX_MOUNTS
    assert all(folder.startswith("x/") for _, folder in found_mounts)


@each_case(
    ("text", "found"),
    [
        ("title: x", [("", "_posts", ":categories/:year/:month/:day/:title"), ("", "", "")]),
        ("permalink: /news/:title/", [("news/", "_posts", ":title"), ("", "", "")]),
        ("permalink: none", [("", "_posts", ":categories/:title"), ("", "", "")]),
        (
            "collections:\n  docs:\n    permalink: /:collection/:path/\n  team: {}\n",
            [
                ("docs/", "_docs", ""),
                ("team/", "_team", ""),
                ("", "_posts", ":categories/:year/:month/:day/:title"),
                ("", "", ""),
            ],
        ),
        (
            "collections: [docs]\ncollections_dir: all\nsource: src\n",
            [
                ("docs/", "src/all/_docs", ""),
                ("", "src/all/_posts", ":categories/:year/:month/:day/:title"),
                ("", "src", ""),
            ],
        ),
    ],
)
def test_jekyll_publishes_its_collections_by_their_permalinks(text: str, found: list[tuple[str, str, str]]) -> None:
    site = tree("_config.yml", text)
    assert site is not None
    assert [(mount.url, mount.folder, mount.pattern) for mount in site.mounts] == found
    assert (site.generator, site.wikilinks, site.from_top) == ("Jekyll", False, True)


@pytest.mark.parametrize("text", ["source_dir: source\n", "sphinx:\n  config: {}\n", "execute: {}\n"])
def test_a_configuration_of_hexo_or_jupyter_book_is_not_of_jekyll(text: str) -> None:
    assert tree("_config.yml", text) is None


def test_a_configuration_that_refers_to_itself_a_million_times_is_read_at_once() -> None:
    bomb = "a: &a [x]\n" + "".join(f"b{n}: &b{n} [*{'a' if not n else f'b{n - 1}'}{', *a' * 9}]\n" for n in range(30))
    start = time.thread_time()
    for name in ("_config.yml", "hugo.yaml"):
        assert tree(name, f"{bomb}module: *b9\ncollections: *b9\nlanguages: *a\n") is not None
    tree("hugo.toml", "a = " + "[" * 100_000)
    tree("hugo.json", '{"baseURL": ' + "[" * 100_000)
    assert time.thread_time() - start < 5  # CPU seconds; what follows the references never ends


def test_starlight_publishes_the_default_language_in_place_of_a_missing_translation() -> None:
    folders = {"src/content/docs": ["en", "fr", "guides"], "src/content": ["docs"]}
    site = tree("astro.config.ts", "starlight({ defaultLocale: 'en' })", folders=folders)
    assert site is not None
    assert site.translated == (("src/content/docs/fr", "src/content/docs/en"),)


def test_destinations_of_a_sites_own_hook_are_known() -> None:
    hook = '{{ $u := urls.Parse .Destination }}{{ if eq $u.String "g" }}{{ end }}{{ if eq .Destination "top" }}'
    site = tree("hugo.toml", "", files={"layouts/_markup/render-link.html": hook})
    assert site is not None
    assert site.special == ("g", "top")
