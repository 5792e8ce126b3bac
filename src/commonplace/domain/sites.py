"""Docs trees: the mapping from folders to URLs by their generator, and the candidate paths of links."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple, cast

from commonplace.domain.addresses import Address, fold, is_document_path
from commonplace.domain.graphs import Graph, graph_from
from commonplace.domain.json import Json
from commonplace.domain.markdown.paths import HTML_SUFFIXES, INDEX_NAMES, is_fixed, joined, leads_to, without_suffix

# A docs tree: the mapping from folders to URLs by its generator, and the candidate paths of links.


_DATE = re.compile(r"(?<![^/])(\d{4})-(\d{2})-(\d{2})[-_/](?=.)")
_NUMBER = re.compile(r"\A\d+\s*[-_.]+\s*(?=[^\d\s])")


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder whose files a site publishes under a URL."""

    url: str
    """The URL's path without the leading slash: "" for the site's root, otherwise with a final slash (`docs/`)."""
    folder: str
    """Path of the folder from the collection's root; "" for the root itself."""
    pattern: str = ""
    """The permalink pattern of its pages below the URL (`:year/:title`); "" for their paths."""


@dataclass(frozen=True, slots=True)
class SiteTree:
    """A docs tree that was recognised by its configuration file, or declared in the settings."""

    generator: str
    config: str
    """Path of the configuration file; "" for a declared tree."""
    folder: str
    """The folder of the configuration file, to which `@site/` leads."""
    mounts: tuple[Mount, ...]
    """Mounts in the order in which they are tried."""
    base: str = ""
    """The path under which the site is published, as in `Mount.url`; links may contain or omit it."""
    pages_are_folders: bool = False
    """Whether `guide/a.md` is published as `guide/a/`, so that its relative URLs begin there."""
    files_first: bool = False
    """Whether a relative path is that of a file, and only without such a file a URL below `guide/a/`."""
    numbered: bool = False
    """Whether URLs omit ordering numbers and dates before names."""
    translated: tuple[tuple[str, str], ...] = ()
    """Pairs of a folder with translations and the folder of the originals."""
    wikilinks: bool = True
    """Whether `[[x]]` is a link even if there is no page `x`; False for a generator without wikilinks."""
    special: tuple[str, ...] = ()
    """Destinations to which the site's own templates give a meaning; no page is missing for them."""
    from_top: bool = False
    """Whether a path without `/` in front may also begin in `folder`, as in `{% link _docs/a.md %}`."""
    elsewhere: tuple[tuple[str, str], ...] = ()
    """Beginnings of absolute paths that are another site's unless a page is there, each with the URL in its place."""
    graph: Graph | None = None
    """The names of its pages if wikilinks lead to names that are made of file names, as in Logseq; None otherwise."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Docs trees and unread files around the documents of a collection."""

    sites: tuple[SiteTree, ...]
    left_out: Mapping[str, int]
    """Number of text files that are not documents, by suffix, most frequent first."""
    canvases: int
    """Number of Obsidian's canvases, which are not read."""


def under(path: str, folder: str) -> bool:
    """Whether a path is in a folder, at any depth, or is that folder."""
    return not folder or path == folder or path.startswith(f"{folder}/")


def site_of(sites: Sequence[SiteTree], address: Address) -> SiteTree | None:
    """The innermost site of a document; None if it is not in a site."""
    best, length = None, -1
    for site in sites:
        for folder in (site.folder, *(mount.folder for mount in site.mounts), *(text for text, _ in site.translated)):
            if len(folder) > length and under(address.path, folder):
                best, length = site, len(folder)
    return best


def has_fields_beside(sites: Sequence[SiteTree], address: Address) -> bool:
    """Whether the fields of a page of TiddlyWiki are in a file `.meta` beside it."""
    site = site_of(sites, address) if sites else None
    return site is not None and site.graph is not None and address.path in site.graph.titles


