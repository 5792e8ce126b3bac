"""Recognises docs trees by the configuration files of their generators. The files are read as text and never run.

Values that a generator computes (from the environment, or by an imported object) are unknown here; the generator's
defaults are used instead. The setting `link_roots` overrides a configuration that these rules do not cover.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import cast

from commonplace.domain.graphs import Graph, read_graph
from commonplace.domain.json import Json, list_of, mapping_of, text_of
from commonplace.domain.markdown.paths import joined
from commonplace.domain.markdown.wikitext import META_SUFFIX, parsed_fields
from commonplace.domain.sites import Mount, SiteTree, is_language_code
from commonplace.domain.yaml_loader import load

MAX_CONFIG_BYTES = 512_000
"""Maximum size of a configuration file in bytes."""

MAX_MOUNTS = 200
"""Maximum number of mounts, collections and special destinations that are read from a configuration."""
_DATA_SUFFIXES = ("toml", "yaml", "yml", "json")

_TEXT = "|".join(rf"{quote}(?:\\.|[^\\\n{quote}])*+{quote}" for quote in "'\"`")
"""Pattern of a quoted text. Without backreference, because CPython 3.11.2 fails on one to a possessive group."""
_TOKEN = re.compile(rf"\\.|{_TEXT}|/\*|(?<![:\"'`\w/])//[^\n]*")
"""An escaped character, a text within one line, the start of a comment, or a comment up to the end of its line."""
_DOCS = "docusaurus-plugin-content-docs"


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration file, and access to other files and folders."""

    path: str
    folder: str
    text: str
    folders: Callable[[str], Sequence[str]]
    """Returns the names of the subfolders of a folder (a path from the collection's root); empty if there are none."""
    read: Callable[[str], str]
    """Returns the text of another file; "" if there is none."""
    files: Callable[[str], Sequence[str]] = lambda _: ()
    """Returns the names of the files in a folder."""

    def below(self, path: str) -> str:
        """Convert a path relative to the configuration file to a path from the collection's root."""
        return (joined(self.folder, path) or "").rstrip("/")


def config_names() -> frozenset[str]:
    """The names of configuration files, each relative to its tree's folder."""
    return frozenset(_RULES)


def recognise(config: ConfigFile, name: str) -> SiteTree | None:
    """The docs tree of a configuration file; None if the file is of another program.

    Args:
        config: The file.
        name: One of `config_names`.
    """
    return _RULES[name](config)


def site_title(site: SiteTree, config: str) -> str:
    """The title that the configuration file of a tree declares; "" for none.

    Args:
        site: The tree.
        config: The text of its configuration file.
    """
    if site.config.endswith((".js", ".ts", ".mjs", ".cjs", ".mts", ".cts")):
        return _js_value(_without_comments(config), "title")
    if site.config.endswith(".py"):
        return next(iter(re.findall(r"(?m)^project\s*=\s*['\"]([^'\"\n]+)['\"]", config)), "")
    settings = _settings(site.config, config)
    return text_of(settings.get("site_name" if site.generator == "MkDocs" else "title"))


NOT_READ: Mapping[str, str] = {
    "Logseq": "queries, macros, Org files and whiteboards are not read",
    "Dendron": "schemas and links to other vaults with dendron:// are not read",
    "Foam": "queries are not read; a definition [name]: path below the text is a link of its own",
    "TiddlyWiki": "macros, widgets, transclusions, words in CamelCase and files of JSON and HTML are text or not read",
}
"""Parts of a program's notes that are not understood, by the program."""


def declared_tree(roots: Sequence[str]) -> SiteTree | None:
    """The tree of the setting `link_roots`: `URL=FOLDER` each; None if there is none.

    Raises:
        ValueError: an entry is not of the form `URL=FOLDER`, or its folder is outside the collection.
    """
    mounts: list[Mount] = []
    for root in roots:
        url, equals, folder = root.partition("=")
        place = joined("", folder.strip("/"))
        if not equals or not url.startswith("/") or place is None:
            raise ValueError(root)
        mounts.append(Mount(_url(url), place))
    return SiteTree("declared", "", "", tuple(mounts)) if mounts else None


