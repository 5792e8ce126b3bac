"""Links in docs trees and vaults lead where the program that publishes the tree leads them."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.domain.addresses import Address, is_document_path, read_also
from commonplace.domain.query import Filter, SearchQuery
from commonplace.index import open_index
from commonplace.services.collections import Collection
from commonplace.services.writes import renames
from docs_trees import TREES, DocsTree
from indexed import Indexed

BY_NAME = {tree.name: tree for tree in TREES}
TREE = pytest.mark.parametrize("tree", TREES, ids=list(BY_NAME))


def led(base: Indexed, tree: DocsTree) -> dict[tuple[str, str], str | None]:
    """The destination of each link of a tree in the index."""
    targets: dict[tuple[str, str], str | None] = {}
    for source in {source for source, _ in tree.leads}:
        for link in base.index.links_from(Address(source)):
            written = link.link.target + (f"#{link.link.fragment}" if link.link.fragment else "")
            target = link.target.path if link.target else None
            targets[source, written] = targets[source, link.link.target] = target
    return {key: targets.get(key, "no such link was read") for key in tree.leads}


@TREE
def test_links_lead_where_the_program_leads_them(tmp_path: Path, tree: DocsTree) -> None:
    with Indexed(tmp_path, tree.files) as base:
        assert led(base, tree) == dict(tree.leads)
        dead = {(source, target) for (source, target), to in tree.leads.items() if to is None}
        assert {(link.source.path, link.link.target) for link in base.index.broken()} == dead


@TREE
def test_the_program_is_recognised_by_its_configuration_file_which_is_not_run(tmp_path: Path, tree: DocsTree) -> None:
    with Indexed(tmp_path, tree.files) as base:
        assert [site.generator for site in base.index.surroundings().sites] == (
            [tree.generator] if tree.generator else []
        )
        assert not list(tmp_path.rglob("ran"))


@pytest.mark.parametrize("name", ["vitepress with a source folder", "astro starlight", "docusaurus"])
def test_links_are_resolved_anew_when_a_configuration_file_comes_and_goes(tmp_path: Path, name: str) -> None:
    tree = BY_NAME[name]
    configuration = next(path for path in tree.files if "config" in path)
    with Indexed(tmp_path, {path: text for path, text in tree.files.items() if path != configuration}) as base:
        plain = led(base, tree)
        assert plain != dict(tree.leads)
        base.write(configuration, tree.files[configuration])
        base.index.sync()
        assert led(base, tree) == dict(tree.leads)
        (base.folder / configuration).unlink()
        base.index.sync()
        assert led(base, tree) == plain


def test_a_rename_rewrites_the_urls_of_a_docs_tree(tmp_path: Path) -> None:
    files = {
        ".vitepress/config.mts": "export default { srcDir: 'src' }",
        "src/guide/setup.md": "# Setup\n",
        "src/a.md": "[x](/guide/setup) [y](/guide/setup.html#z) [z](./guide/setup.md)\n",
    }
    with Indexed(tmp_path, files) as base:
        renames.rename(
            Collection("base", base.store, base.index), Address("src/guide/setup.md"), Address("src/how/to.md")
        )
        text = (base.folder / "src/a.md").read_text(encoding="utf-8")
    assert text == "[x](/how/to) [y](/how/to.html#z) [z](./how/to.md)\n"


def test_a_rename_rewrites_links_that_begin_at_the_page_itself(tmp_path: Path) -> None:
    files = {"hugo.toml": "baseURL = 'x'", "content/a.md": "[x](../b/) [y](/b/)\n", "content/b.md": "# B\n"}
    with Indexed(tmp_path, files) as base:
        renames.rename(Collection("base", base.store, base.index), Address("content/b.md"), Address("content/d/c.md"))
        text = (base.folder / "content/a.md").read_text(encoding="utf-8")
    assert text == "[x](../d/c/) [y](/d/c/)\n"


def test_declared_roots_take_the_place_of_what_is_recognised(tmp_path: Path) -> None:
    base = Indexed(tmp_path, {"mkdocs.yml": "", "src/guide/a.md": "# A\n", "src/b.md": "[x](/guide/a) [y](/api/b)\n"})
    with base, closing(open_index(base.store, tmp_path / "other", ["/=src", "/api/=src"])) as index:
        index.sync()
        assert [site.generator for site in index.surroundings().sites] == ["declared"]
        assert [link.target and link.target.path for link in index.links_from(Address("src/b.md"))] == [
            "src/guide/a.md",
            "src/b.md",
        ]
    with base, closing(open_index(base.store, tmp_path / "none", ["none"])) as index:
        index.sync()
        assert index.surroundings().sites == ()


def test_search_shows_the_readers_language_first_and_no_copy_twice_before_other_pages(tmp_path: Path) -> None:
    text = "# rsync\n\nrsync copies files.\n"
    codes = ("ar", "de", "es", "fr", "ja", "ko", "pl", "pt_BR", "ru", "zh")
    files = {f"pages.{code}/common/rsync.md": text for code in codes}
    files |= {"pages/common/rsync.md": text + "Copy " * 40, "pages/common/scp.md": "# scp\n\nUse rsync for folders.\n"}
    with Indexed(tmp_path, files) as base:
        assert base.found("rsync")[:2] == ["pages/common/rsync.md", "pages/common/scp.md"]
        pages = [base.found("rsync", limit=3, offset=offset) for offset in range(0, 12, 3)]
        assert sorted(path for page in pages for path in page) == sorted(files)
        with closing(open_index(base.store, base.cache, (), "de")) as german:
            hits = german.search(SearchQuery(text="rsync")).hits
        assert hits[0].record.address.path == "pages.de/common/rsync.md"
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_folder_of_translations_is_searched_as_the_whole_tree_is_in_the_readers_language(tmp_path: Path) -> None:
    files = {
        f"docs/{code}/sharp.md": f"# Sharp\n\nsharp error {word}\n" * 3 for code, word in (("en", "mean"), ("ja", ""))
    }
    files |= {
        f"docs/en/{name}.md": f"# {name}\n\nAn error of sharp, {name} {'more ' * len(name)}.\n"
        for name in ("ab", "tree")
    }
    files |= {"docs/ja/tree.md": "# sharp error\n\nsharp error\n"}
    with Indexed(tmp_path, files) as base:
        query = SearchQuery(text="sharp error mean")
        whole = base.index.search(query).hits
        english = base.index.search(replace(query, filter=Filter(prefix="docs/en/"))).hits
    seen = [hit.record.address.path for hit in whole if hit.record.address.path.startswith("docs/en/")]
    assert [hit.record.address.path for hit in english] == seen
    assert [hit.score for hit in whole] == sorted((hit.score for hit in whole), reverse=True)


def test_further_files_are_read_as_the_setting_says() -> None:
    assert not is_document_path("a.qmd")
    read_also([".qmd", "README", "*.txt"])
    try:
        assert all(map(is_document_path, ["a.QMD", "x/README", "notes.txt", "a.md"]))
        assert not is_document_path("x/README.html")
        assert Address("x/a.qmd").id == "x/a"
    finally:
        read_also([])
