"""The navigation of a tree is that of its generator: the same pages in the same order, by the same titles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest

from commonplace.domain.addresses import Address
from commonplace.domain.declared_navigation import natural_key
from commonplace.domain.document_reader import read_document
from commonplace.domain.navigation import MAX_DEPTH, Navigation, NavigationNode, build_navigation
from commonplace.domain.query import Record
from commonplace.domain.records import build_record
from commonplace.domain.site_recognition import ConfigFile, config_names, recognise
from commonplace.domain.sites import SiteTree

Shown = str | tuple[str, list["Shown"]]


def records_of(files: Mapping[str, str]) -> dict[str, Record]:
    pages = {path: text for path, text in files.items() if path.endswith((".md", ".mdx"))}
    return {path: build_record(read_document(Address(path), text.encode()), "1") for path, text in pages.items()}


def sites_of(files: Mapping[str, str]) -> list[SiteTree]:
    def folders(folder: str) -> Sequence[str]:
        start = f"{folder}/" if folder else ""
        inner = [path.removeprefix(start) for path in files if path.startswith(start)]
        return sorted({path.partition("/")[0] for path in inner if "/" in path and not path.startswith(".")})

    trees: list[SiteTree] = []
    for path, text in files.items():
        for name in sorted(config_names()):
            if path == name or path.endswith(f"/{name}"):
                folder = path.removesuffix(name).rstrip("/")
                site = recognise(ConfigFile(path, folder, text, folders, lambda element: files.get(element, "")), name)
                trees += [site] if site else []
    return trees


def built(files: Mapping[str, str], declared: object = None) -> Navigation:
    return build_navigation(
        records_of(files),
        sites_of(files),
        lambda path: files.get(path, ""),
        declared,  # type: ignore[arg-type]
    )


def shown(nodes: Sequence[NavigationNode]) -> list[Shown]:
    """Titles with their paths, and sections with what they hold."""
    rows: list[Shown] = []
    for node in nodes:
        name = f"{node.title} <{node.path or node.url}>" if node.path or node.url else node.title
        rows.append((name, shown(node.children)) if node.children else name)
    return rows


MKDOCS = {
    "mkdocs.yml": """
site_name: Harbour
theme:
  custom: !!python/name:os.system
nav:
  - Home: index.md
  - tides.md
  - mooring-fees.md
  - Guide:
      - guide/index.md
      - Moor your boat: guide/moor.md
      - Absent: guide/gone.md
      - Deep:
          - guide/deep/a.md
  - Reference: reference/
  - Elsewhere: https://example.org/x
  - ../outside.md
""",
    "docs/index.md": "# Welcome\n",
    "docs/tides.md": "# Tides and times\n",
    "docs/mooring-fees.md": "Twelve a night.\n",
    "docs/guide/index.md": "# The guide\n",
    "docs/guide/moor.md": "# Mooring\n",
    "docs/guide/deep/a.md": "# Deep A\n",
    "docs/reference/z.md": "# Zed\n",
    "docs/reference/a.md": "# Aye\n",
    "docs/forgotten.md": "# Forgotten\n",
    "README.md": "# Repository\n",
    "outside.md": "# Outside\n",
}


def test_mkdocs_shows_its_nav_and_then_what_it_omits() -> None:
    navigation = built(MKDOCS)
    assert shown(navigation.roots) == [
        "Home <docs/index.md>",
        "Tides and times <docs/tides.md>",
        "Mooring fees <docs/mooring-fees.md>",
        ("Guide", [
            "The guide <docs/guide/index.md>",
            "Moor your boat <docs/guide/moor.md>",
            ("Deep", ["Deep A <docs/guide/deep/a.md>"]),
        ]),
        ("Reference", ["Aye <docs/reference/a.md>", "Zed <docs/reference/z.md>"]),
        "Elsewhere <https://example.org/x>",
        "Outside <outside.md>",
        ("Other pages", [
            "Repository <README.md>",
            ("docs", ["Forgotten <docs/forgotten.md>"]),
        ]),
    ]  # fmt: skip
    assert set(navigation.places) == {path for path in MKDOCS if path.endswith(".md")}


def test_mkdocs_without_nav_goes_by_file_names_and_pages_before_folders() -> None:
    files = {
        "mkdocs.yml": "site_name: H\n",
        "docs/index.md": "# Welcome\n",
        "docs/zebra.md": "# A zebra\n",
        "docs/apple.md": "# Zed apple\n",
        "docs/user-guide/index.md": "# Users\n",
        "docs/user-guide/b.md": "# B\n",
        "docs/about/.pages": "title: About us\nnav:\n  - team.md\n  - ...\n  - Last: history.md\n",
        "docs/about/history.md": "# History\n",
        "docs/about/team.md": "# Team\n",
        "docs/about/jobs.md": "# Jobs\n",
        "docs/hidden/.pages": "hide: true\n",
        "docs/hidden/x.md": "# X\n",
    }
    navigation = built(files)
    assert shown(navigation.roots)[:5] == [
        "Welcome <docs/index.md>",
        "Zed apple <docs/apple.md>",
        "A zebra <docs/zebra.md>",
        ("About us", ["Team <docs/about/team.md>", "Jobs <docs/about/jobs.md>", "Last <docs/about/history.md>"]),
        ("User guide", ["Users <docs/user-guide/index.md>", "B <docs/user-guide/b.md>"]),
    ]
    assert "docs/hidden/x.md" in navigation.places, "a page that is read is always in the navigation"


MDBOOK = {
    "book.toml": '[book]\ntitle = "Tides"\n',
    "src/SUMMARY.md": """# Summary