def places(site: SiteTree, path: str, source: Address) -> Iterator[str]:
    """The candidate paths, from the collection's root, of a link in a site's document, in order.

    Args:
        site: The site of the document.
        path: The target with `/` as separator, without fragment and query.
        source: The document.
    """
    if path.startswith("@site/"):
        yield _joined(site.folder, path.removeprefix("@site/"))
    elif path.startswith("/"):
        for mount, rest in mounted(site, path):
            place = _joined(mount.folder, rest).rstrip("/")
            yield from _translations(site, place, source)
            yield place
            yield from _originals(site, place)
    else:
        yield from _relative_places(site, path, source)


def mounted(site: SiteTree, path: str) -> Iterator[tuple[Mount, str]]:
    """The mounts that can contain an absolute URL path, each with the rest of the path; longest URL first."""
    urls = [path.lstrip("/")]
    if site.base and urls[0].startswith(site.base):
        urls.append(urls[0].removeprefix(site.base))
    for url in urls:
        for mount in sorted(site.mounts, key=lambda other_mount: -len(other_mount.url)):
            if url.startswith(mount.url) or url == mount.url.rstrip("/"):
                yield mount, url.removeprefix(mount.url) if url != mount.url.rstrip("/") else ""


class PublishedForm(NamedTuple):
    """The form in which a URL's path names a document."""

    number: int
    """The position among the document's forms: 0 is its path, 1 its folder, others its own names."""
    parts: tuple[str, ...]
    """The parts of the URL's path for which the document's file and names give no value, such as categories."""


def published_form(mount: Mount, path: str, address: Address, names: Sequence[str]) -> PublishedForm | None:
    """The form in which a URL's path below a mount names a document; None if it does not name it.

    Args:
        mount: The mount.
        path: The path, with or without suffix.
        address: The document.
        names: The document's `id` in the frontmatter, if any, its slug and other aliases.
    """
    if not under(address.path, mount.folder):
        return None
    suffix = without_suffix(path.strip("/"))
    folded = fold(suffix)
    for number, form in enumerate(_forms(mount, address, names)):
        if form is not None and _OPEN not in form and fold(without_suffix(form)) == folded:
            return PublishedForm(number, ())
        if form is not None and _OPEN in form and (parts := _open_parts(form, suffix)) is not None:
            return PublishedForm(number, parts)
    return None


def moved_url(site: SiteTree, path: str, old: Address, new: Address, names: Sequence[str]) -> str | None:
    """The URL path of a moved document in the form in which a link named it; None if there is none.

    Args:
        site: The site of the link.
        path: The link's path. Without `/` in front, only a site with `from_top` has URLs.
        old: The document's old address.
        new: Its new address.
        names: See `published_form`.
    """
    if not path.startswith("/"):
        return _moved_from_top(site, path, old, new, names) if site.from_top and not is_fixed(path) else None
    if is_document_path(path):
        return None  # the path of the file, not of its page
    forms = ((mount, published_form(mount, rest, old, names)) for mount, rest in mounted(site, path))
    mount, form = next(((mount, form) for mount, form in forms if form), (None, None))
    if mount is None or form is None:
        return None
    # A mount of the same URL comes first.
    targets = [target for target in site.mounts if under(new.path, target.folder)]
    target = min(targets, key=lambda target: target.url != mount.url, default=None)
    if target is None:
        return None
    based = bool(site.base) and path.lstrip("/").startswith(site.base)
    url = f"/{site.base if based else ''}{target.url}{_path_in_form(form, list(_forms(target, new, names)))}"
    ending = next((suffix for suffix in HTML_SUFFIXES if path.endswith(suffix)), "")
    shown = f"{url.rstrip('/')}/" if path.endswith("/") else f"{url}{ending}"
    return shown if _OPEN not in url else None


def _path_in_form(form: PublishedForm, forms: Sequence[str | None]) -> str:
    """The path of a document among its forms that a form names, with the form's open parts filled in."""
    # A page that is no longer the index of its folder is named by its path.
    path = forms[form.number] or forms[0] or ""
    for part in form.parts:
        path = _OPEN_PART.sub(lambda _, part=part: part, path, count=1)
    return without_suffix("/".join(filter(None, path.split("/"))))