def _docusaurus(config: ConfigFile) -> SiteTree:
    text = _without_comments(config.text)
    mounts: list[Mount] = []
    translated: list[tuple[str, str]] = []
    for plugin, name, block in _content_plugins(text):
        folder = config.below(_js_value(block, "path") or name)
        url = _url(_js_value(block, "routeBasePath") or name)
        versions = _versions(config, plugin, name)
        current = f"{url}next/" if versions else url
        mounts.append(Mount(current, folder))
        kind = "version" if plugin == _DOCS else ""
        where = "versioned_docs" if name == "docs" else f"{name}_versioned_docs"
        for place, version in enumerate(versions):
            original = config.below(f"{where}/version-{version}")
            mounts += [Mount(url, original)] if place == 0 else []
            mounts.append(Mount(f"{url}{version}/", original))
        plugin_folder = plugin if name in {"docs", "blog"} else f"{plugin}-{name}"
        for language in config.folders(config.below("i18n")):
            base = f"i18n/{language}/{plugin_folder}"
            translated.append((config.below(f"{base}/current" if kind else base), folder))
            translated += [
                (config.below(f"{base}/version-{item}"), config.below(f"{where}/version-{item}")) for item in versions
            ]
    mounts += [Mount("", config.below("src/pages")), Mount("", config.below("static"))]
    base = _url(_js_value(text, "baseUrl"))
    return SiteTree(
        "Docusaurus", config.path, config.folder, tuple(mounts), base, numbered=True, translated=tuple(translated)
    )


def _content_plugins(text: str) -> list[tuple[str, str, str]]:
    """The content plugins of a site, except that for single pages: plugin, instance name and options."""
    rows: list[tuple[str, str, str]] = []
    for name, plugin in (("docs", _DOCS), ("blog", "docusaurus-plugin-content-blog")):
        blocks = _blocks(text, re.compile(rf"\b{name}\s*:\s*\{{"))
        options = next((block for block in blocks if re.search(r"\b(?:path|routeBasePath|sidebarPath)\s*:", block)), "")
        if not re.search(rf"\b{name}\s*:\s*false\b", text):
            rows.append((plugin, name, options))
        plugins = _blocks(text, re.compile(rf"plugin-content-{name}['\"`]\s*,\s*\{{"))
        rows += [(plugin, _js_value(block, "id") or name, block) for block in plugins]
    return rows


def _versions(config: ConfigFile, plugin: str, name: str) -> list[str]:
    if plugin != _DOCS:
        return []
    text = config.read(config.below("versions.json" if name == "docs" else f"{name}_versions.json"))
    try:
        parsed: object = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return []
    return [str(element) for element in cast("list[object]", parsed)] if isinstance(parsed, list) else []


def _vitepress(config: ConfigFile) -> SiteTree:
    text = _without_comments(config.text)
    source = config.below(_js_value(text, "srcDir") or ".")
    mounts = (Mount("", source), Mount("", f"{source}/public" if source else "public"))
    return SiteTree("VitePress", config.path, config.folder, mounts, _url(_js_value(text, "base")))


def _mkdocs(config: ConfigFile) -> SiteTree:
    source = config.below(_yaml_value(config.text, "docs_dir") or "docs")
    has_folders = _yaml_value(config.text, "use_directory_urls").lower() not in {"false", "no", "off"}
    return SiteTree(
        "MkDocs", config.path, config.folder, (Mount("", source),), pages_are_folders=has_folders, files_first=True
    )


def _astro(config: ConfigFile) -> SiteTree:
    text = _without_comments(config.text)
    content = config.below("src/content")
    mounts = [Mount("", f"{content}/docs")]
    mounts += [Mount(f"{name}/", f"{content}/{name}") for name in config.folders(content) if name != "docs"]
    mounts += [Mount("", config.below("src/pages")), Mount("", config.below("public"))]
    # If a translation is missing, Starlight publishes the original in its place.
    docs = f"{content}/docs"
    folders, first = config.folders(docs), _js_value(text, "defaultLocale")
    originals = f"{docs}/{first}" if first in folders else docs
    languages = [f"{docs}/{name}" for name in folders if is_language_code(name)]
    translated = [(folder, originals) for folder in languages if folder != originals]
    return SiteTree(
        "Astro", config.path, config.folder, tuple(mounts), _url(_js_value(text, "base")),
        pages_are_folders=True, translated=tuple(translated),
    )  # fmt: skip


