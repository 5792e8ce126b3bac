"""Sixteen docs trees and vaults, each small and made after the documentation of the program that publishes it.

A tree is its files and what its program makes of its links: the page or file that a reader of the published site, or
of the vault, comes to; None for a dead link. Only links whose destination the program's documents state are here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DocsTree:
    """A tree with its links."""

    name: str
    generator: str
    """The recognised generator; "" for a vault, which needs no configuration file."""
    files: Mapping[str, str]
    """Texts by path. Links are in the files' texts; `leads` lists them once more with their destinations."""
    leads: Mapping[tuple[str, str], str | None]
    """Destination by source and target as written."""


def page(title: str, *targets: str) -> str:
    """A page with these links."""
    lines = "\n".join(f"- [link]({target})" for target in targets)
    return f"# {title}\n\n{lines}\n"


def _tree(
    name: str, generator: str, files: Mapping[str, str], links: Mapping[str, Mapping[str, str | None]]
) -> DocsTree:
    """A tree whose sources of links are written from the links."""
    texts = dict(files)
    for source, targets in links.items():
        head = texts.get(source, f"# {source}\n")
        if "(" not in head and "[[" not in head:
            head += "\n" + "\n".join(f"- [link]({target})" for target in targets) + "\n"
        texts[source] = head
    leads = {(source, target): to for source, targets in links.items() for target, to in targets.items()}
    return DocsTree(name, generator, texts, leads)


_DOCUSAURUS = """// @ts-check
/** docs: { path: 'not-this' } */
const config = {
  title: 'Harbour', url: 'https://example.org', baseUrl: '/harbour/',
  presets: [['classic', { docs: { sidebarPath: './sidebars.js', editUrl: 'https://example.org/edit' },
                          blog: { showReadingTime: true } }]],
};
export default config;
"""