def _moved_from_top(site: SiteTree, path: str, old: Address, new: Address, names: Sequence[str]) -> str | None:
    """The new path, or URL, of a link that begins in the site's folder without `/` in front."""
    if leads_to(joined(site.folder, path), old) and under(new.path, site.folder):
        inside = new.path if is_document_path(path) else new.id
        return inside[len(site.folder) :].lstrip("/")
    moved = moved_url(site, f"/{path}", old, new, names)
    return moved and moved.lstrip("/")


def _forms(mount: Mount, address: Address, names: Sequence[str]) -> Iterator[str | None]:
    """The URL paths below a mount by which a document can be named, without numbers; `_OPEN` for an unknown part."""
    inside = address.id[len(mount.folder) :].lstrip("/")
    path = without_numbers(inside)
    folder = path.rpartition("/")[0]
    yield _by_pattern(mount.pattern, inside, name_without_number(address.stem)) if mount.pattern else path
    yield folder if address.name in INDEX_NAMES or path.rpartition("/")[2] == folder.rpartition("/")[2] else None
    for name in names:
        if name.startswith("/"):
            # The whole address, also of a page below another URL.
            yield name.strip("/").removeprefix(mount.url)
        elif mount.pattern and "/" not in name:
            yield _by_pattern(mount.pattern, inside, name)
        else:
            yield f"{folder}/{name}".strip("/")


_OPEN = "\0"
"""A part of a form that stands for any part of a URL; `_OPEN + "*"` for any number of parts. No name contains it."""
_OPEN_PART = re.compile(f"{_OPEN}\\*?")
_TOKEN = re.compile(r":(\w+)")
_STEM_TOKENS = frozenset({"title", "slug", "name", "basename", "filename", "contentbasename", "slugorfilename"})
_SUFFIX_TOKENS = frozenset({"output_ext"})


def _by_pattern(pattern: str, inside: str, stem: str) -> str:
    """A permalink pattern with the values that a file's path and a name give; other tokens are open."""
    folder = inside.rpartition("/")[0]
    date = _DATE.match(inside.rpartition("/")[2])
    values = dict.fromkeys(_STEM_TOKENS, stem) | dict.fromkeys(_SUFFIX_TOKENS, "")
    values |= {"path": inside, "sections": folder, "section": folder.partition("/")[0]}
    values |= {"year": date[1], "month": date[2], "day": date[3]} if date else {}
    parts: list[str] = []
    for part in pattern.strip("/").split("/"):
        tokens = _TOKEN.findall(part)
        if part == ":categories":
            parts.append(f"{_OPEN}*" if f"{_OPEN}*" not in parts else _OPEN)
        elif any(token not in values for token in tokens):
            parts.append(_OPEN)
        else:
            parts.append(_TOKEN.sub(lambda token: values[token[1]], part))
    return "/".join(part for part in parts if part)


def _open_parts(form: str, path: str) -> tuple[str, ...] | None:
    """The parts of a path that stand at the open places of a form; None if the path does not have the form."""
    wanted_parts, parts = form.split("/"), path.split("/")
    if f"{_OPEN}*" in wanted_parts:
        many = wanted_parts.index(f"{_OPEN}*")
        end = len(parts) - (len(wanted_parts) - many - 1)
        if end < many:
            return None
        parts[many:end] = ["/".join(parts[many:end])]
    if len(wanted_parts) != len(parts):
        return None
    pairs = list(zip(wanted_parts, parts, strict=True))
    if any(_OPEN not in part and fold(part) != fold(segment) for part, segment in pairs):
        return None
    return tuple(segment for part, segment in pairs if _OPEN in part)


def without_numbers(path: str) -> str:
    """A path with its dates as folders and without the ordering numbers of its parts: `01-a/2-b` as `a/b`."""
    return "/".join(_NUMBER.sub("", part, count=1) for part in _DATE.sub(r"\1/\2/\3/", path, count=1).split("/"))


def name_without_number(name: str) -> str:
    """A file name without the ordering number or date in front of it."""
    return _NUMBER.sub("", _DATE.sub("", name, count=1), count=1)


def as_json(site: SiteTree) -> Json:
    """The JSON form, which is stored and shown by `commonplace status --json`."""
    return asdict(site)