def _hugo(config: ConfigFile) -> SiteTree | None:
    folder = config.folder.removesuffix("config/_default").rstrip("/")
    settings = dict(_lowered(_settings(config.path, config.text)))
    is_hugo = any(key in settings for key in ("baseurl", "contentdir", "languagecode", "module", "languages"))
    if not (is_hugo or config.path.rpartition("/")[2].startswith("hugo") or "content" in config.folders(folder)):
        return None
    for name in ("module", "languages", "permalinks"):  # the tables of a configuration folder have files of their own
        for suffix in _DATA_SUFFIXES:
            path = f"{folder}/config/_default/{name}.{suffix}".lstrip("/")
            if text := config.read(path):
                settings.setdefault(name, _lowered(_settings(path, text)))
    mounts = list(dict.fromkeys(islice(_hugo_mounts(settings, folder), MAX_MOUNTS)))
    languages = [mount for mount in mounts if is_language_code(mount.url.rstrip("/"))]
    originals = next((mount.folder for mount in mounts if not mount.url), "")
    return SiteTree(
        "Hugo", config.path, folder, tuple(mounts), pages_are_folders=True,
        translated=tuple((mount.folder, originals) for mount in languages if mount.folder != originals),
        wikilinks=False, special=_compared_by_hook(config, folder),
    )  # fmt: skip


def _hugo_mounts(settings: Mapping[str, Json], folder: str) -> Iterator[Mount]:
    """The folders of content and files, in the order in which a URL is looked up."""
    languages = mapping_of(settings.get("languages"))
    first = text_of(settings.get("defaultcontentlanguage")) or "en"
    content = [(first, text_of(settings.get("contentdir")) or "content")]
    content += [(name, text_of(mapping_of(language).get("contentdir"))) for name, language in sorted(languages.items())]
    # A mount of a component replaces its default folder.
    pages = _component_mounts(settings, "content") or [(language, "", source) for language, source in content]
    files = [_component_mounts(settings, name) or [("", "", name)] for name in ("static", "assets")]
    for language, path, source in sorted(pages, key=lambda mount: mount[0] not in {"", first}):
        place = joined(folder, source) if source else None
        if place is not None and language not in {"", first}:
            yield Mount(f"{language}/{path}", place.rstrip("/"))
        if place is not None:
            yield Mount(path, place.rstrip("/"))
    for _, path, source in chain.from_iterable(files):
        if source and (place := joined(folder, source)) is not None:
            yield Mount(path, place.rstrip("/"))


def _component_mounts(settings: Mapping[str, Json], component: str) -> list[tuple[str, str, str]]:
    """The declared mounts of a component, such as `content`: language, URL path below it, and source."""
    mounts = [mapping_of(mount) for mount in list_of(mapping_of(settings.get("module")).get("mounts"))]
    targets = [(mount, text_of(mount.get("target")).strip("/").partition("/")) for mount in mounts]
    return [
        (_mount_language(mount), f"{path}/" if (path := rest.strip("/")) else "", text_of(mount.get("source")))
        for mount, (name, _, rest) in targets
        if name == component
    ]


def _mount_language(mount: Mapping[str, Json]) -> str:
    """The language of a mount; "" if the mount is for all or several."""
    matrix = mapping_of(mapping_of(mount.get("sites")).get("matrix"))
    languages = list_of(matrix.get("languages"))
    return text_of(languages[0]) if len(languages) == 1 else text_of(mount.get("lang"))


def _compared_by_hook(config: ConfigFile, folder: str) -> tuple[str, ...]:
    """The destinations to which the site's own hook for links gives a meaning: `{{ if eq .Destination "g" }}`."""
    for place in ("layouts/_markup", "layouts/_default/_markup"):
        hook = config.read(f"{folder}/{place}/render-link.html".lstrip("/"))
        if names := re.findall(r"\beq[ \t]+[$.\w]+[ \t]+\"([^\"\s]{1,100})\"", hook):
            return tuple(dict.fromkeys(names[:MAX_MOUNTS]))
    return ()