TREES = (
    _tree(
        "docusaurus",
        "Docusaurus",
        {
            "docusaurus.config.js": _DOCUSAURUS,
            "docs/01-intro.md": "# Intro\n",
            "docs/02-guides/_category_.json": "{}",
            "docs/02-guides/01-install.mdx": "import X from 'x';\n\n# Install\n",
            "docs/02-guides/index.md": "# Guides\n",
            "docs/tides.md": "---\nslug: /tide-tables\n---\n# Tides\n",
            "docs/02-guides/moor.md": "---\nslug: mooring\n---\n# Moor\n",
            "docs/02-guides/fuel.md": "---\nid: bunkering\n---\n# Fuel\n",
            "blog/2024-05-17-opening.md": "# Opening\n",
            "src/pages/about.md": "# About\n",
            "static/img/map.svg": "<svg/>",
        },
        {
            "docs/links.md": {
                "/docs/intro": "docs/01-intro.md",
                "/harbour/docs/intro": "docs/01-intro.md",
                "./01-intro.md": "docs/01-intro.md",
                "/docs/guides/install": "docs/02-guides/01-install.mdx",
                "02-guides/01-install.mdx": "docs/02-guides/01-install.mdx",
                "/docs/guides/": "docs/02-guides/index.md",
                "/docs/tide-tables": "docs/tides.md",
                "/docs/guides/mooring": "docs/02-guides/moor.md",
                "/docs/guides/bunkering": "docs/02-guides/fuel.md",
                "/blog/2024/05/17/opening": "blog/2024-05-17-opening.md",
                "/about": "src/pages/about.md",
                "/img/map.svg": "static/img/map.svg",
                "@site/docs/tides.md": "docs/tides.md",
                "/docs/nowhere": None,
                "/intro": None,
            },
        },
    ),
    _tree(
        "docusaurus with docs at the root, beside the site",
        "Docusaurus",
        {
            "website/docusaurus.config.ts": (
                "const config: Config = { baseUrl: '/', presets: [['classic', { docs: {\n"
                "  path: '../docs', routeBasePath: '/', }, blog: false }]],\n"
                "  plugins: [['@docusaurus/plugin-content-docs',\n"
                "    {id: 'crew', path: 'crew', routeBasePath: 'crew'}]]};\n"
            ),
            "docs/start.md": "# Start\n",
            "docs/deep/page.md": "# Page\n",
            "website/crew/rota.md": "# Rota\n",
            "website/static/rules.pdf": "pdf",
        },
        {
            "docs/links.md": {
                "/start": "docs/start.md",
                "/deep/page": "docs/deep/page.md",
                "/crew/rota": "website/crew/rota.md",
                "/rules.pdf": "website/static/rules.pdf",
                "/docs/start": "docs/start.md",  # in the repository's root, as hosts of repositories resolve it
            }
        },
    ),
    _tree(
        "docusaurus with versions and a translation",
        "Docusaurus",
        {
            "docusaurus.config.js": _DOCUSAURUS,
            "versions.json": '["2.0", "1.0"]',
            "docs/a.md": "# A\n",
            "docs/only.md": "# Only\n",
            "versioned_docs/version-2.0/a.md": "# A 2\n",
            "versioned_docs/version-1.0/a.md": "# A 1\n",
            "i18n/fr/docusaurus-plugin-content-docs/current/a.md": "# A fr\n",
        },
        {
            "docs/links.md": {
                "/docs/a": "versioned_docs/version-2.0/a.md",
                "/docs/next/a": "docs/a.md",
                "/docs/1.0/a": "versioned_docs/version-1.0/a.md",
            },
            "i18n/fr/docusaurus-plugin-content-docs/current/links.md": {
                "/docs/next/a": "i18n/fr/docusaurus-plugin-content-docs/current/a.md",
                "/docs/next/only": "docs/only.md",
                "./a.md": "i18n/fr/docusaurus-plugin-content-docs/current/a.md",
                "./only.md": "docs/only.md",
            },
        },
    ),
    _tree(
        "vitepress with a source folder",
        "VitePress",
        {
            ".vitepress/config.mts": "export default defineConfig({ srcDir: './src', base: '/kit/' })\n",
            "src/index.md": "# Home\n",
            "src/guide/index.md": "# Guide\n",
            "src/guide/setup.md": "# Setup\n",
            "src/public/logo.png": "png",
            "README.md": "# Repository\n",
        },
        {
            "src/guide/links.md": {
                "/guide/setup": "src/guide/setup.md",
                "/guide/setup.md": "src/guide/setup.md",
                "/guide/setup.html": "src/guide/setup.md",
                "/kit/guide/setup": "src/guide/setup.md",
                "/guide/": "src/guide/index.md",
                "/": "src/index.md",
                "./setup": "src/guide/setup.md",
                "../index": "src/index.md",
                "/logo.png": "src/public/logo.png",
                "/guide/gone": None,
            }
        },
    ),
    _tree(
        "vitepress in a folder of a repository",
        "VitePress",
        {
            "docs/.vitepress/config.js": "export default { title: 'x' }\n",
            "docs/api/cli.md": "# CLI\n",
            "docs/de/api/cli.md": "# CLI\n",
        },
        {
            "docs/links.md": {"/api/cli": "docs/api/cli.md", "/de/api/cli": "docs/de/api/cli.md"},
            "packages/a/README.md": {"/docs/api/cli.md": "docs/api/cli.md", "/api/cli": None},
        },
    ),
    _tree(
        "mkdocs",
        "MkDocs",
        {
            "mkdocs.yml": "site_name: Harbour\nmarkdown_extensions:\n  - x: !!python/name:evil.run\n",
            "docs/index.md": "# Home\n",
            "docs/user/guide.md": "# Guide\n",
            "docs/img/a.png": "png",
        },
        {
            "docs/user/links.md": {
                "guide.md": "docs/user/guide.md",
                "../index.md": "docs/index.md",
                "../img/a.png": "docs/img/a.png",
                "../../img/a.png": "docs/img/a.png",  # of the page's URL, as in HTML
                "../guide/": "docs/user/guide.md",
                "/user/guide.md": "docs/user/guide.md",
                "../nowhere.md": None,
            }
        },
    ),
    _tree(
        "mkdocs with another folder",
        "MkDocs",
        {
            "handbook/mkdocs.yaml": "site_name: H\ndocs_dir: 'pages'  # ours\n",
            "handbook/pages/leave.md": "# Leave\n",
        },
        {
            "handbook/pages/a/links.md": {
                "/leave.md": "handbook/pages/leave.md",
                "../leave.md": "handbook/pages/leave.md",
            }
        },
    ),
    _tree(
        "astro starlight",
        "Astro",
        {
            "astro.config.mjs": "export default defineConfig({ base: '/kit', integrations: [starlight({})] });\n",
            "src/content/docs/index.mdx": "# Home\n",
            "src/content/docs/guides/one.md": "# One\n",
            "src/content/docs/guides/two.md": "# Two\n",
            "src/content/docs/two.md": "# Another two\n",
            "src/content/docs/fr/guides/one.md": "# Un\n",
            "public/favicon.svg": "<svg/>",
        },
        {
            "src/content/docs/guides/links.md": {
                "/guides/one/": "src/content/docs/guides/one.md",
                "/kit/guides/one/": "src/content/docs/guides/one.md",
                "../two/": "src/content/docs/guides/two.md",  # from /guides/links/
                "../../two/": "src/content/docs/two.md",
                "./one.md": "src/content/docs/guides/one.md",
                "/favicon.svg": "public/favicon.svg",
                "/fr/guides/one/": "src/content/docs/fr/guides/one.md",
            }
        },
    ),
    _tree(
        "astro with a blog collection",
        "Astro",
        {
            "site/astro.config.ts": "export default defineConfig({})\n",
            "site/src/content/blog/first.md": "# First\n",
            "site/src/pages/about.md": "# About\n",
        },
        {
            "site/src/content/blog/links.md": {
                "/blog/first/": "site/src/content/blog/first.md",
                "/about/": "site/src/pages/about.md",
                "../first/": "site/src/content/blog/first.md",
            }
        },
    ),
    _tree(
        "hugo",
        "Hugo",
        {
            "hugo.toml": "baseURL = 'https://example.org/'\nlanguageCode = 'en'\n",
            "content/_index.md": "# Home\n",
            "content/docs/_index.md": "# Docs\n",
            "content/docs/first.md": "# First\n",
            "content/docs/bundle/index.md": "# Bundle\n",
            "content/docs/slugged.md": "---\nslug: other-name\n---\n# Slug\n",
            "content/docs/moved.md": "---\nurl: /somewhere/else/\naliases: [/old/place/]\n---\n# Moved\n",
            "static/a.png": "png",
            "content/docs/links.md": (
                '# Links\n\n- [a]({{< ref "first.md" >}})\n- [b]({{< relref "/docs/first" >}})\n'
                '- [c]({{% ref "/docs/bundle" %}})\n- [d](/docs/first/)\n- [e](../first/)\n- [f](/docs/other-name/)\n'
                "- [g](/somewhere/else/)\n- [h](/old/place/)\n- ![i](/a.png)\n- [j](/docs/)\n"
            ),
        },
        {
            "content/docs/links.md": {
                "first.md": "content/docs/first.md",
                "/docs/first": "content/docs/first.md",
                "/docs/bundle": "content/docs/bundle/index.md",
                "/docs/first/": "content/docs/first.md",
                "../first/": "content/docs/first.md",
                "/docs/other-name/": "content/docs/slugged.md",
                "/somewhere/else/": "content/docs/moved.md",
                "/old/place/": "content/docs/moved.md",
                "/a.png": "static/a.png",
                "/docs/": "content/docs/_index.md",
            }
        },
    ),
    _tree(
        "hugo with languages",
        "Hugo",
        {
            "site/config/_default/hugo.yaml": (
                "baseURL: https://example.org/\nlanguages:\n  en:\n    contentDir: content/en\n"
                "  de:\n    contentDir: content/de\n"
            ),
            "site/content/en/a.md": "# A\n",
            "site/content/de/nur.md": "# Nur\n",
        },
        {"site/content/en/links.md": {"/a/": "site/content/en/a.md", "../a/": "site/content/en/a.md"}},
    ),
    _tree(
        "sphinx with myst",
        "Sphinx (MyST)",
        {
            "docs/source/conf.py": (
                "import os\nextensions = ['myst_parser']\nos.system('touch ran')\nraise SystemExit('never run')\n"
            ),
            "docs/source/index.md": "# Index\n",
            "docs/source/how/to.md": "# To\n",
            "docs/source/_static/a.pdf": "pdf",
        },
        {
            "docs/source/how/links.md": {
                "to.md": "docs/source/how/to.md",
                "to": "docs/source/how/to.md",
                "/how/to.md": "docs/source/how/to.md",
                "../index.md#index": "docs/source/index.md",
                "/_static/a.pdf": "docs/source/_static/a.pdf",
                "/source/index.md": None,
            }
        },
    ),
    _tree(
        "obsidian vault",
        "",
        {
            ".obsidian/app.json": "{}",
            "Daily/2026-01-01.md": "# New year\n",
            "Projects/Boat.md": "---\naliases: [Ship]\n---\n# The boat\n",
            "Attachments/sketch.png": "png",
            "Projects/Notes.md": (
                "[[Boat]] [[Boat#Hull|the hull]] ![[sketch.png|300]] [[2026-01-01]] [[Nowhere]] [x](Boat.md)"
                " [y](../Daily/2026-01-01.md)\n"
            ),
        },
        {
            "Projects/Notes.md": {
                "Boat": "Projects/Boat.md",
                "sketch.png": "Attachments/sketch.png",
                "2026-01-01": "Daily/2026-01-01.md",
                "Nowhere": None,
                "Boat.md": "Projects/Boat.md",
                "../Daily/2026-01-01.md": "Daily/2026-01-01.md",
            }
        },
    ),
    _tree(
        "foam workspace",
        "",
        {
            ".vscode/settings.json": "{}",
            "inbox.md": "# Inbox\n",
            "recipes/bread.md": "# Bread\n",
            "journal/links.md": '[[inbox]] [[recipes/bread]] [[bread]]\n\n[inbox]: ../inbox.md "Inbox"\n',
        },
        {"journal/links.md": {"inbox": "inbox.md", "recipes/bread": "recipes/bread.md", "bread": "recipes/bread.md"}},
    ),
    _tree(
        "zettelkasten by ids",
        "",
        {
            "202601011200 Tide.md": "---\nid: '202601011200'\n---\n# Tide\n",
            "202601021200 Moon.md": "# Moon\n\n[[202601011200]] [[202601011200 Tide]]\n",
        },
        {
            "202601021200 Moon.md": {
                "202601011200": "202601011200 Tide.md",
                "202601011200 Tide": "202601011200 Tide.md",
            }
        },
    ),
    _tree(
        "repository docs without a generator",
        "",
        {
            "README.md": "# Tool\n",
            "docs/README.md": "# Docs\n",
            "docs/install.md": "# Install\n",
            "src/config.py": "myst_parser = 1\n",
            "tests/conf.py": "extensions = []\n",
        },
        {
            "docs/links.md": {
                "install.md": "docs/install.md",
                "../README.md": "README.md",
                "/docs/install.md": "docs/install.md",
                "./": "docs/README.md",
                "/install": None,
            }
        },
    ),
)