[Introduction](README.md)

# The basics

- [First steps](first.md)
    - [Install](first/install.md)
\t- [Use `it`](<first/use it.md>)
- [Draft]()
- [Twice](first.md)

# Reference

* [Options](options.md#all)

---

[Contributors](contributors.md)
""",
    "src/README.md": "# Intro\n",
    "src/first.md": "# 1\n",
    "src/first/install.md": "# Installing\n",
    "src/first/use it.md": "# Using\n",
    "src/options.md": "# O\n",
    "src/contributors.md": "# C\n",
}


LITERATE = {
    "mkdocs.yml": "plugins:\n  - search\n  - literate-nav\nnav:\n  - Only: zebra.md\n",
    "docs/SUMMARY.md": (
        "# Contents\n\n* [Not this](tides.md)\n\n## Navigation\n\n* [Home](index.md)\n* [Guide](guide/)\n* About\n"
        "    * [Team](about/team.md)\n    * about/*.md\n* [Tides](tides.md)\n    * [Elsewhere](https://example.org/x)\n"
        "    * ref/*\n* *\n"
    ),
    "docs/guide/SUMMARY.md": "* [Moor](moor.md)\n* [Deep](deep/)\n* *.md\n* [Back](../)\n",
    **{
        f"docs/{name}.md": f"# Title of {name}\n"
        for name in (
            "index", "tides", "zebra", "apple", "guide/index", "guide/moor", "guide/fees", "guide/deep/a",
            "guide/deep/index", "about/team", "about/jobs", "ref/z", "ref/a", "more/x", "more/a-b/y", "more/a-b/index",
        )
    },
}  # fmt: skip


def test_literate_nav_of_mkdocs_reads_a_file_of_each_folder() -> None:
    navigation = built(LITERATE)
    assert shown(navigation.roots) == [
        "Home <docs/index.md>",
        ("Guide", [
            "Moor <docs/guide/moor.md>",
            ("Deep", [
                "Title of guide/deep/index <docs/guide/deep/index.md>",
                "Title of guide/deep/a <docs/guide/deep/a.md>",
            ]),
            "Title of guide/index <docs/guide/index.md>",
            "Title of guide/fees <docs/guide/fees.md>",
        ]),
        ("About", ["Team <docs/about/team.md>", "Title of about/jobs <docs/about/jobs.md>"]),
        ("Tides", [
            "Title of tides <docs/tides.md>",
            "Elsewhere <https://example.org/x>",
            "Title of ref/a <docs/ref/a.md>",
            "Title of ref/z <docs/ref/z.md>",
        ]),
        "Title of apple <docs/apple.md>",
        "Title of zebra <docs/zebra.md>",
        ("More", [
            "Title of more/x <docs/more/x.md>",
            ("A b", ["Title of more/a-b/index <docs/more/a-b/index.md>", "Title of more/a-b/y <docs/more/a-b/y.md>"]),
        ]),
    ]  # fmt: skip
    nav = "plugins: {literate-nav: {nav_file: NAV.md}}\nnav:\n  - More: more/\n  - Rest: '*.md'\n"
    files = {**LITERATE, "mkdocs.yml": nav, "docs/more/NAV.md": "* [Y](a-b/y.md)\n* */\n"}
    assert shown(built(files).roots)[:2] == [
        ("More", ["Y <docs/more/a-b/y.md>", ("A b", ["Title of more/a-b/index <docs/more/a-b/index.md>"])]),
        ("Rest", [
            "Title of index <docs/index.md>",
            "Contents <docs/SUMMARY.md>",
            "Title of apple <docs/apple.md>",
            "Title of tides <docs/tides.md>",
            "Title of zebra <docs/zebra.md>",
        ]),
    ]  # fmt: skip


def test_files_of_literate_nav_that_name_each_other_end() -> None:
    names = [f"f{number}" for number in range(40)]
    links = "".join(f"* [{name}](../{name}/)\n" for name in names)
    files = {"mkdocs.yml": "plugins: [literate-nav]\n", "docs/SUMMARY.md": links.replace("../", "")}
    files |= {f"docs/{name}/SUMMARY.md": f"{links}* *\n" for name in names}
    files |= {f"docs/{name}/x.md": f"# {name}\n" for name in names}
    assert {f"docs/{name}/x.md" for name in names} <= set(built(files).places)


def test_a_summary_of_mdbook_is_the_navigation() -> None:
    navigation = built(MDBOOK)
    assert shown(navigation.roots) == [
        "Introduction <src/README.md>",
        ("The basics", [
            ("First steps <src/first.md>", ["Install <src/first/install.md>", "Use it <src/first/use it.md>"]),
            "Twice <src/first.md>",
        ]),
        ("Reference", ["Options <src/options.md>"]),
        "Contributors <src/contributors.md>",
    ]  # fmt: skip
    assert navigation.around("src/first.md") == ("src/README.md", "src/first/install.md"), "the first place counts"
    assert navigation.around("src/README.md") == ("", "src/first.md")
    assert navigation.around("src/contributors.md")[1] == ""
    assert navigation.around("src/SUMMARY.md") == ("", "")


DOCFX = {
    "docfx.json": "{}",
    "toc.yml": "- name: Articles\n  href: articles/\n- name: Help\n  href: https://example.org/\n- name: Loop\n"
    "  href: toc.yml\n",
    "articles/toc.yml": "items:\n- name: Intro\n  href: intro.md\n- name: More\n  items:\n  - href: deep/b.md?tabs=x\n"
    "  - name: Absent\n    href: gone.md\n- name: API\n  href: ../api/toc.yml\n  topicHref: ../api/index.md\n",
    "articles/intro.md": "# I\n",
    "articles/deep/b.md": "# The B\n",
    "api/toc.yml": "- name: One\n  href: one.md\n- name: Up\n  href: ../articles/toc.yml\n",
    "api/index.md": "# A\n",
    "api/one.md": "# 1\n",
}


def test_docfx_follows_its_tables_of_contents_once() -> None:
    assert shown(built(DOCFX).roots) == [
        ("Articles", [
            "Intro <articles/intro.md>",
            ("More", ["The B <articles/deep/b.md>"]),
            ("API <api/index.md>", ["One <api/one.md>"]),
        ]),
        "Help <https://example.org/>",
    ]  # fmt: skip


DOCUSAURUS = {
    "docusaurus.config.js": "module.exports = { title: 'Harbour', presets: [['classic', {}]] };",
    "docs/03-tides.md": "# Tides\n",
    "docs/intro.md": "---\nsidebar_position: 1\nsidebar_label: Start here\n---\n# Introduction\n",
    "docs/zulu.md": "# Zulu\n",
    "docs/02-guides/_category_.json": '{"label": "All guides", "position": 2}',
    "docs/02-guides/10-ten.md": "# Ten\n",
    "docs/02-guides/9-nine.md": "# Nine\n",
    "docs/02-guides/index.md": "# Guides\n",
    "docs/04-boats/hull.md": "---\nsidebar_position: 0.5\n---\n# Hull\n",
    "docs/04-boats/deck.md": "# Deck\n",
    "docs/sails/index.md": "---\nsidebar_label: Sails and rigging\n---\n# Sails\n",
    "docs/sails/jib.md": "# Jib\n",
    "docs/sails/_notice.md": "Part of other pages.\n",
    "docs/_parts/fee.md": "# Fee\n",
    "blog/2024-01-01-old.md": "---\ndate: 2024-01-01\n---\n# Old\n",
    "blog/2025-01-01-new.md": "---\ndate: 2025-01-01\n---\n# New\n",
}


def test_docusaurus_goes_by_positions_and_categories() -> None:
    assert shown(built(DOCUSAURUS).roots) == [
        "Start here <docs/intro.md>",
        ("All guides <docs/02-guides/index.md>", ["Nine <docs/02-guides/9-nine.md>", "Ten <docs/02-guides/10-ten.md>"]),
        "Tides <docs/03-tides.md>",
        ("boats", ["Hull <docs/04-boats/hull.md>", "Deck <docs/04-boats/deck.md>"]),
        ("Sails and rigging <docs/sails/index.md>", ["Jib <docs/sails/jib.md>"]),
        "Zulu <docs/zulu.md>",
        ("Blog", ["New <blog/2025-01-01-new.md>", "Old <blog/2024-01-01-old.md>"]),
        ("Other pages", [
            ("docs", [("_parts", ["Fee <docs/_parts/fee.md>"]), ("sails", ["_notice <docs/sails/_notice.md>"])])
        ]),
    ]  # fmt: skip


HUGO = {
    "hugo.toml": "baseURL = 'https://example.org/'\ntitle = 'Harbour'\n",
    "content/_index.md": "---\ntitle: Home\n---\n",
    "content/docs/_index.md": "---\ntitle: Documentation\nweight: 20\n---\n",
    "content/docs/b.md": "---\ntitle: Second\nweight: 2\n---\n",
    "content/docs/a.md": "---\ntitle: Third\nlinkTitle: Short third\nweight: 3\n---\n",
    "content/docs/z.md": "---\ntitle: First\nweight: 1\n---\n",
    "content/docs/bundle/index.md": "---\ntitle: A bundle\n---\n",
    "content/posts/old.md": "---\ntitle: Older\ndate: 2020-01-01\n---\n",
    "content/posts/new.md": "---\ntitle: Newer\ndate: 2024-01-01\n---\n",
    "content/about.md": "---\ntitle: About\nweight: 10\n---\n",
}


def test_hugo_goes_by_weight_then_date() -> None:
    assert shown(built(HUGO).roots) == [
        "Home <content/_index.md>",
        "About <content/about.md>",
        ("Documentation <content/docs/_index.md>", [
            "First <content/docs/z.md>",
            "Second <content/docs/b.md>",
            "Short third <content/docs/a.md>",
            "A bundle <content/docs/bundle/index.md>",
        ]),
        ("Posts", ["Newer <content/posts/new.md>", "Older <content/posts/old.md>"]),
    ]  # fmt: skip


def test_just_the_docs_goes_by_parents() -> None:
    files = {
        "_config.yml": "remote_theme: just-the-docs/just-the-docs\ntitle: T\n",
        "index.md": "---\ntitle: Home\nnav_order: 1\n---\n",
        "docs/ui.md": "---\ntitle: UI\nnav_order: 3\nhas_children: true\n---\n",
        "docs/buttons.md": "---\ntitle: Buttons\nparent: UI\nnav_order: 2\n---\n",
        "docs/labels.md": "---\ntitle: Labels\nparent: UI\nnav_order: 1\n---\n",
        "docs/big.md": "---\ntitle: Big\nparent: Buttons\ngrand_parent: UI\n---\n",
        "docs/late.md": "---\ntitle: Late\n---\n",
        "docs/text.md": "---\ntitle: Text order\nnav_order: b\n---\n",
        "docs/out.md": "---\ntitle: Out\nnav_exclude: true\n---\n",
        "docs/self.md": "---\ntitle: Self\nparent: Self\n---\n",
    }
    assert shown(built(files).roots) == [
        "Home <index.md>",
        ("UI <docs/ui.md>", ["Labels <docs/labels.md>", ("Buttons <docs/buttons.md>", ["Big <docs/big.md>"])]),
        "Text order <docs/text.md>",
        "Late <docs/late.md>",
        ("Other pages", [("docs", ["Out <docs/out.md>", "Self <docs/self.md>"])]),
    ]


def test_sphinx_follows_its_toctrees() -> None:
    files = {
        "docs/conf.py": "extensions = ['myst_parser']\n",
        "docs/index.md": "# Harbour\n\n```{toctree}\n:maxdepth: 2\n:caption: Guides\n\nguide/index\nOwn title <tides>\n"
        "self\n```\n\n:::{toctree}\n---\nglob: true\n---\napi/*\n:::\n",
        "docs/guide/index.md": "# Guide\n\n```{toctree}\nmoor.md\n/index\n```\n",
        "docs/guide/moor.md": "# Mooring\n",
        "docs/tides.md": "# Tides\n",
        "docs/api/b.md": "# B\n",
        "docs/api/a.md": "# A\n",
        "docs/api/deep/c.md": "# C\n",
    }
    assert shown(built(files).roots) == [
        "Harbour <docs/index.md>",
        ("Guides", [
            ("Guide <docs/guide/index.md>", ["Mooring <docs/guide/moor.md>", "Harbour <docs/index.md>"]),
            "Own title <docs/tides.md>",
        ]),
        "A <docs/api/a.md>",
        "B <docs/api/b.md>",
        ("Other pages", [("docs", [("api", [("deep", ["C <docs/api/deep/c.md>"])])])]),
    ]  # fmt: skip


def test_starlight_goes_by_its_sidebar_keys() -> None:
    files = {
        "astro.config.mjs": "export default defineConfig({ integrations: [starlight({ title: 'Kit' })] });",
        "src/content/docs/index.mdx": "---\ntitle: Kit\n---\n",
        "src/content/docs/guides/b.md": "---\ntitle: B\nsidebar:\n  order: 1\n---\n",
        "src/content/docs/guides/a.md": "---\ntitle: A\nsidebar:\n  label: The A\n---\n",
    }
    assert shown(built(files).roots) == [
        "Kit <src/content/docs/index.mdx>",
        ("guides", ["B <src/content/docs/guides/b.md>", "The A <src/content/docs/guides/a.md>"]),
    ]


def test_a_plain_folder_goes_by_titles_in_natural_order() -> None:
    files = {
        "Home.md": "Welcome.\n",
        "Chapter 10.md": "x\n",
        "chapter 2.md": "x\n",
        "Notes/Notes.md": "# About notes\n",
        "Notes/b.md": "# Beta\n",
        "Alone/index.md": "# Alone here\n",
        "Ärger.md": "x\n",
    }
    assert shown(built(files).roots) == [
        "Alone here <Alone/index.md>",
        ("Notes <Notes/Notes.md>", ["Beta <Notes/b.md>"]),
        "Ärger <Ärger.md>",
        "chapter 2 <chapter 2.md>",
        "Chapter 10 <Chapter 10.md>",
        "Home <Home.md>",
    ]
    assert not built(files).declared


def test_the_own_file_goes_before_the_generator() -> None:
    own = ["tides.md", {"Moor": "docs/guide/moor.md"}, {"All": [{"Refs": "docs/reference"}]}]
    assert shown(built(MKDOCS, own).roots)[:2] == [
        "Moor <docs/guide/moor.md>",
        ("All", [("Refs", ["Aye <docs/reference/a.md>", "Zed <docs/reference/z.md>"])]),
    ]


@pytest.mark.parametrize("tree", [MKDOCS, MDBOOK, DOCFX, DOCUSAURUS, HUGO], ids=lambda tree: next(iter(tree)))
def test_every_page_has_a_place_and_its_neighbours_agree(tree: Mapping[str, str]) -> None:
    navigation = built(tree)
    pages = {path for path in records_of(tree) if not path.endswith("SUMMARY.md")}
    assert set(navigation.places) == pages
    order = list(navigation.places)
    for before, after in pairwise(order):
        assert navigation.around(before)[1] == after
        assert navigation.around(after)[0] == before
    for path, place in navigation.places.items():
        *above, last = place
        assert navigation.children(tuple(above))[last].path == path
        assert len(list(navigation.ancestors(place))) == len(above)
    assert navigation.children((99, 99)) == ()


@pytest.mark.parametrize(
    "text",
    [
        "nav: 3",
        "nav: [[a, [b]], {x: {y: z}}, null, 7, {a: null}]",
        "nav:\n" + "".join(f"{'  ' * level}- a{level}:\n" for level in range(60)),
        "nav: *x",
        "- - -",
        "\x00",
        "nav: [index.md, index.md, {A: index.md}]",
    ],
)
def test_a_wrong_nav_loses_no_page(text: str) -> None:
    files = {**{path: body for path, body in MKDOCS.items() if path.endswith(".md")}, "mkdocs.yml": text}
    assert set(built(files).places) == {path for path in files if path.endswith(".md")}


def test_very_deep_and_very_many_pages_are_arranged() -> None:
    deep = {f"{'d/' * level}p{level}.md": f"# P{level}\n" for level in range(200)}
    navigation = built(deep)
    assert len(navigation.places) == 200
    assert max(map(len, navigation.places.values())) <= MAX_DEPTH + 2
    many = {f"a/p{number}.md": f"# Page {number}\n" for number in range(5_000)}
    order = list(built(many).places)
    assert order[:3] == ["a/p0.md", "a/p1.md", "a/p2.md"]
    assert len(order) == 5_000


def test_natural_keys_order_numbers_by_value() -> None:
    names = ["x10", "x9", "X1", "x", "10", "9", "x" + "9" * 400]
    assert sorted(names, key=natural_key) == ["9", "10", "x", "X1", "x9", "x10", "x" + "9" * 400]