def _jekyll(config: ConfigFile) -> SiteTree | None:
    settings = _settings(config.path, config.text)
    if not _OTHER_PROGRAMS.isdisjoint(settings):
        return None
    source = config.below(text_of(settings.get("source")) or ".")
    collections = settings.get("collections")
    declared = mapping_of(collections) or dict.fromkeys(map(text_of, list_of(collections)), None)
    base = config.below(f"{text_of(settings.get('source')) or '.'}/{text_of(settings.get('collections_dir'))}")
    names = [name for name in declared if re.fullmatch(r"[\w.-]+", name)][:MAX_MOUNTS]
    mounts = [
        _jekyll_mount(base, name, text_of(mapping_of(declared.get(name)).get("permalink")) or _default(name, settings))
        for name in dict.fromkeys([*names, "posts"])
    ]
    site = Mount("", source)
    return SiteTree(
        "Jekyll", config.path, source, (*mounts, site), _url(text_of(settings.get("baseurl"))),
        pages_are_folders=True, numbered=True, wikilinks=False, from_top=True,
    )  # fmt: skip


def _default(collection: str, settings: Mapping[str, Json]) -> str:
    """The permalink pattern of a collection that declares none."""
    pattern = text_of(settings.get("permalink"))
    if collection != "posts":
        return "/:collection/:path"
    return _JEKYLL_STYLES.get(pattern, pattern) if ":" in pattern or pattern in _JEKYLL_STYLES else _JEKYLL_STYLES[""]


def _jekyll_mount(base: str, name: str, pattern: str) -> Mount:
    """The folder of a collection with its permalink pattern, whose beginning without tokens is the mount's URL."""
    parts = _JEKYLL_STYLES.get(pattern, pattern).strip("/").replace(":collection", name).split("/")
    plain = next((at for at, part in enumerate(parts) if ":" in part), len(parts))
    url = "".join(f"{part}/" for part in parts[:plain] if part)
    rest = "/".join(parts[plain:])
    return Mount(url, f"{base}/_{name}".lstrip("/"), "" if rest in {"", ":path"} else rest)


_OTHER_PROGRAMS = frozenset({"source_dir", "public_dir", "sphinx", "execute", "launch_buttons", "parse"})
"""Keys in the `_config.yml` of Hexo and Jupyter Book."""
_JEKYLL_STYLES = {
    "": "/:categories/:year/:month/:day/:title",
    "date": "/:categories/:year/:month/:day/:title",
    "pretty": "/:categories/:year/:month/:day/:title",
    "ordinal": "/:categories/:year/:y_day/:title",
    "weekdate": "/:categories/:year/:week/:short_day/:title",
    "none": "/:categories/:title",
}
"""Named permalink styles, as in https://jekyllrb.com/docs/permalinks/."""


def _settings(path: str, text: str) -> Mapping[str, Json]:
    """The settings of a file in TOML, JSON or YAML; empty if the file is invalid."""
    value: object = None
    try:
        if path.endswith(".toml"):
            value = tomllib.loads(text.replace("\r\n", "\n"))
        elif path.endswith(".json"):
            value = json.loads(text)
        else:
            value = load(text).value
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, Json]", value) if isinstance(value, dict) else {}


def _lowered(settings: Mapping[str, Json], depth: int = 4) -> Mapping[str, Json]:
    """The settings with keys in lower case, down to a depth, because Hugo ignores the case of keys."""
    if not depth:
        return settings
    return {
        key.lower(): _lowered(value, depth - 1) if isinstance(value, Mapping) else _lowered_items(value, depth - 1)
        for key, value in settings.items()
    }


def _lowered_items(value: Json, depth: int) -> Json:
    if not isinstance(value, (list, tuple)):
        return value
    return [_lowered(item, depth) if isinstance(item, Mapping) else item for item in value]


def _sphinx(config: ConfigFile) -> SiteTree | None:
    if not re.search(r"\bmyst_(?:parser|nb)\b|\brecommonmark\b", config.text):
        return None
    return SiteTree("Sphinx (MyST)", config.path, config.folder, (Mount("", config.folder),))


def _logseq(config: ConfigFile) -> SiteTree:
    return SiteTree("Logseq", config.path, config.folder, (), graph=read_graph(config.text))


def _dendron(config: ConfigFile) -> SiteTree:
    return SiteTree("Dendron", config.path, config.folder, (), graph=Graph(journal_title=""))