def from_json(stored: dict[str, object]) -> SiteTree:
    """Parse the result of `as_json`, after a round trip through JSON."""
    mounts = tuple(Mount(**mount) for mount in stored.pop("mounts"))  # type: ignore[arg-type]
    translated = tuple((element, other) for element, other in cast("list[list[str]]", stored.pop("translated")))
    elsewhere = tuple((path, url) for path, url in cast("list[list[str]]", stored.pop("elsewhere")))
    special = tuple(cast("list[str]", stored.pop("special")))
    described = cast("dict[str, object] | None", stored.pop("graph"))
    graph = graph_from(described) if described else None
    return SiteTree(
        mounts=mounts,
        translated=translated,
        special=special,
        elsewhere=elsewhere,
        graph=graph,
        **stored,  # type: ignore[arg-type]
    )


def _relative_places(site: SiteTree, path: str, source: Address) -> Iterator[str]:
    if site.pages_are_folders and not is_document_path(path):
        if site.files_first:
            yield _joined(source.folder, path)
        own = source.folder if source.name in INDEX_NAMES else source.id
        place = joined(own, path)
        if place is not None:
            yield place.rstrip("/")
    place = joined(source.folder, path)
    if place is not None and any(under(source.path, folder) for folder, _ in site.translated):
        yield place
        yield from _originals(site, place)
    if site.from_top:
        yield _joined(site.folder, path).rstrip("/")


def _originals(site: SiteTree, place: str) -> Iterator[str]:
    """The original of a place among translations: a page without a translation is published as the original."""
    for folder, original in site.translated:
        if under(place, folder):
            yield _joined(original, place[len(folder) :])


def _translations(site: SiteTree, place: str, source: Address) -> Iterator[str]:
    """The translation of a place in the language of the source, if the site has one."""
    for folder, original in site.translated:
        if under(source.path, folder) and under(place, original):
            yield _joined(folder, place[len(original) :])


def _joined(folder: str, path: str) -> str:
    return joined(folder, path) or ""


# Translations beside each other: the language of a path, and the paths that are copies of one page.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# ISO 639-1
_CODES = _words(
    """
    ab aa af ak sq am ar an hy av ae ay az bm ba eu be bn bi bs br bg my ca ch ce ny zh cv kw co cr hr cs da dv nl dz
    en eo et ee fo fj fi fr ff gl ka de el gn gu ht ha he hz hi ho hu ia ie ig ii ik io is it iu ja jv kl kn kr ks kk km
    ki rw ky kv kg ko ku kj la lb lg li ln lo lt lu lv gv mk mg ms ml mt mi mr mh mn na nv nd ne ng nb nn no nr oc oj cu
    om or os pa pi fa pl ps pt qu rm rn ro ru sa sc sd se sm sg sr gd sn si sk sl so st es su sw ss sv ta te tg th ti bo
    tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa cy wo fy xh yi yo za zu id
    """
)
_CLEAR = _words(
    "ar bg bn cs da de el es et fa fi fr he hi hr hu ja ka kk ko lt lv nb nl pl pt ro ru sk sl sr sv th tr uk vi zh"
)
"""Codes for which a single folder counts as translations, because folders rarely have these names otherwise."""
_CODE = re.compile(r"([A-Za-z]{2})(?:[-_]([A-Za-z]{4}))?(?:[-_]([A-Za-z]{2}|\d{3}))?")
MIN_COPY_SHARE = 0.7
"""Minimum score of the copy in the reader's language, relative to that of the best copy, 0 to 1."""
ORIGINAL = ""
"""The language of a page whose path names no language."""


class Translation(NamedTuple):
    """A page that is one of the copies of a text."""

    text: str
    """The path without its language: the same for all copies."""
    language: str
    """The language code in lower case with `-` (`pt-br`), or `ORIGINAL`."""


def is_language_code(name: str) -> bool:
    """Whether a name is a two-letter language code, optionally with a script and a region: `fr`, `zh-Hant-TW`."""
    match = _CODE.fullmatch(name)
    return match is not None and match[1].lower() in _CODES