def _foam(config: ConfigFile) -> SiteTree | None:
    is_foam = "foam.foam-vscode" in config.text
    graph = Graph(journal_title="", names="path")
    return SiteTree("Foam", config.path, config.folder, (), graph=graph) if is_foam else None


def _tiddlywiki(config: ConfigFile) -> SiteTree:
    titles = dict(sorted(_tiddler_titles(config, config.folder)))
    graph = Graph(journal_title="", names="title", titles=titles)
    return SiteTree("TiddlyWiki", config.path, config.folder, (), graph=graph)


def _tiddler_titles(config: ConfigFile, folder: str) -> Iterator[tuple[str, str]]:
    """The files below a folder that have a file of fields beside them, each with its title."""
    for name in config.files(folder):
        path = f"{folder}/{name.removesuffix(META_SUFFIX)}".lstrip("/")
        if name.endswith(META_SUFFIX):
            title = parsed_fields(config.read(f"{path}{META_SUFFIX}")).get("title")
            if isinstance(title, str):
                yield path, title
    for name in config.folders(folder):
        yield from _tiddler_titles(config, f"{folder}/{name}".lstrip("/"))


def _url(path: str) -> str:
    """Convert a URL's path to the form of `Mount.url`."""
    bare = re.sub(r"^[a-z]+://[^/]*", "", path).strip("/")
    return f"{bare}/" if bare else ""


def _js_value(text: str, key: str) -> str:
    """The text of the first property of this name whose value is a literal; "" if there is none."""
    match = re.search(rf"(?<![\w.])['\"]?{key}['\"]?\s*:\s*(['\"`])([^'\"`\n$]*)\1", text)
    return match[2] if match else ""


def _yaml_value(text: str, key: str) -> str:
    for line in re.finditer(rf"(?m)^{key}[ \t]*:(.*)$", text):
        value = line[1].strip()
        quote = value[:1] if value[:1] in {"'", '"'} else ""
        part = value[1:].partition(quote)[0] if quote else re.split(r"(?:^|\s)#", value, maxsplit=1)[0]
        if part.strip():
            return part.strip()
    return ""


def _without_comments(text: str) -> str:
    """A script without its comments. String literals are unchanged, even if they contain `/*` or `//`."""
    kept_texts: list[str] = []
    start = place = 0
    while match := _TOKEN.search(text, place):
        place = match.end()
        if match[0] == "/*":
            end = text.find("*/", place)
            if end < 0:
                break
            place = end + 2
        if match[0].startswith(("/*", "//")):
            kept_texts.append(text[start : match.start()])
            start = place
    return "".join([*kept_texts, text[start:]])


def _blocks(text: str, opening: re.Pattern[str]) -> Iterator[str]:
    """The blocks whose opening brace ends a match, in order, without nested blocks."""
    place = 0
    while match := opening.search(text, place):
        block = _braced(text, match.end() - 1)
        yield block
        place = match.end() - 1 + len(block)


def _braced(text: str, start: int) -> str:
    """The text from an opening brace to the one that closes it."""
    depth = 0
    for brace in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return text[start : brace.end()]
    return text[start:]


_SCRIPTS = ("js", "ts", "mjs", "cjs", "mts", "cts")
_RULES: dict[str, Callable[[ConfigFile], SiteTree | None]] = {
    **{f"docusaurus.config.{suffix}": _docusaurus for suffix in _SCRIPTS},
    **{f".vitepress/config.{suffix}": _vitepress for suffix in _SCRIPTS},
    **{f".vitepress/config/index.{suffix}": _vitepress for suffix in _SCRIPTS},
    **{f"astro.config.{suffix}": _astro for suffix in _SCRIPTS},
    **{f"mkdocs.{suffix}": _mkdocs for suffix in ("yml", "yaml")},
    **{f"{name}.{suffix}": _hugo for name in ("hugo", "config", "config/_default/hugo", "config/_default/config")
       for suffix in _DATA_SUFFIXES},
    **{f"_config.{suffix}": _jekyll for suffix in ("yml", "yaml", "toml")},
    "conf.py": _sphinx,
    "logseq/config.edn": _logseq,
    "dendron.yml": _dendron,
    ".vscode/extensions.json": _foam,
    "tiddlywiki.info": _tiddlywiki,
}  # fmt: skip