def language_folders(folders: Iterable[str]) -> list[str]:
    """The folders with translations, or with one of several languages: `docs/fr`, `i18n/pt-BR`, `pages.de`.

    A folder named by a code counts if it is beside another such folder, or if the code is in `_CLEAR`.

    Args:
        folders: Every folder of a collection that contains documents.
    """
    found_texts: set[str] = set()
    for folder in folders:
        parts = folder.split("/")
        found_texts.update("/".join(parts[: at + 1]) for at, part in enumerate(parts) if is_language_code(_code(part)))
    beside = Counter(folder.rpartition("/")[0] for folder in found_texts)
    return sorted(
        folder
        for folder in found_texts
        if beside[folder.rpartition("/")[0]] > 1 or _plain(_code(folder.rpartition("/")[2]))[:2] in _CLEAR
    )


def readings(path: str, folders: Collection[str]) -> list[Translation]:
    """Interpretations of a path as a copy of a text; the first one takes the path for an original.

    Args:
        path: The path of a document; `page.fr.md` is a translation by its name.
        folders: The `language_folders` of the collection.
    """
    parts = path.split("/")
    translations = [Translation(path, ORIGINAL)]
    for at, part in enumerate(parts[:-1]):
        if "/".join(parts[: at + 1]) in folders:
            kept_parts = [part.rpartition(".")[0]] if "." in part else []
            translations.append(
                Translation("/".join([*parts[:at], *kept_parts, *parts[at + 1 :]]), _plain(_code(part)))
            )
    stem, _, suffix = parts[-1].rpartition(".")
    name, _, code = stem.rpartition(".")
    if name and is_language_code(code):
        translations.append(Translation("/".join([*parts[:-1], f"{name}.{suffix}"]), _plain(code)))
    return [Translation(_docusaurus_original(translation.text), translation.language) for translation in translations]


def translations_behind(scores: Mapping[str, float], reader_language: str, folders: Collection[str]) -> set[str]:
    """The paths for which another copy of the text stands: that in the reader's language, if it matches about as well.

    A copy that matches much better is in the language of the query, and stands for the others.

    Args:
        scores: Scores by path.
        reader_language: The reader's language, such as `de` or `pt-br`.
        folders: The `language_folders` of the collection.
    """
    texts: dict[str, list[tuple[str, str]]] = {}
    for path in scores:
        for text, language in readings(path, folders):
            texts.setdefault(text, []).append((language, path))
    shown: set[str] = set()
    behind: set[str] = set()
    for copies in texts.values():
        copies = [copy for copy in copies if copy[1] not in behind | shown]  # noqa: PLW2901
        if len({language for language, _ in copies}) > 1:
            least = MIN_COPY_SHARE * max(scores[path] for _, path in copies)
            near = [copy for copy in copies if scores[copy[1]] >= least]
            best = min(near, key=lambda copy: _rank(copy[0], reader_language))[1]
            shown.add(best)
            behind |= {path for _, path in copies} - {best}
    return behind


def language_of(environment: Mapping[str, str]) -> str:
    """The language of a user's environment by POSIX (`LC_ALL`, `LC_MESSAGES`, `LANG`); `en` if none is set."""
    locale = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := environment.get(name))), "")
    code = locale.partition(".")[0].partition("@")[0]
    return _plain(code) if is_language_code(code) else "en"


def _rank(language: str, reader_language: str) -> tuple[int, str]:
    """Sort key by preference: the language itself, the same with another region, the original, English, others."""
    same = language.partition("-")[0] == reader_language.partition("-")[0]
    order = (language == reader_language, same, language == ORIGINAL, language.partition("-")[0] == "en", True)
    return order.index(True), language


def _code(name: str) -> str:
    """The part of a folder's name that can be a language code, such as `de` in `pages.de`."""
    return name.rpartition(".")[2]


def _plain(code: str) -> str:
    return code.lower().replace("_", "-")


def _docusaurus_original(text: str) -> str:
    """Convert `i18n/docusaurus-plugin-content-docs/current/x` to the translated `docs/x`."""
    return re.sub(r"(?:^|(?<=/))i18n/docusaurus-plugin-content-(docs|blog|pages)(?:/current)?/", r"\1/", text)
